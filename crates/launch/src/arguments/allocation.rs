// SPDX-License-Identifier: MIT OR Apache-2.0
//! The allocation of a resource manager for the job, as far as the environment tells: Slurm's `salloc` and `sbatch`.

use super::hosts::{self, Host};
use crate::settings;

/// The size of an allocation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Allocation {
    /// Processes, if their number was given.
    pub(crate) tasks: Option<u32>,
    /// Nodes.
    pub(crate) nodes: u32,
    /// Their names, and as many slots as tasks; none where the environment does not tell.
    pub(crate) hosts: Vec<Host>,
}

impl Allocation {
    /// The allocation that is this launcher's to use.
    pub(crate) fn find() -> Option<Self> {
        Self::read(|name| settings::read(name)?.into_string().ok())
    }

    /// None where each process of several starts a launcher, nor where a rank does.
    fn read(read: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| read(name)?.trim().parse::<u32>().ok();
        read("SLURM_JOB_ID")?;
        let shared = number("SLURM_STEP_NUM_TASKS").is_some_and(|tasks| tasks > 1);
        if shared || read(settings::RANK_VARIABLE).is_some() {
            return None;
        }
        let nodes = number("SLURM_STEP_NUM_NODES").or_else(|| number("SLURM_JOB_NUM_NODES"));
        let names = read("SLURM_STEP_NODELIST").or_else(|| read("SLURM_JOB_NODELIST"));
        let slots = read("SLURM_STEP_TASKS_PER_NODE").or_else(|| read("SLURM_TASKS_PER_NODE"));
        let hosts = names.and_then(|names| hosts::of_slurm(&names, slots.as_deref()));
        Some(Self {
            hosts: hosts.unwrap_or_default(),
            tasks: number("SLURM_NTASKS").filter(|&tasks| tasks > 0),
            nodes: nodes.unwrap_or(1),
        })
    }

    /// The notice about nodes that stay idle.
    pub(crate) fn notice(&self) -> Option<String> {
        (self.nodes > 1 && self.hosts.is_empty()).then(|| {
            format!(
                "{} nodes are allocated, but SLURM_JOB_NODELIST does not name them: all ranks run on this one",
                self.nodes
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Option<Allocation> {
        Allocation::read(|name| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn tasks_and_nodes_are_those_of_the_job_or_its_step() {
        let job = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_JOB_NUM_NODES", "2"),
        ];
        let found = read(&job).unwrap();
        assert_eq!((found.tasks, found.nodes), (Some(4), 2));
        assert!(found.notice().unwrap().contains("2 nodes"));
        // A number of tasks may not have been given, or be for srun alone.
        let found = read(&job[..1]).unwrap();
        assert_eq!((found.tasks, found.nodes), (None, 1));
        assert_eq!(found.notice(), None);
        assert_eq!(read(&job[1..]), None);
        let names = [
            ("SLURM_JOB_NODELIST", "q[1-2]"),
            ("SLURM_TASKS_PER_NODE", "2(x2)"),
        ];
        let found = read(&[&job[..], &names].concat()).unwrap();
        let slots: Vec<_> = found
            .hosts
            .iter()
            .map(|host| (&*host.name, host.slots))
            .collect();
        assert_eq!(slots, [("q1", 2), ("q2", 2)]);
        assert_eq!(found.notice(), None);
        let step = [("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_STEP_NUM_NODES", "1")];
        let found = read(&[&job[..], &step].concat()).unwrap();
        assert_eq!((found.tasks, found.nodes), (Some(4), 1));
    }

    #[test]
    fn one_launcher_of_several_has_no_allocation_of_its_own() {
        let job = [("SLURM_JOB_ID", "7"), ("SLURM_NTASKS", "4")];
        assert!(read(&job).is_some());
        for more in [
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("RANKPOINT_LAUNCH_RANK", "0"),
        ] {
            assert_eq!(read(&[&job[..], &[more]].concat()), None, "{more:?}");
        }
    }
}
