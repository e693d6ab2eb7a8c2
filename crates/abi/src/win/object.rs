// SPDX-License-Identifier: MIT OR Apache-2.0
//! Group, name and hints of a window (MPI-5.0, sections 7.8, 12.2.7 and 12.2.8).

use core::ffi::{CStr, c_char};

use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Group, MPI_Info, MPI_Win};

use crate::error::run_window;
use crate::group;
use crate::handle::INFOS;
use crate::info;
use crate::kinds;
use crate::text::store_text;

pub(crate) unsafe fn MPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) -> i32 {
    run_window("MPI_Win_get_group", win, |window| {
        group::store(window.group().clone(), group)
    })
}

pub(crate) unsafe fn MPI_Win_set_name(win: MPI_Win, win_name: *const c_char) -> i32 {
    run_window("MPI_Win_set_name", win, |window| {
        // SAFETY: the text is NUL-terminated (crate head).
        let text = unsafe { CStr::from_ptr(win_name) }.to_string_lossy();
        window.set_name(&text);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Win_get_name(
    win: MPI_Win,
    win_name: *mut c_char,
    resultlen: *mut i32,
) -> i32 {
    let store = |text: &str| {
        // SAFETY: the buffer has the standard's size (crate head).
        unsafe { store_text(text, win_name, resultlen, abi::MPI_MAX_OBJECT_NAME as usize) };
    };
    if win == abi::MPI_WIN_NULL {
        store("MPI_WIN_NULL");
        return 0;
    }
    run_window("MPI_Win_get_name", win, |window| {
        store(&window.name());
        Ok(())
    })
}

pub(crate) fn MPI_Win_set_info(win: MPI_Win, info: MPI_Info) -> i32 {
    run_window("MPI_Win_set_info", win, |window| {
        let hints = INFOS.find(info, "info")?;
        window.hints.set(|key| hints.get(key));
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Win_get_info(win: MPI_Win, info_used: *mut MPI_Info) -> i32 {
    run_window("MPI_Win_get_info", win, |window| {
        let pairs = window.hints.pairs();
        let kinds = kinds::of_objects();
        let pairs = pairs.iter().map(|(key, value)| (*key, &**value));
        let pairs: Vec<_> = pairs.chain([(kinds::KEY, &*kinds)]).collect();
        // SAFETY: the result is writable (crate head).
        unsafe { *info_used = info::of_pairs(&pairs)? };
        Ok(())
    })
}
