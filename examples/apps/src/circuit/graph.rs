// SPDX-License-Identifier: MIT OR Apache-2.0
//! A random circuit: wires between any two nodes, which are dealt to processes in blocks.
//!
//! Currents, charges and voltages are wrapping integers, so their sums do not depend on the order of messages.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::hash::{hash, hash_of};
use crate::threads::{part, part_with};

/// A wire. The process that owns the node at its beginning computes its current.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wire {
    /// The node at its beginning.
    pub from: usize,
    /// The node at its end.
    pub to: usize,
}

/// The circuit, the same in all processes.
#[derive(Clone, Debug)]
pub struct Circuit {
    nodes: usize,
    processes: usize,
    wires: Vec<Wire>,
}

/// A process's part of the circuit.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its nodes.
    pub nodes: Range<usize>,
    /// The wires that begin at its nodes.
    pub wires: Vec<Wire>,
    /// For each of its nodes, the processes whose wires end there.
    pub readers: Vec<BTreeSet<usize>>,
    /// Nodes of others at which its wires end.
    pub ghosts: usize,
    /// Wires of others that end at its nodes.
    pub charges: usize,
}

/// The voltage of a node at the start.
const fn start(node: usize) -> u64 {
    hash(node as u64)
}

/// The current of a wire, from the voltages at its beginning and its end.
pub const fn current(from: u64, to: u64) -> u64 {
    (from.wrapping_sub(to).cast_signed() >> 3).cast_unsigned()
}

/// The voltage of a node after a step with a charge.
pub const fn charged(voltage: u64, charge: u64) -> u64 {
    voltage.wrapping_add((charge.cast_signed() >> 2).cast_unsigned())
}

impl Circuit {
    /// Random wires between so many nodes.
    pub fn new(nodes: usize, wires: usize, processes: usize) -> Self {
        let end = |wire: usize, end: u64| hash_of([wire as u64, end]) % nodes as u64;
        let wire = |number| Wire {
            from: end(number, 0) as usize,
            to: end(number, 1) as usize,
        };
        Self {
            nodes,
            processes,
            wires: (0..wires).map(wire).collect(),
        }
    }

    /// The process that owns a node.
    pub const fn owner(&self, node: usize) -> usize {
        part_with(node, self.nodes, self.processes)
    }

    /// Voltages of all nodes at the start.
    pub fn start(&self) -> Vec<u64> {
        (0..self.nodes).map(start).collect()
    }

    /// The part of a process.
    pub fn part(&self, process: usize) -> Part {
        let nodes = part(&(0..self.nodes), process, self.processes);
        let mut all = Part {
            readers: vec![BTreeSet::new(); nodes.len()],
            nodes,
            wires: Vec::new(),
            ghosts: 0,
            charges: 0,
        };
        let mut ghosts = BTreeSet::new();
        for &wire in &self.wires {
            let (from, to) = (self.owner(wire.from), self.owner(wire.to));
            if from == process {
                all.wires.push(wire);
                ghosts.extend((to != process).then_some(wire.to));
            } else if to == process {
                all.charges += 1;
                all.readers[wire.to - all.nodes.start].insert(from);
            }
        }
        all.ghosts = ghosts.len();
        all
    }

    /// Voltages of all nodes after some steps, computed serially.
    pub fn after(&self, steps: u64) -> Vec<u64> {
        let mut voltages = self.start();
        for _ in 0..steps {
            let mut charges = vec![0u64; self.nodes];
            for wire in &self.wires {
                let current = current(voltages[wire.from], voltages[wire.to]);
                charges[wire.from] = charges[wire.from].wrapping_sub(current);
                charges[wire.to] = charges[wire.to].wrapping_add(current);
            }
            for (voltage, charge) in voltages.iter_mut().zip(charges) {
                *voltage = charged(*voltage, charge);
            }
        }
        voltages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_every_node_and_wire_once() {
        for processes in 1..=5 {
            let circuit = Circuit::new(13, 50, processes);
            let parts: Vec<Part> = (0..processes).map(|it| circuit.part(it)).collect();
            for (process, part) in parts.iter().enumerate() {
                assert!(part.nodes.clone().all(|it| circuit.owner(it) == process));
            }
            let sum = |of: &dyn Fn(&Part) -> usize| parts.iter().map(of).sum::<usize>();
            assert_eq!(sum(&|it| it.nodes.len()), 13);
            assert_eq!(sum(&|it| it.wires.len()), 50);
            // The owner of each ghost knows who reads it.
            let read = |it: &Part| it.readers.iter().map(BTreeSet::len).sum();
            assert_eq!(sum(&|it| it.ghosts), sum(&read));
        }
    }

    #[test]
    fn currents_flow_from_high_to_low_voltages() {
        let circuit = Circuit::new(8, 40, 1);
        let voltages = circuit.start();
        assert_ne!(circuit.after(1), voltages);
        assert_eq!(current(80, 0), 10);
        assert_eq!(current(0, 80), 10u64.wrapping_neg());
        assert_eq!(charged(1, 8u64.wrapping_neg()), 1u64.wrapping_sub(2));
    }
}
