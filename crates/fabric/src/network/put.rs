// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts: long data go from the memory of one program into that of another, by the network's remote memory access.
//!
//! The receiver opens its buffer and tells the sender address and key, in a cell. The sender puts, and tells that it has, in a cell that
//! arrives after the data. Openings are closed when their data are there.
//!
//! The kernel's sockets take megabytes at once, and what waits in them leaves the caches. So a long put goes through sockets in parts, of
//! which two are in progress to a peer, and the peer acknowledges each.
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

/// Parts of puts in progress at once; others wait.
pub(super) const PUTS: u32 = 32;
/// Longest part where sockets carry it, in bytes. Puts of at least one such part are paced: their peer acknowledges each part.
const PACED_BYTES: usize = 256 << 10;
/// Paced parts to one peer that are in progress at once, in bytes.
const WINDOW_BYTES: usize = 2 * PACED_BYTES;
/// Openings at once.
const MOST_OPENINGS: usize = 1024;

/// The puts and openings of a context.
pub(super) struct Puts {
    /// Makes keys that nobody guesses.
    secret: [u64; 2],
    opened: u64,
    openings: Vec<Option<Region>>,
    closed: Vec<u32>,
    /// The puts that have not ended.
    kept: Vec<Option<Put>>,
    started: [Option<StartedPart>; PUTS as usize],
    /// Puts of which parts have not begun, in their order.
    waiting: VecDeque<usize>,
    /// The VCIs and tokens of puts that have ended.
    pub(super) ended: Vec<(VciIndex, u64)>,
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
    /// Bytes that the library has got.
    begun: usize,
    /// Bytes that have left.
    done: usize,
    target: Opening,
    token: u64,
    source: Option<Region>,
    /// Whether its peer acknowledges its parts.
    is_paced: bool,
    /// Whether a part has failed.
    has_failed: bool,
}

/// A part that has begun and not ended: the number of its put, and its bytes.
struct StartedPart {
    put: usize,
    bytes: usize,
}

/// Why no further part of a put begins.
enum Pause {
    /// All have begun.
    Begun,
    /// As much is in progress to its peer as may be.
    Paced,
    /// The library takes no more.
    Full,
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
            kept: Vec::new(),
            started: [const { None }; PUTS as usize],
            waiting: VecDeque::new(),
            ended: Vec::new(),
        })
    }

    pub(super) fn are_none(&self) -> bool {
        self.waiting.is_empty() && self.started.iter().all(Option::is_none)
    }

    /// Keeps a put; returns its number.
    fn keep(&mut self, put: Put) -> usize {
        let free = self.kept.iter().position(Option::is_none);
        let number = free.unwrap_or(self.kept.len());
        match free {
            Some(free) => self.kept[free] = Some(put),
            None => self.kept.push(Some(put)),
        }
        number
    }

    fn next_key(&mut self) -> u64 {
        self.opened += 1;
        let mut hasher = SipHasher24::new_with_keys(self.secret[0], self.secret[1]);
        hasher.write_u64(self.opened);
        hasher.finish()
    }
}

impl Net {
    /// Whether long data may be put into the memory of peers, and whether they get there without a processor.
    pub(super) fn can_put(&self) -> (bool, bool) {
        let can_put = self.endpoint.most_put_bytes() != 0;
        (can_put, can_put && !self.endpoint.puts_through_sockets())
    }

    /// Whether payload may be sent out of the memory of programs: memory that need not be registered.
    pub(super) fn sends_zero_copy(&self) -> bool {
        self.can_put().0 && !self.endpoint.registers()
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
            begun: 0,
            done: 0,
            target,
            token,
            source,
            is_paced: endpoint.puts_through_sockets() && bytes >= PACED_BYTES,
            has_failed: false,
        };
        let number = state.puts.keep(put);
        state.puts.waiting.push_back(number);
        state.start_puts(endpoint)?;
        let has_begun = |put: &Put| put.begun == bytes;
        Ok(
            match state.puts.kept[number].as_ref().is_some_and(has_begun) {
                true => PutBegun::Whole,
                false => PutBegun::InParts,
            },
        )
    }

    /// Whether the put of a VCI with a token, or its message out of the program's memory, has not ended.
    pub(super) fn is_putting(&self, vci: VciIndex, token: u64) -> bool {
        let Puts { kept, ended, .. } = &self.state.puts;
        let is_it = |put: &Put| {
            (self.state.peers[put.peer].key.here, put.token) == (vci, token) && !put.has_failed
        };
        kept.iter().flatten().any(is_it)
            || ended.contains(&(vci, token))
            || self.state.is_sending_zero_copy(vci, token)
    }

    /// The tokens of the puts of a VCI that have ended since the last call.
    pub(super) fn ended_puts(&mut self, vci: VciIndex) -> Vec<u64> {
        let ended = &mut self.state.puts.ended;
        let own = ended.extract_if(.., |(other, _)| *other == vci);
        own.map(|(_, token)| token).collect()
    }
}

