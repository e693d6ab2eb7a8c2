// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows of endpoints, which the standard does not have: `mpi_rankpoint.h` declares these functions.

use core::ffi::c_void;
use engine::create::MOST_ENDPOINTS;
use engine::rma::{self, Part, WindowHints};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Aint, MPI_Comm, MPI_Info, MPI_Win};

use crate::comm::hints_of;
use crate::error::raise::{Null, refuse_null};
use crate::error::run;
use crate::handle::{COMMS, WINS};

use super::create::{check_base, publish};

const CALL: &str = "MPIX_Win_create_endpoints";
const NULL: Null = Null {
    call: CALL,
    argument: "win",
    expected: "the address of my_num_ep variables of type MPI_Win",
};
const NULL_SIZE: Null = Null {
    call: CALL,
    argument: "size",
    expected: "the address of my_num_ep sizes",
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
    /// The error of the first size or address that is none among those of so many endpoints.
    fn check(&self, count: usize) -> Result<()> {
        for index in 0..count {
            // SAFETY: as in `part`.
            let size = unsafe { *self.size.add(index) };
            if size < 0 {
                let value = format!("{size} for endpoint {index} of this process");
                let error = Error::argument(ErrorClass::ERR_SIZE, "size", value, "0 or more bytes");
                return Err(error);
            }
            let base = self.part(index).base;
            if !base.is_null() {
                check_base(base.cast(), size)?;
            }
        }
        Ok(())
    }

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
    if win.is_null() && my_num_ep > 0 {
        return refuse_null(const { &NULL }, parent_comm);
    }
    if size.is_null() && my_num_ep > 0 {
        return refuse_null(const { &NULL_SIZE }, parent_comm);
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
        let reserve = |info| {
            let handles: Result<Vec<_>> = (0..room).map(|_| WINS.reserve()).collect();
            Ok((info, handles?))
        };
        let arrays = Arrays {
            base,
            size,
            unit: i64::from(disp_unit),
        };
        let reserved = hints_of(info).and_then(reserve);
        let reserved = arrays.check(room).and(reserved);
        let (failure, info, handles) = match reserved {
            Ok((info, handles)) => (None, info, handles),
            Err(error) => (Some(error), None, Vec::new()),
        };
        let hints = || WindowHints::of(|key| info.and_then(|info| info.get(key)));
        let part = |index: usize| match &failure {
            None => Ok(arrays.part(index)),
            Some(error) => Err(error.clone()),
        };
        // SAFETY: the caller's promise.
        let made = unsafe { rma::create_endpoints(&parent, my_num_ep, part, hints, CALL) }?;
        for (index, (handle, window)) in handles.into_iter().zip(made).enumerate() {
            store(index, publish(handle, &window));
        }
        Ok(())
    })
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
