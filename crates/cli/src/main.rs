// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `rankpoint` command: what the library is, and how fast it and others are.
//!
//! It talks to an MPI library through the standard ABI only, so the same binary measures any `libmpi_abi.so.1`: the one beside
//! it in its installation, or the one that `LD_LIBRARY_PATH` or `--library` names.

mod bench;
mod info;
mod mpi;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "rankpoint",
    version,
    about = "Tools of the Rankpoint MPI library"
)]
struct Arguments {
    /// MPI library to use instead of the one beside this program
    #[arg(long, global = true)]
    library: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what the library is: version, settings, functions that are not written yet
    Info(info::Options),
    /// Measure point-to-point communication (start it with mpiexec -n 2)
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let library = arguments.library.unwrap_or_else(mpi::default_library);
    let outcome = match arguments.command {
        Command::Info(options) => info::run(&options, &library),
        Command::Bench(options) => bench::run(&options, &library),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            // A closed standard error has nobody to tell.
            let _ = writeln!(std::io::stderr(), "rankpoint: {text}");
            ExitCode::FAILURE
        }
    }
}
