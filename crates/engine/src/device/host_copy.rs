// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies on the host of buffers that are in the memory of a GPU, for operations that reach every byte by the processor.
#![expect(unsafe_code, reason = "buffers are addresses that programs gave")]

use layout::SharedLayout;

use super::moves::OnDevice;
use super::owner::Device;
use crate::allocate;
use crate::datatype::Memory;
use crate::errors::Result;

/// How a copy lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Without gaps.
    Packed,
    /// As its original, because elements of its type are operands.
    LaidOut,
}

/// Copies begin as far behind a multiple of this as their originals, so that elements keep their alignment. As many bytes behind a copy are its
/// room's, too: the padding of a last element.
const ALIGNMENT: usize = 64;

/// A copy of elements that are in the memory of a GPU.
pub struct HostCopy {
    place: OnDevice,
    room: Vec<u8>,
    /// Where the first byte of the copy is in the room.
    start: usize,
    /// The layout, the number of elements and the offset of their first byte, if the copy has gaps.
    gaps: Option<(SharedLayout, usize, i64)>,
}

impl HostCopy {
    /// Memory for a copy, which is zero at first.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub fn new(
        device: Device,
        base: *const u8,
        (layout, count): (&SharedLayout, usize),
        form: Form,
    ) -> Result<Self> {
        let place = OnDevice::new(device, base, layout, count);
        let is_run = layout.contiguous_start(count).is_some();
        let (first, span) = layout.span(count).unwrap_or((0, 0));
        let has_gaps = form == Form::LaidOut && !is_run;
        let bytes = if has_gaps { span } else { place.bytes };
        let room = allocate::zeroed(bytes.saturating_add(2 * ALIGNMENT))?;
        let original = base.addr().wrapping_add_signed(first as isize);
        let start = original.wrapping_sub(room.as_ptr().addr()) % ALIGNMENT;
        Ok(Self {
            place,
            room,
            start,
            gaps: has_gaps.then(|| (layout.clone(), count, first)),
        })
    }

    /// The first byte of the copy.
    pub const fn first(&mut self) -> *mut u8 {
        self.room.as_mut_ptr().wrapping_add(self.start)
    }

    /// The base address of the elements of a copy that is laid out.
    fn base(&mut self) -> *mut u8 {
        let offset = self.gaps.as_ref().map_or(0, |(_, _, first)| *first);
        self.first().wrapping_offset(-offset as isize)
    }

    /// The memory of the copy.
    pub fn memory(&mut self) -> Memory<'_> {
        let (base, bytes) = (self.base(), self.place.bytes);
        let layout = self.gaps.as_ref();
        Memory {
            layout: layout.map(|(layout, count, _)| (layout, *count)),
            ..Memory::contiguous(base, bytes)
        }
    }

    /// Fetches the elements from the GPU.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM, and the driver's errors.
    pub fn load(&mut self) -> Result<()> {
        let (base, first) = (self.base(), self.first());
        let Some((layout, ..)) = &self.gaps else {
            // SAFETY: the room holds the packed bytes (Self::new).
            return unsafe { self.place.read(first) };
        };
        let mut packed = allocate::zeroed(self.place.bytes)?;
        // SAFETY: `packed` holds the packed bytes, and the room the span of the elements (Self::new).
        unsafe {
            self.place.read(packed.as_mut_ptr())?;
            layout.unpack(base, 0..packed.len(), packed.as_ptr());
        }
        Ok(())
    }

    /// Stores the first bytes of a packed copy in the memory of the GPU.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn store_first(&self, bytes: usize) -> Result<()> {
        debug_assert!(self.gaps.is_none());
        let packed = &self.room[self.start..];
        let bytes = bytes.min(self.place.bytes);
        // SAFETY: the room holds the packed bytes (Self::new).
        unsafe { self.place.write(packed.as_ptr(), bytes) }
    }

    /// Stores the elements in the memory of the GPU.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM, and the driver's errors.
    pub fn store(&mut self) -> Result<()> {
        let (base, first) = (self.base(), self.first());
        let Some((layout, ..)) = &self.gaps else {
            // SAFETY: the room holds the packed bytes (Self::new).
            return unsafe { self.place.write(first, self.place.bytes) };
        };
        let mut packed = allocate::zeroed(self.place.bytes)?;
        // SAFETY: as in `load`.
        unsafe {
            layout.pack(base, 0..packed.len(), packed.as_mut_ptr());
            self.place.write(packed.as_ptr(), packed.len())
        }
    }
}
