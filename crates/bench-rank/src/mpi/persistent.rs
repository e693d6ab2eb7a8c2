// SPDX-License-Identifier: MIT OR Apache-2.0
//! A persistent receive, with the memory that it receives into.

use mpi_abi_sys::constants::{MPI_BYTE, MPI_COMM_WORLD, MPI_REQUEST_NULL};
use mpi_abi_sys::types::MPI_Request;

use super::Mpi;
use super::call::{call, exclusive};

/// A persistent receive; inactive outside its methods.
pub(crate) struct PersistentReceive<'a> {
    mpi: &'a Mpi,
    request: MPI_Request,
    /// The library has its address: it does not move, and is freed after the request.
    data: Vec<u8>,
}

impl<'a> PersistentReceive<'a> {
    /// Of messages of so many bytes from a rank.
    pub(crate) fn new(mpi: &'a Mpi, bytes: usize, from: i32, tag: i32) -> Self {
        let (mut data, mut request) = (vec![0; bytes], MPI_REQUEST_NULL);
        let (start, count) = exclusive(&mut data);
        call!(
            mpi,
            MPI_Recv_init(
                start,
                count,
                MPI_BYTE,
                from,
                tag,
                MPI_COMM_WORLD,
                &raw mut request
            )
        );
        Self { mpi, request, data }
    }

    /// Starts it, does something, and waits for the message.
    ///
    /// Ends the process if `meanwhile` panics, as the library still writes to the memory.
    pub(crate) fn receive_while(&mut self, meanwhile: impl FnOnce(&Mpi)) {
        call!(self.mpi, MPI_Start(&raw mut self.request));
        let guard = super::message::EndOnUnwind;
        meanwhile(self.mpi);
        drop(guard);
        call!(
            self.mpi,
            MPI_Wait(&raw mut self.request, std::ptr::null_mut())
        );
    }

    /// The last message.
    pub(crate) fn data(&self) -> &[u8] {
        &self.data
    }
}

impl Drop for PersistentReceive<'_> {
    fn drop(&mut self) {
        call!(self.mpi, MPI_Request_free(&raw mut self.request));
    }
}
