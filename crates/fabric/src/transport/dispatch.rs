// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transport of a VCI: one of all kinds.
#![expect(unsafe_code, reason = "puts read the memory of programs")]

// account: fabric

use std::io;
use std::ptr::NonNull;

#[cfg(any(test, feature = "lab"))]
use super::Simulated;
use super::connection::{Capabilities, Connection, Polled};
use super::{Nodes, Null, Shm};
use crate::identity::{LinkIndex, PeerIndex};
use crate::network::{ContextsInUse, PutBegun};
use crate::ofi::Opening;
use crate::ring::RingReceiver;

/// How one VCI reaches its peers.
pub enum Transport {
    /// Rings in the node segment.
    Shm(Shm),
    /// Rings in the node segment, and a network to other nodes.
    Nodes(Nodes),
    /// Nothing.
    Null(Null),
    /// A simulated network.
    #[cfg(any(test, feature = "lab"))]
    Sim(Simulated),
}

impl Transport {
    /// A rank's connection to a simulated network.
    #[cfg(any(test, feature = "lab"))]
    pub const fn sim(port: crate::sim::Port) -> Self {
        Self::Sim(Simulated::new(port))
    }

    /// Closes the network to other nodes, if there is one: for tests that make many jobs in one process.
    ///
    /// # Safety
    /// Nobody uses the transport, or another one of the process, any more.
    pub unsafe fn close(&self) {
        if let Self::Nodes(nodes) = self {
            // SAFETY: the caller's promise.
            unsafe { nodes.network().close() };
        }
    }

    /// The capabilities of this transport; among those that share memory, of its links to ranks of this node.
    pub fn capabilities(&self) -> Capabilities {
        match self {
            Self::Shm(_) | Self::Nodes(_) => Capabilities {
                arrives_silently: matches!(self, Self::Nodes(_)),
                puts: self.can_put(),
                puts_unattended: self.puts_unattended(),
                sends_zero_copy: self.sends_zero_copy(),
                reads_memory: true,
                shares_memory: true,
                delivers: true,
            },
            Self::Null(_) => Capabilities {
                puts: false,
                puts_unattended: false,
                sends_zero_copy: false,
                reads_memory: false,
                shares_memory: false,
                arrives_silently: false,
                delivers: false,
            },
            #[cfg(any(test, feature = "lab"))]
            Self::Sim(_) => Capabilities {
                puts: false,
                puts_unattended: false,
                sends_zero_copy: false,
                reads_memory: false,
                shares_memory: false,
                arrives_silently: false,
                delivers: true,
            },
        }
    }

    fn can_put(&self) -> bool {
        match self {
            Self::Nodes(nodes) => nodes.network().can_put(),
            _ => false,
        }
    }

    fn puts_unattended(&self) -> bool {
        match self {
            Self::Nodes(nodes) => nodes.network().puts_unattended(),
            _ => false,
        }
    }

    fn sends_zero_copy(&self) -> bool {
        match self {
            Self::Nodes(nodes) => nodes.network().sends_zero_copy(),
            _ => false,
        }
    }

    /// How many VCIs communicators of processes take round-robin at a process on another node.
    ///
    /// # Errors
    /// When the process's card does not come or does not fit.
    #[cold]
    pub fn vcis_of(&self, process: PeerIndex) -> io::Result<u32> {
        match self {
            Self::Nodes(nodes) => nodes.vcis_of(process),
            _ => Ok(1),
        }
    }

    /// The contexts of libfabric that the VCIs of this process use; `None` in a job of one node.
    #[cold]
    pub fn contexts_in_use(&self) -> Option<ContextsInUse> {
        match self {
            Self::Nodes(nodes) => Some(nodes.contexts_in_use()),
            _ => None,
        }
    }

    /// Makes the connection to a peer and announces it there.
    ///
    /// # Errors
    /// When there is no memory, or no such peer.
    #[cold]
    pub fn connect(&mut self, peer: LinkIndex) -> io::Result<Connection> {
        match self {
            Self::Shm(shm) => shm.connect(peer),
            Self::Nodes(nodes) => nodes.connect(peer),
            Self::Null(null) => null.connect(),
            #[cfg(any(test, feature = "lab"))]
            Self::Sim(simulated) => simulated.connect(peer),
        }
    }

    /// Whether [`Self::accept`] would find something, or [`Self::poll`] has to be called.
    // TIER: short
    #[inline(always)]
    pub fn needs_attention(&mut self) -> bool {
        match self {
            Self::Shm(shm) => shm.has_new_rings(),
            Self::Nodes(nodes) => nodes.needs_attention(),
            Self::Null(_) => false,
            #[cfg(any(test, feature = "lab"))]
            Self::Sim(_) => true,
        }
    }

