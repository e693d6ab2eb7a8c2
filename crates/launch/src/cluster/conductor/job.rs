// SPDX-License-Identifier: MIT OR Apache-2.0
//! The start of a job of several nodes, and its state.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sys::signals::SignalInbox;

use super::branches::{Branch, parts};
use super::ending::Ending;
use super::streams::Report;
use crate::cluster::launched::Launched;
use crate::cluster::launcher;
use crate::cluster::message::{NodeStart, ToAgent};
use crate::cluster::node::{Node, Progress};
use crate::cluster::share;
use crate::failure::MpiState;
use crate::host_names::HostNames;
use crate::outcome::{Exit, JobOutcome};
use crate::output::{Files, Outputs, Role, WholeLines, Wires};
use crate::plan::{Hosts, JobPlan, Output};
use crate::supervise::take_signals;
use crate::{LaunchError, notices, program, start};

/// How long agents may take to end what is left of a job.
pub(super) const FINISH_TIME: Duration = Duration::from_secs(4);

/// Files that are open for each host: three streams, and three more while the launcher command starts.
const FILES_EACH: u64 = 6;

/// Launcher commands that are on their way at once: more of them would keep each other from their processors.
const MOST_LAUNCHING: usize = 16;

/// Runs a job of several nodes to its end.
///
/// # Errors
/// When a node cannot be reached or its ranks cannot be started. A rank's failure is no error but an outcome.
pub(crate) fn run(plan: &JobPlan, hosts: &Hosts, role: Role) -> Result<JobOutcome, LaunchError> {
    let mut conductor = prepare(plan, hosts, role)?;
    conductor.launch_more();
    conductor.conduct()
}

/// A job of which no launcher command runs yet.
pub(super) fn prepare<'a>(
    plan: &'a JobPlan,
    hosts: &'a Hosts,
    role: Role,
) -> Result<Conductor<'a>, LaunchError> {
    let ranks = program::count_ranks(&plan.programs)?;
    let is_consistent = hosts.node_of.len() == ranks as usize && hosts.have_ranks();
    if !is_consistent {
        let text = "the plan of the job's hosts contradicts itself";
        return Err(LaunchError::usage(text));
    }
    let inbox = match role {
        Role::CommandLine => Some(take_signals()?),
        Role::Library => None,
    };
    let begin = Instant::now();
    let names = HostNames::of(hosts);
    let (files, merge) = match &plan.output {
        Output::Routed(routes) => {
            let together = WholeLines::of(routes, 2).together;
            (
                Files::open(routes, ranks, &names)?,
                routes.merge || together,
            )
        }
        Output::Capture => (Files::default(), true),
    };
    let random =
        || sys::random::random_word().map_err(|error| LaunchError::system("make a secret", &error));
    let secret = [random()?, random()?];
    let shares = share::of_nodes(plan, hosts, secret, merge)?;
    // Behind the shares, which tell the ranks' limits.
    start::raise_limit("host", hosts.names.len() as u64, FILES_EACH)?;
    let wires = Wires {
        streams: (0..ranks).map(|_| (0, [None, None])).collect(),
        files,
        hosts: names.clone(),
        by_agents: true,
    };
    Ok(Conductor {
        plan,
        hosts,
        names,
        begin,
        ending: Ending::default(),
        ranks: vec![RankView::default(); ranks as usize],
        alive: ranks as usize,
        outputs: Outputs::new(plan.output.clone(), role, wires),
        inbox,
        input_open: true,
        unread: [false; 2],
        nodes: Vec::new(),
        branches: Vec::new(),
        waiting: parts(hosts, shares).into(),
        cards_sent: false,
        report: None,
        polled: begin,
        said: begin,
    })
}

/// What the conductor knows about a rank.
#[derive(Clone, Debug)]
pub(super) struct RankView {
    pub(super) pid: u32,
    pub(super) exit: Option<Exit>,
    pub(super) state: MpiState,
    pub(super) counters: [u64; 64],
}

impl Default for RankView {
    fn default() -> Self {
        Self {
            pid: 0,
            exit: None,
            state: MpiState::STARTED,
            counters: [0; 64],
        }
    }
}

