// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs `halo2d`, `halo3d` and `uintah`.

use std::process::ExitCode;

use rankpoint::{AnyThread, Communicator, Threads};

use super::app::App;
use super::mode::Mode;
use super::options::Options;
use super::{run_alone, run_threads};
use crate::program::{self, Program};
use crate::{Failure, Told};

/// Runs a program, and gives its exit status: failure also when a cell is wrong.
pub fn main(app: App) -> ExitCode {
    program::main(&app)
}

impl Program for App {
    type Options = Options;

    fn has_threads(&self, options: &Options) -> bool {
        options.mode(*self) != Mode::Processes
    }

    fn run_alone<T: Threads>(
        &self,
        world: &Communicator<'_, T>,
        options: &Options,
    ) -> Result<Told, Failure> {
        run_alone(world, options, *self).map(|outcome| outcome.told(options.json))
    }

    fn run_threads(
        &self,
        world: &Communicator<'_, AnyThread>,
        options: &Options,
    ) -> Result<Told, Failure> {
        run_threads(world, options, *self).map(|outcome| outcome.told(options.json))
    }
}
