// SPDX-License-Identifier: MIT OR Apache-2.0
//! Post, start, complete and wait (MPI-5.0, section 12.5.2).
//!
//! A target that posts increments its word on the board of each origin in its group, for which start waits. An origin that completes
//! increments a word on the board of each target, and wait waits until as many have done so as there are in the group.

use fabric::board::kind;
use sys::sync::Ordering;

use super::epoch::{Stage, access, assertion};
use super::message::{Ending, Kind};
use super::window::Window;
use crate::errors::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::vci::Awaited;

impl Window {
    /// The ranks of the members of a group.
    fn ranks(&self, group: &Group) -> Result<Vec<u32>> {
        self.group().ranks_of(group).map_err(|outsider| {
            let value = format!("a group with process {outsider} of MPI_COMM_WORLD");
            let error = Error::argument(
                ErrorClass::ERR_GROUP,
                "group",
                value,
                "members of the window",
            );
            self.annotate(error)
        })
    }

    pub(super) fn awaited(&self, rank: u32) -> Awaited {
        Awaited {
            kind: kind::OTHER,
            peer: self.targets[rank as usize].peer,
            match_word: self.comm.match_base(),
        }
    }
}

/// Opens an exposure epoch to the processes of a group (MPI_Win_post). Does not wait.
///
/// # Errors
/// MPI_ERR_RMA_SYNC inside an exposure epoch; MPI_ERR_GROUP, MPI_ERR_ASSERT.
pub fn post(window: &Window, group: &Group, assertion: i32) -> Result<()> {
    window.check_assertion(assertion)?;
    if window.epochs.is_exposed.load(Ordering::Relaxed) != 0 {
        return Err(window.out_of_step("MPI_Win_post was called, and MPI_Win_wait was not"));
    }
    let ranks = window.ranks(group)?;
    window.leave_fences()?;
    let me = window.comm.rank() as u32;
    layout::settle();
    if let Some(channel) = &window.channel {
        channel.begin_exposure(assertion);
    }
    if assertion & assertion::NOCHECK == 0 {
        for &rank in &ranks {
            if let Some(channel) = window.own_channel() {
                channel.send(rank, Kind::Post)?;
                continue;
            }
            let Some(view) = &window.targets[rank as usize].view else {
                continue;
            };
            // PAIRS: window.post. What this member stored in its memory before is visible to the origin.
            view.posted(me).fetch_add(1, Ordering::Release);
            window.bell_of(rank).ring(window.process().node());
        }
    }
    window
        .epochs
        .exposed_to
        .store(ranks.len() as u32, Ordering::Relaxed);
    window.epochs.is_exposed.store(1, Ordering::Relaxed);
    Ok(())
}

/// Opens an access epoch to the processes of a group, when they have posted (MPI_Win_start).
///
/// # Errors
/// MPI_ERR_RMA_SYNC inside an access epoch; MPI_ERR_GROUP, MPI_ERR_ASSERT.
pub fn start(window: &Window, group: &Group, assertion: i32, call: &'static str) -> Result<()> {
    window.check_assertion(assertion)?;
    window.check_no_access()?;
    let ranks = window.ranks(group)?;
    window.leave_fences()?;
    for &rank in &ranks {
        let target = &window.targets[rank as usize];
        let posts = match window.channel_to(rank) {
            Some(channel) => Some(&channel.posts[rank as usize]),
            None => window.own().view.as_ref().map(|own| own.posted(rank)),
        };
        if assertion & assertion::NOCHECK == 0
            && let Some(posts) = posts
        {
            let seen = target.posts_seen.load(Ordering::Relaxed);
            // PAIRS: window.post
            let has_posted = || posts.load(Ordering::Acquire) != seen;
            if !has_posted() {
                let awaited = window.awaited(rank);
                window
                    .comm
                    .vci()
                    .wait_for(call, awaited, |_| has_posted())?;
            }
            target
                .posts_seen
                .store(seen.wrapping_add(1), Ordering::Relaxed);
        }
        target.access.store(access::STARTED, Ordering::Relaxed);
    }
    window.comm.note_news();
    window.epochs.set_stage(Stage::Started);
    Ok(())
}

/// Ends the access epoch of [`start`]: all operations are complete here (MPI_Win_complete).
///
/// # Errors
/// MPI_ERR_RMA_SYNC without an epoch; what the targets refused; those of the messages.
pub fn complete(window: &Window) -> Result<()> {
    const CALL: &str = "MPI_Win_complete";
    if window.epochs.stage() != Stage::Started {
        return Err(window.out_of_step("MPI_Win_start was not called"));
    }
    layout::settle();
    let mut by_message = Vec::new();
    for (rank, target) in window.targets.iter().enumerate() {
        let rank = rank as u32;
        if target.access.load(Ordering::Relaxed) != access::STARTED {
            continue;
        }
        target.access.store(access::NONE, Ordering::Relaxed);
        if window.channel_to(rank).is_some() {
            by_message.push((rank, Ending::Complete));
        } else if let Some(view) = &target.view {
            // PAIRS: window.complete. The target sees what this member wrote there.
            view.board().completed.fetch_add(1, Ordering::Release);
            window.bell_of(rank).ring(window.process().node());
        }
    }
    window.epochs.set_stage(Stage::None);
    match &window.channel {
        Some(channel) => channel.conclude(window, &by_message, CALL),
        None => Ok(()),
    }
}

impl Window {
    /// Whether all origins of the exposure epoch have completed; then it is over.
    fn ends_exposure(&self) -> bool {
        let epochs = &self.epochs;
        let expected = epochs.completes_seen.load(Ordering::Relaxed);
        let expected = expected.wrapping_add(epochs.exposed_to.load(Ordering::Relaxed));
        let completes = match (self.own_channel(), &self.own().view) {
            (Some(channel), _) => Some(&channel.completes),
            (None, Some(view)) => Some(&view.board().completed),
            (None, None) => None,
        };
        // PAIRS: window.complete
        let completed = completes.map_or(expected, |word| word.load(Ordering::Acquire));
        if completed != expected {
            return false;
        }
        epochs.completes_seen.store(expected, Ordering::Relaxed);
        epochs.exposed_to.store(0, Ordering::Relaxed);
        epochs.is_exposed.store(0, Ordering::Relaxed);
        true
    }

    /// What the checks found in the exposure epoch that is over.
    fn after_exposure(&self) -> Result<()> {
        self.comm.note_news();
        match &self.channel {
            Some(channel) => channel.end_exposure(self),
            None => Ok(()),
        }
    }

    fn check_exposed(&self) -> Result<()> {
        if self.epochs.is_exposed.load(Ordering::Relaxed) == 0 {
            return Err(self.out_of_step("MPI_Win_post was not called"));
        }
        Ok(())
    }
}

/// Ends the exposure epoch of [`post`] when all origins have completed (MPI_Win_wait).
///
/// # Errors
/// MPI_ERR_RMA_SYNC without an epoch.
pub fn wait(window: &Window, call: &'static str) -> Result<()> {
    window.check_exposed()?;
    if !window.ends_exposure() {
        let vci = window.comm.vci();
        vci.wait_until(call, |_| window.ends_exposure())?;
    }
    window.after_exposure()
}

/// As [`wait`] without waiting: whether the epoch is over (MPI_Win_test).
///
/// # Errors
/// MPI_ERR_RMA_SYNC without an epoch.
pub fn test(window: &Window) -> Result<bool> {
    window.check_exposed()?;
    if !window.ends_exposure() {
        window.comm.vci().poll();
        if !window.ends_exposure() {
            return Ok(false);
        }
    }
    window.after_exposure().map(|()| true)
}
