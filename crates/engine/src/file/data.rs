// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's memory of an access.
#![expect(unsafe_code, reason = "buffers are addresses that programs gave")]

use std::ops::Range;
use std::sync::Arc;

use layout::SharedLayout;

use crate::allocate;
use crate::datatype::{Datatype, Memory};
use crate::device::{Device, Form, HostCopy};
use crate::errors::Result;

/// The memory of an access: its packed bytes are read from the file or written to it.
pub struct Data {
    place: Buffer,
    datatype: Arc<Datatype>,
    count: usize,
}

/// The memory that the file's bytes are copied from and to.
pub(super) enum Buffer {
    /// The program's.
    Program(ProgramMemory),
    /// Converted bytes.
    Converted {
        bytes: Vec<u8>,
        /// Where converted bytes that were read go.
        target: ProgramMemory,
        datatype: Arc<Datatype>,
        count: u64,
    },
}

/// Memory of the program, with the layout of elements that are not contiguous.
#[derive(Clone)]
pub(super) struct ProgramMemory {
    base: *mut u8,
    bytes: usize,
    layout: Option<SharedLayout>,
    /// The program's memory, if it is a GPU's: what lies at the base is a packed copy.
    original: Option<Arc<Original>>,
}

/// Memory of a GPU that an access has a copy of.
struct Original {
    address: usize,
    copy: HostCopy,
}

// SAFETY: the program keeps the memory while the access is in progress, and does not touch it meanwhile (`Data::new`); the access is at one
// thread at a time.
unsafe impl Send for ProgramMemory {}

impl Data {
    /// The memory of `count` elements of a datatype.
    ///
    /// # Safety
    /// Until the access is complete the memory is readable, and for reads writable and used by nothing else.
    pub unsafe fn new(memory: &Memory<'_>, datatype: Arc<Datatype>, count: usize) -> Self {
        let place = ProgramMemory {
            base: memory.base,
            bytes: memory.bytes,
            layout: memory.layout.map(|(layout, _)| layout.clone()),
            original: None,
        };
        Self {
            place: Buffer::Program(place),
            datatype,
            count,
        }
    }

    /// As [`Self::new`], of memory of a GPU, of which a copy is made: with its contents for a write.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM, the driver's errors.
    ///
    /// # Safety
    /// As there, for the GPU.
    pub unsafe fn on_device(
        device: Device,
        memory: &Memory<'_>,
        datatype: Arc<Datatype>,
        count: usize,
        with_contents: bool,
    ) -> Result<Self> {
        let elements = (datatype.shared_layout(), count);
        let mut copy = HostCopy::new(device, memory.base, elements, Form::Packed)?;
        if with_contents {
            copy.load()?;
        }
        let (base, address) = (copy.first(), memory.base as usize);
        let place = ProgramMemory {
            base,
            bytes: memory.bytes,
            layout: None,
            original: Some(Arc::new(Original { address, copy })),
        };
        Ok(Self {
            place: Buffer::Program(place),
            datatype,
            count,
        })
    }

    /// Packed bytes.
    pub fn bytes(&self) -> u64 {
        self.place.bytes() as u64
    }

    /// The type of the elements.
    pub(super) const fn datatype(&self) -> &Arc<Datatype> {
        &self.datatype
    }

    /// The address that the program gave, as far as it is known: split collectives name their buffer twice.
    pub fn address(&self) -> usize {
        match &self.place {
            Buffer::Program(memory) => memory.address(),
            Buffer::Converted { target, .. } => target.address(),
        }
    }

    /// The memory as it is.
    pub(super) fn native(self) -> Buffer {
        self.place
    }

    /// The memory in `external32`, with its contents for a write.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM, MPI_ERR_CONVERSION.
    pub(super) fn converted(self, with_contents: bool) -> Result<Buffer> {
        let (datatype, count) = (self.datatype, self.count as u64);
        let Buffer::Program(target) = self.place else {
            return Ok(self.place);
        };
        let mut bytes = allocate::zeroed(target.bytes)?;
        if with_contents {
            let mut native = allocate::zeroed(target.bytes)?;
            target.pack(0, &mut native);
            datatype.encode_external(count, &native, &mut bytes)?;
        }
        Ok(Buffer::Converted {
            bytes,
            target,
            datatype,
            count,
        })
    }
}

