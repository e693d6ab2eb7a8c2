// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts: long data go from the memory of one program into that of another, by the network's remote memory access.
//!
//! The receiver opens its buffer and tells the sender address and key, in a cell. The sender puts, and tells that it has, in a cell that
//! arrives after the data. Openings are closed when their data are there. A put is under way in one part at a time.
#![expect(unsafe_code, reason = "puts read the memory of programs")]

use std::collections::VecDeque;
use std::ffi::c_void;
use std::hash::Hasher;
use std::io;
use std::ptr::{self, NonNull};

use siphasher::sip::SipHasher24;
use sys::random;

use super::net::{Net, SENDS, State};
use super::peer::PeerKey;
use crate::identity::VciIndex;
use crate::ofi::{Endpoint, Opening, Part, Region, Sent};

/// Puts under way at once; others wait.
pub(super) const PUTS: u32 = 32;
/// Openings at once.
const MOST_OPENINGS: usize = 1024;

/// The puts and openings of a context.
pub(super) struct Puts {
    /// Makes keys that nobody guesses.
    secret: [u64; 2],
    opened: u64,
    openings: Vec<Option<Region>>,
    closed: Vec<u32>,
    started: [Option<Put>; PUTS as usize],
    waiting: VecDeque<Put>,
    /// The VCIs and tokens of puts that have ended.
    ended: Vec<(VciIndex, u64)>,
}

/// How a put began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum PutBegun {
    /// The network has all of it: a message that is sent from now on arrives after the data.
    Whole,
    /// Parts of it wait.
    InParts,
    /// This memory cannot be put from.
    No,
}

/// A put that has not ended.
struct Put {
    peer: usize,
    /// Its number in the address vector.
    to: u64,
    start: NonNull<u8>,
    bytes: usize,
    /// Bytes that are there.
    done: usize,
    target: Opening,
    token: u64,
    source: Option<Region>,
}

// SAFETY: the memory is the program's until the put has ended; everything is used under the lock of the context.
unsafe impl Send for Puts {}

impl Puts {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            secret: [random::random_word()?, random::random_word()?],
            opened: 0,
            openings: Vec::new(),
            closed: Vec::new(),
            started: [const { None }; PUTS as usize],
            waiting: VecDeque::new(),
            ended: Vec::new(),
        })
    }

    pub(super) fn are_none(&self) -> bool {
        self.waiting.is_empty() && self.started.iter().all(Option::is_none)
    }

    fn next_key(&mut self) -> u64 {
        self.opened += 1;
        let mut hasher = SipHasher24::new_with_keys(self.secret[0], self.secret[1]);
        hasher.write_u64(self.opened);
        hasher.finish()
    }
}

impl Net {
    /// Whether long data may be put into the memory of peers.
    pub(super) fn can_put(&self) -> bool {
        self.endpoint.most_put_bytes() != 0
    }

    /// Opens memory for a put; returns the number of the opening, for [`Self::close_memory`], and what the peer needs to know. `None` when
    /// too many are open, or the library registers no more memory.
    pub(super) fn open_memory(
        &mut self,
        start: NonNull<u8>,
        bytes: usize,
    ) -> Option<(u32, Opening)> {
        let puts = &mut self.state.puts;
        if puts.openings.len() - puts.closed.len() >= MOST_OPENINGS {
            return None;
        }
        let key = puts.next_key();
        let (region, opening) = self.endpoint.open_for_puts(start, bytes, key).ok()?;
        let number = puts.closed.pop().unwrap_or_else(|| {
            puts.openings.push(None);
            puts.openings.len() as u32 - 1
        });
        puts.openings[number as usize] = Some(region);
        Some((number, opening))
    }

    /// Closes an opening.
    pub(super) fn close_memory(&mut self, number: u32) {
        let puts = &mut self.state.puts;
        let opening = puts.openings.get_mut(number as usize);
        if let Some(region) = opening.and_then(Option::take) {
            puts.closed.push(number);
            self.endpoint.close_region(region);
        }
    }

