// SPDX-License-Identifier: MIT OR Apache-2.0
//! Versions, clock, processor name and addresses (MPI-5.0, sections 5.1.5, 9.1, 9.6 and 20.2).

use core::ffi::{c_char, c_void};
use std::sync::OnceLock;
use std::time::Instant;

use engine::p2p::CHECKED;
use engine::progress::THREADS;
use mpi_abi_sys::constants::{MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_PROCESSOR_NAME};
use mpi_abi_sys::types::{MPI_Aint, MPI_Info};

use crate::error::{run, run_any_time};
use crate::info::of_pairs;
use crate::text::store_text;

fn since_start() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

pub(crate) fn MPI_Wtime() -> f64 {
    since_start()
}

pub(crate) fn MPI_Wtick() -> f64 {
    1e-9
}

pub(crate) unsafe fn MPI_Get_version(version: *mut i32, subversion: *mut i32) -> i32 {
    // SAFETY: the results are writable (crate head).
    unsafe { (*version, *subversion) = (5, 0) };
    0
}

pub(crate) unsafe fn MPI_Abi_get_version(abi_major: *mut i32, abi_minor: *mut i32) -> i32 {
    // SAFETY: the results are writable (crate head).
    unsafe { (*abi_major, *abi_minor) = (1, 0) };
    0
}

pub(crate) unsafe fn MPI_Abi_get_info(info: *mut MPI_Info) -> i32 {
    run_any_time("MPI_Abi_get_info", || {
        let handle = of_pairs(&[
            ("mpi_aint_size", "8"),
            ("mpi_count_size", "8"),
            ("mpi_offset_size", "8"),
        ])?;
        // SAFETY: the result is writable (crate head).
        unsafe { *info = handle };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Get_library_version(version: *mut c_char, resultlen: *mut i32) -> i32 {
    macro_rules! version {
        ($build:literal) => {
            concat!(
                "Rankpoint ",
                env!("CARGO_PKG_VERSION"),
                ", MPI 5.0 standard ABI",
                $build
            )
        };
    }
    let text = match (CHECKED, THREADS) {
        (true, true) => version!(""),
        (false, true) => version!(", arguments unchecked"),
        (true, false) => version!(", no threads"),
        (false, false) => version!(", arguments unchecked, no threads"),
    };
    // SAFETY: the buffer has the standard's size (crate head).
    unsafe {
        store_text(
            text,
            version,
            resultlen,
            MPI_MAX_LIBRARY_VERSION_STRING as usize,
        )
    };
    0
}

pub(crate) unsafe fn MPI_Get_processor_name(name: *mut c_char, resultlen: *mut i32) -> i32 {
    run("MPI_Get_processor_name", 0, || {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
            .unwrap_or_else(|_| "localhost".to_owned());
        // SAFETY: the buffer has the standard's size (crate head).
        unsafe {
            store_text(
                host.trim(),
                name,
                resultlen,
                MPI_MAX_PROCESSOR_NAME as usize,
            )
        };
        Ok(())
    })
}

pub(crate) fn MPI_Pcontrol(level: i32) -> i32 {
    let _ = level;
    0
}

pub(crate) unsafe fn MPI_Get_address(location: *const c_void, address: *mut MPI_Aint) -> i32 {
    // SAFETY: the result is writable (crate head).
    unsafe { *address = location as MPI_Aint };
    0
}

pub(crate) unsafe fn MPI_Address(location: *const c_void, address: *mut MPI_Aint) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Get_address(location, address) }
}

pub(crate) fn MPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
    base.wrapping_add(disp)
}

pub(crate) fn MPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
    addr1.wrapping_sub(addr2)
}
