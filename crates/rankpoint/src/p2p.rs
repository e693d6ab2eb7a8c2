// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocking sends and receives, and probes (MPI-5.0, chapter 3).
//!
//! # Safety
//! Each call lends its buffers to the engine until the operation is complete, and is not left before.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use engine::comm::Comm;
use engine::completion;
use engine::p2p::{self, Injected, Mode, probe};
use engine::request::RequestId;
use engine::{Error, ErrorClass, Result};

use crate::abort::{give_up, may_go_on};
use crate::buffer::Region;
use crate::data::zeros;
use crate::envelope::rank_code;
use crate::threads::Threads;
use crate::{Buffer, BufferMut, Communicator, Datatype, Message, Source, Status, Tag};

/// Data that are packed before they are sent, where that is simpler than to describe the operation: a short message's.
const PACKED_BYTES: usize = 48;

impl<'u, T: Threads> Communicator<'u, T> {
    /// Sends a buffer to rank `dest`. It may be used again when this returns, whether the message has been received or not
    /// (MPI_Send).
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// let world = universe.world();
    /// let right = (world.rank() + 1) % world.size();
    /// world.send(&[1.0, 2.0][..], right, 7)?;
    /// let (data, status) = world.recv_vec::<f64>(rankpoint::Source::Any, 7)?;
    /// assert_eq!((data, status.tag()), (vec![1.0, 2.0], 7));
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no rank `dest`, or the tag is negative.
    // TIER: short
    #[inline]
    pub fn send<B: Buffer + ?Sized>(&self, data: &B, dest: usize, tag: i32) -> Result<()> {
        if let Some((base, bytes)) = data.run() {
            let (comm, dest) = (self.comm(), rank_code(dest));
            // SAFETY: the buffer is readable for its length.
            match unsafe { p2p::inject::<p2p::NoPromise>(comm, base, bytes, dest, tag) } {
                Injected::Sent => return Ok(()),
                Injected::SentWake => return wake(comm, dest),
                Injected::Refused | Injected::Contended | Injected::Unreached => {}
            }
        }
        self.send_further(data, dest, tag)
    }

    /// Sends what the first stage of [`Self::send`] has refused.
    #[inline(never)]
    fn send_further<B: Buffer + ?Sized>(&self, data: &B, dest: usize, tag: i32) -> Result<()> {
        if let Some((base, bytes)) = data.run()
            // SAFETY: the buffer is readable for its length.
            && unsafe { self.send_now(base, bytes, dest, tag) }
        {
            return Ok(());
        }
        let region = data.region();
        if let Ok(region) = &region
            && self.send_packed(region, dest, tag)
        {
            return Ok(());
        }
        self.send_mode(region, dest, tag, Mode::Standard, "Communicator::send")
    }

    /// Sends bytes that need no operation, on the fast paths; false when nothing was done.
    ///
    /// # Safety
    /// `base` is readable for `bytes` bytes.
    #[inline(always)]
    unsafe fn send_now(&self, base: *const u8, bytes: usize, dest: usize, tag: i32) -> bool {
        let (comm, dest) = (self.comm(), rank_code(dest));
        // SAFETY: the caller's promise.
        match unsafe { p2p::send_now::<p2p::NoPromise>(comm, base, bytes, dest, tag) } {
            Injected::Refused | Injected::Contended | Injected::Unreached => return false,
            Injected::SentWake => {
                p2p::wake::<p2p::NoPromise>(comm, dest);
            }
            Injected::Sent => {}
        }
        true
    }

    /// Sends data that are not one run of bytes from a packed copy, if they are few and nothing stands in the way.
    #[inline(never)]
    fn send_packed(&self, region: &Region, dest: usize, tag: i32) -> bool {
        let mut packed = [0u8; PACKED_BYTES];
        let Some(bytes) = region.pack_into(&mut packed) else {
            return false;
        };
        // SAFETY: the copy holds `bytes` bytes, and the message has left when this returns true.
        unsafe { self.send_now(packed.as_ptr(), bytes, dest, tag) }
    }

