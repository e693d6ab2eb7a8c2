// SPDX-License-Identifier: MIT OR Apache-2.0
//! A buffer of the program whose data are packed here, with the memory for them.

use std::ffi::c_void;
use std::sync::Arc;

use layout::Layout;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::pool::Temporary;
use super::types::{self, Type};
use super::{counts, device, leaf};
use crate::table::REAL;

/// A buffer of the program, and its packed form.
pub(super) struct Buffer {
    base: usize,
    of: Arc<Type>,
    bytes: usize,
    packed: Temporary,
}

/// Elements of the program's buffer, as its call names them.
#[derive(Clone, Copy)]
pub(super) struct Elements {
    /// Where element 0 is.
    pub(super) base: *const c_void,
    /// Their number.
    pub(super) count: MPI_Count,
    /// Their type.
    pub(super) datatype: MPI_Datatype,
}

/// Elements whose layout is known.
pub(super) struct Known {
    /// Their type.
    pub(super) of: Arc<Type>,
    /// Their number.
    pub(super) count: usize,
    /// The bytes of all of them.
    pub(super) bytes: usize,
}

impl Elements {
    /// The elements of a call's arguments.
    pub(super) fn new(
        base: *const c_void,
        count: impl Into<MPI_Count>,
        datatype: MPI_Datatype,
    ) -> Self {
        let count = count.into();
        Self {
            base,
            count,
            datatype,
        }
    }

    /// A buffer for data that are sent to a rank; `None` where the library packs them.
    #[inline]
    pub(super) fn to_send(self, rank: i32) -> Option<Buffer> {
        if leaf::is_predefined(self.datatype) || rank == mpi::MPI_PROC_NULL {
            return None;
        }
        self.known()?.buffer(self.base)
    }

    /// A packed buffer for data that are sent to a rank; `None` where the library packs them.
    ///
    /// # Safety
    /// The elements are the program's arguments.
    #[inline]
    pub(super) unsafe fn packed(self, rank: i32) -> Option<Buffer> {
        let buffer = self.to_send(rank)?;
        // SAFETY: the caller's promise.
        unsafe { buffer.pack() };
        Some(buffer)
    }

    /// Address, number and type of the data of a call: those of the packed buffer, if there is one, or the program's.
    pub(super) fn part(self, buffer: Option<&Buffer>) -> (*mut c_void, MPI_Count, MPI_Datatype) {
        match buffer {
            Some(buffer) => (buffer.address(), buffer.count(), mpi::MPI_PACKED),
            None => (self.base.cast_mut(), self.count, self.datatype),
        }
    }

    /// A buffer for data that are received from a rank; `None` where the library unpacks them.
    #[inline]
    pub(super) fn to_receive(self, rank: i32) -> Option<Buffer> {
        if leaf::is_predefined(self.datatype) || rank == mpi::MPI_PROC_NULL {
            return None;
        }
        let known = self.known()?;
        known.apart()?.buffer(self.base)
    }

    /// The same for a message that was probed.
    pub(super) fn to_receive_message(self) -> Option<Buffer> {
        self.to_receive(mpi::MPI_ANY_SOURCE)
    }

    /// A packed buffer for data that are sent, then replaced by what is received.
    ///
    /// # Safety
    /// The elements are the program's arguments.
    pub(super) unsafe fn replaced(self) -> Option<Buffer> {
        let buffer = self.to_receive(mpi::MPI_ANY_SOURCE)?;
        // SAFETY: the caller's promise.
        unsafe { buffer.pack() };
        Some(buffer)
    }

    /// The same for MPI_Pack, into memory of the program: the bytes, and what packs them.
    pub(super) fn to_pack(self) -> Option<(usize, Arc<Type>)> {
        let known = self.known()?;
        Some((known.bytes, known.of))
    }

    /// The same for MPI_Unpack.
    pub(super) fn to_unpack(self) -> Option<(usize, Arc<Type>)> {
        let known = self.known()?.apart()?;
        Some((known.bytes, known.of))
    }

    /// The elements of a message; `None` where the library packs them.
    fn known(self) -> Option<Known> {
        let known = self.possible()?;
        let layout = known.of.layout();
        let is_contiguous = layout.contiguous_start(known.count).is_some();
        if is_contiguous || !known.of.is_packed_here(known.bytes) {
            counts::add(&counts::FASTER, 1);
            return None;
        }
        known.on_host(self.base)
    }

    /// The elements, if they can be packed here.
    pub(super) fn possible(self) -> Option<Known> {
        let found = types::find(self.datatype);
        // The library reports what is wrong with elements without data.
        let Some(of) = found.filter(|of| of.layout().size() > 0) else {
            counts::add(&counts::UNKNOWN, 1);
            return None;
        };
        let count = usize::try_from(self.count)
            .ok()
            .filter(|&count| count > 0)?;
        if !of.is_possible() {
            counts::add(&counts::UNKNOWN, 1);
            return None;
        }
        let layout = of.layout();
        let bytes = layout.size().checked_mul(count);
        let Some(bytes) =
            bytes.filter(|&bytes| bytes <= MOST_BYTES && !is_at_null(self.base, layout, count))
        else {
            counts::add(&counts::IRREGULAR, 1);
            return None;
        };
        Some(Known { of, count, bytes })
    }
}