    /// Puts memory into the memory that a peer has opened. [`Self::ended_puts`] tells its end by `token`; a message that is sent after
    /// that arrives after the data, too.
    ///
    /// # Errors
    /// When there is no such peer, and the library's.
    ///
    /// # Safety
    /// The memory is readable and stays unchanged until the end.
    pub(super) unsafe fn put(
        &mut self,
        key: PeerKey,
        (start, bytes): (NonNull<u8>, usize),
        target: Opening,
        token: u64,
    ) -> io::Result<PutBegun> {
        let Self { endpoint, state } = self;
        let peer = state.peer(endpoint, key)?;
        // The peer answers an RTS, which cannot have left before the address of the peer was known.
        let Some(to) = state.peers[peer].to else {
            return Ok(PutBegun::No);
        };
        let Ok(source) = endpoint.open_source(start, bytes) else {
            return Ok(PutBegun::No);
        };
        let put = Put {
            peer,
            to,
            start,
            bytes,
            done: 0,
            target,
            token,
            source,
        };
        state.puts.waiting.push_back(put);
        state.start_puts(endpoint)?;
        let is_whole = state.puts.waiting.is_empty() && bytes <= endpoint.most_put_bytes();
        Ok(match is_whole {
            true => PutBegun::Whole,
            false => PutBegun::InParts,
        })
    }

    /// Whether the put of a VCI with a token has not ended.
    pub(super) fn is_putting(&self, vci: VciIndex, token: u64) -> bool {
        let Puts {
            started,
            waiting,
            ended,
            ..
        } = &self.state.puts;
        let mut started_or_waiting = started.iter().flatten().chain(waiting);
        let is_it = |put: &Put| (self.state.peers[put.peer].key.here, put.token) == (vci, token);
        started_or_waiting.any(is_it) || ended.contains(&(vci, token))
    }

    /// The tokens of the puts of a VCI that have ended since the last call.
    pub(super) fn ended_puts(&mut self, vci: VciIndex) -> Vec<u64> {
        let ended = &mut self.state.puts.ended;
        let own = ended.extract_if(.., |(other, _)| *other == vci);
        own.map(|(_, token)| token).collect()
    }
}

impl State {
    /// Starts puts that wait, as many as the library takes.
    pub(super) fn start_puts(&mut self, endpoint: &mut Endpoint) -> io::Result<()> {
        while let Some(put) = self.puts.waiting.pop_front() {
            let free = self.puts.started.iter().position(Option::is_none);
            let Some(slot) = free else {
                self.puts.waiting.push_front(put);
                break;
            };
            let (done, desc) = (put.done, put.source.as_ref().map(|source| source.desc));
            let part = Part {
                // SAFETY: `done` is at most the length of the memory (`ended_put`).
                start: unsafe { put.start.add(done) },
                bytes: (put.bytes - done).min(endpoint.most_put_bytes()),
                desc: desc.unwrap_or(ptr::null_mut::<c_void>()),
            };
            let target = Opening {
                address: put.target.address.wrapping_add(done as u64),
                key: put.target.key,
            };
            let number = SENDS + slot as u32;
            // SAFETY: the memory stays readable and unchanged until the put has ended (`Net::put`).
            let sent = unsafe { endpoint.put(part, put.to, target, number) }?;
            if sent == Sent::Full {
                self.puts.waiting.push_front(put);
                break;
            }
            self.puts.started[slot] = Some(put);
        }
        Ok(())
    }

    /// A part of the put in a slot is there.
    pub(super) fn ended_put(&mut self, endpoint: &mut Endpoint, slot: usize) -> io::Result<()> {
        let Some(mut put) = self.puts.started.get_mut(slot).and_then(Option::take) else {
            return Ok(());
        };
        put.done += (put.bytes - put.done).min(endpoint.most_put_bytes());
        if put.done < put.bytes {
            self.puts.waiting.push_front(put);
        } else {
            let vci = self.peers[put.peer].key.here;
            self.puts.ended.push((vci, put.token));
            if let Some(source) = put.source.take() {
                endpoint.close_region(source);
            }
        }
        self.start_puts(endpoint)
    }

    /// The peer of the put in a slot, which has failed.
    pub(super) fn failed_put(&mut self, slot: usize) -> Option<usize> {
        let put = self.puts.started.get_mut(slot)?.take()?;
        Some(put.peer)
    }
}
