// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree of a job on many hosts: branches start the agents of their part of the hosts and carry the streams to them.

use std::ffi::OsString;
use std::process::Command;
use std::time::Instant;

use super::job::Conductor;
use crate::LaunchError;
use crate::cluster::channel::Broken;
use crate::cluster::launched::Launched;
use crate::cluster::launcher;
use crate::cluster::message::{BRANCH_GREETING, FromBranch, NodeStart, Payload, ToBranch};
use crate::cluster::node::{Node, Progress};
use crate::notices;
use crate::plan::Hosts;

/// A branch, on the first host of its part.
pub(super) struct Branch {
    pub(super) launched: Launched,
    /// The shares of its hosts, until it has greeted.
    pub(super) waiting: Vec<NodeStart>,
    /// The nodes behind it, as indices, by the numbers of their commands; and whether they were told that their input ends.
    children: Vec<(usize, bool)>,
    is_over: bool,
}

impl Branch {
    /// Whether the launcher command is still on its way.
    pub(super) fn is_launching(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Conductor<'_> {
    /// Starts a branch for these hosts.
    ///
    /// # Errors
    /// When its launcher command cannot be run; the shares come back.
    pub(super) fn launch_branch(
        &mut self,
        shares: Vec<NodeStart>,
    ) -> Result<(), (Vec<NodeStart>, LaunchError)> {
        let host = &self.hosts.names[shares[0].node as usize];
        let is_here = *host == notices::host_name();
        let (command, called) = launcher::command(self.hosts, host, is_here, &self.hosts.branch());
        match Launched::start(command, called, host) {
            Ok(launched) => {
                self.branches.push(Branch {
                    launched,
                    waiting: shares,
                    children: Vec::new(),
                    is_over: false,
                });
                Ok(())
            }
            Err(error) => Err((shares, error)),
        }
    }

    /// Reads what has arrived from a branch.
    pub(super) fn read_branch(&mut self, index: usize) {
        let branch = &mut self.branches[index];
        let read = branch.launched.channel.read();
        branch.launched.heard = Instant::now();
        if branch.is_launching() {
            match branch.launched.has_greeted(BRANCH_GREETING) {
                Ok(false) => {}
                Ok(true) => self.open_all(index),
                Err(why) => return self.lose_branch(index, &why),
            }
        }
        while !self.branches[index].is_launching() {
            match self.branches[index].launched.channel.next() {
                Ok(Some(message)) => {
                    if let Err(why) = self.take_from_branch(index, message) {
                        return self.lose_branch(index, &why);
                    }
                }
                Ok(None) | Err(Broken::Closed) => break,
                Err(Broken::Malformed(why)) => return self.lose_branch(index, &why),
            }
        }
        if read.is_err() {
            let branch = &mut self.branches[index];
            let ran = !branch.is_launching();
            let why = branch.launched.end_text(ran);
            self.lose_branch(index, &why);
        }
    }

    /// Has a branch that has greeted start the agents of its hosts.
    fn open_all(&mut self, index: usize) {
        let shares = std::mem::take(&mut self.branches[index].waiting);
        let first = shares.first().map(|share| share.node);
        for (child, share) in (0..).zip(shares) {
            let name = &self.hosts.names[share.node as usize];
            let is_here = Some(share.node) == first;
            let (command, _) = launcher::command(self.hosts, name, is_here, &self.hosts.agent);
            let words = words_of(&command);
            let launched = Launched::of_branch(name);
            let node = Node::new(name, Box::new(share), launched, &self.plan.input);
            let branch = &mut self.branches[index];
            branch.children.push((self.nodes.len(), false));
            self.nodes.push(node);
            branch
                .launched
                .channel
                .send(&ToBranch::Open { child, words });
        }
    }

    /// # Errors
    /// When the message makes no sense: why.
    fn take_from_branch(&mut self, index: usize, message: FromBranch) -> Result<(), String> {
        let (FromBranch::Bytes { child, .. } | FromBranch::Ended { child, .. }) = &message;
        let children = &self.branches[index].children;
        let Some(&(node, _)) = children.get(*child as usize) else {
            return Err(format!("it speaks of command {child}"));
        };
        // A node that its branch did not reach may have another launcher command by now.
        if self.nodes[node].is_over() || !self.nodes[node].launched.is_of_branch() {
            return Ok(());
        }
        let launched = &mut self.nodes[node].launched;
        match message {
            FromBranch::Bytes {
                error: true, bytes, ..
            } => {
                launched.keep(&bytes.0);
                return Ok(());
            }
            FromBranch::Bytes { bytes, .. } => launched.channel.push(&bytes.0),
            FromBranch::Ended { how, .. } => launched.end(how),
        }
        self.read_agent(node);
        Ok(())
    }

    /// A branch cannot be reached any more, nor can the nodes behind it.
    pub(super) fn lose_branch(&mut self, index: usize, why: &str) {
        let branch = &mut self.branches[index];
        branch.is_over = true;
        branch.launched.kill();
        let waiting = std::mem::take(&mut branch.waiting);
        let children = std::mem::take(&mut branch.children);
        for (node, _) in children {
            let node_of_branch = &self.nodes[node];
            if !node_of_branch.is_over() && node_of_branch.launched.is_of_branch() {
                self.lose(node, why);
            }
        }
        if !waiting.is_empty() {
            for share in &waiting {
                self.count_ended(&share.world().unwrap_or_default());
            }
            self.refuse(LaunchError {
                text: why.to_owned(),
                exit_code: 1,
            });
        }
    }

    /// Gives the branches what the channels of their nodes hold.
    pub(super) fn feed_branches(&mut self) {
        for branch in self.branches.iter_mut().filter(|branch| !branch.is_over) {
            for (child, (node, is_closed)) in (0..).zip(&mut branch.children) {
                let node = &mut self.nodes[*node];
                if *is_closed || !node.launched.is_of_branch() {
                    continue;
                }
                let channel = &mut branch.launched.channel;
                match node.launched.channel.take_queue() {
                    Some(bytes) if bytes.is_empty() => {}
                    Some(bytes) => channel.send(&ToBranch::Bytes {
                        child,
                        bytes: Payload(bytes),
                    }),
                    None => {
                        *is_closed = true;
                        channel.send(&match node.progress {
                            Progress::Lost => ToBranch::Kill { child },
                            _ => ToBranch::Close { child },
                        });
                    }
                }
            }
            // Nothing is left to do for a branch without nodes.
            let is_done = |(_, is_closed): &(usize, bool)| *is_closed;
            if !branch.is_launching() && branch.children.iter().all(is_done) {
                branch.is_over = true;
                branch.launched.channel.close_when_written();
            }
        }
    }

    /// Loses branches that do not answer.
    pub(super) fn keep_branches(&mut self) {
        for index in 0..self.branches.len() {
            let branch = &self.branches[index];
            if branch.is_launching()
                && let Some(why) = branch.launched.lateness(self.hosts.connect)
            {
                self.lose_branch(index, &why);
            }
        }
    }

    /// Starts the agent of a node without its branch, which could not.
    ///
    /// # Errors
    /// When that cannot be done either.
    pub(super) fn launch_without_branch(&mut self, index: usize) -> Result<(), LaunchError> {
        let node = &mut self.nodes[index];
        let is_here = node.name == notices::host_name();
        let (command, called) =
            launcher::command(self.hosts, &node.name, is_here, &self.hosts.agent);
        node.launched = Launched::start(command, called, &node.name)?;
        Ok(())
    }
}

fn words_of(command: &Command) -> Vec<OsString> {
    let arguments = command.get_args().map(OsString::from);
    std::iter::once(command.get_program().to_owned())
        .chain(arguments)
        .collect()
}

/// The hosts of each launcher command of the conductor: one, or those of a branch.
pub(super) fn parts(hosts: &Hosts, shares: Vec<NodeStart>) -> Vec<Vec<NodeStart>> {
    let each = match hosts.tree {
        Some(most) if shares.len() > most => most.max(1),
        _ => 1,
    };
    let mut parts = Vec::new();
    let mut shares = shares.into_iter().peekable();
    while shares.peek().is_some() {
        parts.push(shares.by_ref().take(each).collect());
    }
    parts
}
