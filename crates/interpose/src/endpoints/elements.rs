// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elements of the program, of predefined and of derived types: packed into the heap of an endpoint and unpacked out of it, in the order
//! of the type map. No call of the library is needed, so any thread may pack.

use std::ffi::c_void;
use std::sync::Arc;

use layout::Layout;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Count, MPI_Datatype};

use crate::datatypes::{Type, find, layout_of_predefined};
use crate::sizes;

/// What elements look like.
#[derive(Clone)]
pub(super) enum Shape {
    /// So many bytes without gaps.
    Dense(u64),
    /// A predefined type with gaps.
    Pair(Arc<Layout>),
    /// A type of the program.
    Derived(Arc<Type>),
}

impl Shape {
    /// The shape of a type.
    ///
    /// # Errors
    /// MPI_ERR_TYPE where it is none, was not committed, or cannot be read.
    pub(super) fn of(datatype: MPI_Datatype) -> Result<Self, i32> {
        if let Some(bytes) = sizes::dense(datatype) {
            return Ok(Self::Dense(bytes));
        }
        let Some((size, extent)) = sizes::sizes_of(datatype) else {
            return find(datatype).map(Self::Derived).ok_or(mpi::MPI_ERR_TYPE);
        };
        let layout = layout_of_predefined(datatype, size, extent).ok_or(mpi::MPI_ERR_TYPE)?;
        Ok(Self::Pair(Arc::new(layout)))
    }

    /// The layout of an element with gaps.
    pub(super) fn layout(&self) -> Option<&Layout> {
        match self {
            Self::Dense(_) => None,
            Self::Pair(layout) => Some(layout),
            Self::Derived(derived) => Some(derived.layout()),
        }
    }

    /// Packed bytes of an element.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Dense(bytes) => *bytes,
            _ => self.layout().map_or(0, |layout| layout.size() as u64),
        }
    }

    /// Bytes from one element to the next.
    fn extent(&self) -> i64 {
        match self {
            Self::Dense(bytes) => *bytes as i64,
            _ => self.layout().map_or(0, Layout::extent),
        }
    }

    /// Elements of this shape from the one at `first` on.
    ///
    /// # Errors
    /// MPI_ERR_COUNT where the number is negative or too large, MPI_ERR_BUFFER where dense ones begin at address 0.
    pub(super) fn elements(
        &self,
        base: *const c_void,
        first: MPI_Count,
        count: MPI_Count,
    ) -> Result<Elements, i32> {
        let offset = first.checked_mul(self.extent());
        self.elements_at(base, offset.ok_or(mpi::MPI_ERR_COUNT)?, count)
    }

    /// The same, from so many bytes on.
    ///
    /// # Errors
    /// As above.
    pub(super) fn elements_at(
        &self,
        base: *const c_void,
        offset: i64,
        count: MPI_Count,
    ) -> Result<Elements, i32> {
        let count = u64::try_from(count).map_err(|_| mpi::MPI_ERR_COUNT)?;
        let bytes = count.checked_mul(self.size());
        let bytes = bytes.filter(|&bytes| bytes <= MOST_BYTES);
        let bytes = bytes.ok_or(mpi::MPI_ERR_COUNT)?;
        if matches!(self, Self::Dense(_)) && base.is_null() && bytes > 0 {
            return Err(mpi::MPI_ERR_BUFFER);
        }
        let base = base
            .expose_provenance()
            .wrapping_add_signed(offset as isize);
        Ok(Elements {
            base,
            bytes,
            shape: self.clone(),
        })
    }
}

/// Most bytes of a call.
const MOST_BYTES: u64 = 1 << 48;

/// Elements of the program.
#[derive(Clone)]
pub(super) struct Elements {
    base: usize,
    bytes: u64,
    shape: Shape,
}

impl Elements {
    /// Elements of a type.
    ///
    /// # Errors
    /// As of [`Shape::of`] and [`Shape::elements`].
    pub(super) fn new(
        base: *const c_void,
        count: MPI_Count,
        datatype: MPI_Datatype,
    ) -> Result<Self, i32> {
        Shape::of(datatype)?.elements(base, 0, count)
    }

    /// Bytes as they are.
    ///
    /// # Errors
    /// As of [`Shape::elements`].
    pub(super) fn raw(base: *const c_void, bytes: u64) -> Result<Self, i32> {
        let count = MPI_Count::try_from(bytes).map_err(|_| mpi::MPI_ERR_COUNT)?;
        Shape::Dense(1).elements(base, 0, count)
    }

    /// Packed bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packs all of them.
    ///
    /// # Safety
    /// They are the program's, and `to` has room for the bytes.
    pub(super) unsafe fn pack(&self, to: *mut u8) {
        let (from, bytes) = (
            std::ptr::with_exposed_provenance::<u8>(self.base),
            self.bytes as usize,
        );
        // SAFETY: the caller's promise; dense elements are not at address 0.
        unsafe {
            match self.shape.layout() {
                Some(layout) => layout.pack(from, 0..bytes, to),
                None if bytes > 0 => std::ptr::copy_nonoverlapping(from, to, bytes),
                None => {}
            }
        }
    }

    /// Unpacks the first bytes, which may end inside an element.
    ///
    /// # Safety
    /// They are the program's, and `from` has as many bytes.
    pub(super) unsafe fn unpack(&self, from: *const u8, bytes: u64) {
        let (to, bytes) = (
            std::ptr::with_exposed_provenance_mut::<u8>(self.base),
            bytes.min(self.bytes) as usize,
        );
        // SAFETY: as above.
        unsafe {
            match self.shape.layout() {
                Some(layout) => layout.unpack(to, 0..bytes, from),
                None if bytes > 0 => std::ptr::copy_nonoverlapping(from, to, bytes),
                None => {}
            }
        }
    }
}
