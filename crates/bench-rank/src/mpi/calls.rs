// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time of calls that start and test messages, without that of the messages.

use std::time::Instant;

use mpi_abi_sys::constants::{MPI_BYTE, MPI_COMM_WORLD, MPI_PROC_NULL, MPI_REQUEST_NULL};
use mpi_abi_sys::types::MPI_Request;

use super::Mpi;
use super::call::{call, int, shared};
use super::message::{Tags, Window};

impl Mpi {
    /// Nanoseconds of the calls of MPI_Isend for a window of messages, which is waited for afterwards.
    pub(crate) fn time_sends(&self, data: &[u8], to: i32, tag: i32, window: &mut Window) -> f64 {
        let start = Instant::now();
        window.start_sends(self, data, to, Tags::same(tag), MPI_COMM_WORLD);
        let time = start.elapsed();
        window.wait(self);
        time.as_nanos() as f64
    }

    /// Nanoseconds of the calls of MPI_Irecv for a window of messages that `meanwhile` lets come, and of one MPI_Waitall once they have;
    /// `meanwhile` also tells when that begins.
    ///
    /// Ends the process if `meanwhile` panics, as the library still writes to the slots.
    pub(crate) fn time_posts_and_wait(
        &self,
        slots: &mut [u8],
        size: usize,
        (from, tag): (i32, i32),
        window: &mut Window,
        meanwhile: impl FnOnce(&Self),
    ) -> [f64; 2] {
        let start = Instant::now();
        window.start_receives(self, slots, size, from, Tags::same(tag), MPI_COMM_WORLD);
        let started = start.elapsed();
        let guard = super::message::EndOnUnwind;
        meanwhile(self);
        drop(guard);
        let start = Instant::now();
        window.wait(self);
        [started, start.elapsed()].map(|time| time.as_nanos() as f64)
    }

    /// Nanoseconds of several series of so many tests of a receive that nothing has come for; `afterwards` lets its message come.
    ///
    /// Ends the process if `afterwards` panics, as the library still writes to the slot.
    pub(crate) fn time_tests(
        &self,
        slot: &mut [u8],
        (from, tag): (i32, i32),
        window: &mut Window,
        (tests, series): (usize, usize),
        afterwards: impl FnOnce(&Self),
    ) -> Vec<f64> {
        let size = slot.len();
        window.start_receives(self, slot, size, from, Tags::same(tag), MPI_COMM_WORLD);
        let times = (0..series).map(|_| {
            let start = Instant::now();
            (0..tests).for_each(|_| window.test(self));
            start.elapsed().as_nanos() as f64
        });
        let times = times.collect();
        let guard = super::message::EndOnUnwind;
        afterwards(self);
        drop(guard);
        window.wait(self);
        times
    }

    /// Nanoseconds of receives of nothing from no rank, one MPI_Irecv for each request and one MPI_Waitall.
    pub(crate) fn time_null_window(&self, window: &mut Window) -> f64 {
        let start = Instant::now();
        window.start_receives(
            self,
            &mut [0],
            0,
            MPI_PROC_NULL,
            Tags::same(0),
            MPI_COMM_WORLD,
        );
        window.wait(self);
        start.elapsed().as_nanos() as f64
    }

    /// Nanoseconds of the calls of MPI_Irecv for a window of messages, and of one MPI_Test of each; they are waited for afterwards.
    pub(crate) fn time_receives(
        &self,
        slots: &mut [u8],
        size: usize,
        (from, tag): (i32, i32),
        window: &mut Window,
    ) -> [f64; 2] {
        let start = Instant::now();
        window.start_receives(self, slots, size, from, Tags::same(tag), MPI_COMM_WORLD);
        let started = start.elapsed();
        let start = Instant::now();
        window.test(self);
        let tested = start.elapsed();
        window.wait(self);
        [started, tested].map(|time| time.as_nanos() as f64)
    }
}

/// Sends that are started again and again.
pub(crate) struct PersistentSends<'m> {
    mpi: &'m Mpi,
    requests: Vec<MPI_Request>,
    /// What all of them send; the library has its address.
    _data: Box<[u8]>,
}

impl<'m> PersistentSends<'m> {
    /// So many sends of the same bytes.
    pub(crate) fn new(mpi: &'m Mpi, count: usize, data: Box<[u8]>, to: i32, tag: i32) -> Self {
        let mut requests = vec![MPI_REQUEST_NULL; count];
        let (start, length) = shared(&data);
        for request in &mut requests {
            let request = std::ptr::from_mut(request);
            call!(
                mpi,
                MPI_Send_init(start, length, MPI_BYTE, to, tag, MPI_COMM_WORLD, request)
            );
        }
        Self {
            mpi,
            requests,
            _data: data,
        }
    }

    /// Nanoseconds of the calls of MPI_Start, one for each; all are waited for afterwards.
    pub(crate) fn time(&mut self) -> f64 {
        let start = Instant::now();
        for request in &mut self.requests {
            let request = std::ptr::from_mut(request);
            call!(self.mpi, MPI_Start(request));
        }
        let time = start.elapsed();
        let (count, statuses) = (int(self.requests.len()), std::ptr::null_mut());
        call!(
            self.mpi,
            MPI_Waitall(count, self.requests.as_mut_ptr(), statuses)
        );
        time.as_nanos() as f64
    }
}

impl Drop for PersistentSends<'_> {
    fn drop(&mut self) {
        for request in &mut self.requests {
            let request = std::ptr::from_mut(request);
            call!(self.mpi, MPI_Request_free(request));
        }
    }
}
