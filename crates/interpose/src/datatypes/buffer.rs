// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of the program that are packed here, with the memory for their packed bytes.

use std::ffi::c_void;

use layout_cuda::CudaError;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::data::Data;
use super::instead::{Instead, raised, refused};
use super::pool::Temporary;
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
    pub(super) fn new(data: Data, comm: MPI_Comm) -> Result<Self, Instead> {
        let packed = data.temporary().map_err(|error| refused(&error, comm))?;
        let packed = packed.ok_or(Instead::Library)?;
        Ok(Self { data, packed, comm })
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

    /// The same with the program's data packed.
    ///
    /// # Safety
    /// The program's buffer is as its call says.
    pub(super) unsafe fn packed(self) -> Result<Self, Instead> {
        // SAFETY: the caller's promise.
        let packed = unsafe { self.data.pack(self.packed.address()) };
        packed.map_err(|error| refused(&error, self.comm))?;
        Ok(self)
    }

    /// Packs the program's data once more; the code of the call.
    ///
    /// # Safety
    /// The program's buffer is as its call says.
    pub(super) unsafe fn pack(&self) -> i32 {
        // SAFETY: the caller's promise.
        self.code(unsafe { self.data.pack(self.packed.address()) })
    }

    /// Unpacks what a receive has got by its status.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// The program's buffer is as its call says, and the status that of a receive that has ended well.
    pub(super) unsafe fn unpack(&self, status: &MPI_Status) -> Result<(), CudaError> {
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
            unsafe { self.data.unpack(bytes as usize, self.packed.address())? };
        }
        Ok(())
    }

    /// The same; the code of the call.
    ///
    /// # Safety
    /// As for [`Self::unpack`].
    pub(super) unsafe fn unpack_received(&self, status: &MPI_Status) -> i32 {
        // SAFETY: the caller's promise.
        self.code(unsafe { self.unpack(status) })
    }

    /// The communicator of the messages.
    pub(super) const fn comm(&self) -> MPI_Comm {
        self.comm
    }

    /// The code of a call for which a GPU had to pack or unpack when the library could not do it any more.
    fn code(&self, result: Result<(), CudaError>) -> i32 {
        result.map_or_else(|error| raised(&error, self.comm), |()| mpi::MPI_SUCCESS)
    }
}
