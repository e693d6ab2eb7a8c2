// SPDX-License-Identifier: MIT OR Apache-2.0
//! A job to be started, as data: made from a command line, or by a program that starts jobs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use crate::pattern::Pattern;
use crate::{LaunchError, settings};

/// A whole job.
#[derive(Clone, Debug)]
pub struct JobPlan {
    /// The programs, in the order of their ranks; more than one is MPMD.
    pub programs: Vec<Program>,
    /// Where the ranks' output goes.
    pub output: Output,
    /// The readers of the launcher's standard input.
    pub input: Input,
    /// Which processors the ranks get.
    pub binding: Binding,
    /// In which order they get the cores of a node.
    pub core_order: CoreOrder,
    /// How long the job may run before it is reported and ended.
    pub timeout: Option<Duration>,
    /// How long ranks that were asked to end may take before they are killed.
    pub grace: Duration,
    /// Processes that can be added while the job runs.
    pub reserve: u32,
    /// Notices about the job.
    pub talk: Talk,
    /// The hosts, where ranks run on others than this one.
    pub hosts: Option<Hosts>,
}

/// The hosts of a job of several nodes.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The name of each node that has ranks, as the command that reaches it takes it.
    pub names: Vec<String>,
    /// For each rank the index of its node's name.
    pub node_of: Vec<u32>,
    /// The words of a command that runs another command on a host: `ssh`, `srun`, or any that is called as
    /// `WORDS HOST COMMAND...`.
    pub launcher: Vec<OsString>,
    /// The network interface or address that ssh and the ranks use.
    pub interface: Option<String>,
    /// The words of the command that becomes the agent of a node: this launcher in that mode.
    pub agent: Vec<OsString>,
    /// How long the agent of a host may take to answer after the launcher command was started.
    pub connect: Duration,
    /// After how long a silent agent counts as lost; `None` is never.
    pub heartbeat: Option<Duration>,
    /// Hosts that one command starts agents on; with more of them, agents are reached through branches on some. `None` is any number.
    pub tree: Option<usize>,
}

impl Hosts {
    /// Whether each node has ranks, and each rank a node.
    pub(crate) fn have_ranks(&self) -> bool {
        let mut used = vec![false; self.names.len()];
        let mut known = true;
        for &node in &self.node_of {
            match used.get_mut(node as usize) {
                Some(used) => *used = true,
                None => known = false,
            }
        }
        known && used.iter().all(|&used| used)
    }

    /// The words of the command that becomes a branch: those of the agent's, with another flag.
    pub(crate) fn branch(&self) -> Vec<OsString> {
        let mut words = self.agent.clone();
        if let Some(flag) = words.last_mut() {
            *flag = settings::BRANCH_FLAG.into();
        }
        words
    }

    /// These nodes, with the launcher command and the times that the environment gives.
    ///
    /// # Errors
    /// When a setting of the environment has no meaning, or this program's own file is not known.
    pub fn new(names: Vec<String>, node_of: Vec<u32>) -> Result<Self, LaunchError> {
        Ok(Self {
            names,
            node_of,
            launcher: settings::launcher()?.unwrap_or_else(|| vec!["ssh".into()]),
            interface: None,
            agent: settings::agent_command()?,
            connect: settings::connect()?,
            heartbeat: settings::heartbeat()?,
            tree: settings::tree()?,
        })
    }
}

/// Notices about the job, beside errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Talk {
    /// Each rank's counters at the end.
    pub stats: bool,
    /// Each step.
    pub verbose: bool,
    /// Each rank's processors at the start.
    pub bindings: bool,
    /// That all ranks are started.
    pub progress: bool,
    /// How each rank ends.
    pub exits: bool,
}

/// A program and how many ranks run it.
#[derive(Clone, Debug)]
pub struct Program {
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Name or path; a name is looked up in `PATH`, then in the working directory.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub environment: Environment,
    /// Its working directory; the launcher's when `None`.
    pub directory: Option<PathBuf>,
    /// Directories that are searched before `PATH`, separated by colons.
    pub search: Option<OsString>,
}

impl Program {
    /// `ranks` ranks of `program` in the launcher's environment and directory.
    pub fn new(ranks: u32, program: impl Into<OsString>) -> Self {
        Self {
            ranks,
            program: program.into(),
            arguments: Vec::new(),
            environment: Environment::default(),
            directory: None,
            search: None,
        }
    }
}

/// The environment of a program, made from the launcher's.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Variables that are taken over.
    pub inherit: Inherit,
    /// Variables of these that are left out; a star at the end of a name stands for any text.
    pub remove: Vec<OsString>,
    /// Variables that are set afterwards.
    pub set: Vec<(OsString, OsString)>,
}

/// Which of the launcher's variables a program gets.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Inherit {
    /// All.
    #[default]
    All,
    /// These, and `PATH`.
    Only(Vec<OsString>),
}

/// Where the ranks' output goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Output {
    /// To the launcher's own streams, or to files.
    Routed(Routes),
    /// Into [`crate::outcome::RankOutcome::output`], standard output and error mixed as they came.
    Capture,
}

impl Default for Output {
    fn default() -> Self {
        Self::Routed(Routes::default())
    }
}

/// Routes of the ranks' output. A rank with a file of its own writes to that, and to the launcher's own stream where that is
/// a terminal or the job has one rank. All other output passes through the launcher, which keeps lines whole.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Routes {
    /// The label of each line.
    pub label: Option<Pattern>,
    /// Names of the files for standard output and for standard error, in place of the launcher's own streams.
    pub files: [Option<Pattern>; 2],
    /// Whether what goes to files goes to the launcher's own streams too.
    pub copy: bool,
    /// Whether standard error goes where standard output goes.
    pub merge: bool,
}

/// The readers of the launcher's standard input.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Input {
    /// One rank; the others read an empty file.
    Rank(u32),
    /// Each of these ranks gets a copy.
    Ranks(Vec<u32>),
    /// Every rank gets a copy.
    All,
    /// Nobody.
    None,
}

/// In which order the ranks of a node get its cores.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum CoreOrder {
    /// All cores of a socket, then those of the next one.
    #[default]
    Filled,
    /// A core of each socket after the other.
    Sockets,
}

/// Which processors the ranks get.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Binding {
    /// Cores of their own while cores suffice; else the ranks go round the cores, until the load becomes uneven.
    Automatic {
        /// How many; `None` is as many as the ranks are going to have threads, as far as the environment tells.
        cores_each: Option<u32>,
    },
    /// So many cores each; an error when cores do not suffice.
    Core {
        /// How many.
        cores_each: u32,
    },
    /// All processors that the launcher may use.
    None,
    /// Rank `i` gets entry `i` modulo the length: a set of processor numbers.
    User(Vec<Vec<u32>>),
}

impl Default for Input {
    fn default() -> Self {
        Self::Rank(0)
    }
}

impl Default for Binding {
    fn default() -> Self {
        Self::Automatic { cores_each: None }
    }
}