impl ProgramMemory {
    fn address(&self) -> usize {
        let original = self.original.as_ref();
        original.map_or(self.base as usize, |original| original.address)
    }

    /// Puts the first `read` bytes where the program has its memory.
    fn store(&self, read: u64) -> Result<()> {
        match &self.original {
            Some(original) if read > 0 => original.copy.store_first(read as usize),
            _ => Ok(()),
        }
    }

    fn pack(&self, start: usize, target: &mut [u8]) {
        let range = start..start + target.len();
        assert!(range.end <= self.bytes);
        // SAFETY: the memory is readable (`Data::new`), and `target` is as long as the range.
        unsafe {
            match &self.layout {
                Some(layout) => layout.pack(self.base, range, target.as_mut_ptr()),
                None => layout::copy_bytes(self.base.add(start), target.as_mut_ptr(), range.len()),
            }
        }
    }

    fn unpack(&self, start: usize, source: &[u8]) {
        let range = start..start + source.len();
        assert!(range.end <= self.bytes);
        // SAFETY: the memory of a read is writable (`Data::new`), and `source` is as long as the range.
        unsafe {
            match &self.layout {
                Some(layout) => layout.unpack(self.base, range, source.as_ptr()),
                None => layout::copy_bytes(source.as_ptr(), self.base.add(start), range.len()),
            }
        }
    }
}

impl Buffer {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Program(memory) => memory.bytes,
            Self::Converted { bytes, .. } => bytes.len(),
        }
    }

    /// Whether the bytes are contiguous.
    pub(super) const fn is_contiguous(&self) -> bool {
        match self {
            Self::Program(memory) => memory.layout.is_none(),
            Self::Converted { .. } => true,
        }
    }

    /// These packed bytes where they are, if they are contiguous.
    pub(super) fn slice(&self, range: Range<usize>) -> Option<&[u8]> {
        assert!(range.start <= range.end && range.end <= self.bytes());
        match self {
            Self::Program(memory) if memory.layout.is_some() || range.is_empty() => None,
            // SAFETY: the memory is readable and nobody writes it during a write to the file (`Data::new`); the range lies inside.
            Self::Program(memory) => Some(unsafe {
                std::slice::from_raw_parts(memory.base.add(range.start), range.len())
            }),
            Self::Converted { bytes, .. } => Some(&bytes[range]),
        }
    }

    /// The same, to be filled.
    pub(super) fn slice_mut(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        assert!(range.start <= range.end && range.end <= self.bytes());
        match self {
            Self::Program(memory) if memory.layout.is_some() || range.is_empty() => None,
            // SAFETY: only this access uses the memory of a read (`Data::new`); the range lies inside.
            Self::Program(memory) => Some(unsafe {
                std::slice::from_raw_parts_mut(memory.base.add(range.start), range.len())
            }),
            Self::Converted { bytes, .. } => Some(&mut bytes[range]),
        }
    }

    /// Copies packed bytes from `start` on.
    pub(super) fn pack(&self, start: usize, target: &mut [u8]) {
        match self {
            Self::Program(memory) => memory.pack(start, target),
            Self::Converted { bytes, .. } => {
                target.copy_from_slice(&bytes[start..start + target.len()]);
            }
        }
    }

    /// Stores packed bytes from `start` on.
    pub(super) fn unpack(&mut self, start: usize, source: &[u8]) {
        match self {
            Self::Program(memory) => memory.unpack(start, source),
            Self::Converted { bytes, .. } => {
                bytes[start..start + source.len()].copy_from_slice(source);
            }
        }
    }

    /// Converts what a read has brought, its first `read` bytes, and puts it into the memory of a GPU.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM, the driver's errors.
    pub(super) fn finish_read(self, read: u64) -> Result<()> {
        let (bytes, target, datatype, count) = match self {
            Self::Program(memory) => return memory.store(read),
            Self::Converted {
                bytes,
                target,
                datatype,
                count,
            } => (bytes, target, datatype, count),
        };
        let mut native = allocate::zeroed(bytes.len())?;
        datatype.decode_external(count, &bytes, &mut native)?;
        // Numbers have the same sizes in both representations (`Datarep::check`).
        target.unpack(0, &native[..read as usize]);
        target.store(read)
    }
}
