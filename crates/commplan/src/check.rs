// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every message of a grid, as both of its ends see it.

use std::collections::{BTreeMap, BTreeSet};

use crate::grid::{Neighbour, Place};
use crate::kind::Kind;
use crate::plan::Plan;
use crate::stencil::Direction;

/// Plans of more messages are not checked.
pub const MAX_CHECKED: u64 = 1_000_000;

/// What a check of all messages found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Checked {
    /// Messages between processes, of one step.
    pub messages: u64,
    /// Messages whose ends differ in communicator, tag or partner.
    pub disagreements: u64,
    /// Messages that another one of the same sender, receiver, communicator and tag could be taken for.
    pub ambiguous: u64,
    /// Communicators that several threads of a process use, summed over processes. One communicator with tags, and endpoints,
    /// have threads that are independent all the same, and count none.
    pub shared: u64,
}

impl Checked {
    /// Whether both ends of all messages agree, and no message can be taken for another one.
    pub const fn agrees(&self) -> bool {
        self.disagreements == 0 && self.ambiguous == 0
    }
}

impl Plan {
    /// Compares both ends of every message; nothing when there are more than [`MAX_CHECKED`].
    pub fn check(&self) -> Option<Checked> {
        let volume = self.grid().domain_volume();
        if volume.all.all() - volume.inside.all() > MAX_CHECKED {
            return None;
        }
        let mut found = Checked::default();
        let mut seen = BTreeSet::new();
        let mut threads = BTreeMap::<(usize, usize), BTreeSet<usize>>::new();
        for rank in 0..self.grid().process_count() {
            let process = self.grid().process_of(rank);
            for place in self.grid().places(process) {
                for &direction in self.directions() {
                    let Neighbour::Away(to) = self.grid().neighbour(place, direction) else {
                        continue;
                    };
                    found.messages += 1;
                    match self.message(place, to, direction) {
                        Some(message) => found.ambiguous += u64::from(!seen.insert(message)),
                        None => found.disagreements += 1,
                    }
                }
            }
            if !matches!(self.kind(), Kind::Tag | Kind::Endpoint) {
                for (thread, object) in self.uses_of(process) {
                    threads.entry((rank, object)).or_default().insert(thread);
                }
            }
        }
        let shared = threads.values().filter(|users| users.len() > 1);
        found.shared = shared.count() as u64;
        Some(found)
    }

    /// Sender, receiver, communicator and tag of a message, if both ends agree.
    fn message(&self, from: Place, to: Place, direction: Direction) -> Option<[usize; 4]> {
        let sent = self.comm_for(from, direction)?.send;
        let received = self.comm_for(to, direction.opposite())?.receive;
        let (sender, receiver) = (self.end_of(from), self.end_of(to));
        // The endpoints of a process are handles of one communicator.
        let is_one = self.kind() == Kind::Endpoint || sent.object == received.object;
        let agrees =
            is_one && sent.tag == received.tag && sent.peer == receiver && received.peer == sender;
        let communicator = if self.kind() == Kind::Endpoint {
            0
        } else {
            sent.object
        };
        agrees.then_some([sender, receiver, communicator, sent.tag])
    }
}
