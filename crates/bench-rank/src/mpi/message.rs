// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages, one or a window of them.

use std::ffi::c_void;

use mpi_abi_sys::constants::{MPI_BYTE, MPI_COMM_WORLD, MPI_REQUEST_NULL};
use mpi_abi_sys::types::{MPI_Comm, MPI_Request};

use super::Mpi;
use super::call::{call, exclusive, int, shared};

impl Mpi {
    /// Sends bytes.
    pub(crate) fn send(&self, data: &[u8], to: i32, tag: i32) {
        let (start, count) = shared(data);
        call!(
            self,
            MPI_Send(start, count, MPI_BYTE, to, tag, MPI_COMM_WORLD)
        );
    }

    /// Receives bytes.
    pub(crate) fn receive(&self, data: &mut [u8], from: i32, tag: i32) {
        let (start, count) = exclusive(data);
        let status = std::ptr::null_mut();
        call!(
            self,
            MPI_Recv(start, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, status)
        );
    }

    /// Receives bytes, and asks whether they have come until they have.
    pub(crate) fn receive_testing(&self, data: &mut [u8], from: i32, tag: i32) {
        let (start, count) = exclusive(data);
        let (mut request, mut is_complete) = (MPI_REQUEST_NULL, 0);
        call!(
            self,
            MPI_Irecv(
                start,
                count,
                MPI_BYTE,
                from,
                tag,
                MPI_COMM_WORLD,
                &raw mut request
            )
        );
        while is_complete == 0 {
            let status = std::ptr::null_mut();
            call!(
                self,
                MPI_Test(&raw mut request, &raw mut is_complete, status)
            );
        }
    }

    /// Sends the same bytes once per request of the window, all at once.
    pub(crate) fn send_window(&self, data: &[u8], to: i32, tags: Tags, window: &mut Window) {
        window.start_sends(self, data, to, tags, MPI_COMM_WORLD);
        window.wait(self);
    }

    /// Receives a message per request, the i-th into slot `i` modulo the number of slots.
    pub(crate) fn receive_window(
        &self,
        slots: &mut [u8],
        size: usize,
        from: i32,
        tags: Tags,
        window: &mut Window,
    ) {
        window.start_receives(self, slots, size, from, tags, MPI_COMM_WORLD);
        window.wait(self);
    }

    /// As [`Self::receive_window`], with something done between starting and waiting.
    ///
    /// Ends the process if `meanwhile` panics, as the library still writes to the slots.
    pub(crate) fn receive_window_while(
        &self,
        slots: &mut [u8],
        size: usize,
        from: i32,
        tags: Tags,
        window: &mut Window,
        meanwhile: impl FnOnce(&Self),
    ) {
        window.start_receives(self, slots, size, from, tags, MPI_COMM_WORLD);
        let guard = EndOnUnwind;
        meanwhile(self);
        drop(guard);
        window.wait(self);
    }

    /// As [`Self::send_window`], with something done between starting and waiting.
    ///
    /// Ends the process if `meanwhile` panics, as the library still reads the data.
    pub(crate) fn send_window_while(
        &self,
        data: &[u8],
        to: i32,
        tags: Tags,
        window: &mut Window,
        meanwhile: impl FnOnce(&Self),
    ) {
        window.start_sends(self, data, to, tags, MPI_COMM_WORLD);
        let guard = EndOnUnwind;
        meanwhile(self);
        drop(guard);
        window.wait(self);
    }

    /// Receives a window of messages and sends one, both at once.
    pub(crate) fn exchange_windows(
        &self,
        data: &[u8],
        slots: &mut [u8],
        peer: i32,
        sends: &mut Window,
        receives: &mut Window,
    ) {
        let (tags, comm) = (Tags::same(WINDOW_TAG), MPI_COMM_WORLD);
        receives.start_receives(self, slots, data.len(), peer, tags, comm);
        sends.start_sends(self, data, peer, tags, comm);
        receives.wait(self);
        sends.wait(self);
    }

