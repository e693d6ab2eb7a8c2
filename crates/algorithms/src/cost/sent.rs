// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages and bytes that each rank sends.

use super::nodes::{between, first_of};
use super::trees::{children, doublings, part_start, span};
use super::vectors::{Folded, element_bytes, halves, ring_part, segment_bytes};
use crate::case::Case;
use crate::names::{
    Algorithm, Allgather, Allreduce, Alltoall, Barrier, Bcast, Gather, Listed, Operation, Reduce,
    ReduceScatter, Scan, Scatter,
};

/// The messages and bytes that one rank sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Messages.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl Sent {
    pub(super) const fn of(messages: u64, bytes: u64) -> Self {
        Self { messages, bytes }
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self::of(self.messages + other.messages, self.bytes + other.bytes)
    }
}

/// Parts sent down a binomial tree.
fn parts_down(rank: u32, bytes: u64, ranks: u32) -> Sent {
    let (me, p) = (u64::from(rank), u64::from(ranks));
    let mut sum = Sent::default();
    let mut distance = 1;
    while distance < span(rank, ranks, 2) {
        let child = me + distance;
        if child < p {
            let end = part_start((child + distance).min(p), bytes, p);
            sum = sum.and(Sent::of(1, end - part_start(child, bytes, p)));
        }
        distance *= 2;
    }
    sum
}

/// The messages and bytes of each rank; its rank is relative to the root. Ranks on several nodes are on neighbouring ones, about as many on
/// each, and the ranks of a node share memory; the first of each sends what the library's rules have it send.
pub fn sent(algorithm: Algorithm, parameter: u64, case: &Case, rank: u32) -> Sent {
    if case.ranks < 2 || algorithm.is_shared() {
        return Sent::default();
    }
    if algorithm.name() == "hierarchical" {
        return sent_between_nodes(algorithm.operation(), case, rank);
    }
    fn typed<A: Listed>(algorithm: Algorithm) -> A {
        algorithm.typed().unwrap_or(A::LAST_RESORT)
    }
    if case.total == 0 && algorithm.operation() != Operation::Barrier {
        return Sent::default();
    }
    match algorithm.operation() {
        Operation::Barrier => barrier(typed(algorithm), case),
        Operation::Bcast => bcast(typed(algorithm), parameter, case, rank),
        Operation::Gather => gather(typed(algorithm), case, rank),
        Operation::Scatter => scatter(typed(algorithm), case, rank),
        Operation::Allgather => allgather(typed(algorithm), case),
        Operation::Alltoall => alltoall(typed(algorithm), case),
        Operation::Reduce => reduce(typed(algorithm), parameter, case, rank),
        Operation::Allreduce => allreduce(typed(algorithm), parameter, case, rank),
        Operation::ReduceScatter => reduce_scatter(typed(algorithm), parameter, case, rank),
        Operation::Scan => scan(typed(algorithm), case, rank),
    }
}

fn sent_between_nodes(operation: Operation, case: &Case, rank: u32) -> Sent {
    let node = u64::from(rank) * u64::from(case.nodes) / u64::from(case.ranks);
    if u64::from(rank) != first_of(case, node) {
        return Sent::default();
    }
    let members = first_of(case, node + 1) - first_of(case, node);
    let (ranks, nodes) = (u64::from(case.ranks), u64::from(case.nodes));
    let bytes = case.bytes as u64;
    match operation {
        Operation::Gather if node == 0 => Sent::default(),
        Operation::Gather => Sent::of(1, members * bytes),
        Operation::Scatter if node == 0 => Sent::of(nodes - 1, (ranks - members) * bytes),
        Operation::Scatter => Sent::default(),
        _ => {
            let (algorithm, parameter, case) = between(operation, case);
            sent(algorithm, parameter, &case, node as u32)
        }
    }
}

fn tree_up(case: &Case, rank: u32) -> Sent {
    let up = u64::from(rank > 0);
    Sent::of(up, up * case.bytes as u64)
}

fn tree_down(case: &Case, rank: u32, degree: u64) -> Sent {
    let count = children(rank, case.ranks, degree).len() as u64;
    Sent::of(count, count * case.bytes as u64)
}

fn star_down(case: &Case, rank: u32) -> Sent {
    let count = if rank == 0 {
        u64::from(case.ranks) - 1
    } else {
        0
    };
    Sent::of(count, count * case.bytes as u64)
}

