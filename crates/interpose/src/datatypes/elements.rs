// SPDX-License-Identifier: MIT OR Apache-2.0
//! The elements that a call names: whether their data are packed here, and where they are.

use std::ffi::c_void;
use std::sync::Arc;

use layout::Layout;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffer::Buffer;
use super::data::Data;
use super::device::{self, Owner};
use super::instead::{Instead, refused};
use super::types::{self, Type};
use super::{counts, leaf, route};
use crate::sizes;

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

/// What a call does to elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Reads them.
    Read,
    /// Writes them, so they must not overlap each other.
    Write,
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

    /// A buffer for data that are sent to a rank of a communicator.
    #[inline]
    pub(super) fn to_send(self, rank: i32, comm: MPI_Comm) -> Result<Buffer, Instead> {
        if leaf::passes(self.datatype) || rank == mpi::MPI_PROC_NULL {
            return Err(Instead::Library);
        }
        Buffer::new(self.data(Access::Read, comm)?, comm)
    }

    /// A packed buffer for data that are sent to a rank.
    ///
    /// # Safety
    /// The elements are the program's arguments.
    #[inline]
    pub(super) unsafe fn packed(self, rank: i32, comm: MPI_Comm) -> Result<Buffer, Instead> {
        // SAFETY: the caller's promise.
        unsafe { self.to_send(rank, comm)?.packed() }
    }

    /// Address, number and type of the data of a call: those of the packed buffer, if there is one, or the program's.
    pub(super) fn part(self, buffer: Option<&Buffer>) -> (*mut c_void, MPI_Count, MPI_Datatype) {
        match buffer {
            Some(buffer) => (buffer.address(), buffer.count(), mpi::MPI_PACKED),
            None => (self.base.cast_mut(), self.count, self.datatype),
        }
    }

    /// A buffer for data that are received from a rank.
    #[inline]
    pub(super) fn to_receive(self, rank: i32, comm: MPI_Comm) -> Result<Buffer, Instead> {
        if leaf::passes(self.datatype) || rank == mpi::MPI_PROC_NULL {
            return Err(Instead::Library);
        }
        Buffer::new(self.data(Access::Write, comm)?, comm)
    }

    /// The same for a message that was probed, whose communicator this layer does not know.
    pub(super) fn to_receive_message(self) -> Result<Buffer, Instead> {
        self.to_receive(mpi::MPI_ANY_SOURCE, mpi::MPI_COMM_WORLD)
    }

    /// A packed buffer for data that are sent, then replaced by what is received.
    ///
    /// # Safety
    /// The elements are the program's arguments.
    pub(super) unsafe fn replaced(self, comm: MPI_Comm) -> Result<Buffer, Instead> {
        // SAFETY: the caller's promise.
        unsafe { self.to_receive(mpi::MPI_ANY_SOURCE, comm)?.packed() }
    }

    /// The data for MPI_Pack, into memory of the program.
    pub(super) fn to_pack(self, comm: MPI_Comm) -> Result<Data, Instead> {
        self.data(Access::Read, comm)
    }

    /// The data for MPI_Unpack.
    pub(super) fn to_unpack(self, comm: MPI_Comm) -> Result<Data, Instead> {
        self.data(Access::Write, comm)
    }

    /// The data of a call with a communicator.
    fn data(self, access: Access, comm: MPI_Comm) -> Result<Data, Instead> {
        if leaf::is_predefined(self.datatype) {
            return self.run().ok_or(Instead::Library);
        }
        let known = self.possible().ok_or(Instead::Library)?;
        let start = known.of.layout().contiguous_start(known.count);
        let may = |known: Known| known.may(access).ok_or(Instead::Library);
        match known.owner(self.base, start.is_some()) {
            Owner::Host if start.is_some() || !known.of.is_packed_here(known.bytes) => {
                counts::add(&counts::FASTER, 1);
                Err(Instead::Library)
            }
            Owner::Host => Ok(Data::on_host(self.base, may(known)?)),
            Owner::Gpu(gpu) => match start {
                Some(start) => {
                    let start = self.base.addr().wrapping_add_signed(start as isize);
                    Ok(Data::run(gpu, start, known.bytes))
                }
                None => Data::on_gpu(gpu, self.base, &may(known)?)
                    .map_err(|error| refused(&error, comm)),
            },
            Owner::Other => Err(refused(&NO_OWNER, comm)),
        }
    }

    /// Contiguous data of a predefined type, if they are in the memory of a GPU.
    fn run(self) -> Option<Data> {
        if !route::is_wanted(true) {
            return None;
        }
        let size = usize::try_from(sizes::dense(self.datatype)?).ok()?;
        let count = usize::try_from(self.count).ok()?;
        let bytes = size.checked_mul(count).filter(|&bytes| bytes > 0)?;
        match device::owner(self.base.cast()) {
            Owner::Gpu(gpu) => Some(Data::run(gpu, self.base.addr(), bytes)),
            Owner::Host | Owner::Other => None,
        }
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

/// Why elements without an owner are refused.
const NO_OWNER: &str =
    "the data begin and end in different memory, or the driver does not say in which";

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
    /// Where the elements at an address are; the host's where this layer leaves data of GPUs to the library anyway.
    fn owner(&self, base: *const c_void, is_contiguous: bool) -> Owner {
        match route::is_wanted(is_contiguous) {
            true => device::owner_of(base, self.of.layout(), self.count),
            false => Owner::Host,
        }
    }

    /// The same, unless the elements at an address are in the memory of a GPU.
    pub(super) fn on_host(self, base: *const c_void) -> Option<Self> {
        let is_host = matches!(
            device::owner_of(base, self.of.layout(), self.count),
            Owner::Host
        );
        if !is_host {
            counts::add(&counts::DEVICE, 1);
        }
        is_host.then_some(self)
    }

    /// The same, unless the elements overlap each other and are written.
    fn may(self, access: Access) -> Option<Self> {
        let may = access == Access::Read || self.of.is_apart(self.count);
        if !may {
            counts::add(&counts::IRREGULAR, 1);
        }
        may.then_some(self)
    }
}
