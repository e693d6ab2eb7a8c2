// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes processes of a plan: the node segment, the guard, then one process per rank.

use std::ffi::OsString;
use std::io::{self, IsTerminal, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use fabric::board::{JOB_VARIABLE, SPARE_VARIABLE};
use fabric::nodes::{self, NodePlan};
use fabric::observe::NodeFile;
use fabric::segment::{self, SegmentPlan};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit};
use sys::spawn::{self, Guard, RankStart};

use crate::LaunchError;
use crate::binding::Places;
use crate::host_names::HostNames;
use crate::input::{InputPump, set_nonblocking};
use crate::output::{Files, Streams, WholeLines, Wires};
use crate::plan::{Environment, Inherit, JobPlan, Output, Program, Routes};
use crate::ranks::{RankProcess, Started};
use crate::{program, settings, topology, variables};

/// Files that are open beside those of ranks.
const OWN_FILES: u64 = 11;

/// The ranks of a job that run on this node.
pub(crate) struct Share<'a> {
    /// Their world ranks, in the order of the plan's programs.
    pub(crate) world: Vec<u32>,
    /// Ranks of the whole job.
    pub(crate) job_ranks: u32,
    /// In an agent, the nodes of the job; the agent gives the ranks their input and passes all their output on.
    pub(crate) nodes: Option<NodePlan<'a>>,
}

/// Starts all ranks.
///
/// # Errors
/// When a program cannot be started, or the system refuses what a job needs. No process is left behind.
pub(crate) fn start(
    plan: &JobPlan,
    share: &Share<'_>,
    places: &Places,
) -> Result<(Started, Wires), LaunchError> {
    let size = program::total_ranks(&plan.programs)?;
    let mut programs = Vec::new();
    let mut rest = &share.world[..];
    for program in &plan.programs {
        let (own, others) = rest.split_at(program.ranks as usize);
        programs.push(program::locate(program, own)?);
        rest = others;
    }
    let (whole_lines, open_files) = files_for_output(&plan.output, size)?;
    let files = match &plan.output {
        Output::Routed(routes) => Files::open(routes, size, &HostNames::here())?,
        Output::Capture => Files::default(),
    };
    let segment_plan = SegmentPlan {
        local_ranks: size,
        job_ranks: share.job_ranks,
        reserve: plan.reserve,
        cores: places.cores,
        launcher_pid: std::process::id(),
    };
    let file = match &share.nodes {
        Some(nodes) if nodes.hosts.len() > 1 => nodes::create_on_node(&segment_plan, nodes),
        _ => segment::create(&segment_plan),
    };
    let node = file
        .and_then(NodeFile::new)
        .map_err(|error| LaunchError::system("create the node segment", &error))?;
    let guard =
        Guard::start().map_err(|error| LaunchError::system("start the job's guard", &error))?;
    let pump = match &share.nodes {
        Some(_) => InputPump::fed(plan.input.clone()),
        None => InputPump::new(plan.input.clone(), size, std::io::stdin().is_terminal()),
    };
    let mut starter = Starter {
        plan,
        share,
        places,
        size,
        open_files,
        whole_lines,
        job: Started {
            node,
            ranks: Vec::new(),
            input: None,
            guard,
        },
        pump,
        wires: Wires {
            streams: Vec::new(),
            files,
            hosts: HostNames::here(),
            by_agents: false,
        },
    };
    for (program, file) in plan.programs.iter().zip(&programs) {
        for _ in 0..program.ranks {
            if let Err(error) = starter.start_rank(program, file) {
                starter.job.abandon();
                return Err(error);
            }
        }
    }
    starter.job.input = starter.pump.into_used();
    Ok((starter.job, starter.wires))
}

struct Starter<'a> {
    plan: &'a JobPlan,
    share: &'a Share<'a>,
    places: &'a Places,
    /// Ranks on this node.
    size: u32,
    open_files: Option<(u64, u64)>,
    whole_lines: WholeLines,
    job: Started,
    pump: InputPump,
    wires: Wires,
}

