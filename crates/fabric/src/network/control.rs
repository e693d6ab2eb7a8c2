// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses of contexts: a context other than the first is made known to a process when that first sends there.
//!
//! The context that needs an address asks for it, with its own address, so that the one that is asked can answer at once what will come.
//! Requests and answers go between contexts 0, whose addresses are on the cards; a frame of either is sent with a completion. A
//! request is repeated while no answer comes, so that the network tells of a process that is lost. Until the answer comes, the ring of the peer keeps what is sent to it.
#![expect(unsafe_code, reason = "frames are memory of the library")]

use std::io;
use std::ptr::NonNull;

use super::book::Control;
use super::fault::Fault;
use super::frame::{HEADER_BYTES, Header, Kind};
use super::net::{Owner, SLOT_BYTES, State};
use crate::board::CARD_BYTES;
use crate::identity::PeerIndex;
use crate::ofi::{Endpoint, Part, Sent};
use crate::ring::Feedback;

const _: () = assert!(HEADER_BYTES + CARD_BYTES <= SLOT_BYTES);

/// A request for the address of a context of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The process that asks.
    pub(super) rank: PeerIndex,
    /// The number of its context.
    pub(super) asker: u8,
    /// The number of the context here.
    pub(super) context: u8,
}

impl State {
    /// Asks a process for the address of a context.
    pub(super) fn ask(&self, to: PeerIndex, context: u8) {
        self.book.send_by_first(Control {
            to,
            kind: Kind::Ask,
            contexts: [self.index, context],
            address: self.address.clone(),
        });
    }

    /// Takes in a request for an address, or an answer, of a member of the job.
    ///
    /// # Errors
    /// When it breaks the protocol.
    pub(super) fn arrived_control(&mut self, header: &Header, frame: &[u8]) -> io::Result<()> {
        let rank = PeerIndex::new(header.sender);
        let process = self.book.process(rank)?;
        let [named, other] = header.vcis;
        let is_right = self.index == 0
            && header.cells == 0
            && other < self.book.contexts
            && self
                .book
                .learn(rank, &process, named, &frame[HEADER_BYTES..]);
        if !is_right {
            return Err(io::Error::other(format!(
                "rank {rank} on host {} named context {named} with an address that it cannot have, for context {other} of {}",
                process.host, self.book.contexts
            )));
        }
        if header.kind == Kind::Ask {
            let wanted = Wanted {
                rank,
                asker: named,
                context: other,
            };
            if !self.wanted.contains(&wanted) {
                self.wanted.push(wanted);
            }
        }
        Ok(())
    }

    /// Sends what context 0 has to send for all contexts, as much as the library takes.
    pub(super) fn send_controls(&mut self, endpoint: &mut Endpoint) {
        if !self.book.has_controls() {
            return;
        }
        let mut is_full = false;
        for control in self.book.take_controls() {
            if !is_full {
                match self.send_control(endpoint, &control) {
                    Ok(Sent::Taken) => continue,
                    Ok(Sent::Full) => is_full = true,
                    Err(error) => {
                        self.book.lose(control.to);
                        let (rank, host) = (control.to, self.book.host(control.to));
                        let text = format!("rank {rank} on host {host} cannot be reached: {error}");
                        let is_loss = false;
                        self.book.fail(Fault { text, is_loss });
                        continue;
                    }
                }
            }
            self.book.send_by_first(control);
        }
    }

    fn send_control(&mut self, endpoint: &mut Endpoint, control: &Control) -> io::Result<Sent> {
        let process = self.book.process(control.to)?;
        let Some(to) = self.route(endpoint, control.to, &process, 0)? else {
            return Ok(Sent::Full);
        };
        let Some(slot) = self.free.pop() else {
            return Ok(Sent::Full);
        };
        let header = Header {
            token: process.token_out,
            sender: self.book.me.get(),
            vcis: control.contexts,
            sequence: 0,
            kind: control.kind,
            cells: 0,
            feedback: Feedback::default(),
        };
        // SAFETY: slots are SLOT_BYTES long and apart; this one is free, so nobody reads it.
        let buffer = unsafe {
            let start = self.slots.add(slot as usize * SLOT_BYTES);
            std::slice::from_raw_parts_mut(start.as_ptr(), SLOT_BYTES)
        };
        let bytes = HEADER_BYTES + control.address.len();
        buffer[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        buffer[HEADER_BYTES..bytes].copy_from_slice(&control.address);
        let part = Part {
            start: NonNull::from(buffer).cast(),
            bytes,
            desc: self.slots_desc,
        };
        self.owners[slot as usize] = Owner::Process(control.to);
        // SAFETY: the slot is not free until its completion.
        let sent = unsafe { endpoint.send(&[part], to, slot) };
        if !matches!(sent, Ok(Sent::Taken)) {
            self.release(slot);
        }
        sent
    }
}
