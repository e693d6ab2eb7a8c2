// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receiving: frames become cells of a ring. Everything in a frame is checked before it is used.
#![expect(unsafe_code, reason = "payload is written into rings")]

use std::io;

use super::frame::{CELL_BYTES, HEADER_BYTES, Header, Kind, cell_words};
use super::net::{RING_CELLS, RING_PAYLOAD_BYTES, State};
use super::peer::{Peer, PeerKey};
use crate::identity::{PeerIndex, VciIndex};
use crate::ofi::Endpoint;
use crate::ring::{MirrorTarget, PayloadRule, mirrored_receiver};

/// Payload from this length on is lent to the ring's receiver, where that reads it at once; shorter payload is copied into the ring.
const LENT_BYTES: u32 = 2 << 10;
/// Frames that one may be ahead of the one that is due: each has a cell of the ring, or brings news of cells of the other one.
const MOST_AHEAD: u32 = 2 * RING_CELLS;

impl State {
    /// Takes in a frame.
    ///
    /// # Errors
    /// When a rank of the job breaks the protocol. Frames of others are dropped and counted.
    pub(super) fn arrived(&mut self, endpoint: &mut Endpoint, frame: &[u8]) -> io::Result<()> {
        let Some(header) = Header::parse(frame) else {
            self.outsiders += 1;
            return Ok(());
        };
        let rank = PeerIndex::new(header.sender);
        if matches!(header.kind, Kind::Ask | Kind::Address) {
            if self.book.is_member(rank, header.token) {
                return self.arrived_control(&header, frame);
            }
            self.outsiders += 1;
            return Ok(());
        }
        let [there, here] = header.vcis.map(|vci| VciIndex::new(vci.into()));
        let (Some(there), Some(here)) = (there, here) else {
            self.outsiders += 1;
            return Ok(());
        };
        let key = PeerKey {
            process: rank,
            there,
            here,
        };
        let known = match self.known(key) {
            Some(known) => known,
            // A process that cannot prove itself makes no peers and gets no address.
            None if !self.book.is_member(rank, header.token) => {
                self.outsiders += 1;
                return Ok(());
            }
            None if !self.book.serves(self.index, here.get()) => {
                let (host, context) = (self.book.host(rank), self.index);
                return Err(io::Error::other(format!(
                    "rank {rank} on host {host} sent a message for VCI {here} to context {context} of {}",
                    self.book.contexts
                )));
            }
            None => self.peer(endpoint, key)?,
        };
        let peer = &mut self.peers[known];
        if header.token != peer.process.token_in {
            self.outsiders += 1;
            return Ok(());
        }
        match header.sequence.wrapping_sub(peer.sequence_in) {
            0 => self.take_in(known, &header, frame, true)?,
            ahead => return self.keep(known, ahead, &header, frame),
        }
        // Those that came before it.
        while let Some(frame) = self.peers[known].next_kept() {
            if let Some(header) = Header::parse(&frame) {
                self.take_in(known, &header, &frame, false)?;
            }
        }
        Ok(())
    }

    /// Keeps a frame that has come before frames that were sent earlier. Providers deliver messages in order, but those that fetch long
    /// messages from their sender complete shorter ones first.
    ///
    /// # Errors
    /// When the frame has come before, or is further ahead than rings have room for.
    fn keep(&mut self, known: usize, ahead: u32, header: &Header, frame: &[u8]) -> io::Result<()> {
        let peer = &mut self.peers[known];
        let sequence = header.sequence;
        if ahead <= MOST_AHEAD && peer.ahead.insert(sequence, frame.into()).is_none() {
            return Ok(());
        }
        let (rank, host, due) = (peer.key.process, &peer.process.host, peer.sequence_in);
        Err(io::Error::other(format!(
            "the network lost or repeated a message of rank {rank} on host {host}: number {sequence} came, {due} was due"
        )))
    }

