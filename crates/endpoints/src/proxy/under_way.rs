// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that the library has not completed yet.

use std::mem::transmute;

use endpoints::area::Mapped;
use endpoints::completion::Completion;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Request, MPI_Status};

use crate::library::{Mpi, call};

/// Requests of the library, and the slots of their operations.
#[derive(Default)]
pub(crate) struct UnderWay {
    requests: Vec<MPI_Request>,
    slots: Vec<u32>,
    indices: Vec<i32>,
    statuses: Vec<MPI_Status>,
}

/// A status as it lies in a slot.
pub(crate) fn words(status: MPI_Status) -> [u64; 4] {
    // SAFETY: both are 32 bytes without padding, and any words are valid.
    unsafe { transmute::<MPI_Status, [u64; 4]>(status) }
}

/// The end of a message: how many bytes, and from whom.
pub(crate) fn message_end(mpi: &Mpi, mut status: MPI_Status, code: i32) -> Completion {
    let mut bytes = 0;
    let counted = call!(
        mpi,
        MPI_Get_count_c(&raw const status, mpi::MPI_PACKED, &raw mut bytes)
    );
    let code = mpi.class(code);
    status.MPI_ERROR = code;
    Completion {
        code,
        value: if counted == mpi::MPI_SUCCESS {
            bytes.max(0)
        } else {
            0
        },
        second: 0,
        status: words(status),
    }
}

impl UnderWay {
    /// An operation that the library has started.
    pub(crate) fn add(&mut self, request: MPI_Request, slot: u32) {
        self.requests.push(request);
        self.slots.push(slot);
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Reports those that have ended; `false` where there is none.
    pub(crate) fn progress(&mut self, mpi: &Mpi, mapped: Mapped) -> bool {
        if self.requests.is_empty() {
            return false;
        }
        let number = self.requests.len();
        self.indices.resize(number, 0);
        self.statuses.resize(number, MPI_Status::default());
        let (mut ended, count) = (0, i32::try_from(number).unwrap_or(i32::MAX));
        let code = call!(
            mpi,
            MPI_Testsome(
                count,
                self.requests.as_mut_ptr(),
                &raw mut ended,
                self.indices.as_mut_ptr(),
                self.statuses.as_mut_ptr()
            )
        );
        let ended = usize::try_from(ended).unwrap_or(0).min(number);
        for place in 0..ended {
            let index = usize::try_from(self.indices[place]).unwrap_or(usize::MAX);
            let Some(&slot) = self.slots.get(index) else {
                continue;
            };
            let status = self.statuses[place];
            let code = match code {
                mpi::MPI_ERR_IN_STATUS => status.MPI_ERROR,
                code => code,
            };
            let end = message_end(mpi, status, code);
            mapped.area().slots[slot as usize].finish(&end);
            self.requests[index] = mpi::MPI_REQUEST_NULL;
        }
        for index in (0..number).rev() {
            if self.requests[index] == mpi::MPI_REQUEST_NULL {
                self.requests.swap_remove(index);
                self.slots.swap_remove(index);
            }
        }
        ended > 0
    }
}
