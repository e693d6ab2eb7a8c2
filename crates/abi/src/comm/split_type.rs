// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators of ranks that share a resource, and the resources of the caller (MPI-5.0, sections 7.4.2 and 10.1.3).

use engine::create::resource::{self, Level};
use engine::create::{self, UNDEFINED};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Comm, MPI_Info};

use super::communicator::{hints_of, publish};
use crate::error::run;
use crate::handle::COMMS;
use crate::info;

const HW_RESOURCE_TYPE: &str = "mpi_hw_resource_type";
const PSET_NAME: &str = "mpi_pset_name";

pub(crate) unsafe fn MPI_Comm_split_type(
    comm: MPI_Comm,
    split_type: i32,
    key: i32,
    info: MPI_Info,
    newcomm: *mut MPI_Comm,
) -> i32 {
    let call = "MPI_Comm_split_type";
    run(call, comm, || {
        let hints = hints_of(info)?;
        let value_of = |key| hints.and_then(|hints| hints.get(key));
        let parent = COMMS.share(comm, "comm")?;
        let named = || Level::named(&value_of(HW_RESOURCE_TYPE)?);
        check_kind(split_type)?;
        let kinds = resource::kinds_of_all(&parent, split_type, call)?;
        if kinds.contains(&abi::MPI_COMM_TYPE_HW_UNGUIDED) {
            check_unguided(&kinds)?;
            let is_unguided = split_type == abi::MPI_COMM_TYPE_HW_UNGUIDED;
            let made = resource::split_unguided(&parent, is_unguided, key, call)?;
            let made = made.map(|(comm, level)| {
                if let Some(hints) = hints {
                    hints.set(HW_RESOURCE_TYPE, &level.name());
                }
                comm
            });
            return publish(made, newcomm);
        }
        let made = match split_type {
            abi::MPI_COMM_TYPE_SHARED => resource::split_at(&parent, Some(Level::NODE), key, call)?,
            abi::MPI_COMM_TYPE_HW_GUIDED => resource::split_at(&parent, named(), key, call)?,
            abi::MPI_COMM_TYPE_RESOURCE_GUIDED => match named() {
                Some(level) => resource::split_at(&parent, Some(level), key, call)?,
                None => {
                    let color = match value_of(PSET_NAME).as_deref() {
                        Some("mpi://WORLD") => 0,
                        Some("mpi://SELF") => parent.rank(),
                        _ => UNDEFINED,
                    };
                    create::split(&parent, color, key, call)?
                }
            },
            // MPI_UNDEFINED.
            _ => create::split(&parent, UNDEFINED, key, call)?,
        };
        publish(made, newcomm)
    })
}

/// Checks on all members alike that each one is divided without guidance or takes no part.
fn check_unguided(kinds: &[i32]) -> Result<()> {
    let fits = |&kind: &i32| [abi::MPI_COMM_TYPE_HW_UNGUIDED, abi::MPI_UNDEFINED].contains(&kind);
    let Some(rank) = kinds.iter().position(|kind| !fits(kind)) else {
        return Ok(());
    };
    let value = format!("{} on rank {rank}", kinds[rank]);
    let expected = "MPI_COMM_TYPE_HW_UNGUIDED or MPI_UNDEFINED, as on other ranks";
    let class = ErrorClass::ERR_ARG;
    Err(Error::argument(class, "split_type", value, expected))
}

/// Checks the kind of a split before the members talk about it.
fn check_kind(split_type: i32) -> Result<()> {
    let known = [
        abi::MPI_COMM_TYPE_SHARED,
        abi::MPI_COMM_TYPE_HW_GUIDED,
        abi::MPI_COMM_TYPE_HW_UNGUIDED,
        abi::MPI_COMM_TYPE_RESOURCE_GUIDED,
        abi::MPI_UNDEFINED,
    ];
    if known.contains(&split_type) {
        return Ok(());
    }
    let expected = "MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_HW_UNGUIDED, \
                    MPI_COMM_TYPE_RESOURCE_GUIDED or MPI_UNDEFINED";
    let class = ErrorClass::ERR_ARG;
    Err(Error::argument(class, "split_type", split_type, expected))
}

pub(crate) unsafe fn MPI_Get_hw_resource_info(hw_info: *mut MPI_Info) -> i32 {
    run("MPI_Get_hw_resource_info", 0, || {
        let report = resource::report();
        let pairs: Vec<(&str, &str)> = report
            .iter()
            .map(|(name, single)| (name.as_str(), if *single { "true" } else { "false" }))
            .collect();
        let handle = info::of_pairs(&pairs)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *hw_info = handle };
        Ok(())
    })
}
