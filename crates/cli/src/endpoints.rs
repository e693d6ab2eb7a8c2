// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint endpoints`: starts a program whose processes have endpoints, and the job of their proxies.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use endpoints::area::{self, MOST_PER_PROCESS};
use measure::settings;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::interpose;

/// Of the tree that this program is installed in.
const PROXY: &str = "lib/rankpoint/rankpoint-endpoint-proxy";
/// Between two polls of the jobs.
const LOOK: Duration = Duration::from_millis(20);
/// A job that is asked to end gets so long.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct EndpointsOptions {
    /// Processes of the program
    #[arg(short = 'n', long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=65536))]
    processes: u32,
    /// Endpoints that each process may have at most
    #[arg(short, long, value_name = "E", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PER_PROCESS)))]
    endpoints: u32,
    /// Further layers between the program and its library, as of `rankpoint interpose`: `datatypes`, `placement`
    #[arg(long, value_delimiter = ',', value_name = "LAYER,...")]
    layers: Vec<String>,
    /// The launcher of the program's MPI library and its flags without the number of processes, then the program
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// The launcher with its flags, and the program with its arguments.
struct Parts<'a> {
    launcher: &'a OsStr,
    flags: &'a [OsString],
    program: &'a [OsString],
}

/// Both jobs.
struct Jobs {
    file: File,
    program: Child,
    proxies: Child,
    number: u32,
    each: u32,
    /// The proxies that have initialised MPI.
    seen: Vec<Seen>,
}

/// A proxy that has initialised MPI.
struct Seen {
    number: u32,
    process: u32,
    /// Readable once the process has ended.
    handle: OwnedFd,
}

/// Runs both jobs; the status of the program's is this program's.
pub(crate) fn run(options: &EndpointsOptions) -> Result<ExitCode, String> {
    let parts = parts(&options.command)?;
    interpose::check_layers("endpoints", &options.layers)?;
    let (dispatcher, proxy) = (interpose::dispatcher()?, settings::installed(PROXY)?);
    let (processes, each) = (options.processes, options.endpoints);
    let number = processes * each;
    let failed = |error: io::Error| format!("memory of {number} endpoints: {error}");
    let file = sys::memory::memory_file(c"rankpoint endpoints", area::file_bytes(number));
    let file = File::from(file.map_err(failed)?);
    let head = area::first_bytes(processes, each);
    file.write_all_at(&head, 0).map_err(failed)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let mut proxies = command(&parts, number, &[proxy.into_os_string()]);
    proxies.env(area::VARIABLE, &path).stdin(Stdio::null());
    let mut program = command(&parts, processes, parts.program);
    let layers = ["endpoints"].into_iter();
    let layers: Vec<&str> = layers
        .chain(options.layers.iter().map(String::as_str))
        .collect();
    program
        .env(area::VARIABLE, &path)
        .env("RANKPOINT_INTERPOSE", layers.join(","))
        .env("LD_PRELOAD", interpose::preloaded([dispatcher]));
    let start = |command: &mut Command| {
        let started = command.spawn();
        started.map_err(|error| format!("{}: {error}", parts.launcher.display()))
    };
    let proxies = start(&mut proxies)?;
    let program = start(&mut program).inspect_err(|_| end(proxies.id()))?;
    let jobs = Jobs {
        file,
        program,
        proxies,
        number,
        each,
        seen: Vec::new(),
    };
    let status = jobs.watch().map_err(|error| error.to_string())?;
    // A shell's number for a signal.
    let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Finds the program: the first word behind the launcher that names a file that can be executed.
fn parts(words: &[OsString]) -> Result<Parts<'_>, String> {
    let (launcher, rest) = words.split_first().ok_or("no command")?;
    let at = rest.iter().position(|word| is_program(word));
    let at = at.ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        format!(
            "no word behind the launcher '{}' is a program: expected one as in `-- mpiexec ./program`, not '{}'",
            words[0],
            words.join(" ")
        )
    })?;
    let counts = ["-n", "-np", "-c", "--n", "--np"];
    if let Some(word) = rest[..at]
        .iter()
        .find(|word| counts.iter().any(|it| word == it))
    {
        let (word, launcher) = (word.display(), launcher.display());
        return Err(format!(
            "'{launcher} {word}': the number of processes goes in front, as in rankpoint endpoints -n 2 -e 4 -- {launcher} PROGRAM"
        ));
    }
    let (flags, program) = rest.split_at(at);
    Ok(Parts {
        launcher,
        flags,
        program,
    })
}

