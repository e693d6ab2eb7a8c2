// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network of a process, which all its VCIs share: one endpoint of libfabric, used under a lock.
//!
//! A thread that polls writes what arrived into the rings of all VCIs; these read their rings without the lock.
#![expect(unsafe_code, reason = "links lead back to their network")]

use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::fault::Fault;
use super::net::{Net, NetPlan};
use super::peer::{Doorway, PeerKey};
use super::put::PutBegun;
use crate::identity::{PeerIndex, VciIndex};
use crate::ofi::Opening;
use crate::ring::{RingReceiver, RingSender};
use crate::segment::Segment;

/// The network of a process.
pub struct Network {
    net: Mutex<Net>,
    can_put: bool,
}

/// What a poll has found for a VCI.
#[derive(Default)]
pub struct Found {
    /// Events, also for other VCIs.
    pub events: usize,
    /// The rings that peers have made, and the peers.
    pub accepted: Vec<(PeerKey, RingReceiver)>,
    /// The tokens of puts that have ended.
    pub ended_puts: Vec<u64>,
    /// Frames that were dropped because their sender did not prove that it belongs to the job.
    pub outsiders: u64,
    /// Failures.
    pub faults: Vec<Fault>,
}

impl Network {
    /// Opens the network of a process and publishes its card.
    ///
    /// # Errors
    /// When libfabric is not there or offers nothing that fits, and its own errors.
    pub fn open(segment: Arc<Segment>, me: PeerIndex, plan: &NetPlan<'_>) -> io::Result<Arc<Self>> {
        let net = Net::open(segment, me, plan)?;
        let network = Arc::new(Self {
            can_put: net.can_put(),
            net: Mutex::new(net),
        });
        network.lock().state.network = Arc::as_ptr(&network);
        Ok(network)
    }

    /// Closes the endpoint.
    ///
    /// # Safety
    /// Nobody uses the network any more.
    pub(crate) unsafe fn close(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock().endpoint.close() };
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Net> {
        self.net.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the ring to a peer; returns its sending end and its entrance, which lives as long as the network.
    ///
    /// # Errors
    /// When the process's card does not come or does not fit, or there is no memory.
    pub fn connect(&self, key: PeerKey) -> io::Result<(RingSender, NonNull<Doorway>)> {
        self.lock().connect(key)
    }

    /// Sends what a link has published.
    ///
    /// # Safety
    /// The doorway came from [`Self::connect`] of a network that still exists.
    pub(crate) unsafe fn ring(doorway: NonNull<Doorway>) {
        // SAFETY: the caller's promise.
        let (network, peer) = unsafe {
            let doorway = doorway.as_ref();
            (&*doorway.network(), doorway.peer())
        };
        network.lock().push(peer);
    }

    /// Reads what arrived and sends what waits, unless another thread does; returns what is there for a VCI, which has been told of so
    /// many failures.
    pub fn poll(&self, vci: VciIndex, told: usize) -> Found {
        let mut net = match self.net.try_lock() {
            Ok(net) => net,
            Err(TryLockError::WouldBlock) => return Found::default(),
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
        };
        Found {
            events: net.poll(),
            accepted: net.accept(vci),
            ended_puts: net.ended_puts(vci),
            outsiders: std::mem::take(&mut net.state.outsiders),
            faults: net.faults_after(told).to_vec(),
        }
    }

    /// Tells a peer of room in the ring from it: with the next frame to it, or in the next poll. A peer that gets room a second time before
    /// that is told at once, so most of the ring is never withheld from it while this process computes.
    pub fn tell_of_room(&self, key: PeerKey) {
        self.lock().tell_of_room(key);
    }

    /// How many VCIs communicators of processes take round-robin at a process on another node.
    ///
    /// # Errors
    /// When its card does not come or does not fit.
    pub fn vcis_of(&self, process: PeerIndex) -> io::Result<u32> {
        Ok(self.lock().state.card(process)?.vcis.into())
    }

    /// Whether long data may be put into the memory of peers.
    pub const fn can_put(&self) -> bool {
        self.can_put
    }

    /// Opens memory for a put; returns the number of the opening, for [`Self::close_memory`], and what the peer needs to know. `None` when
    /// too many are open, or the library registers no more memory.
    pub fn open_memory(&self, start: NonNull<u8>, bytes: usize) -> Option<(u32, Opening)> {
        self.lock().open_memory(start, bytes)
    }

    /// Closes an opening.
    pub fn close_memory(&self, number: u32) {
        self.lock().close_memory(number);
    }

    /// Puts memory into the memory that a peer has opened. [`Self::poll`] tells its end by `token`; a message that is sent after that
    /// arrives after the data, too.
    ///
    /// # Errors
    /// When there is no such peer, and the library's.
    ///
    /// # Safety
    /// The memory is readable and stays unchanged until the end.
    pub unsafe fn put(
        &self,
        key: PeerKey,
        memory: (NonNull<u8>, usize),
        target: Opening,
        token: u64,
    ) -> io::Result<PutBegun> {
        // SAFETY: the caller's promise.
        unsafe { self.lock().put(key, memory, target, token) }
    }

    /// Whether the put of a VCI with a token has not ended.
    pub fn is_putting(&self, vci: VciIndex, token: u64) -> bool {
        self.lock().is_putting(vci, token)
    }

    /// Says farewell to all peers that cells were exchanged with; true when nothing is under way any longer in either direction. Until
    /// then it has to be polled and called again.
    pub fn is_finished(&self) -> bool {
        self.lock().is_finished()
    }
}