    /// As [`Self::send`], but returns only when the receive has started (MPI_Ssend).
    ///
    /// # Errors
    /// As for [`Self::send`].
    pub fn send_synchronous<B: Buffer + ?Sized>(
        &self,
        data: &B,
        dest: usize,
        tag: i32,
    ) -> Result<()> {
        let call = "Communicator::send_synchronous";
        self.send_mode(data.region(), dest, tag, Mode::Synchronous, call)
    }

    /// As [`Self::send`], but never waits for the receiver: what cannot leave is copied to the buffer of
    /// [`Universe::attach_buffer`](crate::Universe::attach_buffer) (MPI_Bsend).
    ///
    /// # Errors
    /// As for [`Self::send`], and when no buffer is attached.
    pub fn send_buffered<B: Buffer + ?Sized>(&self, data: &B, dest: usize, tag: i32) -> Result<()> {
        let call = "Communicator::send_buffered";
        self.send_mode(data.region(), dest, tag, Mode::Buffered, call)
    }

    fn send_mode(
        &self,
        region: Result<Region>,
        dest: usize,
        tag: i32,
        mode: Mode,
        call: &'static str,
    ) -> Result<()> {
        self.run(call, |this| {
            let (region, dest) = (region?, rank_code(dest));
            // SAFETY: the memory comes from a borrowed buffer; the send is complete before this returns.
            let mut id = unsafe { p2p::isend(this.comm(), region.memory(), dest, tag, mode) }?;
            this.complete(&mut id, call).map(drop)
        })
    }

    pub(crate) fn complete(&self, id: &mut RequestId, call: &'static str) -> Result<Status> {
        complete(self.comm(), id, call)
    }

    /// Receives into a buffer; a shorter message fills its beginning (MPI_Recv).
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # world.send(&[1u32, 2][..], world.rank(), 0)?;
    /// let mut buffer = [0u32; 4];
    /// let status = world.recv(&mut buffer[..], world.rank(), 0)?;
    /// assert_eq!(status.count::<u32>(), Some(2));
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such rank, the tag is negative, or the message is longer than the buffer.
    #[inline]
    pub fn recv<B: BufferMut + ?Sized>(
        &self,
        into: &mut B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        let (source, tag) = (source.into().code(), tag.into().code());
        self.run("Communicator::recv", |this| {
            let (source, tag) = this.wanted(source, tag)?;
            let region = into.region_mut()?;
            let comm = p2p::taker_of_receive(this.comm(), source, tag);
            let memory = region.memory();
            // SAFETY: the buffer is borrowed exclusively.
            let soon = unsafe { p2p::receive_soon(comm, memory, source, tag) };
            if let Some(found) = soon {
                return Ok(Status(found));
            }
            // SAFETY: as above; the receive is complete before this returns.
            let mut id = unsafe { p2p::irecv(comm, region.memory(), source, tag) }?;
            this.complete(&mut id, "Communicator::recv")
        })
    }

    /// Receives one value.
    ///
    /// # Errors
    /// As for [`Self::recv`], and when the message is shorter than the value.
    pub fn recv_value<V: Datatype>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(V, Status)> {
        let mut values = zeros::<V>(1);
        let status = self.recv(&mut values[..], source, tag)?;
        if status.bytes() != V::PACKED_BYTES {
            let text = format!(
                "the message has {} bytes, a value {}",
                status.bytes(),
                V::PACKED_BYTES
            );
            return self.run("Communicator::recv_value", |_| {
                Err(Error::new(ErrorClass::ERR_TYPE, text))
            });
        }
        Ok((values[0], status))
    }

