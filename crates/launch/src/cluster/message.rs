// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages between the conductor and the agents of a job.

use std::ffi::OsString;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::failure::MpiState;
use crate::outcome::Exit;
use crate::plan::{Binding, CoreOrder, Input};
use crate::report::RankState;

/// The first line of an agent begins so; Rankpoint's version and [`PROTOCOL`] follow. Text that start-up files of a shell write
/// before it is skipped.
pub(super) const GREETING: &str = "rankpoint-agent";
/// As [`GREETING`] for a branch.
pub(super) const BRANCH_GREETING: &str = "rankpoint-branch";
/// Changes with every change of a message.
pub(super) const PROTOCOL: u32 = 2;
/// Output in bytes that an agent may have sent before the conductor has passed it on.
pub(super) const WINDOW_BYTES: usize = 1 << 20;

/// Time between two signs of life, where a side that is silent for `heartbeat` counts as lost.
pub(super) fn alive_period(heartbeat: Option<Duration>) -> Duration {
    const LONGEST: Duration = Duration::from_secs(1);
    heartbeat.map_or(LONGEST, |heartbeat| LONGEST.min(heartbeat / 4))
}

/// The greeting of an agent or a branch of this version, without a line end.
pub(super) fn greeting(begin: &str) -> String {
    format!("{begin} {} {PROTOCOL}", env!("CARGO_PKG_VERSION"))
}

/// From the conductor to an agent.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum ToAgent {
    /// The first message: the agent's share of the job.
    Start(Box<NodeStart>),
    /// A signal for all processes of the ranks.
    Signal(i32),
    /// Standard input for the ranks that read it. The next one follows after [`FromAgent::InputTaken`].
    Input(Payload),
    /// The end of standard input.
    InputEnd,
    /// Nobody reads the ranks' standard output, or error, any more.
    Unread { error: bool },
    /// So many bytes of output have been passed on.
    Credit(u32),
    /// The cards of all ranks of the job.
    Cards(Vec<(u32, Payload)>),
    /// The end of this rank ends the job.
    Death(u32),
    /// Asks for [`FromAgent::State`].
    Report,
    /// The conductor is going to be stopped by a signal, and silent.
    Hold,
    /// Nothing has happened.
    Alive,
    /// All ranks of the job have ended, or must not go on: the agent kills what is left, and ends.
    Finish,
}

/// From an agent to the conductor.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) enum FromAgent {
    /// All ranks of the node run: process id and binding of each.
    Started(Vec<(u32, String)>),
    /// They cannot be started: the sentence for the user, and the exit status.
    Refused { text: String, exit_code: u8 },
    /// Bytes of a rank's standard output or error.
    Output {
        rank: u32,
        error: bool,
        bytes: Payload,
    },
    /// A rank has ended.
    Ended(Ended),
    /// Whether any rank of the node that still runs is between MPI_Init and MPI_Finalize; when that has changed.
    InMpi(bool),
    /// The cards of all ranks of the node.
    Cards(Vec<(u32, Payload)>),
    /// All readers have taken the last input.
    InputTaken,
    /// Nobody reads any more.
    InputClosed,
    /// The states of the node's ranks, in their order.
    State(Vec<RankState>),
    /// A sentence for a user who wants to know each step.
    Notice(String),
    /// The agent cannot go on.
    Fault(String),
    /// Nothing has happened.
    Alive,
    /// The last message: nothing is left of the job on this node.
    Done,
}

/// From the conductor to a branch, which starts commands for other hosts and carries their streams.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum ToBranch {
    /// Starts the command with this number: they count from 0.
    Open { child: u32, words: Vec<OsString> },
    /// Bytes for its standard input.
    Bytes { child: u32, bytes: Payload },
    /// The end of its standard input.
    Close { child: u32 },
    /// Nothing more is wanted of it.
    Kill { child: u32 },
}

/// From a branch to the conductor.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum FromBranch {
    /// What a command has written.
    Bytes {
        child: u32,
        error: bool,
        bytes: Payload,
    },
    /// How it ended, or why it could not be started. Nothing more comes from it.
    Ended { child: u32, how: String },
}

/// The end of a rank.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Ended {
    pub(super) rank: u32,
    pub(super) exit: Exit,
    pub(super) state: MpiState,
    pub(super) counters: Vec<u64>,
    /// As [`FromAgent::InMpi`].
    pub(super) in_mpi: bool,
}

/// An agent's share of a job.
#[cfg_attr(test, derive(Default))]
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct NodeStart {
    /// Index of the node.
    pub(super) node: u32,
    /// The node of each rank of the job.
    pub(super) node_of: Vec<u32>,
    /// The names of all nodes.
    pub(super) hosts: Vec<String>,
    /// The job's secret, for the ranks' transport.
    pub(super) secret: [u64; 2],
    /// The programs that have ranks on this node.
    pub(super) programs: Vec<ProgramStart>,
    /// The conductor's working directory.
    pub(super) directory: OsString,
    /// The conductor's soft limits, by the kernel's numbers; `None` is without a limit.
    pub(super) limits: Vec<(u32, Option<u64>)>,
    /// The conductor's mask for the modes of new files.
    pub(super) umask: u32,
    pub(super) binding: Binding,
    pub(super) core_order: CoreOrder,
    /// Processes that can be added while the job runs.
    pub(super) reserve: u32,
    pub(super) input: Input,
    /// Whether standard error goes with standard output.
    pub(super) merge: bool,
    /// Milliseconds since the job began.
    pub(super) elapsed_ms: u64,
    /// Milliseconds after which a silent conductor counts as lost.
    pub(super) heartbeat_ms: Option<u64>,
}

/// A program of a job, as far as a node has ranks of it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ProgramStart {
    /// Ranks on this node.
    pub(super) ranks: u32,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    /// The whole environment, but for what is the node's own.
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) directory: Option<OsString>,
    pub(super) search: Option<OsString>,
}

/// Bytes, which serde would encode one by one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Payload(pub(super) Vec<u8>);

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(from).map(|bytes| Self(bytes.to_vec()))
    }
}
