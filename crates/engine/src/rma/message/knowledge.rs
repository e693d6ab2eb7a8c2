// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a member of a window knows of the others' operations, and how it travels, for `RANKPOINT_CHECK=rma` ([`super::clock`]).

use std::sync::Arc;

use sys::sync::Mutex;

use super::accesses::Accesses;
use super::channel::{Channel, locked, send_owned};
use super::clock::{Clock, Moment};
use super::wire::{Header, Kind, REQUEST_TAG};
use crate::comm::Comm;
use crate::errors::Result;
use crate::ordering::{Watcher, Watchers};
use crate::overlap::Overlaps;
use crate::rma::window::Window;

/// What a member keeps where its window is checked.
pub(super) struct Checked {
    /// Accesses to its memory.
    pub(super) accesses: Mutex<Accesses>,
    own: Mutex<Own>,
    watcher: Arc<Watcher>,
}

/// What the member knows as an origin, and what it has told each target.
struct Own {
    moment: Moment,
    told: Vec<Option<Box<Moment>>>,
}

fn watchers(comm: &Comm) -> Option<&Watchers> {
    comm.vci().overlaps().and_then(Overlaps::watchers)
}

impl Checked {
    /// That of a member of a new window, if the process is checked.
    pub(super) fn new(comm: &Comm, accesses: impl FnOnce() -> Accesses) -> Option<Self> {
        let members = comm.size() as usize;
        let watcher = watchers(comm)?.watch(comm.group(), comm.member());
        let own = Own {
            moment: Moment::new(members),
            told: (0..members).map(|_| None).collect(),
        };
        Some(Self {
            accesses: Mutex::new(accesses()),
            own: Mutex::new(own),
            watcher,
        })
    }

    /// What the member knows now.
    pub(super) fn now(&self) -> Moment {
        let mut own = locked(&self.own);
        own.moment.known = self.watcher.now();
        own.moment.clone()
    }

    /// A call that completes operations of the member is over.
    pub(super) fn advance(&self, member: u32) {
        let clock = &mut locked(&self.own).moment.clock;
        clock.advance(member, clock.of(member).wrapping_add(1));
    }
}

impl Channel {
    /// Tells a target what this member knows, if that has changed: what follows is done by one who knows it. The member itself is told,
    /// too, because the requests that it has sent to itself before are done by one who knows less.
    ///
    /// # Errors
    /// When no request is free.
    pub(super) fn tell_moment(&self, rank: u32) -> Result<()> {
        let Some(checked) = &self.checked else {
            return Ok(());
        };
        let stream = self.first();
        let comm = &stream.comm;
        let mut own = locked(&checked.own);
        let Own { moment, told } = &mut *own;
        moment.known = checked.watcher.now();
        let nothing = || Box::new(Moment::new(comm.size() as usize));
        let told = told[rank as usize].get_or_insert_with(nothing);
        for news in moment.news(told) {
            let header = Header::new(Kind::Moment, stream.number());
            let mut message = header.encode(&[], news.len());
            message.extend(news);
            let pending = send_owned(comm, message, rank, REQUEST_TAG)?;
            stream.keep(rank, pending.into_iter().collect());
        }
        (**told).clone_from(moment);
        Ok(())
    }

    /// Takes over the clock of an answer, if there is one.
    pub(super) fn hear_answer(&self, clock: &[u8]) {
        let Some(checked) = self.checked.as_ref().filter(|_| !clock.is_empty()) else {
            return;
        };
        let comm = &self.first().comm;
        let clock = Clock::decode(clock, comm.size() as usize);
        let is_new = locked(&checked.own).moment.clock.join(&clock);
        // Other windows do not know this one's clock.
        if is_new && let Some(watchers) = watchers(comm) {
            watchers.learn_but_for(Some(&checked.watcher));
        }
    }
}

impl Window {
    /// Notes that all members wait for each other in a call of this window, for checks.
    pub(in crate::rma) fn note_barrier(&self) {
        if let Some(watchers) = watchers(&self.comm) {
            watchers.meet(self.group(), self.comm.member());
        }
    }
}
