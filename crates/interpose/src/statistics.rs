// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often the program called each function, and what the layers did: one file for each rank with lines `NAME NUMBER`, written by
//! MPI_Finalize, and at the end of each session.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

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
        MPI_Session_finalize: session_finalize,
        ..next
    }
}

unsafe extern "C" fn finalize() -> i32 {
    let mut rank = 0;
    // SAFETY: MPI is initialised when it is finalised; if not, the code says so and the library reports the call below.
    unsafe {
        let code = (REAL.get().MPI_Comm_rank)(mpi::MPI_COMM_WORLD, &raw mut rank);
        if code == mpi::MPI_SUCCESS {
            write(rank);
        }
        (NEXT.get().MPI_Finalize)()
    }
}

unsafe extern "C" fn session_finalize(session: *mut MPI_Session) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        if !session.is_null()
            && *session != mpi::MPI_SESSION_NULL
            && let Some(rank) = rank_in(*session)
        {
            write(rank);
        }
        (NEXT.get().MPI_Session_finalize)(session)
    }
}

/// The rank of this process among all of its job, without MPI_COMM_WORLD.
unsafe fn rank_in(session: MPI_Session) -> Option<i32> {
    let (mut group, mut rank) = (mpi::MPI_GROUP_NULL, mpi::MPI_UNDEFINED);
    let (library, world) = (REAL.get(), c"mpi://WORLD".as_ptr());
    // SAFETY: the program's session, and places of this function.
    unsafe {
        let code = (library.MPI_Group_from_session_pset)(session, world, &raw mut group);
        if code != mpi::MPI_SUCCESS {
            return None;
        }
        let code = (library.MPI_Group_rank)(group, &raw mut rank);
        (library.MPI_Group_free)(&raw mut group);
        (code == mpi::MPI_SUCCESS).then_some(rank)
    }
}

/// Writes the file of a rank.
fn write(rank: i32) {
    let Some(file) = FILE.get() else {
        return;
    };
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