fn barrier(algorithm: Barrier, case: &Case) -> Sent {
    match algorithm {
        Barrier::Shared | Barrier::Hierarchical => Sent::default(),
        Barrier::Dissemination => Sent::of(doublings(case.ranks), 0),
    }
}

fn bcast(algorithm: Bcast, parameter: u64, case: &Case, rank: u32) -> Sent {
    let (bytes, p) = (case.bytes as u64, u64::from(case.ranks));
    match algorithm {
        Bcast::Shared | Bcast::Hierarchical => Sent::default(),
        Bcast::Tree => tree_down(case, rank, 2),
        Bcast::Knomial => tree_down(case, rank, parameter.max(2)),
        Bcast::Linear => star_down(case, rank),
        Bcast::ScatterRing => {
            // Round the ring a rank passes on every part but that of the rank above it.
            let above = (u64::from(rank) + 1) % p;
            let kept = part_start(above + 1, bytes, p) - part_start(above, bytes, p);
            parts_down(rank, bytes, case.ranks).and(Sent::of(p - 1, bytes - kept))
        }
        Bcast::ScatterDoubling => {
            let mut sum = parts_down(rank, bytes, case.ranks);
            let mut distance = 1;
            while distance < p {
                let first = u64::from(rank) / distance * distance;
                let held = part_start(first + distance, bytes, p) - part_start(first, bytes, p);
                sum = sum.and(Sent::of(1, held));
                distance *= 2;
            }
            sum
        }
        Bcast::Chain => {
            let passes = u64::from(u64::from(rank) + 1 < p);
            Sent::of(passes * bytes.div_ceil(parameter.max(1)), passes * bytes)
        }
    }
}

fn gather(algorithm: Gather, case: &Case, rank: u32) -> Sent {
    let bytes = case.bytes as u64;
    let up = u64::from(rank > 0);
    match algorithm {
        Gather::Shared | Gather::Hierarchical => Sent::default(),
        Gather::Tree => {
            let span = span(rank, case.ranks, 2);
            let members = span.min(u64::from(case.ranks - rank));
            Sent::of(up, up * members * bytes)
        }
        Gather::Linear => Sent::of(up, up * bytes),
    }
}

fn scatter(algorithm: Scatter, case: &Case, rank: u32) -> Sent {
    let bytes = case.bytes as u64;
    match algorithm {
        Scatter::Shared | Scatter::Hierarchical => Sent::default(),
        Scatter::Tree => {
            let below = children(rank, case.ranks, 2);
            Sent::of(below.len() as u64, below.iter().sum::<u64>() * bytes)
        }
        Scatter::Linear => star_down(case, rank),
    }
}

fn allgather(algorithm: Allgather, case: &Case) -> Sent {
    let others = u64::from(case.ranks) - 1;
    let bytes = others * case.bytes as u64;
    match algorithm {
        Allgather::Shared | Allgather::Hierarchical => Sent::default(),
        Allgather::Bruck | Allgather::RecursiveDoubling => Sent::of(doublings(case.ranks), bytes),
        Allgather::Ring | Allgather::Linear => Sent::of(others, bytes),
    }
}

fn alltoall(algorithm: Alltoall, case: &Case) -> Sent {
    let others = u64::from(case.ranks) - 1;
    let bytes = case.bytes as u64;
    match algorithm {
        Alltoall::Shared => Sent::default(),
        Alltoall::Bruck => {
            // Each bit of a distance forwards the blocks of all distances that have it.
            let p = u64::from(case.ranks);
            let with = |bit: u64| p / (2 * bit) * bit + (p % (2 * bit)).saturating_sub(bit);
            let forwarded: u64 = (0..doublings(case.ranks)).map(|bit| with(1 << bit)).sum();
            Sent::of(doublings(case.ranks), forwarded * bytes)
        }
        Alltoall::Pairwise | Alltoall::Linear => Sent::of(others, others * bytes),
    }
}

/// The halves that a rank sends away.
fn halving(case: &Case, held: &[u64]) -> Sent {
    let pairs = held.windows(2);
    let given: u64 = pairs.map(|pair| pair[0] - pair[1]).sum();
    Sent::of(held.len() as u64 - 1, given * element_bytes(case))
}

