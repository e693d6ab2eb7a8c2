// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sending: cells of a ring become frames.
#![expect(unsafe_code, reason = "frames are gathered out of rings")]

use std::io;
use std::ptr::NonNull;

use super::fault::Fault;
use super::frame::{CELL_BYTES, HEADER_BYTES, Header, Kind, MOST_CELLS, MOST_PAYLOAD};
use super::net::{Net, Owner, SLOT_BYTES, State};
use super::peer::{PeerKey, ZeroCopy};
use crate::identity::VciIndex;
use crate::ofi::{Endpoint, Part, Sent};
use crate::ring::{MirrorSource, PayloadRule};

/// Payload up to this length is copied behind the cells; longer payload is sent out of the ring.
const COPIED_BYTES: usize = 1024;
/// Parts of payload of one frame that are sent out of the ring.
const MOST_PARTS: usize = 3;

/// The cells and payload of a frame.
struct Load {
    cells: [[u64; 8]; MOST_CELLS],
    count: usize,
    payload: [(NonNull<u8>, usize); MOST_CELLS],
    payloads: usize,
    bytes: usize,
    /// The zero-copy payload, at most one: its index in `payload`, and its token.
    zero_copy: Option<(usize, u64)>,
}

impl Load {
    const EMPTY: Self = Self {
        cells: [[0; 8]; MOST_CELLS],
        count: 0,
        payload: [(NonNull::dangling(), 0); MOST_CELLS],
        payloads: 0,
        bytes: 0,
        zero_copy: None,
    };

    /// The next cells of a ring, as many as a frame takes.
    ///
    /// # Errors
    /// When a cell describes payload outside its ring, with its kind.
    fn gather(
        source: &MirrorSource,
        zero_copy: Option<&ZeroCopy>,
        rules: &[PayloadRule],
        most_parts: usize,
    ) -> Result<Self, u8> {
        let mut load = Self::EMPTY;
        while load.count < MOST_CELLS {
            let ahead = load.count as u32;
            let Some(arrival) = source.peek_at(ahead) else {
                break;
            };
            let words = source.words(ahead);
            let mut is_last = false;
            if let Some(rule) = rules.iter().find(|rule| rule.kind == arrival.kind()) {
                let word = |index: u8| words.get(2 + usize::from(index)).copied();
                let (location, bytes) = (word(rule.location_word), word(rule.bytes_word));
                let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
                let found = location.zip(bytes).and_then(|(location, bytes)| {
                    Some((source.payload(location, bytes)?, bytes as usize))
                });
                let (mut start, bytes) = found
                    .filter(|&(_, bytes)| bytes <= MOST_PAYLOAD)
                    .ok_or(arrival.kind())?;
                let is_away =
                    |away: &&ZeroCopy| (Some(away.location), away.bytes) == (location, bytes);
                let away = zero_copy.filter(is_away);
                let is_copied = load.bytes + bytes <= COPIED_BYTES;
                let is_full = load.bytes + bytes > MOST_PAYLOAD
                    || (!is_copied && load.payloads >= most_parts);
                if load.count > 0 && is_full {
                    break;
                }
                if let Some(away) = away {
                    load.zero_copy = Some((load.payloads, away.token));
                    (start, is_last) = (away.start, true);
                }
                if bytes > 0 {
                    load.payload[load.payloads] = (start, bytes);
                    load.payloads += 1;
                    load.bytes += bytes;
                }
            }
            load.cells[load.count] = words;
            load.count += 1;
            // A frame has at most one zero-copy payload.
            if is_last {
                break;
            }
        }
        Ok(load)
    }

    /// Writes the header, the cells, and the payload if it is small; returns the length.
    fn write(&self, header: &Header, buffer: &mut [u8]) -> usize {
        buffer[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        let mut at = HEADER_BYTES;
        for cell in &self.cells[..self.count] {
            for word in cell {
                buffer[at..at + 8].copy_from_slice(&word.to_ne_bytes());
                at += 8;
            }
        }
        if self.is_copied() {
            for &(start, bytes) in &self.payload[..self.payloads] {
                // SAFETY: payload of the ring (`gather`), which stays until the receiver has consumed it.
                let payload = unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) };
                buffer[at..at + bytes].copy_from_slice(payload);
                at += bytes;
            }
        }
        at
    }

    const fn is_copied(&self) -> bool {
        self.bytes <= COPIED_BYTES && self.zero_copy.is_none()
    }
}

const _: () = assert!(HEADER_BYTES + MOST_CELLS * CELL_BYTES + COPIED_BYTES <= SLOT_BYTES);

impl Net {
    /// Has the payload at a location of the ring to a peer, whose cell is about to be published, sent out of the memory of the program;
    /// [`Self::ended_puts`] tells its end by `token`. Cells with such payload are published in the order of these calls.
    ///
    /// # Safety
    /// The memory is readable and stays unchanged until the end; the endpoint needs no registration ([`Self::sends_zero_copy`]).
    pub(super) unsafe fn send_zero_copy(
        &mut self,
        key: PeerKey,
        location: u64,
        (start, bytes): (NonNull<u8>, usize),
        token: u64,
    ) {
        if let Some(peer) = self.state.known(key) {
            self.state.peers[peer].zero_copy.push_back(ZeroCopy {
                location,
                start,
                bytes,
                token,
            });
        }
    }
}

impl State {
    /// Whether payload of a VCI with a token is to be sent out of the memory of the program, or leaves it.
    pub(super) fn is_sending_zero_copy(&self, vci: VciIndex, token: u64) -> bool {
        let mut own = self.peers.iter().filter(|peer| peer.key.here == vci);
        own.any(|peer| peer.zero_copy.iter().any(|away| away.token == token))
            || self.zero_copies.contains(&Some((vci, token)))
    }

