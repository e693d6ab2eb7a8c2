// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes of windows (MPI-5.0, sections 7.7.3 and 12.2.6).

use core::ffi::c_void;

use engine::rma::{Flavor, Window};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{Callback, MPI_Win};

use crate::attr::{self, Kind};
use crate::error::run_window;

pub(crate) unsafe fn MPI_Win_create_keyval(
    copy_fn: Callback,
    delete_fn: Callback,
    win_keyval: *mut i32,
    extra_state: *mut c_void,
) -> i32 {
    let (call, functions) = ("MPI_Win_create_keyval", (copy_fn, delete_fn));
    // SAFETY: passed on.
    unsafe { attr::create(call, Kind::Win, functions, win_keyval, extra_state) }
}

pub(crate) unsafe fn MPI_Win_free_keyval(win_keyval: *mut i32) -> i32 {
    // SAFETY: passed on.
    unsafe { attr::free("MPI_Win_free_keyval", Kind::Win, win_keyval) }
}

pub(crate) fn MPI_Win_set_attr(win: MPI_Win, win_keyval: i32, attribute_val: *mut c_void) -> i32 {
    run_window("MPI_Win_set_attr", win, |window| {
        let keyval = attr::find(Kind::Win, win_keyval)?;
        let value = attribute_val as usize;
        window.attributes.set(win as u64, &keyval, value)
    })
}

/// A predefined attribute: the base itself, of all others the address.
fn predefined(window: &Window, keyval: i32) -> Option<usize> {
    let values = &window.values;
    let address = match keyval {
        abi::MPI_WIN_BASE if window.flavor() == Flavor::Dynamic => abi::MPI_BOTTOM,
        abi::MPI_WIN_BASE => window.base() as usize,
        abi::MPI_WIN_SIZE => (&raw const values.bytes) as usize,
        abi::MPI_WIN_DISP_UNIT => (&raw const values.unit) as usize,
        abi::MPI_WIN_CREATE_FLAVOR => (&raw const values.flavor) as usize,
        abi::MPI_WIN_MODEL => (&raw const values.model) as usize,
        _ => return None,
    };
    Some(address)
}

pub(crate) unsafe fn MPI_Win_get_attr(
    win: MPI_Win,
    win_keyval: i32,
    attribute_val: *mut c_void,
    flag: *mut i32,
) -> i32 {
    run_window("MPI_Win_get_attr", win, |window| {
        let found = match predefined(window, win_keyval) {
            Some(value) => Some(value),
            None => window.attributes.get(win_keyval),
        };
        if found.is_none() {
            attr::find(Kind::Win, win_keyval)?;
        }
        // SAFETY: passed on.
        unsafe { attr::store(found, attribute_val, flag) };
        Ok(())
    })
}

pub(crate) fn MPI_Win_delete_attr(win: MPI_Win, win_keyval: i32) -> i32 {
    run_window("MPI_Win_delete_attr", win, |window| {
        attr::delete(Kind::Win, &window.attributes, win as u64, win_keyval)
    })
}