fn reduce(algorithm: Reduce, parameter: u64, case: &Case, rank: u32) -> Sent {
    let bytes = case.bytes as u64;
    match algorithm {
        Reduce::Shared | Reduce::SharedParts | Reduce::Hierarchical => Sent::default(),
        Reduce::Tree | Reduce::Knomial | Reduce::Linear => tree_up(case, rank),
        Reduce::Chain => chain_up(parameter, case, rank),
        Reduce::Rabenseifner => {
            let folded = Folded::new(case.ranks);
            let Some(me) = folded.rank(rank) else {
                return Sent::of(1, bytes);
            };
            let held = halves(case.elements as u64, me, folded.ranks);
            let mut sum = halving(case, &held);
            // The collector is folded rank 0: the highest bit decides when the others hand over what they have collected.
            if me > 0 {
                let kept = held[me.ilog2() as usize + 1];
                sum = sum.and(Sent::of(1, kept * element_bytes(case)));
            }
            if me == 0 && folded.gives_back(rank) {
                sum = sum.and(Sent::of(1, bytes));
            }
            sum
        }
    }
}

fn chain_up(parameter: u64, case: &Case, rank: u32) -> Sent {
    let (up, bytes) = (u64::from(rank > 0), case.total as u64);
    Sent::of(
        up * bytes.div_ceil(segment_bytes(parameter, case)),
        up * bytes,
    )
}

fn doubled(case: &Case, rank: u32) -> Sent {
    let folded = Folded::new(case.ranks);
    let bytes = case.total as u64;
    let steps = match folded.rank(rank) {
        None => 1,
        Some(_) => u64::from(folded.ranks.ilog2()) + u64::from(folded.gives_back(rank)),
    };
    Sent::of(steps, steps * bytes)
}

fn halved_and_doubled(case: &Case, rank: u32) -> Sent {
    let folded = Folded::new(case.ranks);
    let bytes = case.total as u64;
    let Some(me) = folded.rank(rank) else {
        return Sent::of(1, bytes);
    };
    let held = halves(case.elements as u64, me, folded.ranks);
    let kept: u64 = held[1..].iter().sum();
    let back = u64::from(folded.gives_back(rank));
    let sum = halving(case, &held);
    sum.and(Sent::of(held.len() as u64 - 1, kept * element_bytes(case)))
        .and(Sent::of(back, back * bytes))
}

fn allreduce(algorithm: Allreduce, parameter: u64, case: &Case, rank: u32) -> Sent {
    match algorithm {
        Allreduce::Shared | Allreduce::SharedParts | Allreduce::Hierarchical => Sent::default(),
        Allreduce::RecursiveDoubling => doubled(case, rank),
        Allreduce::Rabenseifner => halved_and_doubled(case, rank),
        Allreduce::Ring => {
            let (p, me) = (u64::from(case.ranks), u64::from(rank));
            let elements = case.elements as u64;
            // Combined, a rank passes on every part but its own; collected, every part but that of the rank above.
            let given =
                2 * elements - ring_part(elements, me, p) - ring_part(elements, (me + 1) % p, p);
            Sent::of(2 * (p - 1), given * element_bytes(case))
        }
        Allreduce::Chain => chain_up(parameter, case, rank).and(tree_down(case, rank, 2)),
    }
}

fn reduce_scatter(algorithm: ReduceScatter, parameter: u64, case: &Case, rank: u32) -> Sent {
    let others = u64::from(case.ranks) - 1;
    match algorithm {
        ReduceScatter::Shared => Sent::default(),
        ReduceScatter::RecursiveDoubling => doubled(case, rank),
        ReduceScatter::Rabenseifner => halved_and_doubled(case, rank),
        ReduceScatter::Pairwise | ReduceScatter::Ring => {
            Sent::of(others, case.total as u64 - case.bytes as u64)
        }
        ReduceScatter::Chain => chain_up(parameter, case, rank).and(star_down(case, rank)),
    }
}

fn scan(algorithm: Scan, case: &Case, rank: u32) -> Sent {
    let above = case.ranks - 1 - rank;
    let count = match algorithm {
        Scan::Shared | Scan::SharedChain => 0,
        // Distances 1, 2, 4... that do not lead beyond the last rank.
        Scan::RecursiveDoubling => u64::from(u32::BITS - above.leading_zeros()),
        Scan::Linear => u64::from(above > 0),
        Scan::Direct => u64::from(above),
    };
    Sent::of(count, count * case.bytes as u64)
}
