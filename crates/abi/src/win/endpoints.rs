// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows of endpoints, which the standard does not have: `rankpoint.h` declares these functions.

use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::create::MOST_ENDPOINTS;
use engine::rma::{self, Part, Window, WindowHints};
use engine::{Error, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Aint, MPI_Comm, MPI_Info, MPI_Win};

use crate::comm::hints_of;
use crate::error::raise::{Null, refuse_null};
use crate::error::run;
use crate::handle::{COMMS, WINS};

const CALL: &str = "MPIX_Win_create_endpoints";
const NULL: Null = Null {
    call: CALL,
    argument: "win",
    expected: "the addresses of arrays of my_num_ep sizes and of my_num_ep variables of type MPI_Win",
};

/// The program's arrays, which threads of the library read.
#[derive(Clone, Copy)]
struct Arrays {
    base: *const *mut c_void,
    size: *const MPI_Aint,
    unit: i64,
}

// SAFETY: the program leaves the arrays alone until the call returns (crate head).
unsafe impl Sync for Arrays {}

impl Arrays {
    /// The part of an endpoint.
    fn part(&self, index: usize) -> Part {
        // SAFETY: the arrays have as many elements as the process has endpoints (caller of the call).
        unsafe {
            Part {
                base: if self.base.is_null() {
                    std::ptr::null_mut()
                } else {
                    (*self.base.add(index)).cast()
                },
                bytes: *self.size.add(index) as u64,
                unit: self.unit,
            }
        }
    }
}

/// Makes this process `my_num_ep` members of a window: see [`rma::create_endpoints`]. The handles are stored in rank order.
///
/// # Safety
/// `win` has room for `my_num_ep` handles; `size`, and `base` unless it is null, have as many elements, and name memory that lives until
/// the window is freed.
#[unsafe(export_name = "MPIX_Win_create_endpoints")]
unsafe extern "C" fn create_endpoints(
    base: *const *mut c_void,
    size: *const MPI_Aint,
    disp_unit: i32,
    info: MPI_Info,
    parent_comm: MPI_Comm,
    my_num_ep: i32,
    win: *mut MPI_Win,
) -> i32 {
    if (win.is_null() || size.is_null()) && my_num_ep > 0 {
        return refuse_null(const { &NULL }, parent_comm);
    }
    let is_possible = usize::try_from(my_num_ep)
        .ok()
        .filter(|&count| count <= MOST_ENDPOINTS as usize);
    let room = is_possible.unwrap_or(0);
    let store = |index: usize, handle: MPI_Win| {
        // SAFETY: there is room (caller).
        unsafe { *win.add(index) = handle };
    };
    run(CALL, parent_comm, || {
        (0..room).for_each(|index| store(index, abi::MPI_WIN_NULL));
        let parent = COMMS.share(parent_comm, "parent_comm")?;
        let info = hints_of(info)?;
        let hints = || WindowHints::of(|key| info.and_then(|info| info.get(key)));
        let unit = i64::from(disp_unit);
        let arrays = Arrays { base, size, unit };
        let part = |index| arrays.part(index);
        // SAFETY: the caller's promise.
        let made = unsafe { rma::create_endpoints(&parent, my_num_ep, part, hints, CALL) }?;
        for (index, window) in made.into_iter().enumerate() {
            store(index, publish(window)?);
        }
        Ok(())
    })
}

/// Gives a window its handle.
fn publish(window: Arc<Window>) -> Result<MPI_Win> {
    let fatal = abi::MPI_ERRORS_ARE_FATAL as u64;
    window.error_handler.store(fatal, Ordering::Relaxed);
    let handle = WINS
        .insert(window.clone())
        .map_err(|error: Error| error.in_call(CALL))?;
    window.handle.store(handle as u64, Ordering::Relaxed);
    Ok(handle)
}

/// As [`create_endpoints`], for tools that have replaced that name.
///
/// # Safety
/// As there.
#[unsafe(export_name = "PMPIX_Win_create_endpoints")]
unsafe extern "C" fn create_endpoints_of_tools(
    base: *const *mut c_void,
    size: *const MPI_Aint,
    disp_unit: i32,
    info: MPI_Info,
    parent_comm: MPI_Comm,
    my_num_ep: i32,
    win: *mut MPI_Win,
) -> i32 {
    // SAFETY: passed on.
    unsafe { create_endpoints(base, size, disp_unit, info, parent_comm, my_num_ep, win) }
}
