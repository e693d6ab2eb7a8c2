// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packed bytes of a message whose memory is a GPU's. A send fetches them when it starts; a receive collects them, and stores them with the
//! last one.
#![expect(unsafe_code, reason = "buffers are addresses that programs gave")]

use super::moves::OnDevice;
use crate::allocate;
use crate::datatype::Memory;
use crate::errors::Result;

/// The packed bytes of an operation whose memory is a GPU's.
pub(crate) struct Staged {
    place: OnDevice,
    host: Vec<u8>,
}

impl Staged {
    /// A place for the packed bytes of a memory, if it is a GPU's.
    pub(crate) fn of(memory: Memory<'_>) -> Result<Option<Box<Self>>> {
        let Some(place) = OnDevice::of(memory)? else {
            return Ok(None);
        };
        let host = allocate::zeroed(place.bytes)?;
        Ok(Some(Box::new(Self { place, host })))
    }

    /// Fetches them from the GPU.
    pub(crate) fn load(&mut self) -> Result<()> {
        // SAFETY: `host` is as long as the message (Self::of).
        unsafe { self.place.read(self.host.as_mut_ptr()) }
    }

    /// Puts the first ones into the memory of the GPU.
    pub(crate) fn store(&self, bytes: usize) -> Result<()> {
        debug_assert!(bytes <= self.host.len());
        // SAFETY: a message that is received has at most the bytes of its buffer, and `host` has as many.
        unsafe { self.place.write(self.host.as_ptr(), bytes) }
    }

    /// The packed bytes, to be filled.
    pub(crate) const fn host(&mut self) -> &mut Vec<u8> {
        &mut self.host
    }

    /// The packed bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.host
    }
}
