// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notes what happens, where a job keeps a trace.

use super::timing::{Row, What};
use super::world::World;

impl World {
    /// Notes what happens now at the sender of a link, or at its receiver.
    pub(super) fn note(
        &mut self,
        link: usize,
        is_back: bool,
        what: What,
        name: &'static str,
        fields: impl FnOnce() -> String,
    ) {
        let (from, to) = (self.links[link].from, self.links[link].to);
        let rank = if is_back { to } else { from };
        self.push_row(what, name, (rank, rank), (self.now_ns, self.now_ns), fields);
    }

    /// Notes what leaves now and ends at `until_ns`.
    pub(super) fn note_until(
        &mut self,
        link: usize,
        is_back: bool,
        what: What,
        name: &'static str,
        until_ns: u64,
        fields: impl FnOnce() -> String,
    ) {
        let (from, to) = (self.links[link].from, self.links[link].to);
        let ranks = if is_back { (to, from) } else { (from, to) };
        self.push_row(what, name, ranks, (self.now_ns, until_ns), fields);
    }

    /// Notes a copy from the sender's memory that begins later.
    pub(super) fn note_data(
        &mut self,
        link: usize,
        at_ns: u64,
        until_ns: u64,
        fields: impl FnOnce() -> String,
    ) {
        let ranks = (self.links[link].from, self.links[link].to);
        self.push_row(What::Data, "data", ranks, (at_ns, until_ns), fields);
    }

    /// Notes what happens now at a receiver.
    pub(super) fn note_receiver(
        &mut self,
        receiver: usize,
        what: What,
        name: &'static str,
        fields: impl FnOnce() -> String,
    ) {
        let rank = self.receivers[receiver].rank;
        self.push_row(what, name, (rank, rank), (self.now_ns, self.now_ns), fields);
    }

    fn push_row(
        &mut self,
        what: What,
        name: &'static str,
        (from, to): (u32, u32),
        (at_ns, until_ns): (u64, u64),
        fields: impl FnOnce() -> String,
    ) {
        if let Some(trace) = &mut self.trace {
            trace.rows.push(Row {
                at_ns,
                until_ns,
                from,
                to,
                what,
                name,
                fields: fields(),
            });
        }
    }
}
