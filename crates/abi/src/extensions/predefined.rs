// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators with constant handles, `MPIX_COMM_1` to `MPIX_COMM_16`.

// account: communicator

use std::sync::atomic::Ordering;

use engine::comm::{Comm, Predefined};
use engine::create;
use engine::p2p::CHECKED;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::types::MPI_Comm;

use super::extension;
use crate::datatype::arguments::sizes_are_known;
use crate::error::run;
use crate::handle::{COMMS, PLACES, place_number};

/// The place of a handle that is one, unless arguments are checked.
// TIER: short
#[inline(always)]
pub(super) fn place_of(comm: MPI_Comm) -> Option<&'static Predefined> {
    // account: argument-checks
    if CHECKED && place_number(comm).is_none() {
        return None;
    }
    // account: communicator
    Some(Predefined::at(comm % PLACES))
}

/// The communicator of a handle of a place that is filled.
#[cold]
pub(super) fn find(comm: MPI_Comm) -> Result<&'static Comm> {
    let found = COMMS.find(comm, "comm")?;
    if place_number(comm).is_some() {
        return Ok(found);
    }
    let expected = format!("one of MPIX_COMM_1..{PLACES} (MPIX_Comm_dup_predefined)");
    let class = ErrorClass::ERR_COMM;
    Err(Error::argument(
        class,
        "comm",
        format!("{comm:#x}"),
        expected,
    ))
}

extension! {
    /// Duplicates a communicator, and gives the duplicate a handle that the program names.
    ///
    /// # Safety
    /// None beyond the crate head's.
    MPIX_Comm_dup_predefined PMPIX_Comm_dup_predefined (comm: MPI_Comm, predefined: MPI_Comm) {
        let call = "MPIX_Comm_dup_predefined";
        run(call, comm, || {
            let parent = COMMS.share(comm, "comm")?;
            let made = create::dup_predefined(&parent, place_number(predefined), call)?;
            made.handle.store(predefined as u64, Ordering::Relaxed);
            COMMS.define(predefined, made);
            if sizes_are_known() {
                Predefined::at(predefined % PLACES).open();
            }
            Ok(())
        })
    }
}
