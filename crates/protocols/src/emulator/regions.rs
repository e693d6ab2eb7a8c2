// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes: memory that is open for puts, and the log of a sender.

use super::cells::Region;
use super::world::{World, Write};
use crate::flaw::Flaw;
use crate::names::{Key, ReceiveId};
use crate::sender::{Offer, SendEvent};
use crate::variant::Stale;

impl World {
    /// Opens the memory of a receive for its sender, where writes need that; closes what was open.
    pub(super) fn open(&mut self, receiver: usize, receive: ReceiveId) -> Option<Region> {
        if self.config.columns().stale != Stale::Log {
            return None;
        }
        let buffer = &mut self.receivers[receiver].buffers[receive.0 as usize];
        buffer.opened += 1;
        buffer.region = Some(Region(buffer.opened));
        buffer.region
    }

    pub(super) fn close(&mut self, receiver: usize, receive: ReceiveId) {
        self.receivers[receiver].buffers[receive.0 as usize].region = None;
    }

    /// A put goes to open memory; another one would end the connection.
    pub(super) fn check_open(&mut self, link: usize, write: Write) {
        let receiver = self.end(link);
        let receive = write.receive;
        let open = self.receivers[receiver].buffers[receive.0 as usize].region;
        let is_needed = self.config.columns().stale == Stale::Log && !write.is_chunks;
        let is_dead = self.dead == Some(self.receivers[receiver].rank);
        if is_needed && !is_dead && (open.is_none() || open != write.region) {
            self.violate(|| format!("a put meets closed memory of receive {}", receive.0));
        }
    }

    /// The scan where the log decides: whether a message of a key may have left since cell `since`, and before cell `until`.
    pub(super) fn may_have_left(&self, link: usize, key: Key, since: u64, until: u64) -> bool {
        let one = &self.links[link];
        let first = one.published.saturating_sub(self.behaviour.log_cells);
        if since < first && !self.config.has(Flaw::LogTrusted) {
            return true;
        }
        let since = match self.config.has(Flaw::ConsumedPassedOver) {
            true => since.max(one.consumed),
            false => since,
        };
        let mut log = one.log.iter();
        log.any(|&(sequence, logged, _)| logged == key && since <= sequence && sequence < until)
    }

    /// An RTR is here where the log decides.
    pub(super) fn offered(&mut self, link: usize, offer: Offer, region: Option<Region>) {
        self.note_region(link, offer.receive, region);
        let mut is_blocked = false;
        if self.config.has(Flaw::CrossingAwaited) {
            let one = &mut self.links[link];
            one.handled += 1;
            let open = one.side.oldest_open(offer.key);
            let mut log = one.log.iter();
            let until = open.and_then(|open| log.find(|&&(_, _, send)| send == open));
            let until = until.map_or(0, |&(sequence, _, _)| sequence);
            is_blocked = self.may_have_left(link, offer.key, offer.number, until);
        }
        self.send_event(link, SendEvent::Rtr { offer, is_blocked });
    }

    pub(super) fn note_region(&mut self, link: usize, receive: ReceiveId, region: Option<Region>) {
        let regions = &mut self.links[link].regions;
        regions.retain(|&(named, _)| named != receive);
        regions.extend(region.map(|region| (receive, region)));
    }
}
