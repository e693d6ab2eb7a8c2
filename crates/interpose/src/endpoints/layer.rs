// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the layer over the next ones, and the end of the proxies.

use super::{
    collectives, comm, create, endpoint, many, matched, messages, ops, persistent, reductions,
    refuse, requests, varying,
};
use crate::settings::Settings;
use crate::table::{Functions, Next};

/// What the layer calls.
pub(super) static NEXT: Next = Next::new();

/// The layer over these functions.
pub(crate) fn over(settings: &Settings, next: Functions) -> Functions {
    // SAFETY: no slot leads to a reader yet.
    unsafe { NEXT.fill(next) };
    create::set(settings.proxies.clone(), settings.are_proxies_forced);
    let functions = Functions {
        MPI_Finalize: finalize,
        ..refuse::over(next)
    };
    let functions = many::over(requests::over(messages::over(functions)));
    let functions = persistent::over(matched::over(functions));
    let functions = varying::over(reductions::over(ops::over(functions)));
    collectives::over(comm::over(functions))
}

unsafe extern "C" fn finalize() -> i32 {
    // Proxies of a process that has made no endpoints wait for its end, too: MPI_Finalize of theirs is collective.
    create::connect_to_finish();
    for endpoint in endpoint::all() {
        endpoint.finish();
    }
    // SAFETY: the program's call.
    unsafe { (NEXT.get().MPI_Finalize)() }
}
