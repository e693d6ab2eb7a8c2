// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes processes of a plan: the node segment, the guard, then one process per rank.

use std::fs::File;
use std::io::{self, IsTerminal, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fabric::board::{JOB_VARIABLE, SPARE_VARIABLE};
use fabric::observe::NodeFile;
use fabric::segment::{self, SegmentPlan};
use fabric::spawn::{self, Guard, RankStart};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit};

use crate::LaunchError;
use crate::binding::Places;
use crate::input::InputPump;
use crate::outcome::Exit;
use crate::outputs::Streams;
use crate::plan::{Environment, Inherit, Input, JobPlan, Output, Program};
use crate::{program, settings, topology};

/// A job whose ranks all run.
pub(crate) struct Started {
    pub(crate) node: NodeFile,
    pub(crate) ranks: Vec<RankProcess>,
    pub(crate) input: Option<InputPump>,
    /// Last, for dropping it kills the group.
    pub(crate) guard: Guard,
}

/// One rank's process.
pub(crate) struct RankProcess {
    pub(crate) pid: u32,
    /// Readable when the process has ended.
    pub(crate) life: OwnedFd,
    pub(crate) child: Child,
    pub(crate) exit: Option<Exit>,
}

/// Starts all ranks.
///
/// # Errors
/// When a program cannot be started, or the system refuses what a job needs. No process is left behind.
pub(crate) fn start(
    plan: &JobPlan,
    places: &Places,
) -> Result<(Started, Vec<Streams>), LaunchError> {
    let size = program::total_ranks(&plan.programs)?;
    let mut files = Vec::new();
    let mut first = 0;
    for program in &plan.programs {
        files.push(program::locate(program, first)?);
        first += program.ranks;
    }
    let open_files = raise_open_files(size, plan.output);
    let segment_plan = SegmentPlan {
        local_ranks: size,
        job_ranks: size,
        cores: places.cores,
        launcher_pid: std::process::id(),
    };
    let node = segment::create(&segment_plan)
        .and_then(NodeFile::new)
        .map_err(|error| LaunchError::system("create the node segment", &error))?;
    let guard =
        Guard::start().map_err(|error| LaunchError::system("start the job's guard", &error))?;
    let mut starter = Starter {
        plan,
        places,
        size,
        open_files,
        job: Started {
            node,
            ranks: Vec::new(),
            input: None,
            guard,
        },
        pump: InputPump::new(plan.input, size, std::io::stdin().is_terminal()),
        streams: Vec::new(),
    };
    for (program, file) in plan.programs.iter().zip(&files) {
        for _ in 0..program.ranks {
            if let Err(error) = starter.start_rank(program, file) {
                starter.job.abandon();
                return Err(error);
            }
        }
    }
    starter.job.input = starter.pump.into_used();
    Ok((starter.job, starter.streams))
}

impl Started {
    /// Ends and reaps what was started of a job that cannot be started whole.
    fn abandon(mut self) {
        drop(self.guard);
        for rank in &mut self.ranks {
            // Killed with the guard's group; nothing is known about it that anybody wants.
            let _ = rank.child.wait();
        }
    }
}

struct Starter<'a> {
    plan: &'a JobPlan,
    places: &'a Places,
    size: u32,
    open_files: Option<(u64, u64)>,
    job: Started,
    pump: InputPump,
    streams: Vec<Streams>,
}

