// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links: the sending ends of a VCI's connections, one for each peer ([`crate::peers`]), made on first use.

// account: fabric

use std::io;
use std::mem::offset_of;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use sys::leaks::Root;
use sys::memory;
use sys::sync::{AtomicU32, Ordering};

use crate::board::RankBoard;
use crate::identity::{LinkIndex, VciIndex};
use crate::network::{Doorway, Network};
use crate::ring::RingSender;
use crate::transport::{Bell, Transport};

/// The link to one peer. One cache line: all that an injected message touches beside its cell. All-zero is a link without a
/// connection.
#[repr(C, align(64))]
pub struct Link {
    /// Takes messages.
    pub sender: RingSender,
    /// Not 0 when a published cell needs the doorbell: the peer's doorbell itself, or a constant where senders must fence.
    attention: *const AtomicU32,
    /// The peer's board, or the entrance of the network if `vci` is [`NETWORK`]; null when nothing is to be rung.
    bell: *const (),
    /// Bytes of the messages injected.
    pub injected_bytes: u64,
    /// Times that this rank woke the peer.
    pub wakes: u32,
    /// Whether sends wait in the backlog; then the sender's credits are withheld, so that nothing overtakes them.
    pub backlogged: bool,
    /// Whether the peer's memory can be read.
    pub cma: Access,
    /// The VCI of the peer that this link leads to, or [`NETWORK`].
    vci: u8,
    /// Messages until a rendezvous may again send data with its RTS; 0 when the next one may.
    pub early: u8,
}

/// Whether a peer's private memory can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    /// Not known yet.
    Untried = 0,
    /// It can.
    Works = 1,
    /// The system forbids it.
    Refused = 2,
}

// As mpi_rankpoint_inline.h has it; another layout needs another version there.
const _: () = {
    assert!(size_of::<Link>() == 64);
    assert!(offset_of!(Link, sender) == 0);
    assert!(offset_of!(Link, attention) == 32);
    assert!(offset_of!(Link, injected_bytes) == 48);
};

/// In [`Link::vci`]: the peer is on another node.
const NETWORK: u8 = u8::MAX;

/// Where [`Link::attention`] leads when senders must fence, or the network sends.
static ALWAYS: AtomicU32 = AtomicU32::new(1);

/// Where it leads when peers do not sleep.
static NEVER: AtomicU32 = AtomicU32::new(0);

impl Link {
    /// Makes the connection to a peer.
    ///
    /// # Errors
    /// When the transport has no memory, or no such peer.
    #[cold]
    fn connect(&mut self, transport: &mut Transport, peer: LinkIndex) -> io::Result<()> {
        let connection = transport.connect(peer)?;
        self.sender = connection.sender;
        match connection.bell {
            Bell::None => self.attention = &raw const NEVER,
            Bell::Board { board, vci, fences } => {
                (self.bell, self.vci) = (board.as_ptr().cast(), vci.get());
                self.attention = if fences {
                    &raw const ALWAYS
                } else {
                    // SAFETY: the board is mapped (`transport::Bell`).
                    &raw const unsafe { board.as_ref() }.vci(vci).asleep
                };
            }
            Bell::Network(doorway) => {
                (self.bell, self.vci) = (doorway.as_ptr().cast(), NETWORK);
                (self.attention, self.cma) = (&raw const ALWAYS, Access::Refused);
            }
        }
        Ok(())
    }

    /// Whether the peer is on another node: it shares no memory with this rank.
    #[inline]
    pub const fn is_remote(&self) -> bool {
        self.vci == NETWORK
    }

    /// Longest chunk of an eager message to the peer, in bytes.
    #[inline]
    pub fn longest_chunk(&self) -> usize {
        self.sender.largest_payload() as usize
    }

    /// Whether a message may be injected: there is a credit, or the receiver has returned some and nothing waits.
    #[inline(always)]
    pub fn has_room(&mut self) -> bool {
        self.sender.has_credit() || (!self.backlogged && self.sender.refresh())
    }

    /// As [`Self::has_room`], for what is sent in the order of the backlog.
    pub fn has_room_in_order(&mut self) -> bool {
        self.sender.has_credit() || self.sender.refresh()
    }

    /// Whether a published cell needs [`Self::ring_doorbell`]. The link is connected.
    // TIER: short
    #[inline(always)]
    pub fn needs_doorbell(&self) -> bool {
        self.attention_word() != 0
    }

