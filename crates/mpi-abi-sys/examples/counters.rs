// SPDX-License-Identifier: MIT OR Apache-2.0
//! A layer between a program and an MPI library: counts the calls of every function, and `MPI_Finalize` prints the counts.
//!
//! ```sh
//! cargo build --release -p rankpoint-mpi-abi-sys --features generate --example counters
//! mpiexec -n 2 -env LD_PRELOAD $PWD/target/release/examples/libcounters.so program
//! ```
//!
//! The build script of this package generates the entry points (`counters`), which call the library by its `PMPI_` names.
#![expect(
    unsafe_code,
    reason = "the entry points are C functions that call C functions"
)]

use std::io::Write as _;
#[expect(
    clippy::disallowed_types,
    reason = "an example without the workspace's own module of atomics"
)]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

#[expect(clippy::disallowed_types, reason = "as above")]
static CALLS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

pub(crate) fn count(number: usize) {
    CALLS[number].fetch_add(1, Relaxed);
}

/// Prints the functions that were called.
pub(crate) fn report() {
    let counted = NAMES.iter().zip(&CALLS);
    let counted = counted.map(|(name, calls)| (name, calls.load(Relaxed)));
    let lines = counted.filter(|(_, calls)| *calls > 0);
    let text: String = lines
        .map(|(name, calls)| format!("counters: {name} {calls}\n"))
        .collect();
    // A closed standard output gets no report.
    drop(std::io::stdout().write_all(text.as_bytes()));
}

use mpi_abi_sys::types::*;

include!(concat!(env!("OUT_DIR"), "/counters.rs"));