    /// Takes in the frame that is due of a known peer; its payload may be lent if the frame lies in a receive buffer.
    fn take_in(
        &mut self,
        known: usize,
        header: &Header,
        frame: &[u8],
        may_lend: bool,
    ) -> io::Result<()> {
        let peer = &mut self.peers[known];
        peer.sequence_in = peer.sequence_in.wrapping_add(1);
        if let Some(out) = &peer.out {
            out.feed(header.feedback);
        }
        match header.kind {
            Kind::Farewell => peer.farewells_in += 1,
            Kind::Cells if header.cells > 0 => self.take_cells(known, header, frame, may_lend)?,
            Kind::Cells | Kind::Ask | Kind::Address => {}
        }
        Ok(())
    }

    /// Takes in the cells of a frame of a known peer.
    fn take_cells(
        &mut self,
        known: usize,
        header: &Header,
        frame: &[u8],
        may_lend: bool,
    ) -> io::Result<()> {
        let peer = &mut self.peers[known];
        if peer.into.is_none() {
            let ring = mirrored_receiver(RING_CELLS, RING_PAYLOAD_BYTES);
            let (target, receiver) = ring.ok_or(io::ErrorKind::OutOfMemory)?;
            peer.into = Some(target);
            self.accepted.push((peer.key, receiver));
        }
        peer.is_active = true;
        let may_lend = may_lend && self.polling == Some(peer.key.here) && self.lent.is_none();
        let filled = fill(peer, header, frame, self.payload_rules, may_lend);
        if peer.into.as_ref().is_some_and(MirrorTarget::has_lent) {
            self.lent = Some(known);
        }
        filled
    }
}

/// Writes the cells of a frame, and their payload, into the ring. The first long payload is lent to the ring instead, if it may be.
fn fill(
    peer: &mut Peer,
    header: &Header,
    frame: &[u8],
    rules: &[PayloadRule],
    mut may_lend: bool,
) -> io::Result<()> {
    let (cells, mut payload) =
        frame[HEADER_BYTES..].split_at(usize::from(header.cells) * CELL_BYTES);
    let (rank, host) = (peer.key.process, &peer.process.host);
    let Some(target) = &mut peer.into else {
        return Ok(());
    };
    for cell in cells.chunks_exact(CELL_BYTES) {
        let words = cell_words(cell);
        let done = put_payload(target, &words, &mut payload, rules, may_lend);
        may_lend &= done != Some(Payload::Lent);
        if done.is_none() || !target.put(&words) {
            return Err(io::Error::other(format!(
                "rank {rank} on host {host} broke the protocol of its ring (cell {:#x})",
                words[0]
            )));
        }
    }
    Ok(())
}

/// Where the payload of a cell is afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Payload {
    /// The ring has it, or there is none.
    Written,
    /// It stays in the frame, where the ring's receiver reads it.
    Lent,
}

/// Writes the payload that a cell describes, from the front of `payload`, or lends it if it is long; `None` when it fits neither the frame nor
/// the ring.
fn put_payload(
    target: &MirrorTarget,
    words: &[u64; 8],
    payload: &mut &[u8],
    rules: &[PayloadRule],
    may_lend: bool,
) -> Option<Payload> {
    let kind = (words[0] >> 32) as u8;
    let Some(rule) = rules.iter().find(|rule| rule.kind == kind) else {
        return Some(Payload::Written);
    };
    let location = *words.get(2 + usize::from(rule.location_word))?;
    let bytes = u32::try_from(*words.get(2 + usize::from(rule.bytes_word))?).ok()?;
    let start = target.payload(location, bytes)?;
    let (mine, rest) = payload.split_at_checked(bytes as usize)?;
    *payload = rest;
    let from = std::ptr::NonNull::from(mine).cast();
    if may_lend && bytes >= LENT_BYTES {
        // SAFETY: the frame stays until the loan ends (`Next::Keep`); the thread holds the lock of the ring's VCI, and other threads leave
        // the context alone meanwhile (`Net::borrower`).
        let is_lent = unsafe { target.lend(location, bytes, from) };
        return is_lent.then_some(Payload::Lent);
    }
    // SAFETY: the ring has room for the bytes (`payload`), which lie elsewhere; the receiver reads them after the cell is published.
    unsafe { start.copy_from_nonoverlapping(from, mine.len()) };
    Some(Payload::Written)
}