fn is_program(word: &OsStr) -> bool {
    let is_executable = |path: &Path| {
        path.metadata()
            .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    if word.to_string_lossy().contains('/') {
        return is_executable(Path::new(word));
    }
    let path = settings::variable("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_executable(&folder.join(word)))
}

fn command(parts: &Parts<'_>, number: u32, program: &[OsString]) -> Command {
    let mut command = Command::new(parts.launcher);
    command.arg("-n").arg(number.to_string());
    command.args(parts.flags).args(program);
    command
}

/// Asks a job to end.
fn end(id: u32) {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    // One that has ended already needs no signal.
    let _ = id.map(|id| kill_process(id, Signal::TERM));
}

/// Waits for a job that is to end, and kills it where it does not.
fn wait_for_end(job: &mut Child) -> io::Result<()> {
    let begin = Instant::now();
    while job.try_wait()?.is_none() {
        if begin.elapsed() > PATIENCE {
            job.kill()?;
            job.wait()?;
            break;
        }
        sleep(LOOK);
    }
    Ok(())
}

impl Jobs {
    /// Waits until the program's job has ended, or a proxy has.
    fn watch(mut self) -> io::Result<ExitStatus> {
        let status = loop {
            if let Some(status) = self.program.try_wait()? {
                break status;
            }
            // In this order: of a job that has ended, all proxies have.
            let proxies = self.proxies.try_wait()?;
            let mut dead = self.dead_proxies()?;
            if !dead.is_empty() {
                // The library's launcher may have ended the others before the kernel reports the first.
                sleep(LOOK);
                dead = self.dead_proxies()?;
            }
            let why = match proxies {
                _ if !dead.is_empty() => {
                    format!("without their proxies: {}; the job ends", dead.join(", "))
                }
                Some(status) if !status.success() => {
                    format!("the job of the proxies has ended: {status}")
                }
                _ => continue,
            };
            // A closed standard error gets no line.
            drop(writeln!(io::stderr(), "rankpoint endpoints: {why}"));
            end(self.program.id());
            end(self.proxies.id());
            wait_for_end(&mut self.program)?;
            wait_for_end(&mut self.proxies)?;
            return Ok(ExitStatus::from_raw(1 << 8));
        };
        self.file.write_all_at(&1u32.to_ne_bytes(), area::OVER)?;
        if !status.success() {
            end(self.proxies.id());
        }
        wait_for_end(&mut self.proxies)?;
        Ok(status)
    }

    /// The process of a proxy while it is in MPI; 0 before and after.
    fn process(&self, number: u32) -> io::Result<u32> {
        let mut process = [0; 4];
        let at = area::process_at(number);
        self.file.read_exact_at(&mut process, at)?;
        Ok(u32::from_ne_bytes(process))
    }

    /// Opens handles of the proxies that have initialised MPI since the last call; gives those that have ended already.
    fn see_new(&mut self) -> io::Result<Vec<(u32, u32)>> {
        let mut ended = Vec::new();
        for number in 0..self.number {
            let process = self.process(number)?;
            if process == 0 || self.seen.iter().any(|seen| seen.number == number) {
                continue;
            }
            let Some(id) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
                continue;
            };
            match pidfd_open(id, PidfdFlags::empty()) {
                Ok(handle) => self.seen.push(Seen {
                    number,
                    process,
                    handle,
                }),
                Err(Errno::SRCH) => ended.push((number, process)),
                // Of one without a handle, its launcher reports the end.
                Err(_) => {}
            }
        }
        Ok(ended)
    }

    /// Waits a little for the end of a proxy, and names those that have ended before their time.
    fn dead_proxies(&mut self) -> io::Result<Vec<String>> {
        let mut ended = self.see_new()?;
        let polls = self.seen.iter();
        let mut polls: Vec<PollFd<'_>> = polls
            .map(|seen| PollFd::new(&seen.handle, PollFlags::IN))
            .collect();
        let look = Timespec::try_from(LOOK).map_err(io::Error::other)?;
        match poll(&mut polls, Some(&look)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let readable = polls.iter().zip(&self.seen);
        let readable = readable.filter(|(poll, _)| !poll.revents().is_empty());
        ended.extend(readable.map(|(_, seen)| (seen.number, seen.process)));
        let mut dead = Vec::new();
        for &(number, process) in &ended {
            // One that ends in time has reset it.
            if self.process(number)? == process {
                let (rank, endpoint) = (number / self.each, number % self.each);
                dead.push(format!(
                    "endpoint {endpoint} of rank {rank} (process {process})"
                ));
            }
        }
        if dead.is_empty() && !ended.is_empty() {
            // Nothing more is to be waited for: their handles stay readable.
            sleep(LOOK);
        }
        Ok(dead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_program_is_the_first_word_that_can_be_executed() {
        let line = words("mpiexec -genv A=1 --bind-to hwthread /bin/sh -c true");
        let parts = parts(&line).unwrap();
        assert_eq!(parts.flags, &words("-genv A=1 --bind-to hwthread")[..]);
        assert_eq!(parts.program, &words("/bin/sh -c true")[..]);
        assert_eq!(
            super::parts(&words("mpiexec env A=1 sh"))
                .unwrap()
                .flags
                .len(),
            0
        );
    }

    #[test]
    fn numbers_of_processes_and_missing_programs_are_named() {
        let why = parts(&words("mpiexec -n 4 /bin/sh")).err().unwrap();
        assert!(why.contains("'mpiexec -n'"), "{why}");
        let why = parts(&words("mpiexec /no/program")).err().unwrap();
        assert!(why.contains("/no/program"), "{why}");
    }
}
