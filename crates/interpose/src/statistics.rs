// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often the program called each function, and what the layers did: one file for each rank, written by MPI_Finalize, with lines `NAME NUMBER`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use crate::output::say;
use crate::settings::Settings;
use crate::sync::AtomicU64;
use crate::table::{COUNT, Functions, NAMES, Next, REAL};
use crate::{datatypes, placement};

/// How often the program called each `MPI_X`; counted with statistics or tools.
pub(crate) static CALLS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
static NEXT: Next = Next::new();
/// Where the counts go, without the rank.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Functions that write statistics, if they are asked for.
pub(crate) fn over(settings: &Settings, next: Functions) -> Functions {
    let Some(file) = settings.statistics.clone() else {
        return next;
    };
    // Only the first call of all comes here.
    drop(FILE.set(file));
    // SAFETY: no slot leads to a reader yet.
    unsafe { NEXT.fill(next) };
    Functions {
        MPI_Finalize: finalize,
        ..next
    }
}

unsafe extern "C" fn finalize() -> i32 {
    let mut rank = 0;
    // SAFETY: MPI is initialised when it is finalised; if not, the code says so and the library reports the call below.
    let known = unsafe {
        (REAL.get().MPI_Comm_rank)(mpi_abi_sys::constants::MPI_COMM_WORLD as _, &raw mut rank)
    };
    if let (0, Some(file)) = (known, FILE.get()) {
        let mut text = String::new();
        for (name, calls) in NAMES.iter().zip(&CALLS) {
            let calls = calls.load(Relaxed);
            if calls > 0 {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{} {calls}", name.to_string_lossy());
            }
        }
        let layers = [datatypes::counts(), placement::counts()];
        for (name, number) in layers.into_iter().flatten() {
            if number > 0 {
                let _ = writeln!(text, "{name} {number}");
            }
        }
        let mut path = file.clone().into_os_string();
        path.push(format!(".{rank}"));
        if let Err(error) = std::fs::write(&path, text) {
            say(&format!("statistics: {}: {error}", path.display()));
        }
    }
    // SAFETY: the program's call.
    unsafe { (NEXT.get().MPI_Finalize)() }
}