impl Starter<'_> {
    fn start_rank(&mut self, program: &Program, file: &Path) -> Result<(), LaunchError> {
        let rank = u32::try_from(self.job.ranks.len()).unwrap_or(u32::MAX);
        let system = |error: io::Error| LaunchError::system(&format!("start rank {rank}"), &error);
        let mut command = Command::new(file);
        command.arg0(&program.program).args(&program.arguments);
        if let Some(directory) = &program.directory {
            command.current_dir(directory);
        }
        set_environment(&mut command, &program.environment);
        command
            .env(
                JOB_VARIABLE,
                format!("1:{}:{rank}:{}", self.job.node.descriptor(), self.size),
            )
            .env(settings::RANK_VARIABLE, rank.to_string())
            .env(settings::SIZE_VARIABLE, self.size.to_string())
            .env(settings::LOCAL_RANK_VARIABLE, rank.to_string())
            .env(settings::LOCAL_SIZE_VARIABLE, self.size.to_string());
        let spare = self.places.spare(&topology::usable_processors());
        if spare.is_empty() {
            command.env_remove(SPARE_VARIABLE);
        } else {
            let numbers: Vec<_> = spare.iter().map(ToString::to_string).collect();
            command.env(SPARE_VARIABLE, numbers.join(","));
        }
        command.stdin(self.pump.reader_for(rank).map_err(system)?);
        let streams = self.make_streams(&mut command).map_err(system)?;
        let start = RankStart {
            segment: self.job.node.descriptor(),
            group: self.job.guard.group(),
            processors: self.places.mask(rank),
            open_files: self.open_files,
        };
        spawn::prepare(&mut command, start);
        let mut child = command.spawn().map_err(|error| {
            let error = program::explain(&program.program, &error);
            LaunchError {
                text: format!("rank {rank}: {}", error.text),
                ..error
            }
        })?;
        let pid = child.id();
        let life = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(rustix::io::Errno::SRCH);
        match life.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty())) {
            Ok(life) => {
                self.streams.push(streams);
                self.job.ranks.push(RankProcess {
                    pid,
                    life,
                    child,
                    exit: None,
                });
            }
            Err(error) => {
                // It is not in the list that `abandon` walks, so it ends here.
                let _ = child.kill();
                let _ = child.wait();
                return Err(system(error.into()));
            }
        }
        Ok(())
    }

    fn make_streams(&self, command: &mut Command) -> io::Result<Streams> {
        match self.plan.output {
            Output::Inherit => Ok([None, None]),
            Output::Label => {
                let (out, out_writer) = reader_that_never_waits()?;
                let (error, error_writer) = reader_that_never_waits()?;
                command.stdout(out_writer).stderr(error_writer);
                Ok([Some(out), Some(error)])
            }
            Output::Capture => {
                let (both, writer) = reader_that_never_waits()?;
                command.stdout(writer.try_clone()?).stderr(writer);
                Ok([Some(both), None])
            }
        }
    }
}

fn reader_that_never_waits() -> io::Result<(PipeReader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    set_nonblocking(&reader)?;
    Ok((reader, writer))
}

/// Makes one end of a pipe of ours return instead of waiting. The other end is not touched.
pub(crate) fn set_nonblocking(end: &impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(end)?;
    Ok(rustix::fs::fcntl_setfl(
        end,
        flags | rustix::fs::OFlags::NONBLOCK,
    )?)
}

fn set_environment(command: &mut Command, environment: &Environment) {
    if let Inherit::Only(names) = &environment.inherit {
        command.env_clear();
        let path = std::iter::once(std::ffi::OsStr::new("PATH"));
        for name in path.chain(names.iter().map(AsRef::as_ref)) {
            if let Some(value) = settings::read(name) {
                command.env(name, value);
            }
        }
    }
    command.envs(environment.set.iter().map(|(name, value)| (name, value)));
}

/// Lets this process open as many files as the job needs; returns the ranks' limit where it was changed.
fn raise_open_files(ranks: u32, output: Output) -> Option<(u64, u64)> {
    let each = if output == Output::Inherit { 1 } else { 3 };
    let needed = u64::from(ranks) * each + 128;
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let soft = limit.current.filter(|&soft| soft < needed)?;
    let raised = Rlimit {
        current: Some(limit.maximum.unwrap_or(needed).min(needed)),
        ..limit
    };
    // A job that needs more than allowed fails where it opens too many, with the system's words.
    rustix::process::setrlimit(Resource::Nofile, raised).ok()?;
    Some((soft, limit.maximum.unwrap_or(u64::MAX)))
}

/// An empty file to read.
pub(crate) fn empty_input() -> io::Result<Stdio> {
    File::open("/dev/null").map(Stdio::from)
}

/// Whether an input plan lets this rank read anything.
pub(crate) fn reads_input(input: Input, rank: u32) -> bool {
    match input {
        Input::Rank(reader) => reader == rank,
        Input::All => true,
        Input::None => false,
    }
}
