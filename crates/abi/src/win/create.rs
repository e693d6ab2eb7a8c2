// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making and freeing windows, and their memory (MPI-5.0, section 12.2).

use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::comm::Comm;
use engine::rma::{self, Window, WindowHints};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Aint, MPI_Comm, MPI_Info, MPI_Win};

use crate::comm::hints_of;
use crate::datatype::arguments::need_memory;
use crate::error::{run, run_window};
use crate::handle::{COMMS, Reserved, WINS};
use crate::status::CountOut;

/// A displacement unit, of either form of a call.
pub(crate) trait Unit: Copy {
    /// Whether it belongs to the large-count form.
    const LARGE: bool;

    fn bytes(self) -> i64;
}

impl Unit for i32 {
    const LARGE: bool = false;

    fn bytes(self) -> i64 {
        self.into()
    }
}

impl Unit for MPI_Aint {
    const LARGE: bool = true;

    fn bytes(self) -> i64 {
        self as i64
    }
}

/// The name of the form whose displacement unit has this type.
const fn called<U: Unit>(call: &'static str, large: &'static str) -> &'static str {
    if U::LARGE { large } else { call }
}

/// Makes a window and gives it a handle.
fn make(
    call: &'static str,
    comm: MPI_Comm,
    info: MPI_Info,
    win: *mut MPI_Win,
    action: impl FnOnce(&Arc<Comm>, WindowHints) -> Result<Arc<Window>>,
) -> Result<Arc<Window>> {
    let comm = COMMS.share(comm, "comm")?;
    // A member that fails once the window is made would leave the others with it.
    let brought = hints_of(info).and_then(|info| Ok((info, WINS.reserve()?)));
    let (info, handle) = match brought {
        Ok(brought) => brought,
        Err(error) => return rma::decline(&comm, error, call),
    };
    let hints = WindowHints::of(|key| info.and_then(|info| info.get(key)));
    let window = action(&comm, hints)?;
    // SAFETY: the result is writable (crate head).
    unsafe { *win = publish(handle, &window) };
    Ok(window)
}

/// Gives a new window its handle and the error handler that each has at first.
pub(super) fn publish(handle: Reserved<Window>, window: &Arc<Window>) -> MPI_Win {
    let fatal = abi::MPI_ERRORS_ARE_FATAL as u64;
    window.error_handler.store(fatal, Ordering::Relaxed);
    let handle = handle.fill(window.clone());
    window.handle.store(handle as u64, Ordering::Relaxed);
    handle
}

/// Refuses constants in place of the memory of a window; a negative size is the engine's business.
pub(super) fn check_base(base: *const c_void, size: MPI_Aint) -> Result<()> {
    let bytes = usize::try_from(size).unwrap_or(0);
    need_memory(ErrorClass::ERR_BASE, "base", base, bytes as u64)
}

/// Stores the address of this member's memory.
fn store_base(base: *mut u8, baseptr: *mut c_void) {
    // SAFETY: `baseptr` is the address of a pointer (MPI-5.0, section 12.2.2).
    unsafe { *baseptr.cast::<*mut u8>() = base };
}

pub(crate) unsafe fn MPI_Win_create<U: Unit>(
    base: *mut c_void,
    size: MPI_Aint,
    disp_unit: U,
    info: MPI_Info,
    comm: MPI_Comm,
    win: *mut MPI_Win,
) -> i32 {
    let call = called::<U>("MPI_Win_create", "MPI_Win_create_c");
    run(call, comm, || {
        make(call, comm, info, win, |comm, hints| {
            if let Err(error) = check_base(base, size) {
                return rma::decline(comm, error, call);
            }
            let (base, unit) = (base.cast(), disp_unit.bytes());
            // SAFETY: the program keeps the memory until the window is freed (crate head).
            unsafe { rma::create(comm, base, size as u64, unit, hints, call) }
        })
        .map(drop)
    })
}

pub(crate) unsafe fn MPI_Win_allocate<U: Unit>(
    size: MPI_Aint,
    disp_unit: U,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> i32 {
    let call = called::<U>("MPI_Win_allocate", "MPI_Win_allocate_c");
    run(call, comm, || {
        let window = make(call, comm, info, win, |comm, hints| {
            rma::allocate(comm, size as u64, disp_unit.bytes(), hints, call)
        })?;
        store_base(window.base(), baseptr);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Win_allocate_shared<U: Unit>(
    size: MPI_Aint,
    disp_unit: U,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> i32 {
    let call = called::<U>("MPI_Win_allocate_shared", "MPI_Win_allocate_shared_c");
    run(call, comm, || {
        let window = make(call, comm, info, win, |comm, hints| {
            rma::allocate_shared(comm, size as u64, disp_unit.bytes(), hints, call)
        })?;
        store_base(window.base(), baseptr);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Win_create_dynamic(
    info: MPI_Info,
    comm: MPI_Comm,
    win: *mut MPI_Win,
) -> i32 {
    let call = "MPI_Win_create_dynamic";
    run(call, comm, || {
        make(call, comm, info, win, |comm, hints| {
            rma::create_dynamic(comm, hints, call)
        })
        .map(drop)
    })
}

pub(crate) unsafe fn MPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) -> i32 {
    run_window("MPI_Win_attach", win, |window| {
        let bytes = usize::try_from(size)
            .map_err(|_| Error::argument(ErrorClass::ERR_SIZE, "size", size, "0 or more bytes"))?;
        check_base(base, size)?;
        // SAFETY: the program keeps the memory until it detaches it (crate head).
        unsafe { window.attach(base.cast(), bytes) }
    })
}

pub(crate) unsafe fn MPI_Win_detach(win: MPI_Win, base: *const c_void) -> i32 {
    run_window("MPI_Win_detach", win, |window| window.detach(base.cast()))
}

pub(crate) unsafe fn MPI_Win_shared_query<C: CountOut>(
    win: MPI_Win,
    rank: i32,
    size: *mut MPI_Aint,
    disp_unit: *mut C,
    baseptr: *mut c_void,
) -> i32 {
    let is_large = size_of::<C>() > size_of::<i32>();
    let call = if is_large {
        "MPI_Win_shared_query_c"
    } else {
        "MPI_Win_shared_query"
    };
    run_window(call, win, |window| {
        let (bytes, unit, base) = window.shared_query(rank)?;
        // SAFETY: the results are writable (crate head).
        unsafe {
            *size = bytes as MPI_Aint;
            *disp_unit = C::from_count(unit as i64);
        }
        store_base(base, baseptr);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Win_free(win: *mut MPI_Win) -> i32 {
    let call = "MPI_Win_free";
    // SAFETY: the handle is readable and writable (crate head).
    let handle = unsafe { &mut *win };
    run_window(call, *handle, |window| {
        window.check_may_free()?;
        window.attributes.clear(*handle as u64)?;
        window.free(call)?;
        WINS.remove(*handle, "win")?;
        *handle = abi::MPI_WIN_NULL;
        Ok(())
    })
}
