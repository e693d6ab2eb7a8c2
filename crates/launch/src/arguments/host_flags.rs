// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags about hosts, and the number of ranks that they imply.

use std::ffi::{OsStr, OsString};

use super::allocation::Allocation;
use super::assign::{Order, Slots};
use super::hosts::{self, Host};
use super::placement::Mapping;
use crate::plan::{Hosts, Program};
use crate::{LaunchError, settings, words};

/// What launchers call ways to start processes, and what that is here.
const LAUNCHERS: [(&str, Option<&str>); 9] = [
    ("ssh", Some("ssh")),
    ("slurm", Some("srun")),
    ("fork", None),
    ("ll", None),
    ("lsf", None),
    ("sge", None),
    ("pbs", None),
    ("manual", None),
    ("persist", None),
];

/// The host flags as far as they are read.
#[derive(Debug, Default)]
pub(crate) struct HostFlags {
    /// The lists of hosts, in the order of their flags.
    lists: Vec<Vec<Host>>,
    /// For each program the list that was the newest.
    list_of: Vec<Option<usize>>,
    /// Ranks for each host, and the flag that says so.
    per_host: Option<(u32, String)>,
    order: Order,
    /// Words of `--map-by` that have no meaning on one node, and the flag.
    mapping: Option<(OsString, String)>,
    /// Whether `-n` was given at all.
    pub(crate) counted: bool,
    launcher: Option<Vec<OsString>>,
    interface: Option<String>,
}

/// The result of the host flags.
#[derive(Debug)]
pub(crate) struct Found {
    /// `None` when all ranks run on this node.
    pub(crate) hosts: Option<Hosts>,
    /// Flags without a meaning.
    pub(crate) ignored: Vec<String>,
}

impl HostFlags {
    /// `-hosts`.
    pub(crate) fn list(&mut self, flag: &OsStr, text: &str) -> Result<(), LaunchError> {
        self.lists.push(hosts::parse_list(flag, text)?);
        Ok(())
    }

    /// `-hostfile`.
    pub(crate) fn file(&mut self, file: &OsStr) -> Result<(), LaunchError> {
        self.lists.push(hosts::read_file(file)?);
        Ok(())
    }

    /// `-ppn`.
    pub(crate) fn per_host(&mut self, ranks: u32, shown: String) {
        self.per_host = Some((ranks, shown));
    }

    /// `--map-by`.
    pub(crate) fn map(&mut self, flag: &OsStr, mapping: Mapping, shown: String) {
        if let Some(ranks) = mapping.per_node {
            self.per_host(ranks, shown);
        }
        self.order = mapping.order;
        self.mapping = mapping.rest.map(|rest| (flag.to_owned(), rest));
    }

    /// `--bynode`.
    pub(crate) fn by_node(&mut self, flag: &OsStr) {
        self.order = Order::Cyclic;
        self.mapping = Some((flag.to_owned(), String::new()));
    }

    /// `--launcher`.
    pub(crate) fn launcher(&mut self, flag: &OsStr, text: &str) -> Result<(), LaunchError> {
        let name = flag.to_string_lossy();
        let known = LAUNCHERS.iter().find(|(known, _)| *known == text);
        self.launcher = Some(match known {
            None => words::of_command(&name, text)?,
            Some((_, Some(command))) => vec![command.into()],
            Some((_, None)) => {
                return Err(LaunchError::usage(format!(
                    "{name} {text} is not done here; expected ssh, srun, or a command that is called as COMMAND HOST PROGRAM..."
                )));
            }
        });
        Ok(())
    }

    /// `--interface`.
    pub(crate) fn interface(&mut self, text: &str) {
        self.interface = Some(text.to_owned());
    }

    /// A program is complete.
    pub(crate) fn end_program(&mut self) {
        self.list_of.push(self.lists.len().checked_sub(1));
    }