    /// Lets the transport do what it does not do by itself.
    ///
    /// # Errors
    /// When the transport is broken.
    #[cold]
    pub fn poll(&mut self) -> io::Result<Polled> {
        match self {
            Self::Shm(_) => Ok(Polled::Alive),
            Self::Nodes(nodes) => nodes.poll().map(|()| Polled::Alive),
            Self::Null(_) => Ok(Polled::Alive),
            #[cfg(any(test, feature = "lab"))]
            Self::Sim(simulated) => simulated.poll(),
        }
    }

    /// Ends a round of progress that began with [`Self::poll`], after which all rings were read.
    #[cold]
    pub fn end_round(&mut self) {
        if let Self::Nodes(nodes) = self {
            nodes.end_round();
        }
    }

    /// The connections that peers have made since the last call: the peer and the receiving end.
    ///
    /// # Errors
    /// When a peer has damaged what it announced.
    #[cold]
    pub fn accept(&mut self) -> io::Result<Vec<(LinkIndex, RingReceiver)>> {
        match self {
            Self::Shm(shm) => shm.accept(),
            Self::Nodes(nodes) => nodes.accept(),
            Self::Null(_) => Ok(Vec::new()),
            #[cfg(any(test, feature = "lab"))]
            Self::Sim(simulated) => Ok(simulated.accept()),
        }
    }

    /// Wakes a peer that may sleep until this rank returns credits, or tells it of them.
    #[cold]
    pub fn wake(&mut self, peer: LinkIndex) {
        match self {
            Self::Shm(shm) => shm.wake(peer),
            Self::Nodes(nodes) => nodes.wake(peer),
            _ => {}
        }
    }

    /// Opens memory of this process for a put of a peer; returns the number of the opening, for [`Self::close_memory`], and what the
    /// peer needs for [`Self::put`]. `None` where there are no puts, or no more memory can be opened.
    #[cold]
    pub fn open_memory(
        &mut self,
        peer: LinkIndex,
        start: NonNull<u8>,
        bytes: usize,
    ) -> Option<(u32, Opening)> {
        match self {
            Self::Nodes(nodes) => {
                let (network, key) = nodes.putting(peer)?;
                network.open_memory(key.here, start, bytes)
            }
            _ => None,
        }
    }

    /// Ends [`Self::open_memory`].
    #[cold]
    pub fn close_memory(&mut self, number: u32) {
        if let Self::Nodes(nodes) = self {
            nodes.close_memory(number);
        }
    }

    /// Puts memory into the memory that a peer has opened; [`Self::ended_puts`] tells the end by `token`.
    ///
    /// # Errors
    /// When the transport is broken.
    ///
    /// # Safety
    /// The memory is readable and stays unchanged until the end.
    #[cold]
    pub unsafe fn put(
        &mut self,
        peer: LinkIndex,
        memory: (NonNull<u8>, usize),
        target: Opening,
        token: u64,
    ) -> io::Result<PutBegun> {
        match self {
            Self::Nodes(nodes) => match nodes.putting(peer) {
                // SAFETY: the caller's promise.
                Some((network, key)) => unsafe { network.put(key, memory, target, token) },
                None => Ok(PutBegun::No),
            },
            _ => Ok(PutBegun::No),
        }
    }

    /// Has the payload at a location of the ring to a peer, whose cell is about to be published, sent out of this memory instead;
    /// [`Self::ended_puts`] tells the end by `token`. Cells with such payload are published in the order of these calls.
    ///
    /// # Safety
    /// The memory is readable and stays unchanged until the end; [`Capabilities::sends_zero_copy`] is set.
    #[cold]
    pub unsafe fn send_zero_copy(
        &mut self,
        peer: LinkIndex,
        location: u64,
        memory: (NonNull<u8>, usize),
        token: u64,
    ) {
        if let Self::Nodes(nodes) = self
            && let Some((network, key)) = nodes.putting(peer)
        {
            // SAFETY: the caller's promise.
            unsafe { network.send_zero_copy(key, location, memory, token) };
        }
    }

    /// Whether the put with a token has not ended.
    #[cold]
    pub fn is_putting(&self, token: u64) -> bool {
        match self {
            Self::Nodes(nodes) => nodes.is_putting(token),
            _ => false,
        }
    }

    /// The tokens of the puts that have ended since the last call.
    #[cold]
    pub fn ended_puts(&mut self) -> Vec<u64> {
        match self {
            Self::Nodes(nodes) => nodes.ended_puts(),
            _ => Vec::new(),
        }
    }

    /// How many frames of processes that do not belong to the job were dropped since the last call.
    #[cold]
    pub const fn take_outsiders(&mut self) -> u64 {
        match self {
            Self::Nodes(nodes) => nodes.take_outsiders(),
            _ => 0,
        }
    }

    /// Takes leave of the peers, before the process may end; true when nothing is under way any longer. Until then the transport has
    /// to be polled.
    #[cold]
    pub fn is_finished(&mut self) -> bool {
        match self {
            Self::Nodes(nodes) => nodes.is_finished(),
            _ => true,
        }
    }
}