    /// As [`Self::needs_doorbell`]; not 0 when it does.
    // TIER: short
    #[inline(always)]
    pub fn attention_word(&self) -> u32 {
        // SAFETY: connected, so it points to a constant or to the doorbell, which stays mapped as long as the transport
        // (`transport::Bell`).
        unsafe { &*self.attention }.load(Ordering::Relaxed)
    }

    /// Wakes the peer if it sleeps. The link is connected.
    // TIER: short
    #[inline(always)]
    pub fn ring_doorbell(&mut self) {
        if self.needs_doorbell() {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&mut self) {
        if let (true, Some(doorway)) = (self.is_remote(), NonNull::new(self.bell.cast_mut())) {
            // SAFETY: the entrance and its network exist as long as the transport.
            unsafe { Network::ring(doorway.cast::<Doorway>()) };
            return;
        }
        let sender_fences = std::ptr::eq(self.attention, &raw const ALWAYS);
        // SAFETY: null, or the peer's board, which stays mapped as long as the transport.
        let board = unsafe { self.bell.cast::<RankBoard>().as_ref() };
        let vci = VciIndex::of_bits(u32::from(self.vci));
        let woke = board.is_some_and(|board| board.ring(vci, sender_fences));
        self.wakes += u32::from(woke);
    }
}

/// The links to all peers of a VCI, reserved as address space: only the pages of peers that are talked to exist.
pub struct Links {
    first: NonNull<Link>,
    len: usize,
    /// The peers whose links are connected.
    connected: Vec<LinkIndex>,
    /// Why no link can be connected, if that is so.
    cut_off: Option<String>,
    /// Connected links point to the heap.
    root: Option<Root>,
}

impl Links {
    /// Links to so many peers, none of them connected.
    ///
    /// # Errors
    /// When the system refuses address space.
    pub fn new(count: u32) -> io::Result<Self> {
        let len = count as usize;
        let bytes = len * size_of::<Link>();
        let base = memory::map_private(bytes)?;
        Ok(Self {
            first: base.cast(),
            len,
            connected: Vec::new(),
            cut_off: None,
            root: Some(Root::new(base, bytes)),
        })
    }

    /// Makes the connection to a peer that has none.
    ///
    /// # Errors
    /// When the transport has no memory, or no such peer.
    #[cold]
    pub fn connect(&mut self, transport: &mut Transport, peer: LinkIndex) -> io::Result<()> {
        if let Some(why) = &self.cut_off {
            return Err(io::Error::other(why.clone()));
        }
        self[peer].connect(transport, peer)?;
        self.connected.push(peer);
        Ok(())
    }

    /// Takes the connections away, and lets none be made again: in a forked child, whose parent goes on using them. What they lead to
    /// is neither used nor given back.
    #[cold]
    pub fn cut_off(&mut self, why: String) {
        for peer in std::mem::take(&mut self.connected) {
            let link = &raw mut self[peer];
            // SAFETY: all-zero memory is a link without a connection, and this overwrites without a drop.
            unsafe { link.write_bytes(0, 1) };
        }
        self.cut_off = Some(why);
    }

    /// The links that are connected.
    pub fn connected(&self) -> impl Iterator<Item = &Link> {
        self.connected.iter().map(|&peer| &self[peer])
    }

    /// The first link; those of all peers follow.
    pub const fn first(&self) -> NonNull<Link> {
        self.first
    }

    /// The link with an index, if there is one.
    pub fn get(&self, index: LinkIndex) -> Option<&Link> {
        self.all().get(index.get() as usize)
    }

    #[inline(always)]
    const fn all(&self) -> &[Link] {
        // SAFETY: mapped with this length by `new`; all-zero memory is a valid Link.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl Index<LinkIndex> for Links {
    type Output = Link;

    #[inline(always)]
    fn index(&self, index: LinkIndex) -> &Link {
        &self.all()[index.get() as usize]
    }
}

impl IndexMut<LinkIndex> for Links {
    #[inline(always)]
    fn index_mut(&mut self, index: LinkIndex) -> &mut Link {
        // SAFETY: as in `all`; `&mut self` makes this the only reference.
        let all = unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) };
        &mut all[index.get() as usize]
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for peer in std::mem::take(&mut self.connected) {
            self[peer].sender = RingSender::unconnected();
        }
        self.root = None;
        // SAFETY: mapped by `new` with this length; nothing inside owns memory any more and no reference remains.
        unsafe { memory::unmap(self.first.cast(), self.len * size_of::<Link>()) };
    }
}
