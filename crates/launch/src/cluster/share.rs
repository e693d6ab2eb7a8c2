// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an agent is told of a job, and what it makes of it: ssh gives a command neither environment nor directory nor limits.

use std::ffi::OsString;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

use super::message::{NodeStart, ProgramStart};
use crate::pattern::Pattern;
use crate::plan::{Binding, Environment, Hosts, Inherit, JobPlan, Output, Program, Routes, Talk};
use crate::supervise::millis;
use crate::{LaunchError, settings, variables};

/// Variables that describe a node or a login on it: ranks see those of their own node.
const OWN_VARIABLES: &[&str] = &[
    "HOSTNAME",
    "SSH_AUTH_SOCK",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_ID",
    "DBUS_SESSION_BUS_ADDRESS",
    "SLURMD_NODENAME",
    "SLURM_NODEID",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_TASK_PID",
    "SLURM_GTIDS",
    "SLURM_TOPOLOGY_ADDR",
];
/// Limits that ranks have as the conductor has them, as far as their node allows.
const LIMITS: &[Resource] = &[
    Resource::As,
    Resource::Core,
    Resource::Cpu,
    Resource::Data,
    Resource::Fsize,
    Resource::Memlock,
    Resource::Nofile,
    Resource::Stack,
];

/// The share of each node of a job.
pub(super) fn of_nodes(
    plan: &JobPlan,
    hosts: &Hosts,
    secret: [u64; 2],
    merge: bool,
) -> Result<Vec<NodeStart>, LaunchError> {
    let directory = std::env::current_dir()
        .map_err(|error| LaunchError::system("find the working directory", &error))?;
    let environments: Vec<_> = plan
        .programs
        .iter()
        .map(|program| environment(&program.environment, hosts.interface.as_deref()))
        .collect();
    let mask = umask(Mode::empty());
    umask(mask);
    let limits = (0..).zip(LIMITS).map(|(number, &resource)| {
        // By its place in the table: numbers of limits differ between processors.
        (number, getrlimit(resource).current)
    });
    let limits: Vec<_> = limits.collect();
    let shares = (0..hosts.names.len()).map(|node| {
        let node = u32::try_from(node).unwrap_or(u32::MAX);
        let mut rest = &hosts.node_of[..];
        let mut programs = Vec::new();
        for (program, environment) in plan.programs.iter().zip(&environments) {
            let (own, others) = rest.split_at(rest.len().min(program.ranks as usize));
            rest = others;
            let ranks = own.iter().filter(|&&of| of == node).count() as u32;
            if ranks > 0 {
                programs.push(ProgramStart {
                    ranks,
                    program: program.program.clone(),
                    arguments: program.arguments.clone(),
                    environment: environment.clone(),
                    directory: program.directory.clone().map(Into::into),
                    search: program.search.clone(),
                });
            }
        }
        NodeStart {
            node,
            node_of: hosts.node_of.clone(),
            hosts: hosts.names.clone(),
            secret,
            programs,
            directory: directory.clone().into(),
            limits: limits.clone(),
            umask: mask.bits(),
            binding: told_binding(&plan.binding),
            core_order: plan.core_order,
            reserve: plan.reserve,
            input: plan.input.clone(),
            merge,
            elapsed_ms: 0,
            heartbeat_ms: hosts.heartbeat.map(millis),
        }
    });
    Ok(shares.collect())
}

/// The binding with the number of threads that the conductor's environment gives.
fn told_binding(binding: &Binding) -> Binding {
    match binding {
        Binding::Automatic { cores_each } => Binding::Automatic {
            cores_each: cores_each.or_else(settings::threads_per_rank),
        },
        other => other.clone(),
    }
}

/// The whole environment of a program's ranks, but for what their node says itself.
fn environment(plan: &Environment, interface: Option<&str>) -> Vec<(OsString, OsString)> {
    let is_inherited = |name: &OsString| match &plan.inherit {
        Inherit::All => !OWN_VARIABLES.iter().any(|own| name == own),
        Inherit::Only(names) => name == "PATH" || names.contains(name),
    };
    let is_removed = |name: &OsString| {
        let mut patterns = plan.remove.iter();
        patterns.any(|pattern| variables::is_named(name, pattern))
    };
    let inherited = settings::all().filter(|(name, _)| is_inherited(name) && !is_removed(name));
    let interface = interface.map(|name| (settings::INTERFACE_VARIABLE.into(), name.into()));
    inherited
        .chain(interface)
        .chain(plan.set.iter().cloned())
        .collect()
}

