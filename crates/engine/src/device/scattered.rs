// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elements at several places in the memory of a GPU, which move as one message: by one copy, and one kernel unless they are one run.
#![expect(unsafe_code, reason = "buffers are addresses that programs gave")]

use layout::Layout;

use super::moves::OnDevice;
use super::owner::Device;
use crate::allocate;
use crate::errors::{Error, ErrorClass, Result};

/// Elements in the memory of a GPU. They may be read and written until this is dropped (contract of this folder, mod.rs).
pub(crate) struct Scattered(OnDevice);

impl Scattered {
    /// Places of `(address, elements)`, all of one type and in the memory of one GPU.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(crate) fn new(
        device: Device,
        places: &[(*mut u8, usize)],
        element: &Layout,
    ) -> Result<Self> {
        let base = places.first().map_or(std::ptr::null_mut(), |place| place.0);
        let offset = |address: *mut u8| (address.addr() as i64).wrapping_sub(base.addr() as i64);
        let blocks = places
            .iter()
            .map(|&(address, count)| (offset(address), count));
        let layout = Layout::hindexed(blocks, element)
            .map_err(|error| Error::new(ErrorClass::ERR_NO_MEM, error.to_string()))?;
        Ok(Self(OnDevice::new(device, base, &layout.into(), 1)))
    }

    /// The packed elements.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM, and the driver's errors.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let mut packed = allocate::zeroed(self.0.bytes)?;
        if !packed.is_empty() {
            // SAFETY: `packed` has room for all.
            unsafe { self.0.fetch(packed.as_mut_ptr()) }?;
        }
        Ok(packed)
    }

    /// Stores packed elements, as many as there are.
    ///
    /// # Errors
    /// The driver's errors.
    pub(crate) fn write(&self, packed: &[u8]) -> Result<()> {
        debug_assert_eq!(packed.len(), self.0.bytes);
        if packed.is_empty() {
            return Ok(());
        }
        // SAFETY: as many bytes are readable.
        unsafe { self.0.write(packed.as_ptr(), packed.len()) }
    }
}