/// A job of several nodes.
pub(super) struct Conductor<'a> {
    pub(super) plan: &'a JobPlan,
    pub(super) hosts: &'a Hosts,
    pub(super) names: HostNames,
    pub(super) begin: Instant,
    pub(super) ending: Ending,
    pub(super) ranks: Vec<RankView>,
    /// Ranks that have not ended.
    pub(super) alive: usize,
    pub(super) outputs: Outputs,
    pub(super) inbox: Option<SignalInbox>,
    /// Whether more standard input can come.
    pub(super) input_open: bool,
    /// Whether the agents know that nobody reads standard output or error any more.
    pub(super) unread: [bool; 2],
    /// As far as they are launched.
    pub(super) nodes: Vec<Node>,
    /// Through which some of them are reached.
    pub(super) branches: Vec<Branch>,
    /// The shares of the others, for each launcher command that is to be run here.
    pub(super) waiting: VecDeque<Vec<NodeStart>>,
    /// Whether the nodes have the cards of each other.
    pub(super) cards_sent: bool,
    pub(super) report: Option<Report>,
    /// When this loop last ran.
    pub(super) polled: Instant,
    /// When the agents were last told that the conductor lives.
    pub(super) said: Instant,
}

impl Conductor<'_> {
    fn conduct(mut self) -> Result<JobOutcome, LaunchError> {
        while !self.is_over() {
            let ready = self
                .wait_for_events()
                .map_err(|error| LaunchError::system("wait for the hosts (poll)", &error));
            match ready {
                Ok(ready) => ready.into_iter().for_each(|event| self.handle(event)),
                Err(error) => {
                    self.nodes.iter_mut().for_each(Node::lose);
                    return Err(error);
                }
            }
            self.keep_time();
        }
        let until = Instant::now() + FINISH_TIME;
        self.feed_branches();
        for branch in &mut self.branches {
            branch.launched.channel.close_when_written();
        }
        let branches = self.branches.iter_mut().map(|branch| &mut branch.launched);
        let nodes = self.nodes.iter_mut().map(|node| &mut node.launched);
        nodes
            .chain(branches)
            .for_each(|launched| launched.reap(until));
        self.finish()
    }

    /// Whether nothing more is expected of any node.
    pub(super) fn is_over(&self) -> bool {
        self.are_all_launched() && self.nodes.iter().all(Node::is_over)
    }

    /// Whether there is a launcher command for each node.
    pub(super) fn are_all_launched(&self) -> bool {
        self.waiting.is_empty() && !self.branches.iter().any(Branch::is_launching)
    }

    /// Runs launcher commands, of which only so many may be on their way at once.
    pub(super) fn launch_more(&mut self) {
        let is_launching =
            |node: &&Node| node.progress == Progress::Launching && !node.launched.is_of_branch();
        let branches = self.branches.iter().filter(|branch| branch.is_launching());
        let mut launching = self.nodes.iter().filter(is_launching).count() + branches.count();
        while launching < MOST_LAUNCHING
            && let Some(shares) = self.waiting.pop_front()
        {
            if let Err((shares, error)) = self.launch(shares) {
                self.waiting.push_front(shares);
                return self.refuse(error);
            }
            launching += 1;
        }
    }

    /// Runs the launcher command for one node, or for the branch of several.
    ///
    /// # Errors
    /// When it cannot be run; the shares come back.
    fn launch(&mut self, mut shares: Vec<NodeStart>) -> Result<(), (Vec<NodeStart>, LaunchError)> {
        if shares.len() > 1 {
            return self.launch_branch(shares);
        }
        let Some(share) = shares.pop() else {
            return Ok(());
        };
        let name = &self.hosts.names[share.node as usize];
        let is_here = *name == notices::host_name();
        let (command, called) = launcher::command(self.hosts, name, is_here, &self.hosts.agent);
        match Launched::start(command, called, name) {
            Ok(launched) => {
                let node = Node::new(name, Box::new(share), launched, &self.plan.input);
                self.nodes.push(node);
                Ok(())
            }
            Err(error) => Err((vec![share], error)),
        }
    }

    pub(super) fn tell_all(&mut self, message: &ToAgent) {
        for node in &mut self.nodes {
            node.tell(message);
        }
    }

    /// A rank as sentences call it.
    pub(super) fn name(&self, rank: usize) -> String {
        let (pid, host) = (self.ranks[rank].pid, self.names.get(rank));
        format!("rank {rank} (pid {pid} on {host})")
    }
}
