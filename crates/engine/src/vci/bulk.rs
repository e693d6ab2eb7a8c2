// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that have no request: their communicator counts them, and one call waits for all (`_noreq` calls).
#![expect(unsafe_code, reason = "the counts are guarded by the VCI's lock")]

// account: request

use super::VciState;
use super::finish::finish_at;
use crate::request::{RequestId, RequestIndex, flag};

impl VciState {
    /// Lets an operation that has just been started complete in bulk.
    pub(crate) fn end_in_bulk(&mut self, id: RequestId) {
        let Some(index) = self.slab.find(id).filter(|_| !id.is_ended()) else {
            return;
        };
        let entry = self.slab.entry_mut(index);
        let owner = entry.owner;
        entry.set(flag::FREED | flag::IN_BULK);
        // SAFETY: a communicator lives while it counts operations (Process::purge); `self` is reached by a guard of its VCI.
        unsafe { (*owner).hold_in_bulk() };
        if self.is_complete(id) {
            self.complete_in_bulk(index);
        }
    }

    /// Ends an operation that is complete.
    #[inline(never)]
    pub(super) fn complete_in_bulk(&mut self, index: RequestIndex) {
        let owner = self.slab.entry(index).owner;
        let mut id = self.slab.id(index);
        let (status, text) = finish_at(self, index, &mut id);
        // SAFETY: as above; a communicator with operations that complete in bulk is not freed (MPI_Comm_free).
        unsafe { (*owner).release_in_bulk(status.error, text) };
    }
}
