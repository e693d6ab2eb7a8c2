// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs of all mini-apps have in common: the command line, the thread level, and what is told.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, Parser};
use rankpoint::{AnyThread, Communicator, ErrorMode, Threads, Universe};

use crate::Failure;

/// What a run is told by.
pub struct Told {
    /// What rank 0 prints.
    pub(crate) text: String,
    /// What this rank found wrong first.
    pub(crate) wrong: Option<String>,
    /// Whether all is as it should be, on all ranks.
    pub(crate) is_right: bool,
}

/// A mini-app.
pub(crate) trait Program {
    /// Its command line.
    type Options: Args;

    /// Whether a process has several threads that call MPI.
    fn has_threads(&self, options: &Self::Options) -> bool;

    /// Runs it with one thread. Called by all ranks of `world`.
    fn run_alone<T: Threads>(
        &self,
        world: &Communicator<'_, T>,
        options: &Self::Options,
    ) -> Result<Told, Failure>;

    /// Runs it with the threads that the options ask for. Called by all ranks of `world`, in one thread.
    fn run_threads(
        &self,
        world: &Communicator<'_, AnyThread>,
        options: &Self::Options,
    ) -> Result<Told, Failure>;
}

/// Small programs with threads that communicate as large ones do
#[derive(Parser)]
struct Line<O: Args> {
    #[command(flatten)]
    options: O,
}

/// Runs a program, and gives its exit status: failure also when a result is wrong.
pub(crate) fn main<P: Program>(program: &P) -> ExitCode {
    let options = match Line::<P::Options>::try_parse() {
        Ok(line) => line.options,
        Err(told) => return refuse(&told),
    };
    let done = if program.has_threads(&options) {
        Universe::init_threaded().map(|universe| {
            let world = universe.world();
            finish(&world, |world| program.run_threads(world, &options))
        })
    } else {
        Universe::init().map(|universe| {
            let world = universe.world();
            finish(&world, |world| program.run_alone(world, &options))
        })
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            tell(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Runs, and tells the outcome; whether it is as it should be.
fn finish<'u, T: Threads>(
    world: &Communicator<'u, T>,
    run: impl FnOnce(&Communicator<'u, T>) -> Result<Told, Failure>,
) -> bool {
    // A thread that stopped would leave the others waiting.
    world.set_error_mode(ErrorMode::Abort);
    let is_first = world.rank() == 0;
    match run(world) {
        Ok(told) => {
            if let Some(wrong) = &told.wrong {
                tell(wrong);
            }
            if is_first {
                // A closed standard output has nobody to tell.
                let _ = std::io::stdout().write_all(told.text.as_bytes());
            }
            told.is_right
        }
        Err(failure) => {
            // All ranks are refused alike.
            if is_first || matches!(failure, Failure::Call(_)) {
                tell(&failure.to_string());
            }
            false
        }
    }
}

/// Tells what is wrong with the command line, once for all ranks.
fn refuse(told: &clap::Error) -> ExitCode {
    let universe = Universe::init();
    if universe.is_ok_and(|universe| universe.world().rank() == 0) {
        // Nobody is left to tell when the output is closed.
        let _ = told.print();
    }
    ExitCode::from(u8::try_from(told.exit_code()).unwrap_or(1))
}

fn tell(text: &str) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(std::io::stderr(), "{text}");
}
