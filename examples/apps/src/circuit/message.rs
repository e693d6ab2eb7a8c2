// SPDX-License-Identifier: MIT OR Apache-2.0
//! Active messages: a command of at most 1 KiB that holds its values, or a command and a payload with them.

use rankpoint::{Communicator, Result, Status, Threads};

/// Words of the longest command.
pub(super) const COMMAND_WORDS: usize = 128;
/// Words before the values of a command: its kind, the number of the sending thread, the number of values.
const HEAD_WORDS: usize = 3;

/// What a handler does. Values are pairs of a node and a number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Adds to charges.
    Charges,
    /// Replaces voltages of ghosts.
    Voltages,
    /// Counts charges that another process has taken; there are no values.
    Taken,
}

/// Tags by the number of the sending thread; the polling thread has number 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tags {
    /// Bits of a thread's number, where tags name the VCIs of both threads; else 0.
    pub(super) thread_bits: u32,
}

/// Where a thread sends active messages.
pub(super) struct Outlet<'c, 'u, T: Threads> {
    pub(super) comm: &'c Communicator<'u, T>,
    pub(super) tags: Tags,
    /// The number of the sending thread.
    pub(super) sender: usize,
    /// Ranks of each process, of which the first one is the polling thread.
    pub(super) ranks_of_process: usize,
}

/// What was sent or received.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) commands: u64,
    pub(super) payloads: u64,
    pub(super) bytes: u64,
}

impl Tags {
    /// The tag of commands.
    pub(super) const fn command(self, sender: usize) -> i32 {
        match self.thread_bits {
            0 => 0,
            bits => (sender << bits) as i32,
        }
    }

    /// The tag of payloads. It names the sender, because payloads of several threads may overtake each other's commands.
    pub(super) const fn payload(self, sender: usize) -> i32 {
        match self.thread_bits {
            0 => 1 + sender as i32,
            bits => ((1 << bits | sender) << bits) as i32,
        }
    }
}

impl<T: Threads> Outlet<'_, '_, T> {
    /// Sends a message to the polling thread of a process.
    pub(super) fn send(
        &self,
        process: usize,
        kind: Kind,
        (count, values): (u64, &[u64]),
        traffic: &mut Traffic,
    ) -> Result<()> {
        let rank = process * self.ranks_of_process;
        let mut command = vec![kind as u64, self.sender as u64, count];
        let is_inline = command.len() + values.len() <= COMMAND_WORDS;
        if is_inline {
            command.extend_from_slice(values);
        }
        let tag = self.tags.command(self.sender);
        self.comm.send(&command[..], rank, tag)?;
        traffic.commands += 1;
        traffic.bytes += size_of_val(&command[..]) as u64;
        if !is_inline {
            let tag = self.tags.payload(self.sender);
            self.comm.send(values, rank, tag)?;
            traffic.payloads += 1;
            traffic.bytes += size_of_val(values) as u64;
        }
        Ok(())
    }

    /// The kind, the number of values and the values of a command that has come here, whose payload is received now.
    pub(super) fn open(&self, command: &[u64], status: Status) -> Result<(Kind, u64, Vec<u64>)> {
        let (kind, sender, count) = (command[0], command[1] as usize, command[2]);
        let kind = match kind {
            0 => Kind::Charges,
            1 => Kind::Voltages,
            _ => Kind::Taken,
        };
        let words = match kind {
            Kind::Taken => 0,
            _ => 2 * count as usize,
        };
        if HEAD_WORDS + words <= COMMAND_WORDS {
            return Ok((
                kind,
                count,
                command[HEAD_WORDS..HEAD_WORDS + words].to_vec(),
            ));
        }
        let mut values = vec![0; words];
        let tag = self.tags.payload(sender);
        self.comm.recv(&mut values[..], status.source(), tag)?;
        Ok((kind, count, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_payloads_of_all_senders_have_tags_of_their_own() {
        for (thread_bits, threads) in [(1, 2), (2, 4), (6, 64)] {
            let tags = Tags { thread_bits };
            let commands = (0..threads).map(|it| tags.command(it));
            let all: Vec<i32> = commands
                .chain((0..threads).map(|it| tags.payload(it)))
                .collect();
            assert!(all.is_sorted_by(|one, other| one < other), "{all:?}");
            // The receiver is the polling thread.
            assert!(all.iter().all(|tag| tag % (1 << thread_bits) == 0));
        }
        let one_tag = Tags { thread_bits: 0 };
        assert_eq!((0..9).map(|it| one_tag.command(it)).max(), Some(0));
        assert_eq!((one_tag.payload(0), one_tag.payload(8)), (1, 9));
    }
}
