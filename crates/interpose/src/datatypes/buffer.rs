// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of the program that are packed here, with the memory for their packed bytes.

use std::ffi::c_void;

use layout_cuda::CudaError;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::data::{Data, handled};
use super::own;
use super::pool::Temporary;
use crate::raise::raise;
use crate::table::REAL;

/// Data of the program, and their packed form.
pub(super) struct Buffer {
    data: Data,
    packed: Temporary,
    /// The communicator of the messages.
    comm: MPI_Comm,
}

impl Buffer {
    /// Data of messages of a communicator with memory for them, if there is as much.
    pub(super) fn new(data: Data, comm: MPI_Comm) -> Option<Self> {
        let packed = data.temporary()?;
        Some(Self { data, packed, comm })
    }

    /// Where the packed data begin.
    pub(super) fn address(&self) -> *mut c_void {
        self.packed.address().cast()
    }

    /// Their number of bytes, if an `int` holds it.
    pub(super) fn int(&self) -> Option<i32> {
        i32::try_from(self.data.bytes()).ok()
    }

    /// Their number of bytes.
    pub(super) fn count(&self) -> MPI_Count {
        self.data.bytes() as MPI_Count
    }

    /// The same with the program's data packed; `None` where the library has to pack them.
    ///
    /// # Safety
    /// The program's buffer is as its call says.
    pub(super) unsafe fn packed(self) -> Option<Self> {
        // SAFETY: the caller's promise.
        handled(unsafe { self.data.pack(self.packed.address()) })?;
        Some(self)
    }

    /// Packs the program's data once more; the code of the call.
    ///
    /// # Safety
    /// The program's buffer is as its call says.
    pub(super) unsafe fn pack(&self) -> i32 {
        // SAFETY: the caller's promise.
        self.code(unsafe { self.data.pack(self.packed.address()) })
    }

    /// Unpacks what a receive has got by its status; the code of the call.
    ///
    /// # Safety
    /// The program's buffer is as its call says, and the status that of a receive that has ended well.
    pub(super) unsafe fn unpack_received(&self, status: &MPI_Status) -> i32 {
        let (mut bytes, mut is_cancelled) = (0, 0);
        let library = REAL.get();
        // SAFETY: a status, and places of this function.
        let codes = unsafe {
            [
                (library.MPI_Test_cancelled)(status, &raw mut is_cancelled),
                (library.MPI_Get_count_c)(status, mpi::MPI_PACKED, &raw mut bytes),
            ]
        };
        if codes == [mpi::MPI_SUCCESS; 2] && is_cancelled == 0 && bytes > 0 {
            // SAFETY: the caller's promise.
            return self.code(unsafe { self.data.unpack(bytes as usize, self.packed.address()) });
        }
        mpi::MPI_SUCCESS
    }

    /// The code of a call for which a GPU had to pack or unpack when the library could not do it any more.
    fn code(&self, result: Result<(), CudaError>) -> i32 {
        let Err(error) = result else {
            return mpi::MPI_SUCCESS;
        };
        let why = format!("datatypes: the buffer is in the memory of a GPU: {error}");
        // That of a message is assumed, which a program with sessions alone does not have.
        if self.comm != mpi::MPI_COMM_WORLD || own::is_world() {
            // SAFETY: a communicator that the library has.
            unsafe { raise(self.comm, mpi::MPI_ERR_BUFFER, &why) };
        }
        mpi::MPI_ERR_BUFFER
    }
}
