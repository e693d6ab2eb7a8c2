// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints, which the standard does not have: `mpi_rankpoint.h` declares these functions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::comm::Comm;
use engine::create;
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Comm, MPI_Info};

use super::communicator::{hints_of, publish, replace_hints};
use crate::error::raise::{Null, refuse_null};
use crate::error::run;
use crate::handle::COMMS;

const CALL: &str = "MPIX_Comm_create_endpoints";
const NULL: Null = Null {
    call: CALL,
    argument: "ep_comm",
    expected: "the address of an array of my_num_ep variables of type MPI_Comm",
};

/// Gives this process `my_num_ep` ranks of a new communicator: see [`create::create_endpoints`]. The handles are stored in rank order.
///
/// # Safety
/// `ep_comm` has room for `my_num_ep` handles.
#[unsafe(export_name = "MPIX_Comm_create_endpoints")]
unsafe extern "C" fn create_endpoints(
    parent_comm: MPI_Comm,
    my_num_ep: i32,
    info: MPI_Info,
    ep_comm: *mut MPI_Comm,
) -> i32 {
    if ep_comm.is_null() && my_num_ep > 0 {
        return refuse_null(const { &NULL }, parent_comm);
    }
    let is_possible = usize::try_from(my_num_ep)
        .ok()
        .filter(|&count| count <= create::MOST_ENDPOINTS as usize);
    let room = is_possible.unwrap_or(0);
    run(CALL, parent_comm, || {
        for index in 0..room {
            // SAFETY: there is room (caller).
            unsafe { *ep_comm.add(index) = abi::MPI_COMM_NULL };
        }
        let parent = COMMS.share(parent_comm, "parent_comm")?;
        let hints = hints_of(info)?;
        let made = create::create_endpoints(&parent, my_num_ep, CALL)?;
        for (index, comm) in made.iter().enumerate() {
            replace_hints(comm, hints);
            // SAFETY: as above.
            let handle = unsafe { ep_comm.add(index) };
            if let Err(error) = publish(Some(comm.clone()), handle) {
                withdraw(&made);
                for index in 0..room {
                    // SAFETY: as above.
                    unsafe { *ep_comm.add(index) = abi::MPI_COMM_NULL };
                }
                return Err(error);
            }
        }
        Ok(())
    })
}

/// As [`create_endpoints`], for tools that have replaced that name.
///
/// # Safety
/// As there.
#[unsafe(export_name = "PMPIX_Comm_create_endpoints")]
unsafe extern "C" fn create_endpoints_of_tools(
    parent_comm: MPI_Comm,
    my_num_ep: i32,
    info: MPI_Info,
    ep_comm: *mut MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    unsafe { create_endpoints(parent_comm, my_num_ep, info, ep_comm) }
}

/// Takes back all communicators of a call that failed after some had their handles.
fn withdraw(made: &[Arc<Comm>]) {
    for comm in made {
        let handle = comm.handle.load(Ordering::Relaxed) as usize;
        if handle != 0 {
            // It was inserted by this call.
            let _ = COMMS.remove(handle, "ep_comm");
        }
        comm.free();
    }
}
