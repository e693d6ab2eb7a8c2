// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the program learns that a send or a receive is complete.

// account: request

use engine::Result;
use engine::comm::Comm;
use engine::completion;
use engine::request::RequestId;
use mpi_abi_sys::types::{MPI_Comm, MPI_Request};

use crate::error::raise;

/// How the program learns of the end of an operation.
pub(crate) trait End: Copy {
    /// Names a started operation to the program; 0, so that the fast path ends with it.
    ///
    /// # Safety
    /// The place of the request is writable.
    unsafe fn tell(self, id: RequestId) -> i32;

    /// Waits for the operation, if the call returns then.
    ///
    /// # Errors
    /// Those of the operation.
    fn finish(self, _comm: &Comm, id: RequestId, _call: &'static str) -> Result<RequestId> {
        Ok(id)
    }

    /// Names a started operation to the program, or raises the error.
    ///
    /// # Safety
    /// As for [`Self::tell`].
    unsafe fn hand_out(
        self,
        call: &'static str,
        comm: MPI_Comm,
        started: Result<RequestId>,
    ) -> i32 {
        match started {
            // SAFETY: passed on.
            Ok(id) => unsafe { self.tell(id) },
            Err(error) => {
                // SAFETY: passed on.
                unsafe { self.tell(RequestId::NULL) };
                raise(call, comm, error)
            }
        }
    }
}

/// By its request, which is stored here.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct ByRequest(pub(crate) *mut MPI_Request);

impl End for ByRequest {
    #[inline(always)]
    unsafe fn tell(self, id: RequestId) -> i32 {
        // SAFETY: the place is writable (caller).
        unsafe { *self.0 = id.0 as usize };
        0
    }
}

/// The call returns then.
#[derive(Clone, Copy)]
pub(crate) struct AtReturn;

impl End for AtReturn {
    #[inline(always)]
    unsafe fn tell(self, _id: RequestId) -> i32 {
        0
    }

    #[inline(always)]
    fn finish(self, comm: &Comm, mut id: RequestId, call: &'static str) -> Result<RequestId> {
        completion::wait(comm.vci(), &mut id, call)?;
        Ok(id)
    }
}

/// By a call that waits for all operations of the communicator.
#[derive(Clone, Copy)]
pub(crate) struct InBulk;

impl End for InBulk {
    #[inline(always)]
    unsafe fn tell(self, _id: RequestId) -> i32 {
        0
    }
}
