// SPDX-License-Identifier: MIT OR Apache-2.0
//! The proxy of an endpoint: a single-threaded rank that executes the commands of a thread of the program.
//!
//! `rankpoint endpoints` starts it. It waits until a process of the program names the MPI library, opens that library and executes
//! commands until the program's process has finished.
#![expect(unsafe_code, reason = "calls a C library, and reads shared memory")]

mod collectives;
mod commands;
mod communicators;
mod library;
mod messages;
mod serve;
mod settings;
mod under_way;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use endpoints::area::Job;

use crate::library::Mpi;

/// Between two polls whether the job goes on.
const LOOK: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // A closed standard error gets no line.
            drop(writeln!(
                std::io::stderr(),
                "rankpoint-endpoint-proxy: {why}"
            ));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let path = settings::memory_file()?;
    let job = Job::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let library = loop {
        if let Some(library) = job.library(LOOK) {
            break library;
        }
        if !job.goes_on() {
            return Ok(());
        }
    };
    let mpi = Mpi::start(&library)?;
    let areas = job.processes() * job.each();
    if mpi.size != areas {
        return Err(format!(
            "{} proxies were started, not {areas}: the launcher does not take -n",
            mpi.size
        ));
    }
    let mapped = job.map(mpi.rank);
    let mapped = mapped.map_err(|error| format!("endpoint {}: {error}", mpi.rank))?;
    mapped.area().set_process(std::process::id());
    let is_finished = serve::serve(&job, &mpi, mapped);
    mapped.area().set_process(0);
    if is_finished {
        return mpi.end();
    }
    // The program's job has ended without MPI_Finalize; the launcher ends this one.
    Ok(())
}