impl NodeStart {
    /// The world ranks of the agent's node.
    ///
    /// # Errors
    /// When the share contradicts itself.
    pub(super) fn world(&self) -> Result<Vec<u32>, LaunchError> {
        let ranks = (0..).zip(&self.node_of);
        let own = ranks.filter(|(_, node)| **node == self.node);
        let own: Vec<u32> = own.map(|(rank, _)| rank).collect();
        let counted: u64 = self
            .programs
            .iter()
            .map(|program| u64::from(program.ranks))
            .sum();
        let nodes = self.hosts.len();
        let is_consistent = counted == own.len() as u64
            && !own.is_empty()
            && self.node_of.iter().all(|&node| (node as usize) < nodes);
        is_consistent.then_some(own).ok_or_else(|| LaunchError {
            text: "the share of the job that mpiexec sent contradicts itself".to_owned(),
            exit_code: 1,
        })
    }

    /// Gives this process the conductor's directory, limits and mask, which ranks inherit.
    ///
    /// # Errors
    /// When the directory does not exist here.
    pub(super) fn settle(&self) -> Result<(), LaunchError> {
        std::env::set_current_dir(&self.directory).map_err(|error| LaunchError {
            text: format!(
                "the working directory {} cannot be entered: {error}",
                self.directory.display()
            ),
            exit_code: 127,
        })?;
        umask(Mode::from_bits_truncate(self.umask));
        for &(number, soft) in &self.limits {
            let Some(&resource) = LIMITS.get(number as usize) else {
                continue;
            };
            let own = getrlimit(resource);
            let most = own.maximum.unwrap_or(u64::MAX);
            let wanted = soft.unwrap_or(u64::MAX).min(most);
            let current = (wanted != u64::MAX).then_some(wanted);
            // A limit that the node does not allow to change stays as the node has it.
            let _ = setrlimit(resource, Rlimit { current, ..own });
        }
        Ok(())
    }

    /// The share as a plan for this node.
    pub(super) fn plan(&self) -> JobPlan {
        let programs = self.programs.iter().map(|program| Program {
            ranks: program.ranks,
            program: program.program.clone(),
            arguments: program.arguments.clone(),
            environment: Environment {
                inherit: Inherit::Only(OWN_VARIABLES.iter().map(OsString::from).collect()),
                remove: Vec::new(),
                set: program.environment.clone(),
            },
            directory: program.directory.clone().map(Into::into),
            search: program.search.clone(),
        });
        JobPlan {
            programs: programs.collect(),
            // A label, though empty, has all output pass through the agent.
            output: Output::Routed(Routes {
                label: Pattern::parse(""),
                merge: self.merge,
                ..Routes::default()
            }),
            input: self.input.clone(),
            binding: self.binding.clone(),
            core_order: self.core_order,
            timeout: None,
            grace: Duration::ZERO,
            reserve: self.reserve,
            talk: Talk::default(),
            hosts: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(node_of: &[u32]) -> Hosts {
        Hosts {
            names: vec!["qa".to_owned(), "qb".to_owned()],
            node_of: node_of.to_vec(),
            launcher: Vec::new(),
            interface: Some("eth7".to_owned()),
            agent: Vec::new(),
            connect: Duration::ZERO,
            heartbeat: None,
            tree: None,
        }
    }

    #[test]
    fn each_node_gets_its_ranks_of_each_program() {
        let mut plan = NodeStart::default().plan();
        plan.programs = vec![Program::new(3, "a"), Program::new(2, "b")];
        plan.programs[0].environment.set = vec![("X".into(), "1".into())];
        let hosts = hosts(&[0, 1, 0, 1, 1]);
        let shares = of_nodes(&plan, &hosts, [1, 2], false).unwrap();
        let ranks = |node: usize| -> Vec<_> {
            let programs = shares[node].programs.iter();
            programs
                .map(|program| (program.program.clone(), program.ranks))
                .collect()
        };
        assert_eq!(ranks(0), [("a".into(), 2)]);
        assert_eq!(ranks(1), [("a".into(), 1), ("b".into(), 2)]);
        assert_eq!(shares[0].world().unwrap(), [0, 2]);
        assert_eq!(shares[1].world().unwrap(), [1, 3, 4]);
        let set = &shares[0].programs[0].environment;
        assert!(set.contains(&("X".into(), "1".into())));
        assert!(set.contains(&("RANKPOINT_INTERFACE".into(), "eth7".into())));
        assert!(set.iter().all(|(name, _)| name != "HOSTNAME"));
        assert_eq!(shares[1].plan().programs[1].ranks, 2);
    }

    #[test]
    fn contradicting_shares_are_refused() {
        let share = |node_of: &[u32], ranks| {
            let plan = JobPlan {
                programs: vec![Program::new(ranks, "a")],
                ..NodeStart::default().plan()
            };
            let mut shares = of_nodes(&plan, &hosts(&[0; 3]), [1, 2], false).unwrap();
            shares[0].node_of = node_of.to_vec();
            shares.swap_remove(0).world()
        };
        assert_eq!(share(&[0, 1, 0], 2).unwrap(), [0, 2]);
        assert!(share(&[0, 1, 0], 3).is_err());
        assert!(share(&[0, 7, 0], 2).is_err());
        assert!(NodeStart::default().world().is_err());
    }
}
