// SPDX-License-Identifier: MIT OR Apache-2.0
//! Long puts to targets on other nodes: the target keeps its window's memory open, and the network writes there.
//!
//! The first long put to a target asks how its memory is reached, and goes by a request all the same; later ones do when the answer
//! has come. So a put waits for nobody. A put needs nothing of its target then. What completes it there is the next request that is
//! answered, which arrives after its data.

use std::ptr::NonNull;
use std::task::Poll;

use fabric::transport::Opening;

use super::channel::{Channel, Pending, Then, locked, poll_request, withdraw};
use super::stream::{Asked, Stream};
use super::wire::{Kind, decode_answer, decode_opening};
use crate::datatype::Memory;
use crate::errors::Result;
use crate::identity::Rank;
use crate::p2p::{self, PutInto};
use crate::rma::granule::Granule;
use crate::rma::target::Place;
use crate::vci::offers::LEAST_PUT_BYTES;

/// How the network writes the memory of a target, as far as its origin knows.
#[derive(Default)]
pub(super) enum Opened {
    #[default]
    Unknown,
    Asked(Asked),
    /// How it is reached; `None` if the network does not write it.
    Known(Option<Opening>),
}

/// A put that has begun.
pub(super) struct Begun {
    pub(super) pending: Pending,
    /// Whether requests arrive after its data only when it has ended here.
    pub(super) is_in_parts: bool,
}

impl Stream {
    /// How the network writes a target's memory, if that is known.
    fn opening(&self, channel: &Channel, rank: u32) -> Option<Opening> {
        let mut opened = locked(self.opened(rank));
        if let Opened::Unknown = *opened {
            let can_put = self.comm.vci().enter().node.can.puts;
            let asked = can_put.then(|| self.ask(channel, rank, Kind::Open));
            *opened = match asked {
                Some(Ok(asked)) => Opened::Asked(asked),
                // There is no request for it: messages need more.
                None | Some(Err(_)) => Opened::Known(None),
            };
            return None;
        }
        if let Opened::Asked(asked) = &*opened {
            let Poll::Ready(ended) = poll_request(&self.comm, asked.request) else {
                return None;
            };
            let answer = ended
                .ok()
                .map(|status| &asked.answer[..asked.bytes(&status)]);
            let opening = answer.and_then(|answer| decode_opening(decode_answer(answer, rank).1));
            *opened = Opened::Known(opening);
        }
        match *opened {
            Opened::Known(opening) => opening,
            _ => None,
        }
    }

    /// Puts memory if the network writes that of the target; `None` if not.
    ///
    /// # Errors
    /// When no request is free.
    ///
    /// # Safety
    /// The memory is readable until the put is complete here.
    #[expect(unsafe_code, reason = "the network reads the memory of programs")]
    pub(super) unsafe fn put_into(
        &self,
        channel: &Channel,
        place: &Place<'_>,
        origin: &Memory<'_>,
    ) -> Result<Option<Begun>> {
        let target = place.target;
        let is_far = target.view.is_none();
        if place.bytes < LEAST_PUT_BYTES
            || !is_far
            || target.granule != Granule::Any
            || target.base.is_null()
            || origin.layout.is_some()
            || channel.checked.is_some()
        {
            return Ok(None);
        }
        let bytes = place.bytes as u64;
        let offset = place
            .run()
            .map(|run| (run as u64).wrapping_sub(target.base as u64));
        let is_inside = |offset: &u64| {
            offset
                .checked_add(bytes)
                .is_some_and(|end| end <= target.bytes)
        };
        // A put beyond the window goes as a request, which the target refuses.
        let (Some(offset), Some(start)) = (offset.filter(is_inside), NonNull::new(origin.base))
        else {
            return Ok(None);
        };
        let Some(opening) = self.opening(channel, place.rank) else {
            return Ok(None);
        };
        let there = Opening {
            address: opening.address.wrapping_add(offset),
            ..opening
        };
        let (comm, rank) = (&self.comm, Rank::new(place.rank));
        // SAFETY: the caller's promise.
        let begun = unsafe { p2p::put_into(comm, rank, (start, place.bytes), there) }?;
        let (request, is_in_parts) = match begun {
            PutInto::No => return Ok(None),
            PutInto::Whole(request) => (request, false),
            PutInto::InParts(request) => (request, true),
        };
        let then = Then::Sent { _kept: Vec::new() };
        Ok(Some(Begun {
            pending: Pending { request, then },
            is_in_parts,
        }))
    }

    /// Ends what was asked and not looked at.
    pub(super) fn forget_opened(&self, rank: u32) {
        if let Opened::Asked(asked) = std::mem::take(&mut *locked(self.opened(rank))) {
            withdraw(&self.comm, asked.request);
        }
    }
}
