// SPDX-License-Identifier: MIT OR Apache-2.0
//! A partitioned message whose partitions threads make ready.

use std::ffi::c_void;

use mpi_abi_sys::constants::{MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, MPI_REQUEST_NULL};
use mpi_abi_sys::types::MPI_Request;

use super::Mpi;
use super::call::{call, int};
use super::message::WINDOW_TAG;
use super::stream::{VCIS, text};

/// VCIs over which a send can be spread.
const MOST_VCIS: usize = 64;

/// A partitioned send or receive of equal partitions, with its memory.
pub(crate) struct Partitions<'a> {
    mpi: &'a Mpi,
    memory: Vec<u8>,
    request: MPI_Request,
    /// Whether the library may use the memory.
    is_started: bool,
}

// SAFETY: threads of a process may make partitions of one request ready at once (MPI-5.0, section 4.2).
unsafe impl Sync for Partitions<'_> {}

impl<'a> Partitions<'a> {
    /// Plans the send of `count` partitions with these bytes by so many threads, or says why the library cannot.
    pub(crate) fn send(
        mpi: &'a Mpi,
        memory: Vec<u8>,
        count: usize,
        to: i32,
        threads: usize,
    ) -> Result<Self, String> {
        Self::can(mpi)?;
        let (mut request, size) = (MPI_REQUEST_NULL, memory.len() / count);
        let (start, count, size) = (memory.as_ptr().cast::<c_void>(), int(count), size as i64);
        let (tag, comm, mut info) = (WINDOW_TAG, MPI_COMM_WORLD, MPI_INFO_NULL);
        call!(mpi, MPI_Info_create(&raw mut info));
        let (key, value) = (text(VCIS), text(&threads.min(MOST_VCIS).to_string()));
        call!(mpi, MPI_Info_set(info, key.as_ptr(), value.as_ptr()));
        let new = &raw mut request;
        call!(
            mpi,
            MPI_Psend_init(start, count, size, MPI_BYTE, to, tag, comm, info, new)
        );
        call!(mpi, MPI_Info_free(&raw mut info));
        Ok(Self {
            mpi,
            memory,
            request,
            is_started: false,
        })
    }

    /// Plans the receive of `count` partitions into this memory.
    pub(crate) fn receive(
        mpi: &'a Mpi,
        mut memory: Vec<u8>,
        count: usize,
        from: i32,
    ) -> Result<Self, String> {
        Self::can(mpi)?;
        let (mut request, size) = (MPI_REQUEST_NULL, memory.len() / count);
        let start = memory.as_mut_ptr().cast::<c_void>();
        let (count, size, tag) = (int(count), size as i64, WINDOW_TAG);
        let (comm, info, new) = (MPI_COMM_WORLD, MPI_INFO_NULL, &raw mut request);
        call!(
            mpi,
            MPI_Precv_init(start, count, size, MPI_BYTE, from, tag, comm, info, new)
        );
        Ok(Self {
            mpi,
            memory,
            request,
            is_started: false,
        })
    }

    fn can(mpi: &Mpi) -> Result<(), String> {
        let name = "MPI_Psend_init";
        let has = mpi.library.MPI_Psend_init.is_some() && !mpi.lacks(name);
        let why = || format!("the library has no {name}");
        has.then_some(()).ok_or_else(why)
    }

    /// Starts the next message.
    pub(crate) fn start(&mut self) {
        self.is_started = true;
        call!(self.mpi, MPI_Start(&raw mut self.request));
    }

    /// Makes partitions of a started send ready.
    pub(crate) fn make_ready(&self, partitions: std::ops::Range<usize>) {
        for partition in partitions {
            call!(self.mpi, MPI_Pready(int(partition), self.request));
        }
    }

    /// Ends a started message.
    pub(crate) fn wait(&mut self) {
        let (request, status) = (&raw mut self.request, std::ptr::null_mut());
        call!(self.mpi, MPI_Wait(request, status));
        self.is_started = false;
    }

    /// The memory of all partitions, while no message is under way.
    pub(crate) fn memory(&mut self) -> &mut [u8] {
        assert!(!self.is_started, "a message is under way");
        &mut self.memory
    }
}

impl Drop for Partitions<'_> {
    fn drop(&mut self) {
        call!(self.mpi, MPI_Request_free(&raw mut self.request));
    }
}
