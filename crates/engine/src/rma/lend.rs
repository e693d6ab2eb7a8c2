// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a dynamic window lends to safe code, and that is attached meanwhile.
//!
//! Other ranks may access memory that is detached at the same time, because nothing orders their operations and the end of a loan. So the
//! memory stays the window's until all members have done with the window; only other loans use it again.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::PoisonError;

use fabric::board::PAGE_BYTES;

use super::heap;
use super::window::{Owned, Window};
use crate::errors::Result;

/// Memory that was taken, whole pages.
#[derive(Debug)]
pub(super) struct Lent {
    memory: Owned,
    is_attached: bool,
}

/// Zeros that are copied at once.
const ZEROS: [u64; 512] = [0; 512];

impl Window {
    /// Attaches memory that holds zeros, and returns its address.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM; those of [`Self::attach`].
    pub fn lend(&self, bytes: usize) -> Result<*mut u8> {
        let memory = self.memory_to_lend(bytes)?;
        // SAFETY: the memory is node-shared until the window is freed, and of this loan only.
        let attached = unsafe { self.attach(memory.address, bytes) };
        attached.inspect_err(|_| self.take_back(memory.address))?;
        Ok(memory.address)
    }

    /// Detaches memory of [`Self::lend`].
    ///
    /// # Errors
    /// Those of [`Self::detach`].
    pub fn end_loan(&self, address: *mut u8) -> Result<()> {
        self.detach(address)?;
        self.take_back(address);
        Ok(())
    }

    fn take_back(&self, address: *mut u8) {
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lent = attached.lent.iter_mut();
        if let Some(lent) = lent.find(|lent| lent.memory.address == address) {
            lent.is_attached = false;
        }
    }

    /// Memory of an earlier loan that is not much too long, or new one.
    fn memory_to_lend(&self, bytes: usize) -> Result<Owned> {
        let wanted = bytes.max(1).checked_next_multiple_of(PAGE_BYTES);
        let wanted = wanted.unwrap_or(usize::MAX);
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |lent: &&mut Lent| {
            let has = lent.memory.bytes;
            !lent.is_attached && has >= wanted && has / 2 <= wanted
        };
        if let Some(lent) = attached.lent.iter_mut().find(fits) {
            lent.is_attached = true;
            let memory = lent.memory;
            self.clear(memory);
            return Ok(memory);
        }
        let memory = heap::take(self.process(), wanted).map_err(|error| self.annotate(error))?;
        attached.lent.push(Lent {
            memory,
            is_attached: true,
        });
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.push(memory);
        Ok(memory)
    }

    /// Writes zeros, page by page.
    fn clear(&self, memory: Owned) {
        let granule = self.own().granule;
        for start in (0..memory.bytes).step_by(size_of_val(&ZEROS)) {
            let bytes = (memory.bytes - start).min(size_of_val(&ZEROS));
            let there = memory.address.wrapping_add(start);
            // SAFETY: inside the memory, which is whole pages; operations of other ranks that come late use the same granule.
            unsafe { granule.store(ZEROS.as_ptr().cast(), there, bytes) };
        }
    }
}
