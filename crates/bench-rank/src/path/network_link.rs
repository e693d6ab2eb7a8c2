// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bare libfabric between ranks 0 and 1: an endpoint on each, beside those of the MPI library, of the provider that Rankpoint uses.
//!
//! # Safety
//! The bytes that are sent are mapped by [`NetworkLink::open`], never written and never unmapped, so they outlast every send.
#![expect(unsafe_code, reason = "sends read memory after the call")]

use std::io;
use std::ptr::NonNull;

use fabric::ofi::{Completion, Endpoint, Next, Part, Sent};
use measure::network::Network;

use crate::mpi::Mpi;

/// Largest address of an endpoint that is exchanged.
const ADDRESS_BYTES: usize = 1024;
/// Messages under way at once.
pub(crate) const SENDS: u32 = 16;
/// Shortest message: room in the completion queue is for messages of this many bytes.
const LEAST_BYTES: usize = 8;
const TAG: i32 = 5;

/// One end.
pub(crate) struct NetworkLink<'m> {
    mpi: &'m Mpi,
    endpoint: Endpoint,
    peer: u64,
    /// What is sent, with its length and the provider's description.
    message: Part,
    /// Messages that arrived and were not awaited yet.
    arrived: u64,
    /// Messages that have not left their memory.
    sending: u32,
}

impl<'m> NetworkLink<'m> {
    /// Opens both ends, for messages of up to so many bytes.
    ///
    /// # Errors
    /// When libfabric is not there or offers no network.
    pub(crate) fn open(mpi: &'m Mpi, longest: usize) -> Result<Self, String> {
        let told = |error: io::Error| error.to_string();
        let network: &'static Network = Box::leak(Box::new(Network::open()?));
        let chosen = network.choose().map_err(told)?;
        let bytes = LEAST_BYTES..=longest.max(LEAST_BYTES);
        let mut endpoint = Endpoint::open(&network.library, &chosen, bytes, SENDS).map_err(told)?;
        let start = sys::memory::map_private(longest).map_err(told)?;
        let desc = endpoint.register(start, longest).map_err(told)?;
        let own = endpoint.address().map_err(told)?;
        let other = exchange(mpi, &own)?;
        let peer = endpoint.insert(&other).map_err(told)?;
        Ok(Self {
            mpi,
            endpoint,
            peer,
            message: Part {
                start,
                bytes: longest,
                desc,
            },
            arrived: 0,
            sending: 0,
        })
    }

    /// Posts a message of so many bytes, of at most those that the ends were opened for.
    pub(crate) fn post(&mut self, size: usize) {
        let message = Part {
            bytes: size.min(self.message.bytes),
            ..self.message
        };
        loop {
            let is_short = message.bytes <= self.endpoint.inject_bytes();
            let sent = if is_short {
                self.endpoint.inject(bytes_of(message), self.peer)
            } else {
                // SAFETY: mapped by `open`, nobody writes there, and it stays mapped until the process ends.
                unsafe { self.endpoint.send(&[message], self.peer, 0) }
            };
            match sent {
                Ok(Sent::Taken) => {
                    self.sending += u32::from(!is_short);
                    return;
                }
                Ok(Sent::Full) => self.poll(),
                Err(error) => self.mpi.abort(&error.to_string()),
            }
        }
    }

    /// Waits until all messages have left their memory.
    pub(crate) fn finish_sends(&mut self) {
        while self.sending != 0 {
            self.poll();
        }
    }

    /// Waits for a message.
    pub(crate) fn await_message(&mut self) {
        while self.arrived == 0 {
            self.poll();
        }
        self.arrived -= 1;
    }

    /// Lets libfabric work once.
    pub(crate) fn poll(&mut self) {
        let (arrived, sending) = (&mut self.arrived, &mut self.sending);
        let polled = self.endpoint.poll(|endpoint, completion| {
            match completion {
                Completion::Sent(_) => *sending -= 1,
                Completion::Arrived(_) => *arrived += 1,
                Completion::Failed(_, error) => {
                    let reason = endpoint.reason(error);
                    return Err(io::Error::other(format!("libfabric's send: {reason}")));
                }
            }
            Ok(Next::GoOn)
        });
        if let Err(error) = polled {
            self.mpi.abort(&error.to_string());
        }
    }
}

fn bytes_of(message: Part) -> &'static [u8] {
    let start: NonNull<u8> = message.start;
    // SAFETY: mapped by `open` with at least as many bytes, nobody writes there, and it stays mapped until the process ends.
    unsafe { std::slice::from_raw_parts(start.as_ptr(), message.bytes) }
}

/// The other rank's address.
fn exchange(mpi: &Mpi, own: &[u8]) -> Result<Vec<u8>, String> {
    let length = own.len();
    if length > ADDRESS_BYTES {
        return Err(format!(
            "libfabric's fi_getname: an address of {length} bytes: expected at most {ADDRESS_BYTES}"
        ));
    }
    let mut sent = (length as u64).to_le_bytes().to_vec();
    sent.extend(own);
    sent.resize(size_of::<u64>() + ADDRESS_BYTES, 0);
    let mut received = vec![0_u8; sent.len()];
    if mpi.rank == 0 {
        mpi.send(&sent, 1, TAG);
        mpi.receive(&mut received, 1, TAG);
    } else {
        mpi.receive(&mut received, 0, TAG);
        mpi.send(&sent, 0, TAG);
    }
    let (length, address) = received.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let address = address.get(..length);
    let address = address.ok_or_else(|| {
        format!(
            "rank {}: an address of {length} bytes: expected at most {ADDRESS_BYTES}",
            1 - mpi.rank
        )
    })?;
    Ok(address.to_vec())
}
