// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two ends of the paths between this rank and one peer: an outgoing [`Link`] and an [`Incoming`] ring.
//!
//! A path is made on its first use: the sender makes a ring in the node segment and puts it at the head of the receiver's
//! list (`fabric::directory`), which the receiver walks when the head has changed. A pair that never talks costs nothing.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use fabric::directory::RingKey;
use fabric::doorbell;
use fabric::ring::{RingReceiver, RingSender};
use fabric::segment::Segment;
use sys::leaks::Root;
use sys::memory;
use sys::sync::{AtomicU32, Ordering};

use crate::datatype::SentSignature;
use crate::errors::{Error, ErrorClass, Result};
use crate::request::OpIndex;

/// The way to one peer. One cache line: all that a short send touches beside the cell. All-zero is a way without a ring.
#[repr(C, align(64))]
pub(crate) struct Link {
    pub(crate) sender: RingSender,
    /// Not 0 when a published cell needs the doorbell: the peer's doorbell itself, or a constant where senders must fence.
    attention: *const AtomicU32,
    /// The peer's doorbell.
    asleep: *const AtomicU32,
    /// Bytes of the short messages sent.
    pub(crate) short_bytes: u64,
    /// Times that this rank woke the peer.
    pub(crate) wakes: u32,
    /// Whether sends wait in the backlog; then the sender's credits are withheld, so that nothing overtakes them.
    pub(crate) backlogged: bool,
    /// What is known about reading the peer's memory.
    pub(crate) cross_copy: CrossCopy,
    /// Whether the next long message may begin before it is asked for: 0, or for how many messages not (`protocol::early`).
    pub(crate) early: u8,
}

/// Whether a peer's private memory can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CrossCopy {
    Untried = 0,
    Works = 1,
    Refused = 2,
}

const _: () = assert!(size_of::<Link>() == 64);

/// Where [`Link::attention`] leads when senders must fence.
static ALWAYS: AtomicU32 = AtomicU32::new(1);

impl Link {
    /// Makes the ring to local rank `target` and announces it.
    #[cold]
    pub(crate) fn connect(&mut self, segment: &Segment, me: u32, target: u32) -> Result<()> {
        let (ring, place) = segment
            .make_ring()
            .map_err(|e| Error::new(ErrorClass::ERR_NO_MEM, e.to_string()))?;
        self.sender = RingSender::new(place);
        self.asleep = &raw const segment.board(target).asleep;
        let sender_fences = segment.sender_fences().load(Ordering::Relaxed) != 0;
        self.attention = if sender_fences {
            &raw const ALWAYS
        } else {
            self.asleep
        };
        // TODO(#18): the VCIs of both sides, once there are several.
        let key = RingKey {
            source: me,
            source_vci: 0,
            target_vci: 0,
        };
        segment.publish_ring(target, ring, key);
        self.ring_doorbell();
        Ok(())
    }

    /// Whether a short message may be published: there is a credit, or the receiver has returned some and nothing waits.
    #[inline(always)]
    pub(crate) fn has_room(&mut self) -> bool {
        self.sender.has_credit() || (!self.backlogged && self.sender.refresh())
    }

    /// As [`Self::has_room`], for what is sent in the order of the backlog.
    pub(crate) fn has_room_in_order(&mut self) -> bool {
        self.sender.has_credit() || self.sender.refresh()
    }

    /// Whether a published cell needs [`Self::ring_doorbell`]. The link is connected.
    // TIER: short
    #[inline(always)]
    pub(crate) fn needs_doorbell(&self) -> bool {
        // SAFETY: connected, so it points to a constant or into the peer's board, which stays mapped as long as the VCI lives.
        unsafe { &*self.attention }.load(Ordering::Relaxed) != 0
    }

    /// Wakes the peer if it sleeps. The link is connected.
    // TIER: short
    #[inline(always)]
    pub(crate) fn ring_doorbell(&mut self) {
        if self.needs_doorbell() {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&mut self) {
        let sender_fences = std::ptr::eq(self.attention, &raw const ALWAYS);
        // SAFETY: connected, so it points into the peer's board, which stays mapped as long as the VCI lives.
        self.wakes += u32::from(doorbell::ring(unsafe { &*self.asleep }, sender_fences));
    }
}

/// The links to all world ranks, reserved as address space: only the pages of peers that are talked to exist.
pub(crate) struct Links {
    first: NonNull<Link>,
    len: usize,
    /// Connected links point to the heap.
    root: Option<Root>,
}

impl Links {
    /// Links to `ranks` ranks, none of them connected.
    pub(crate) fn new(ranks: u32) -> Result<Self> {
        let len = ranks as usize;
        let bytes = len * size_of::<Link>();
        let base = memory::map_private(bytes)?;
        Ok(Self {
            first: base.cast(),
            len,
            root: Some(Root::new(base, bytes)),
        })
    }

    /// The first link; those of all ranks follow.
    pub(crate) const fn first(&self) -> NonNull<Link> {
        self.first
    }
}

impl Deref for Links {
    type Target = [Link];

    #[inline(always)]
    fn deref(&self) -> &[Link] {
        // SAFETY: mapped with this length by `new`; all-zero memory is a valid Link.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl DerefMut for Links {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Link] {
        // SAFETY: as in `deref`; `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for link in self.iter_mut().filter(|link| link.sender.is_connected()) {
            link.sender = RingSender::unconnected();
        }
        self.root = None;
        // SAFETY: mapped by `new` with this length; nothing inside owns memory any more and no reference remains.
        unsafe { memory::unmap(self.first.cast(), self.len * size_of::<Link>()) };
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
    /// Whether receives have been there before the messages lately, and the points that tell (`protocol`).
    pub(crate) prompt: bool,
    pub(crate) points: u8,
    /// Bytes of the short messages that found their receive posted.
    pub(crate) short_bytes: u64,
    /// Id of the receive that gets the early pieces of the message begun last; 0 for none.
    pub(crate) early: u64,
    /// The message whose pieces are arriving.
    pub(crate) arriving: Option<Arriving>,
    /// What the next message consists of, where that is checked.
    pub(crate) signature: Option<Box<SentSignature>>,
}

/// A message of which some pieces have arrived.
pub(crate) struct Arriving {
    /// The receive it goes to, or the unexpected message.
    pub(crate) index: OpIndex,
    /// Bytes still to come.
    pub(crate) rest: usize,
}

/// Attaches to the rings that peers have made since `known` was the newest, and returns the newest.
#[cold]
pub(crate) fn accept(
    segment: &Arc<Segment>,
    me: u32,
    known: u64,
    incoming: &mut Vec<Incoming>,
) -> Result<u64> {
    let (newest, rings) = segment
        .rings_since(me, known)
        .map_err(|error| Error::new(ErrorClass::ERR_INTERN, error.to_string()))?;
    for (key, place) in rings {
        if incoming.iter().any(|known| known.peer == key.source) {
            continue;
        }
        incoming.push(Incoming {
            ring: RingReceiver::new(place),
            peer: key.source,
            held_bytes: 0,
            throttled: false,
            prompt: false,
            points: 0,
            short_bytes: 0,
            early: 0,
            arriving: None,
            signature: None,
        });
    }
    Ok(newest)
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

/// The sends that one peer pulls piece by piece, in the order in which it asked.
pub(crate) struct Streams {
    pub(crate) peer: u32,
    pub(crate) queue: VecDeque<OpIndex>,
}

/// Bytes that a rank sends or takes in at a stretch while it does both: what lies in the caches of both sides is less then
/// than when each first fills all blocks and then empties all of them.
pub(crate) const TURN_BYTES: usize = 64 << 10;