    /// Whether a flag names hosts.
    pub(crate) fn names_hosts(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Gives a single program without `-n` its number of ranks, and each rank its host.
    ///
    /// # Errors
    /// When the environment has no launcher command that makes sense.
    pub(crate) fn finish(
        mut self,
        programs: &mut [Program],
        allocation: Option<&Allocation>,
    ) -> Result<Found, LaunchError> {
        let allocated = allocation.map(|allocation| allocation.hosts.clone());
        let from_slurm = !self.names_hosts();
        if let Some(hosts) = allocated.filter(|hosts| from_slurm && !hosts.is_empty()) {
            self.lists.push(hosts);
            self.list_of.fill(Some(0));
        }
        let implied = !self.counted && programs.len() == 1;
        let per_host = self.per_host.as_ref().map(|&(ranks, _)| ranks);
        if let ([program], true) = (&mut *programs, implied) {
            let list = self.lists.last();
            let hosts = list.map_or(1, Vec::len) as u32;
            let slots = list.map(|hosts| hosts.iter().map(|host| host.slots).sum());
            let tasks = allocation.and_then(|allocation| allocation.tasks);
            let told = if from_slurm { tasks } else { slots };
            let ranks = per_host.map(|ranks| ranks.saturating_mul(hosts)).or(told);
            program.ranks = ranks.filter(|&ranks| ranks > 0).unwrap_or(program.ranks);
        }
        let (names, node_of) = self.assign(programs, per_host);
        let is_local = names.iter().all(|name| hosts::is_here(name));
        let mut ignored = Vec::new();
        if let Some((flag, rest)) = self.mapping.take() {
            let means_something = |word: &&str| ["node", "slot", "core", ""].contains(word);
            let rest: Vec<_> = rest
                .split(':')
                .filter(|word| is_local || !means_something(word))
                .collect();
            if !rest.is_empty() {
                let text = format!("{} {}", flag.display(), rest.join(":"));
                ignored.push(text.trim_end().to_owned());
            }
        }
        if is_local {
            if !implied {
                ignored.extend(self.per_host.map(|(_, shown)| shown));
            }
            return Ok(Found {
                hosts: None,
                ignored,
            });
        }
        let mut hosts = Hosts::new(names, node_of)?;
        hosts.interface = self.interface;
        let in_slurm = || {
            let all = hosts.names.iter();
            allocation.is_some_and(|allocation| {
                all.clone()
                    .all(|name| allocation.hosts.iter().any(|host| host.name == *name))
            })
        };
        if let Some(launcher) = self.launcher {
            hosts.launcher = launcher;
        } else if settings::launcher()?.is_none() && in_slurm() {
            hosts.launcher = vec!["srun".into()];
        }
        Ok(Found {
            hosts: Some(hosts),
            ignored,
        })
    }

    /// The names of the hosts that get ranks, and the index of the host of each rank.
    fn assign(&self, programs: &[Program], per_host: Option<u32>) -> (Vec<String>, Vec<u32>) {
        let mut all: Vec<&Host> = Vec::new();
        let mut slots: Vec<Slots> = Vec::new();
        for list in &self.lists {
            let mut indexed = Vec::new();
            for host in list {
                let known = all.iter().position(|known| known.name == host.name);
                let index = known.unwrap_or_else(|| {
                    all.push(host);
                    all.len() - 1
                });
                indexed.push((u32::try_from(index).unwrap_or(u32::MAX), host));
            }
            slots.push(Slots::new(&indexed, per_host, self.order));
        }
        let mut names: Vec<String> = Vec::new();
        let mut node_of = Vec::new();
        // Programs before the first flag about hosts take the hosts of that.
        for (program, list) in programs.iter().zip(&self.list_of) {
            let Some(slots) = slots.get_mut(list.unwrap_or(0)) else {
                continue;
            };
            for _ in 0..program.ranks {
                let name = &all[slots.take() as usize].name;
                let node = names.iter().position(|known| known == name);
                let node = node.unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                });
                node_of.push(u32::try_from(node).unwrap_or(u32::MAX));
            }
        }
        (names, node_of)
    }
}
