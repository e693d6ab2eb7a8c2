// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unmodified profiling tools, one after the other.
//!
//! A tool defines some `MPI_X` and calls `PMPI_X` there. A thread has a *level*: the number of the tool that runs, 0 in the program. What
//! a tool at level i calls, by either name, enters the next tool that defines it, and last the MPI library, at level 0 again: functions
//! of the program that the library calls back are the program. So tools stack without knowing of each other, where otherwise the first
//! `PMPI_X` would end the chain. The program's own calls of `PMPI_X` enter the library.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::find::Library;
use crate::output::say;
use crate::table::{COUNT, Next, REAL, number_of};

/// What a call of the program enters: statistics, then the tools.
pub(crate) static ENTERED: Next = Next::new();
/// What a call of the program by a profiling name enters.
pub(crate) static PROFILED: Next = Next::new();

/// For each level, where a call of each function goes, and the level there.
static TARGETS: OnceLock<Vec<[(usize, u32); COUNT]>> = OnceLock::new();

thread_local! {
    static LEVEL: Cell<u32> = const { Cell::new(0) };
}

/// Restores the level of a thread when a call returns.
pub(crate) struct Step(u32);

impl Drop for Step {
    fn drop(&mut self) {
        LEVEL.set(self.0);
    }
}

/// Whether the program calls, not a tool.
pub(crate) fn in_program() -> bool {
    LEVEL.get() == 0
}

/// Where the calling thread's call of a function goes. The thread is at the level of that until the step is dropped.
pub(crate) fn next(number: usize) -> (*const (), Step) {
    let level = LEVEL.get();
    // Filled before anything leads here.
    let targets = TARGETS.get().map_or(&[][..], Vec::as_slice);
    let (address, next) = targets[level as usize][number];
    LEVEL.set(next);
    (std::ptr::with_exposed_provenance(address), Step(level))
}

/// Opens tools; whether there are any.
///
/// # Errors
/// The tool that cannot be opened, and why.
pub(crate) fn open(paths: &[PathBuf]) -> Result<bool, String> {
    let mut tools = Vec::new();
    for path in paths {
        let tool = Library::tool(path).map_err(|why| format!("RANKPOINT_TOOLS: {why}"))?;
        let functions = tool.own_functions();
        notice(path, &functions);
        tools.push(functions);
    }
    let real = REAL.get().addresses();
    let target = |level: usize, number: usize| {
        let further = tools.iter().enumerate().skip(level);
        let mut defining = further.filter_map(|(tool, functions)| Some((tool, functions[number]?)));
        let (address, level) = defining
            .next()
            .map_or((real[number], 0), |(tool, address)| (address, tool + 1));
        (address.expose_provenance(), level as u32)
    };
    let targets =
        (0..=tools.len()).map(|level| std::array::from_fn(|number| target(level, number)));
    let targets = targets.collect();
    // Only the first call of all comes here.
    drop(TARGETS.set(targets));
    Ok(!tools.is_empty())
}

/// Names what a tool will probably miss.
fn notice(path: &std::path::Path, functions: &[Option<*const ()>; COUNT]) {
    let has =
        |name: &std::ffi::CStr| number_of(name).is_some_and(|number| functions[number].is_some());
    let path = path.display();
    if functions.iter().all(Option::is_none) {
        say(&format!("{path} defines no MPI function"));
    }
    for (one, other) in [
        (c"MPI_Init", c"MPI_Init_thread"),
        (c"MPI_Init_thread", c"MPI_Init"),
        (c"MPI_Isend", c"MPI_Wait"),
        (c"MPI_Irecv", c"MPI_Wait"),
    ] {
        if has(one) && !has(other) {
            let (one, other) = (one.to_string_lossy(), other.to_string_lossy());
            say(&format!(
                "{path} defines {one} and not {other}: it misses calls of that"
            ));
        }
    }
}
