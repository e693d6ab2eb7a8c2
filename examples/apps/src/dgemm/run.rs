// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program `ga-dgemm`.

use std::process::ExitCode;

use rankpoint::{AnyThread, Communicator, Threads};

use super::options::Options;
use super::{run_alone, run_threads};
use crate::halo::Mode;
use crate::program::{self, Program};
use crate::{Failure, Told};

struct Dgemm;

/// Runs the program, and gives its exit status: failure also when the product is wrong.
pub fn main() -> ExitCode {
    program::main(&Dgemm)
}

impl Program for Dgemm {
    type Options = Options;

    fn has_threads(&self, options: &Options) -> bool {
        options.mode != Mode::Processes
    }

    fn run_alone<T: Threads>(
        &self,
        world: &Communicator<'_, T>,
        options: &Options,
    ) -> Result<Told, Failure> {
        run_alone(world, options).map(|outcome| outcome.told(options.json))
    }

    fn run_threads(
        &self,
        world: &Communicator<'_, AnyThread>,
        options: &Options,
    ) -> Result<Told, Failure> {
        run_threads(world, options).map(|outcome| outcome.told(options.json))
    }
}
