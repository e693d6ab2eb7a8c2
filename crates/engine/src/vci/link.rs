// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two ends of the paths between this rank and one peer: an outgoing [`Link`] and an [`Incoming`] ring.
//!
//! A path is made on its first use: the sender allocates a ring in the node segment and enters it in the directory; the
//! receiver finds it there when the count of its connections moves. Whoever never talks to a peer pays nothing for it.

use std::collections::VecDeque;
use std::sync::Arc;

use fabric::board::RankBoard;
use fabric::doorbell;
use fabric::ring::{RingPlace, RingReceiver, RingSender};
use fabric::segment::Segment;
use fabric::sync::{AtomicU32, Ordering};

use super::operations::OpIndex;
use crate::errors::{Error, ErrorClass, Result};

/// The way to one peer. One cache line: all that a short send touches beside the cell.
#[repr(C, align(64))]
pub(crate) struct Link {
    pub(crate) sender: RingSender,
    /// The peer's doorbell.
    asleep: *const AtomicU32,
    sender_fences: bool,
    /// Whether sends wait in the backlog; then the sender's credits are withheld, so that nothing overtakes them.
    pub(crate) backlogged: bool,
    /// What is known about reading the peer's memory.
    pub(crate) cross_copy: CrossCopy,
}

/// Whether a peer's private memory can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CrossCopy {
    Untried,
    Works,
    Refused,
}

const _: () = assert!(size_of::<Link>() == 64);

impl Link {
    /// The way to a peer whose board is `board`, without a ring yet.
    pub(crate) fn new(board: &RankBoard) -> Self {
        Self {
            sender: RingSender::unconnected(),
            asleep: &raw const board.asleep,
            sender_fences: false,
            backlogged: false,
            cross_copy: CrossCopy::Untried,
        }
    }

    /// Makes the ring to local rank `target` and announces it.
    #[cold]
    pub(crate) fn connect(&mut self, segment: &Segment, me: u32, target: u32) -> Result<()> {
        let header = segment.header();
        let bytes = RingPlace::bytes(header.ring_cells, header.ring_payload_bytes);
        let offset = segment
            .allocate(bytes)
            .map_err(|e| Error::new(ErrorClass::ERR_NO_MEM, e.to_string()))?;
        let base = segment.address(offset, bytes).ok_or_else(|| {
            Error::new(
                ErrorClass::ERR_INTERN,
                "a ring lies outside the node segment",
            )
        })?;
        // SAFETY: fresh zeroed bytes of the segment, which outlives the VCI; only the directory's entry leads here.
        let place = unsafe { RingPlace::at(base, header.ring_cells, header.ring_payload_bytes) };
        self.sender = RingSender::new(place);
        self.sender_fences = segment.sender_fences().load(Ordering::Relaxed) != 0;
        // PAIRS: link.directory. The zeroed ring exists before its offset is seen.
        segment
            .directory(me, target)
            .store(offset, Ordering::Release);
        // PAIRS: link.connections. The directory entry is visible with the count.
        segment
            .board(target)
            .connections
            .fetch_add(1, Ordering::Release);
        self.ring_doorbell();
        Ok(())
    }

    /// Whether a published cell needs [`Self::ring_doorbell`].
    // TIER: short
    #[inline(always)]
    pub(crate) fn needs_doorbell(&self) -> bool {
        // SAFETY: points into the peer's board, which stays mapped as long as the VCI lives.
        self.sender_fences || unsafe { &*self.asleep }.load(Ordering::Relaxed) != 0
    }

    /// Wakes the peer if it sleeps.
    // TIER: short
    #[inline(always)]
    pub(crate) fn ring_doorbell(&self) -> bool {
        // SAFETY: points into the peer's board, which stays mapped as long as the VCI lives.
        doorbell::ring(unsafe { &*self.asleep }, self.sender_fences)
    }
}

/// A ring from a peer.
pub(crate) struct Incoming {
    pub(crate) ring: RingReceiver,
    /// World rank of the sender.
    pub(crate) peer: u32,
    /// Unexpected data held for this sender, in bytes.
    pub(crate) held_bytes: u64,
    pub(crate) throttled: bool,
}

/// Attaches to the rings that peers have entered since `known` was taken, and returns the new count.
#[cold]
pub(crate) fn accept(segment: &Arc<Segment>, me: u32, incoming: &mut Vec<Incoming>) -> Result<u32> {
    // PAIRS: link.connections
    let count = segment.board(me).connections.load(Ordering::Acquire);
    let header = segment.header();
    for peer in 0..header.local_ranks {
        if incoming.iter().any(|known| known.peer == peer) {
            continue;
        }
        // PAIRS: link.directory
        let offset = segment.directory(peer, me).load(Ordering::Acquire);
        if offset == 0 {
            continue;
        }
        let bytes = RingPlace::bytes(header.ring_cells, header.ring_payload_bytes);
        let base = segment
            .address(offset, bytes)
            .filter(|_| offset.is_multiple_of(64))
            .ok_or_else(|| {
                Error::new(
                    ErrorClass::ERR_INTERN,
                    format!("rank {peer} announced a ring outside the node segment"),
                )
            })?;
        // SAFETY: inside the segment and aligned (checked); its sender made it for us alone.
        let place = unsafe { RingPlace::at(base, header.ring_cells, header.ring_payload_bytes) };
        incoming.push(Incoming {
            ring: RingReceiver::new(place),
            peer,
            held_bytes: 0,
            throttled: false,
        });
    }
    Ok(count)
}

/// What waits behind a full ring, in order.
pub(crate) enum Queued {
    /// A send operation that has not left.
    Send(OpIndex),
    /// A protocol cell.
    Control { kind: u8, words: [u64; 2] },
}

/// Everything that waits for room towards one peer.
pub(crate) struct Backlog {
    pub(crate) peer: u32,
    pub(crate) queue: VecDeque<Queued>,
}