impl State {
    /// Starts parts of puts that wait, as many as the library and their peers take.
    pub(super) fn start_puts(&mut self, endpoint: &mut Endpoint) -> io::Result<()> {
        let mut at = 0;
        while let Some(&number) = self.puts.waiting.get(at) {
            match self.start_parts(endpoint, number) {
                Ok(Pause::Begun) => drop(self.puts.waiting.remove(at)),
                Ok(Pause::Paced) => at += 1,
                Ok(Pause::Full) => break,
                Err(error) => {
                    // The failure is told once.
                    self.puts.waiting.remove(at);
                    if let Some(put) = &mut self.puts.kept[number] {
                        put.has_failed = true;
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Starts parts of a put.
    fn start_parts(&mut self, endpoint: &mut Endpoint, number: usize) -> io::Result<Pause> {
        let Puts { kept, started, .. } = &mut self.puts;
        let Some(put) = kept[number].as_mut() else {
            return Ok(Pause::Begun);
        };
        let in_progress = &mut self.peers[put.peer].put_bytes;
        let most_bytes = match put.is_paced {
            true => endpoint.most_put_bytes().min(PACED_BYTES),
            false => endpoint.most_put_bytes(),
        };
        while put.begun < put.bytes {
            let bytes = (put.bytes - put.begun).min(most_bytes);
            if put.is_paced && *in_progress != 0 && *in_progress + bytes > WINDOW_BYTES {
                return Ok(Pause::Paced);
            }
            let Some(slot) = started.iter().position(Option::is_none) else {
                return Ok(Pause::Full);
            };
            let desc = put.source.as_ref().map(|source| source.desc);
            let part = Part {
                // SAFETY: `begun` is less than the length of the memory.
                start: unsafe { put.start.add(put.begun) },
                bytes,
                desc: desc.unwrap_or(ptr::null_mut::<c_void>()),
            };
            let target = Opening {
                address: put.target.address.wrapping_add(put.begun as u64),
                key: put.target.key,
            };
            let context = SENDS + slot as u32;
            // SAFETY: the memory stays readable and unchanged until the put has ended (`Net::put`).
            let sent = unsafe { endpoint.put(part, (put.to, target), context, put.is_paced) }?;
            if sent == Sent::Full {
                return Ok(Pause::Full);
            }
            put.begun += bytes;
            *in_progress += if put.is_paced { bytes } else { 0 };
            started[slot] = Some(StartedPart { put: number, bytes });
        }
        Ok(Pause::Begun)
    }

    /// A part of a put is there.
    pub(super) fn ended_put(&mut self, endpoint: &mut Endpoint, slot: usize) -> io::Result<()> {
        if let Some((number, bytes)) = self.end_part(slot)
            && let Some(put) = &mut self.puts.kept[number]
        {
            put.done += bytes;
            if put.done == put.bytes {
                let vci = self.peers[put.peer].key.here;
                self.puts.ended.push((vci, put.token));
                if let Some(source) = put.source.take() {
                    endpoint.close_region(source);
                }
                self.puts.kept[number] = None;
            }
        }
        self.start_puts(endpoint)
    }

    /// The peer of the part in a slot, which has failed.
    pub(super) fn failed_put(&mut self, slot: usize) -> Option<usize> {
        let (number, _) = self.end_part(slot)?;
        self.puts.waiting.retain(|&waiting| waiting != number);
        let put = self.puts.kept[number].as_mut()?;
        put.has_failed = true;
        Some(put.peer)
    }

    /// Frees the slot of a part; returns the number of its put, and its bytes.
    fn end_part(&mut self, slot: usize) -> Option<(usize, usize)> {
        let StartedPart { put, bytes } = self.puts.started.get_mut(slot)?.take()?;
        let ended = self.puts.kept[put].as_ref()?;
        if ended.is_paced {
            self.peers[ended.peer].put_bytes -= bytes;
        }
        Some((put, bytes))
    }
}
