// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages taken by a matched probe (MPI-5.0, section 3.8.2).
//!
//! # Safety
//! A receive lends its buffer to the engine and is complete before it returns. One into a vector does not write the vector before:
//! its elements are there when as many bytes came as they have.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use engine::p2p::probe;
use engine::{Error, ErrorClass, Result};

use crate::buffer::Region;
use crate::data::zeros;
use crate::threads::{OneThread, Threads};
use crate::{BufferMut, Communicator, Datatype, Status};

/// A message that [`Communicator::matched_probe`] took, and that waits to be received.
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// world.send(&[3u8; 5][..], world.rank(), 1)?;
/// let message = world.matched_probe(rankpoint::Source::Any, rankpoint::Tag::Any)?;
/// assert_eq!(message.status().bytes(), 5);
/// let (data, _) = message.recv_vec::<u8>()?;
/// assert_eq!(data, [3; 5]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
#[must_use = "a message that was taken has to be received"]
pub struct Message<'c, 'u, T: Threads = OneThread> {
    comm: &'c Communicator<'u, T>,
    message: probe::Message,
    status: Status,
}

impl<'c, 'u, T: Threads> Message<'c, 'u, T> {
    pub(crate) const fn new(
        comm: &'c Communicator<'u, T>,
        message: probe::Message,
        status: Status,
    ) -> Self {
        Self {
            comm,
            message,
            status,
        }
    }

    /// Source, tag and length.
    pub const fn status(&self) -> Status {
        self.status
    }

    /// Receives the message into a buffer (MPI_Mrecv).
    ///
    /// # Errors
    /// When the message is longer than the buffer.
    pub fn recv<B: BufferMut + ?Sized>(self, into: &mut B) -> Result<Status> {
        let process = self.comm.comm().process();
        self.comm.run("Message::recv", |comm| {
            let region = into.region_mut()?;
            // SAFETY: the buffer is borrowed exclusively; the receive is complete before this returns.
            let mut id = unsafe { probe::imrecv(process, region.memory(), self.message) }?;
            comm.complete(&mut id, "Message::recv")
        })
    }

    /// Receives the message into a vector of its length.
    ///
    /// # Errors
    /// When the message holds no whole number of elements; it is lost then.
    pub fn recv_vec<V: Datatype>(self) -> Result<(Vec<V>, Status)> {
        let status = self.status;
        let Some(count) = status.count::<V>() else {
            let text = format!(
                "the message has {} bytes, an element {}",
                status.bytes(),
                V::PACKED_BYTES
            );
            let comm = self.comm;
            self.recv(&mut zeros::<u8>(status.bytes())[..])?;
            return comm.run("Message::recv_vec", |_| {
                Err(Error::new(ErrorClass::ERR_TYPE, text))
            });
        };
        let process = self.comm.comm().process();
        self.comm.run("Message::recv_vec", |comm| {
            let mut data = Vec::with_capacity(count);
            let region = Region::values::<V>(data.as_mut_ptr(), count)?;
            // SAFETY: the vector has room for the elements, which is its own; the receive is complete before this returns.
            let mut id = unsafe { probe::imrecv(process, region.memory(), self.message) }?;
            let received = comm.complete(&mut id, "Message::recv_vec")?;
            if received.bytes() == status.bytes() {
                // SAFETY: as many bytes came as the elements have data, so that all of those are written (Datatype).
                unsafe { data.set_len(count) };
            }
            Ok((data, received))
        })
    }
}