    /// Sends bytes to two neighbours and receives as many from each, all at once. A message's tag says to which side it goes, because both
    /// neighbours may be the same rank.
    pub(crate) fn exchange(&self, data: &[u8], into: [&mut [u8]; 2], neighbours: [i32; 2]) {
        let mut all = Window::new(2 * neighbours.len());
        let (receives, sends) = all.requests.split_at_mut(neighbours.len());
        for (side, ((slot, from), request)) in
            (0..).zip(into.into_iter().zip(neighbours).zip(receives))
        {
            let (start, count) = exclusive(slot);
            let tag = 1 - side;
            call!(
                self,
                MPI_Irecv(start, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, request)
            );
        }
        for (tag, (to, request)) in (0..).zip(neighbours.into_iter().zip(sends)) {
            let (start, count) = shared(data);
            call!(
                self,
                MPI_Isend(start, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, request)
            );
        }
        all.wait(self);
    }
}

/// Tag of the messages of a window that differ in nothing.
pub(crate) const WINDOW_TAG: i32 = 2;

/// Tags of the messages of a window: `first + step * i`.
#[derive(Clone, Copy)]
pub(crate) struct Tags {
    first: i32,
    step: i32,
}

impl Tags {
    /// The same tag for all.
    pub(crate) fn same(tag: i32) -> Self {
        Self {
            first: tag,
            step: 0,
        }
    }

    /// 0, 1, 2, ...
    pub(crate) fn ascending() -> Self {
        Self { first: 0, step: 1 }
    }

    /// `count - 1` down to 0.
    pub(crate) fn descending(count: usize) -> Self {
        Self {
            first: int(count) - 1,
            step: -1,
        }
    }
}

/// Requests of a window of nonblocking operations; all null outside the methods of [`Mpi`].
pub(crate) struct Window {
    requests: Vec<MPI_Request>,
}

impl Window {
    /// A window of so many messages.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            requests: vec![MPI_REQUEST_NULL; count],
        }
    }

    pub(super) fn start_sends(
        &mut self,
        mpi: &Mpi,
        data: &[u8],
        to: i32,
        tags: Tags,
        comm: MPI_Comm,
    ) {
        let (start, count) = shared(data);
        let mut tag = tags.first;
        for request in &mut self.requests {
            let request = std::ptr::from_mut(request);
            call!(
                mpi,
                MPI_Isend(start, count, MPI_BYTE, to, tag, comm, request)
            );
            tag += tags.step;
        }
    }

    pub(super) fn start_receives(
        &mut self,
        mpi: &Mpi,
        slots: &mut [u8],
        size: usize,
        from: i32,
        tags: Tags,
        comm: MPI_Comm,
    ) {
        let (start, room) = (slots.as_mut_ptr(), slots.len());
        assert!(room >= size, "room for one message at least");
        let mut tag = tags.first;
        let mut offset = 0;
        for request in &mut self.requests {
            if offset + size > room {
                offset = 0;
            }
            let request = std::ptr::from_mut(request);
            // SAFETY: `offset + size <= room`, tested above.
            let slot = unsafe { start.add(offset) }.cast::<c_void>();
            call!(
                mpi,
                MPI_Irecv(slot, int(size), MPI_BYTE, from, tag, comm, request)
            );
            offset += size;
            tag += tags.step;
        }
    }

    /// Tests each request once.
    pub(super) fn test(&mut self, mpi: &Mpi) {
        for request in &mut self.requests {
            let (mut is_complete, status) = (0, std::ptr::null_mut());
            let request = std::ptr::from_mut(request);
            call!(mpi, MPI_Test(request, &raw mut is_complete, status));
        }
    }

    pub(super) fn wait(&mut self, mpi: &Mpi) {
        let statuses = std::ptr::null_mut();
        call!(
            mpi,
            MPI_Waitall(
                int(self.requests.len()),
                self.requests.as_mut_ptr(),
                statuses
            )
        );
    }
}

/// Ends the process when it is dropped by a panic.
pub(super) struct EndOnUnwind;

impl Drop for EndOnUnwind {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}