impl Starter<'_> {
    fn start_rank(&mut self, program: &Program, file: &Path) -> Result<(), LaunchError> {
        let index = self.job.ranks.len();
        let local = u32::try_from(index).unwrap_or(u32::MAX);
        let rank = self.share.world[index];
        let system = |error: io::Error| LaunchError::system(&format!("start rank {rank}"), &error);
        let mut command = Command::new(file);
        command.arg0(&program.program).args(&program.arguments);
        if let Some(directory) = &program.directory {
            command.current_dir(directory);
        }
        set_environment(&mut command, &program.environment);
        if matches!(&self.share.nodes, Some(nodes) if nodes.hosts.len() > 1) {
            set_for_providers(&mut command, self.share.job_ranks);
        }
        command
            .env(
                JOB_VARIABLE,
                format!(
                    "1:{}:{rank}:{}",
                    self.job.node.descriptor(),
                    self.share.job_ranks
                ),
            )
            .env(settings::RANK_VARIABLE, rank.to_string())
            .env(settings::SIZE_VARIABLE, self.share.job_ranks.to_string())
            .env(settings::LOCAL_RANK_VARIABLE, local.to_string())
            .env(settings::LOCAL_SIZE_VARIABLE, self.size.to_string());
        let spare = self.places.spare(&topology::usable_processors());
        if spare.is_empty() {
            command.env_remove(SPARE_VARIABLE);
        } else {
            let numbers: Vec<_> = spare.iter().map(ToString::to_string).collect();
            command.env(SPARE_VARIABLE, numbers.join(","));
        }
        command.stdin(self.pump.reader_for(rank).map_err(system)?);
        let streams = self.make_streams(index, &mut command).map_err(system)?;
        let start = RankStart {
            segment: self.job.node.descriptor(),
            group: self.job.guard.group(),
            processors: self.places.mask(local),
            open_files: self.open_files,
        };
        spawn::prepare(&mut command, start);
        let child = command.spawn().map_err(|error| {
            let error = program::explain(&program.program, &error);
            LaunchError {
                text: format!("rank {rank}: {}", error.text),
                ..error
            }
        })?;
        let pid = child.id();
        let life = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let life = life.map(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()));
        self.wires.streams.push((pid, streams));
        self.job.ranks.push(RankProcess {
            rank,
            pid,
            life: life.and_then(Result::ok),
            child,
            exit: None,
        });
        Ok(())
    }

    fn make_streams(&self, rank: usize, command: &mut Command) -> io::Result<Streams> {
        let routes = match &self.plan.output {
            Output::Routed(routes) => routes,
            Output::Capture => {
                let (both, writer) = reader_that_never_waits()?;
                command.stdout(writer.try_clone()?).stderr(writer);
                return Ok([Some(both), None]);
            }
        };
        let (out, out_writer) = self.make_stream(routes, rank, 0)?;
        let merge = routes.merge || self.whole_lines.together;
        let (error, error_writer) = match (merge, &out_writer) {
            (false, _) => self.make_stream(routes, rank, 1)?,
            (true, Some(writer)) => (None, Some(writer.try_clone()?)),
            (true, None) => (None, Some(io::stdout().as_fd().try_clone_to_owned()?)),
        };
        out_writer.map(|writer| command.stdout(writer));
        error_writer.map(|writer| command.stderr(writer));
        Ok([out, error])
    }

    /// The launcher's end and the rank's end of one stream; a rank without one writes to the launcher's own.
    fn make_stream(
        &self,
        routes: &Routes,
        rank: usize,
        which: usize,
    ) -> io::Result<(Option<PipeReader>, Option<OwnedFd>)> {
        let file = self.wires.files.get(rank, which);
        let copied = file.is_some_and(|file| file.shared || routes.copy);
        let whole = file.is_none() && self.whole_lines.passes(which);
        if routes.label.is_some() || copied || whole {
            let (reader, writer) = reader_that_never_waits()?;
            return Ok((Some(reader), Some(writer.into())));
        }
        let own = file.and_then(|file| file.file.as_ref());
        let writer = own.map(|file| file.as_fd().try_clone_to_owned());
        Ok((None, writer.transpose()?))
    }
}

fn reader_that_never_waits() -> io::Result<(PipeReader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    set_nonblocking(&reader)?;
    Ok((reader, writer))
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
    if !environment.remove.is_empty() {
        for (name, _) in settings::all() {
            let is_out = |pattern: &OsString| variables::is_named(&name, pattern);
            if environment.remove.iter().any(is_out) {
                command.env_remove(&name);
            }
        }
    }
    command.envs(environment.set.iter().map(|(name, value)| (name, value)));
}

/// Sets what libfabric's providers need, unless the environment that the job brings along has it.
fn set_for_providers(command: &mut Command, job_ranks: u32) {
    for (name, value) in settings::of_providers(job_ranks) {
        if command.get_envs().all(|(given, _)| given != name) {
            command.env(name, value);
        }
    }
}

/// Which streams pass through the launcher for the sake of whole lines, and the ranks' limit of open files where the
/// launcher's was raised.
fn files_for_output(
    output: &Output,
    ranks: u32,
) -> Result<(WholeLines, Option<(u64, u64)>), LaunchError> {
    let Output::Routed(routes) = output else {
        return Ok((WholeLines::default(), raise_open_files(ranks, 3)?));
    };
    let pipes = routes.label.is_some() || routes.copy;
    let own = routes.files.iter().flatten().count() as u64;
    let whole_lines = WholeLines::of(routes, ranks);
    if whole_lines.is_wanted()
        && let Ok(limit) = raise_open_files(ranks, 3 + own)
    {
        return Ok((whole_lines, limit));
    }
    // Where so many pipes may not be open, lines may be torn.
    let limit = raise_open_files(ranks, if pipes { 3 } else { 1 } + own)?;
    Ok((WholeLines::default(), limit))
}

fn raise_open_files(ranks: u32, each: u64) -> Result<Option<(u64, u64)>, LaunchError> {
    raise_limit("rank", u64::from(ranks), each)
}

/// Lets this process open as many files as the job needs, `each` for a rank or a host; returns the ranks' limit where it was
/// changed.
///
/// # Errors
/// When fewer than that may be open.
pub(crate) fn raise_limit(
    what: &str,
    count: u64,
    each: u64,
) -> Result<Option<(u64, u64)>, LaunchError> {
    let ranks_need = count * each;
    let needed = ranks_need + 128;
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let Some(soft) = limit.current.filter(|&soft| soft < needed) else {
        return Ok(None);
    };
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if hard < ranks_need + OWN_FILES {
        return Err(LaunchError {
            text: format!(
                "a job of {count} {what}s needs {} open files here, {each} for each {what}, but ulimit -n allows {hard}",
                ranks_need + OWN_FILES
            ),
            exit_code: 1,
        });
    }
    let raised = Rlimit {
        current: Some(hard.min(needed)),
        ..limit
    };
    let is_raised = rustix::process::setrlimit(Resource::Nofile, raised).is_ok();
    Ok(is_raised.then_some((soft, hard)))
}
