// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that the library has not completed yet.

use std::mem::transmute;
use std::ops::Range;

use endpoints::area::Mapped;
use endpoints::completion::Completion;
use endpoints::window::Window;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Request, MPI_Status};

use crate::library::{Mpi, call};

/// Requests of the library, and the slots of their operations.
#[derive(Default)]
pub(crate) struct UnderWay {
    requests: Vec<MPI_Request>,
    slots: Vec<u32>,
    window: Window,
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

    /// Reports those that have ended, of the ones whose turn it is; `false` where there is none.
    pub(crate) fn progress(&mut self, mpi: &Mpi, mapped: Mapped) -> bool {
        let mut has_ended = false;
        // Those behind a part have had their turn when one of them takes the place of one that has ended.
        for part in self.window.next(self.requests.len()) {
            has_ended |= self.test(mpi, mapped, part);
        }
        has_ended
    }

    /// Whether all have had a turn since the last time.
    pub(crate) fn is_round_over(&self) -> bool {
        self.window.is_round_over()
    }

    /// Reports those of a part that have ended; `false` where there is none.
    fn test(&mut self, mpi: &Mpi, mapped: Mapped, part: Range<usize>) -> bool {
        if part.is_empty() {
            return false;
        }
        self.indices.resize(part.len(), 0);
        self.statuses.resize(part.len(), MPI_Status::default());
        let mut ended = 0;
        let code = call!(
            mpi,
            MPI_Testsome(
                part.len() as i32,
                self.requests[part.clone()].as_mut_ptr(),
                &raw mut ended,
                self.indices.as_mut_ptr(),
                self.statuses.as_mut_ptr()
            )
        );
        let ended = usize::try_from(ended).unwrap_or(0).min(part.len());
        for place in 0..ended {
            let index = usize::try_from(self.indices[place]).unwrap_or(usize::MAX);
            let index = part.start.saturating_add(index);
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
        for index in part.rev() {
            if self.requests[index] == mpi::MPI_REQUEST_NULL {
                self.requests.swap_remove(index);
                self.slots.swap_remove(index);
            }
        }
        ended > 0
    }
}