/// Most bytes that are packed.
pub(super) const MOST_BYTES: usize = 1 << 48;

/// No data are at smaller addresses.
pub(super) const UNMAPPED: usize = 4096;

/// Whether elements reach over address 0, or beyond all addresses: the library reports such buffers.
fn is_at_null(base: *const c_void, layout: &Layout, count: usize) -> bool {
    let Some((first, bytes)) = layout.span(count) else {
        return true;
    };
    let start = base.addr().wrapping_add_signed(first as isize);
    start < UNMAPPED || start.checked_add(bytes).is_none()
}

impl Known {
    /// The same, unless the elements at an address are in the memory of a GPU.
    pub(super) fn on_host(self, base: *const c_void) -> Option<Self> {
        let first = self.of.layout().true_lower_bound() as isize;
        let is_device = device::is_device(base.cast::<u8>().wrapping_offset(first));
        if is_device {
            counts::add(&counts::DEVICE, 1);
        }
        (!is_device).then_some(self)
    }

    /// The same, unless the elements overlap each other.
    fn apart(self) -> Option<Self> {
        let is_apart = self.of.is_apart(self.count);
        if !is_apart {
            counts::add(&counts::IRREGULAR, 1);
        }
        is_apart.then_some(self)
    }

    fn buffer(self, base: *const c_void) -> Option<Buffer> {
        Some(Buffer {
            base: base.expose_provenance(),
            of: self.of,
            bytes: self.bytes,
            packed: Temporary::new(self.bytes)?,
        })
    }
}

impl Buffer {
    /// Where the packed data begin.
    pub(super) fn address(&self) -> *mut c_void {
        self.packed.address().cast()
    }

    /// Their number of bytes, if an `int` holds it.
    pub(super) fn int(&self) -> Option<i32> {
        i32::try_from(self.bytes).ok()
    }

    /// Their number of bytes.
    pub(super) fn count(&self) -> MPI_Count {
        self.bytes as MPI_Count
    }

    /// Packs the program's data.
    ///
    /// # Safety
    /// The program's buffer is as its call says.
    pub(super) unsafe fn pack(&self) {
        // SAFETY: the caller's promise; the memory has so many bytes.
        unsafe { pack(&self.of, self.base, self.bytes, self.packed.address()) };
    }

    /// Unpacks the first bytes, those that have arrived.
    ///
    /// # Safety
    /// The program's buffer is as its call says.
    pub(super) unsafe fn unpack(&self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        // SAFETY: the caller's promise; the memory has so many bytes.
        unsafe { unpack(&self.of, self.base, bytes, self.packed.address()) };
    }

    /// Unpacks what a receive has got by its status.
    ///
    /// # Safety
    /// The program's buffer is as its call says, and the status that of a receive that has ended well.
    pub(super) unsafe fn unpack_received(&self, status: &MPI_Status) {
        let (mut bytes, mut is_cancelled) = (0, 0);
        let library = REAL.get();
        // SAFETY: a status, and places of this function.
        let codes = unsafe {
            [
                (library.MPI_Test_cancelled)(status, &raw mut is_cancelled),
                (library.MPI_Get_count_c)(status, mpi::MPI_PACKED, &raw mut bytes),
            ]
        };
        if codes == [mpi::MPI_SUCCESS; 2] && is_cancelled == 0 && bytes > 0 {
            // SAFETY: the caller's promise.
            unsafe { self.unpack(bytes as usize) };
        }
    }
}

/// Packs the first bytes of the elements at an address.
///
/// # Safety
/// The elements are there, and `to` has room for the bytes.
pub(super) unsafe fn pack(of: &Type, base: usize, bytes: usize, to: *mut u8) {
    let base = std::ptr::with_exposed_provenance(base);
    // SAFETY: the caller's promise.
    unsafe { of.layout().pack(base, 0..bytes, to) };
    counts::add(&counts::PACKED, 1);
    counts::add(&counts::BYTES, bytes as u64);
}

/// Unpacks bytes into the elements at an address.
///
/// # Safety
/// The elements are there, and `from` has the bytes.
pub(super) unsafe fn unpack(of: &Type, base: usize, bytes: usize, from: *const u8) {
    let base = std::ptr::with_exposed_provenance_mut(base);
    // SAFETY: the caller's promise.
    unsafe { of.layout().unpack(base, 0..bytes, from) };
    counts::add(&counts::UNPACKED, 1);
    counts::add(&counts::BYTES, bytes as u64);
}
