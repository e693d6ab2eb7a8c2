// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `rankpoint` command: measures MPI libraries, tells how this one is set up, and starts jobs.
//!
//! * [`mod@account`]: `rankpoint account`, where each instruction of an MPI call goes;
//! * [`mod@bench`]: `rankpoint bench`, which measures any library with the standard ABI;
//! * [`mod@stencil`]: `rankpoint stencil`, what a stencil computation would exchange;
//! * [`mod@commplan`]: `rankpoint commplan`, which communicator each thread of a stencil program uses;
//! * [`explain`]: `rankpoint explain`, what the library makes of a datatype, a collective, the places of ranks, or a program's threads;
//! * [`resources`]: `rankpoint resources`, what sharing network resources between threads costs;
//! * [`info`]: `rankpoint info`, the library's version, settings and missing functions;
//! * [`mod@endpoints`]: `rankpoint endpoints`, which starts a program whose threads are ranks, with any MPI library of the standard ABI;
//! * [`fortran`]: `rankpoint fortran`, the modules of Fortran compilers;
//! * [`mod@interpose`]: `rankpoint interpose`, which puts layers and profiling tools between programs and any MPI library of the standard ABI;
//! * [`model`]: `rankpoint model`, analytical models of injection overhead and latency;
//! * [`mod@scope`]: `rankpoint scope`, which measures what communication costs on this node, and writes its profile;
//! * [`tune`]: `rankpoint tune`, which measures the algorithms of collectives and writes a table of rules;
//! * `rankpoint run`: the same as `mpiexec`.
//!
//! The command never links an MPI library: it opens the one that the dynamic linker finds, at run time.

#![deny(unsafe_code)]

mod account;
mod bench;
mod commplan;
mod endpoints;
mod explain;
mod fortran;
mod info;
mod interpose;
mod model;
mod network;
mod profile;
mod profile_readers;
mod resources;
mod scope;
mod stencil;
mod tune;
mod vci_plan;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "rankpoint",
    version,
    about = "Measures, explains and starts MPI programs"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Tell where each instruction of an MPI call goes: counts by category, beside published ones
    Account(account::AccountOptions),
    /// Measure an MPI library: latency, bandwidth, message rate, matching, start-up, memory
    Bench(Box<bench::BenchOptions>),
    /// Plan which communicator each thread of a stencil program uses: counts, bounds, maps, checks
    Commplan(commplan::CommplanOptions),
    /// Count what threads take of a network interface, and what sharing it costs
    Resources {
        #[command(subcommand)]
        question: resources::Question,
    },
    /// Tell the library's version, settings and missing functions
    Info(info::InfoOptions),
    /// Explain what the library makes of what a program asks for
    Explain {
        #[command(subcommand)]
        subject: explain::Subject,
    },
    /// Run a program whose threads are ranks, with any MPI library of the standard ABI
    Endpoints(endpoints::EndpointsOptions),
    /// Find, build and check the modules for a Fortran compiler
    Fortran {
        #[command(subcommand)]
        question: fortran::Question,
    },
    /// Run a command with layers or profiling tools between its programs and their MPI library, which may be any of the standard ABI
    Interpose(interpose::InterposeOptions),
    /// Model injection overhead and latency: what would a faster component gain
    Model(model::ModelOptions),
    /// Measure what communication costs on this node, and write its profile
    Scope(Box<scope::ScopeOptions>),
    /// Plan a stencil computation: boxes, placement, messages
    Stencil {
        #[command(subcommand)]
        question: stencil::Question,
    },
    /// Measure every algorithm of every collective here, and write the table of rules that suits this node
    Tune(tune::TuneOptions),
    /// Start an MPI program; the same as mpiexec
    #[command(disable_help_flag = true)]
    Run {
        /// What mpiexec takes; try `rankpoint run --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    if first
        .as_ref()
        .is_some_and(|word| word == measure::target::RANK_COMMAND)
    {
        return finish(bench_rank::run_rank(arguments));
    }
    if first
        .as_ref()
        .is_some_and(|word| word == scope::PEER_COMMAND)
    {
        return finish(::scope::run_peer(std::env::args().skip(2)));
    }
    if first.is_some_and(|word| word == scope::WATCHER_COMMAND) {
        return finish(::scope::run_watcher(std::env::args().skip(2)));
    }
    let line = match CommandLine::try_parse_from(spelled_out(std::env::args_os())) {
        Ok(line) => line,
        Err(told) => return say(&told),
    };
    match line.command {
        Command::Account(options) => finish(account::run(&options)),
        Command::Bench(options) => finish(bench::run(&options)),
        Command::Commplan(options) => finish(commplan::run(&options)),
        Command::Resources { question } => finish(resources::run(&question)),
        Command::Info(options) => finish(info::run(&options)),
        Command::Explain { subject } => finish(explain::run(&subject)),
        Command::Endpoints(options) => {
            endpoints::run(&options).unwrap_or_else(|why| finish(Err(why)))
        }
        Command::Fortran { question } => finish(fortran::run(&question)),
        Command::Interpose(options) => {
            interpose::run(&options).unwrap_or_else(|why| finish(Err(why)))
        }
        Command::Model(options) => finish(model::run(&options)),
        Command::Scope(options) => finish(scope::run(&options)),
        Command::Stencil { question } => finish(stencil::run(&question)),
        Command::Tune(options) => finish(tune::run(&options)),
        Command::Run { arguments } => launch::run_command_line(arguments),
    }
}

/// The command line with `bench rma` as the group of measurements that it stands for.
fn spelled_out(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|word| word == "bench")
        && words.get(2).is_some_and(|word| word == "rma")
    {
        words[2] = "--only=rma".into();
    }
    words
}

/// Prints an error of the command line, or a text that was asked for.
fn say(told: &clap::Error) -> ExitCode {
    match told.print() {
        // A reader that has read enough is no error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            finish(Err(format!("cannot write: {error}")))
        }
        _ => ExitCode::from(u8::try_from(told.exit_code()).unwrap_or(1)),
    }
}

fn finish(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            // Nobody is left to tell when standard error is closed.
            drop(writeln!(std::io::stderr(), "rankpoint: {text}"));
            ExitCode::FAILURE
        }
    }
}
