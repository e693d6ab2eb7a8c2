// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task thread does in each step: currents of its wires, then voltages of its nodes.

use std::time::Instant;

use rankpoint::{Result, Threads};

use super::graph::{charged, current};
use super::job::Job;
use super::message::{Kind, Outlet};
use super::tally::Tally;
use crate::hash::weighted;
use crate::outcome::end;
use crate::threads::part;

/// A task thread.
pub(super) struct Task<'j, 'c, 'u, T: Threads> {
    pub(super) job: &'j Job<'j>,
    /// Its number among the task threads, from 0.
    pub(super) number: usize,
    pub(super) outlet: Outlet<'c, 'u, T>,
}

impl<T: Threads> Task<'_, '_, '_, T> {
    /// All steps.
    pub(super) fn work(&self) -> Result<Tally> {
        let (job, board) = (self.job, &self.job.board);
        let mut tally = Tally::default();
        for step in 1..=job.options.steps {
            let outgoing = self.currents(&mut tally);
            self.send(Kind::Charges, &outgoing, &mut tally)?;
            self.wait(Kind::Charges, step * job.part.charges as u64, &mut tally);
            let outgoing = self.voltages(&mut tally);
            self.send(Kind::Voltages, &outgoing, &mut tally)?;
            // No process sends charges of the next step before it has all voltages of its ghosts, whose nodes have taken theirs then.
            self.wait(Kind::Voltages, step * job.part.ghosts as u64, &mut tally);
        }
        self.compare(&mut tally);
        board.end(tally.traffic.commands, tally.charges);
        Ok(tally)
    }

    /// Currents of the thread's wires: charges for nodes of this process, and for those of others by process.
    fn currents(&self, tally: &mut Tally) -> Vec<Vec<u64>> {
        let (job, board) = (self.job, &self.job.board);
        let mut since = Instant::now();
        let mut outgoing = vec![Vec::new(); job.processes];
        let own = part(&(0..job.part.wires.len()), self.number, job.tasks);
        for wire in &job.part.wires[own] {
            let current = current(board.voltage(wire.from), board.voltage(wire.to));
            board.add_charge(wire.from, current.wrapping_neg());
            match job.circuit.owner(wire.to) {
                owner if owner == job.process => board.add_charge(wire.to, current),
                owner => {
                    outgoing[owner].extend([wire.to as u64, current]);
                    tally.charges += 1;
                }
            }
        }
        end(&mut tally.compute, &mut since);
        outgoing
    }

    /// Voltages of the thread's nodes, also for the processes that have them as ghosts.
    fn voltages(&self, tally: &mut Tally) -> Vec<Vec<u64>> {
        let (job, board) = (self.job, &self.job.board);
        let mut since = Instant::now();
        let mut outgoing = vec![Vec::new(); job.processes];
        for node in part(&job.part.nodes, self.number, job.tasks) {
            let voltage = charged(board.voltage(node), board.take_charge(node));
            board.set_voltage(node, voltage);
            for &reader in &job.part.readers[node - job.part.nodes.start] {
                outgoing[reader].extend([node as u64, voltage]);
                tally.voltages += 1;
            }
        }
        end(&mut tally.compute, &mut since);
        outgoing
    }

    /// Sends what there is for other processes, a message for each.
    fn send(&self, kind: Kind, outgoing: &[Vec<u64>], tally: &mut Tally) -> Result<()> {
        let mut since = Instant::now();
        for (process, values) in outgoing.iter().enumerate() {
            if !values.is_empty() {
                let count = values.len() as u64 / 2;
                let values = (count, &values[..]);
                self.outlet
                    .send(process, kind, values, &mut tally.traffic)?;
            }
        }
        end(&mut tally.send, &mut since);
        Ok(())
    }

    /// Waits for the other tasks, and for values from other processes.
    fn wait(&self, kind: Kind, values: u64, tally: &mut Tally) {
        let mut since = Instant::now();
        self.job.board.tasks.wait();
        self.job.board.wait_for(kind, values);
        end(&mut tally.wait, &mut since);
    }

    /// Compares voltages with those of the serial computation.
    fn compare(&self, tally: &mut Tally) {
        let job = self.job;
        for node in part(&job.part.nodes, self.number, job.tasks) {
            let (found, findings) = (job.board.voltage(node), &mut tally.findings);
            findings.checksum = findings.checksum.wrapping_add(weighted(node, found));
            if let Some(expected) = job.expected.get(node) {
                let process = job.process;
                findings.compare(found, *expected, || {
                    format!("process {process}: the voltage of node {node}")
                });
            }
        }
    }
}