    /// Receives a message of any length.
    ///
    /// # Errors
    /// As for [`Self::recv`], and when the message holds no whole number of elements, which loses it.
    pub fn recv_vec<V: Datatype>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<V>, Status)> {
        self.matched_probe(source, tag)?.recv_vec()
    }

    /// Sends one buffer and receives into another at the same time (MPI_Sendrecv).
    ///
    /// # Errors
    /// As for [`Self::send`] and [`Self::recv`].
    pub fn send_recv<S: Buffer + ?Sized, R: BufferMut + ?Sized>(
        &self,
        data: &S,
        dest: usize,
        send_tag: i32,
        into: &mut R,
        source: impl Into<Source>,
        receive_tag: impl Into<Tag>,
    ) -> Result<Status> {
        let call = "Communicator::send_recv";
        let (source, receive_tag) = (source.into().code(), receive_tag.into().code());
        self.run(call, |this| {
            let (source, receive_tag) = this.wanted(source, receive_tag)?;
            let (comm, dest) = (this.comm(), rank_code(dest));
            let (out, room) = (data.region()?, into.region_mut()?);
            let send = (out.memory(), dest, send_tag);
            let receive = (room.memory(), source, receive_tag);
            // SAFETY: both buffers are borrowed, and nothing is under way in them when this returns.
            let soon = unsafe { p2p::exchange_soon(comm, send, receive) };
            if let Some(Some(status)) = soon {
                return Ok(Status(status));
            }
            // SAFETY: both buffers are borrowed, and both operations are complete before this returns.
            let mut arrival = unsafe { p2p::irecv(comm, room.memory(), source, receive_tag) }?;
            if soon.is_some() {
                return this.complete(&mut arrival, call);
            }
            // SAFETY: as above.
            let departure =
                unsafe { p2p::isend(comm, out.memory(), dest, send_tag, Mode::Standard) };
            match departure {
                Ok(mut departure) => {
                    let received = this.complete(&mut arrival, call);
                    this.complete(&mut departure, call)?;
                    received
                }
                Err(error) => {
                    completion::cancel_receive(this.vci(), arrival)?;
                    this.complete(&mut arrival, call)?;
                    Err(error)
                }
            }
        })
    }

    /// Waits for a message without receiving it (MPI_Probe).
    ///
    /// # Errors
    /// When there is no such rank, or the tag is negative.
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let (source, tag) = (source.into().code(), tag.into().code());
        self.run("Communicator::probe", |this| {
            let (source, tag) = this.wanted(source, tag)?;
            probe::probe(this.comm(), source, tag).map(Status)
        })
    }

    /// Looks for a message without receiving it (MPI_Iprobe).
    ///
    /// # Errors
    /// As for [`Self::probe`].
    pub fn try_probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<Status>> {
        let (source, tag) = (source.into().code(), tag.into().code());
        self.run("Communicator::try_probe", |this| {
            let (source, tag) = this.wanted(source, tag)?;
            Ok(probe::iprobe(this.comm(), source, tag)?.map(Status))
        })
    }

    /// Waits for a message and takes it: nobody else can receive it (MPI_Mprobe).
    ///
    /// # Errors
    /// As for [`Self::probe`].
    pub fn matched_probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Message<'_, 'u, T>> {
        let (source, tag) = (source.into().code(), tag.into().code());
        self.run("Communicator::matched_probe", |this| {
            let (source, tag) = this.wanted(source, tag)?;
            let (message, status) = probe::mprobe(this.comm(), source, tag)?;
            Ok(Message::new(self, message, Status(status)))
        })
    }

    /// Takes a message if one is there (MPI_Improbe).
    ///
    /// # Errors
    /// As for [`Self::probe`].
    pub fn try_matched_probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<Message<'_, 'u, T>>> {
        let (source, tag) = (source.into().code(), tag.into().code());
        self.run("Communicator::try_matched_probe", |this| {
            let (source, tag) = this.wanted(source, tag)?;
            let found = probe::improbe(this.comm(), source, tag)?;
            Ok(found.map(|(message, status)| Message::new(self, message, Status(status))))
        })
    }
}

/// Wakes the receiver of a message that went by [`Injected::SentWake`].
#[cold]
#[inline(never)]
fn wake(comm: &Comm, dest: i32) -> Result<()> {
    p2p::wake::<p2p::NoPromise>(comm, dest);
    Ok(())
}

/// Waits for a request to the end. An error of the engine itself, which leaves the operation's fate unknown, ends the program,
/// because the buffer could not be given back.
pub(crate) fn complete(comm: &Comm, id: &mut RequestId, call: &'static str) -> Result<Status> {
    let outcome = completion::wait(comm.vci(), id, call);
    if *id != RequestId::NULL && may_go_on(comm) {
        give_up(outcome.as_ref().err());
    }
    outcome.map(Status)
}