    /// Sends to a peer what its ring holds, and what else it is owed. A failure is told by the next poll.
    pub(super) fn push(&mut self, endpoint: &mut Endpoint, peer: usize) {
        match self.try_push(endpoint, peer) {
            Ok(true) => {}
            Ok(false) => self.defer(peer),
            Err(error) => {
                let known = &mut self.peers[peer];
                known.is_gone = true;
                let (rank, host) = (known.key.process, &known.process.host);
                let text = format!("rank {rank} on host {host} cannot be reached: {error}");
                // One that was never heard of may be out of reach for reasons of this side.
                let is_loss = known.sequence_in != 0;
                self.book.fail(Fault { text, is_loss });
            }
        }
    }

    /// [`Self::push`]; whether everything was taken.
    fn try_push(&mut self, endpoint: &mut Endpoint, peer: usize) -> io::Result<bool> {
        let parts = MOST_PARTS.min(endpoint.most_parts() - 1);
        // The rest is sent when the address has come (`State::resolve`).
        let Some(to) = self.peers[peer].to else {
            return Ok(true);
        };
        loop {
            let known = &mut self.peers[peer];
            if known.is_gone {
                return Ok(true);
            }
            let load = match &known.out {
                Some(source) => {
                    Load::gather(source, known.zero_copy.front(), self.payload_rules, parts)
                }
                None => break,
            };
            let load = load.map_err(|kind| {
                io::Error::other(format!(
                    "a cell of kind {kind} describes payload outside its ring"
                ))
            })?;
            if load.count == 0 {
                break;
            }
            if !self.send_frame(endpoint, peer, to, Kind::Cells, &load)? {
                return Ok(false);
            }
            let known = &mut self.peers[peer];
            known.is_active = true;
            if let Some(source) = &mut known.out {
                source.advance(load.count as u32);
            }
            if load.zero_copy.is_some() {
                known.zero_copy.pop_front();
            }
        }
        let empty = Load::EMPTY;
        if self.peers[peer].owes_farewell {
            if !self.send_frame(endpoint, peer, to, Kind::Farewell, &empty)? {
                return Ok(false);
            }
            let known = &mut self.peers[peer];
            known.owes_farewell = false;
            known.farewells_out += 1;
        }
        if std::mem::take(&mut self.peers[peer].owes_feedback) {
            let known = &self.peers[peer];
            let now = known.into.as_ref().map(|into| into.feedback());
            if now.is_some_and(|now| now != known.told)
                && !self.send_frame(endpoint, peer, to, Kind::Cells, &empty)?
            {
                self.peers[peer].owes_feedback = true;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends one frame; whether the library took it.
    fn send_frame(
        &mut self,
        endpoint: &mut Endpoint,
        peer: usize,
        to: u64,
        kind: Kind,
        load: &Load,
    ) -> io::Result<bool> {
        let known = &self.peers[peer];
        let feedback = known.into.as_ref().map(|into| into.feedback());
        let feedback = feedback.unwrap_or_default();
        let header = Header {
            token: known.process.token_out,
            sender: self.book.me.get(),
            vcis: [known.key.here.get(), known.key.there.get()],
            sequence: known.sequence_out,
            kind,
            cells: load.count as u8,
            feedback,
        };
        let ring_desc = known.out_desc;
        let copied = if load.is_copied() { load.bytes } else { 0 };
        let head_bytes = HEADER_BYTES + load.count * CELL_BYTES + copied;
        // The last message of a peer needs a completion: the library may keep injected ones.
        let is_injected = load.is_copied()
            && head_bytes <= endpoint.inject_bytes().min(256)
            && kind == Kind::Cells;
        let sent = if is_injected {
            let mut buffer = [0; 256];
            let bytes = load.write(&header, &mut buffer);
            endpoint.inject(&buffer[..bytes], to)?
        } else {
            let Some(slot) = self.free.pop() else {
                return Ok(false);
            };
            // SAFETY: slots are SLOT_BYTES long and apart; this one is free, so nobody reads it.
            let buffer = unsafe {
                let start = self.slots.add(slot as usize * SLOT_BYTES);
                std::slice::from_raw_parts_mut(start.as_ptr(), SLOT_BYTES)
            };
            let bytes = load.write(&header, buffer);
            let mut parts = [Part {
                start: NonNull::from(&mut *buffer).cast(),
                bytes,
                desc: self.slots_desc,
            }; 1 + MOST_CELLS];
            let mut count = 1;
            if !load.is_copied() {
                for &(start, bytes) in &load.payload[..load.payloads] {
                    parts[count] = Part {
                        start,
                        bytes,
                        desc: ring_desc,
                    };
                    count += 1;
                }
                // Memory that needs no registration (`Net::sends_zero_copy`).
                if let Some((index, _)) = load.zero_copy {
                    parts[1 + index].desc = std::ptr::null_mut();
                }
            }
            self.owners[slot as usize] = Owner::Peer(peer);
            // SAFETY: the slot is not free until its completion; payload stays in the ring until the receiver has consumed it, and in the
            // memory of the program until the slot is released (`Net::send_zero_copy`).
            let sent = unsafe { endpoint.send(&parts[..count], to, slot) };
            match sent {
                Ok(Sent::Taken) => {
                    let here = self.peers[peer].key.here;
                    let told = load.zero_copy.map(|(_, token)| (here, token));
                    self.zero_copies[slot as usize] = told;
                }
                _ => self.release(slot),
            }
            sent?
        };
        if sent == Sent::Full {
            return Ok(false);
        }
        let known = &mut self.peers[peer];
        known.sequence_out = known.sequence_out.wrapping_add(1);
        known.told = feedback;
        known.owes_feedback = false;
        Ok(true)
    }
}
