// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the labels of a round travel between processes.
//!
//! Who sends to whom is new in each round. So threads first add up, for each receiver, how many messages come, and then receive so many from any
//! source. Nobody sends labels of the next round before all have those of this one, because that sum needs all.

use rankpoint::{Communicator, Op, Result, Source, Threads};

/// How a mode names receivers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    /// Ranks of each process.
    pub(super) ranks_of_process: usize,
    /// Threads of each process.
    pub(super) threads: usize,
    /// Bits of a thread's number where tags name the VCIs of both threads; else 0.
    pub(super) thread_bits: u32,
}

/// Labels for a vertex each, as pairs.
pub(super) type Labels = Vec<u64>;

impl Names {
    /// The rank of a member.
    pub(super) const fn rank(self, member: usize) -> usize {
        member / self.threads * self.ranks_of_process
            + member % self.threads % self.ranks_of_process
    }

    /// Classes of senders: a receive of a tag that names both threads is for senders of one number.
    pub(super) const fn classes(self) -> usize {
        match self.thread_bits {
            0 => 1,
            _ => self.threads,
        }
    }

    /// The class of a sending thread.
    pub(super) const fn class(self, sender: usize) -> usize {
        sender % self.classes()
    }

    /// The tag of a message of a class.
    pub(super) const fn tag(self, class: usize, receiver: usize) -> i32 {
        let receiver = receiver % (self.threads / self.ranks_of_process);
        (class << self.thread_bits | receiver) as i32
    }
}

/// For each class, how many messages come for the caller's ranks, from how many messages it and all others send: for each member and class.
pub(super) fn agree<T: Threads>(comm: &Communicator<'_, T>, messages: &[u64]) -> Result<Vec<u64>> {
    comm.reduce_scatter_equal(messages, Op::SUM)
}

/// Sends labels to members, and receives as many messages of each class as come.
pub(super) fn exchange<T: Threads>(
    comm: &Communicator<'_, T>,
    names: Names,
    thread: usize,
    outgoing: Vec<(usize, Labels)>,
    incoming: &[u64],
) -> Result<Vec<Labels>> {
    let mut sends = Vec::new();
    for (member, labels) in outgoing {
        let tag = names.tag(names.class(thread), member % names.threads);
        sends.push(comm.isend_owned(labels, names.rank(member), tag)?);
    }
    let mut received = Vec::new();
    for (class, &count) in incoming.iter().enumerate() {
        for _ in 0..count {
            let labels = comm.recv_vec(Source::Any, names.tag(class, thread))?;
            received.push(labels.0);
        }
    }
    for send in sends {
        send.wait()?;
    }
    Ok(received)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_mode() {
        let serial = Names {
            ranks_of_process: 1,
            threads: 3,
            thread_bits: 0,
        };
        assert_eq!(
            (serial.rank(7), serial.classes(), serial.class(2)),
            (2, 1, 0)
        );
        assert_eq!((serial.tag(0, 2), serial.tag(0, 0)), (2, 0));
        let tag = Names {
            ranks_of_process: 1,
            threads: 3,
            thread_bits: 2,
        };
        assert_eq!((tag.rank(7), tag.classes(), tag.class(2)), (2, 3, 2));
        assert_eq!(tag.tag(2, 1), 2 * 4 + 1);
        let endpoint = Names {
            ranks_of_process: 3,
            threads: 3,
            thread_bits: 0,
        };
        assert_eq!((endpoint.rank(7), endpoint.classes()), (7, 1));
        assert_eq!((endpoint.tag(0, 2), endpoint.tag(0, 0)), (0, 0));
    }
}
