// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs `halo2d` and `halo3d`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use rankpoint::{Communicator, ErrorMode, Threads, Universe};

use super::app::App;
use super::mode::Mode;
use super::options::Options;
use super::outcome::{Failure, Outcome};
use super::{run_alone, run_threads};

/// Exchanges halos between threads of several processes, and tells what that took.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

/// Runs a program, and gives its exit status: failure also when a cell is wrong.
pub fn main(app: App) -> ExitCode {
    let line = match Line::try_parse() {
        Ok(line) => line,
        Err(told) => return refuse(&told),
    };
    let options = &line.options;
    let done = if options.mode == Mode::Processes {
        Universe::init().map(|universe| {
            let world = universe.world();
            finish(&world, options, |world| run_alone(world, options, app))
        })
    } else {
        Universe::init_threaded().map(|universe| {
            let world = universe.world();
            finish(&world, options, |world| run_threads(world, options, app))
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
    options: &Options,
    run: impl FnOnce(&Communicator<'u, T>) -> Result<Outcome, Failure>,
) -> bool {
    // A thread that stopped would leave the others waiting.
    world.set_error_mode(ErrorMode::Abort);
    let is_first = world.rank() == 0;
    match run(world) {
        Ok(outcome) => {
            if let Some(wrong) = &outcome.total.first_wrong {
                tell(wrong);
            }
            let text = if options.json {
                outcome.json()
            } else {
                outcome.text()
            };
            if is_first {
                // A closed standard output has nobody to tell.
                let _ = std::io::stdout().write_all(text.as_bytes());
            }
            outcome.total.wrong == 0
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
