// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of the program that are packed and unpacked here: by the processor, or by the GPU that has them.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use layout_cuda::{CudaError, Gpu};
use mpi_abi_sys::types::MPI_Comm;

use super::counts;
use super::device::{self, Owner};
use super::elements::Known;
use super::instead::{Instead, refused};
use super::pool::Temporary;
use super::region::Region;
use super::route::{self, Route};
use super::types::Type;

/// Data of the program.
pub(super) struct Data {
    place: Place,
    bytes: usize,
}

enum Place {
    /// Elements of a type in memory of the host, element 0 at this address.
    Host(usize, Arc<Type>),
    /// In the memory of a GPU.
    Gpu(Region, Route),
}

impl Data {
    /// Elements in memory of the host.
    pub(super) fn on_host(base: *const c_void, known: Known) -> Self {
        Self {
            place: Place::Host(base.expose_provenance(), known.of),
            bytes: known.bytes,
        }
    }

    /// Elements in the memory of a GPU.
    ///
    /// # Errors
    /// When its kernels cannot pack them.
    pub(super) fn on_gpu(
        gpu: &'static Gpu,
        base: *const c_void,
        known: &Known,
    ) -> Result<Self, CudaError> {
        let region = Region::elements(gpu, base.addr(), &known.of)?;
        let route = route::choose(known.bytes, known.of.block());
        Ok(Self {
            place: Place::Gpu(region, route),
            bytes: known.bytes,
        })
    }

    /// A run of bytes in the memory of a GPU, which go through the host.
    pub(super) fn run(gpu: &'static Gpu, start: usize, bytes: usize) -> Self {
        Self {
            place: Place::Gpu(Region::run(gpu, start), Route::Oneshot),
            bytes,
        }
    }

    /// Their number of bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Memory for their packed bytes; `None` where the host does not have as much.
    ///
    /// # Errors
    /// The driver's errors, as for all the following.
    pub(super) fn temporary(&self) -> Result<Option<Temporary>, CudaError> {
        match &self.place {
            Place::Host(..) => Ok(Temporary::new(self.bytes)),
            Place::Gpu(region, Route::Oneshot) => region.pinned(self.bytes).map(Some),
            Place::Gpu(region, Route::Device) => region.on_device(self.bytes).map(Some),
        }
    }

    /// Packs them.
    ///
    /// # Safety
    /// The data are as the program's call says, and `to` is their [`Self::temporary`].
    pub(super) unsafe fn pack(&self, to: *mut u8) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.place {
                Place::Host(base, of) => pack(of, *base, self.bytes, to),
                Place::Gpu(region, route) => {
                    region.pack(self.bytes, to)?;
                    count(*route, &counts::PACKED, self.bytes);
                }
            }
        }
        Ok(())
    }

    /// Unpacks the first bytes.
    ///
    /// # Safety
    /// As for [`Self::pack`].
    pub(super) unsafe fn unpack(&self, bytes: usize, from: *const u8) -> Result<(), CudaError> {
        let bytes = bytes.min(self.bytes);
        // SAFETY: the caller's promise.
        unsafe {
            match &self.place {
                Place::Host(base, of) => unpack(of, *base, bytes, from),
                Place::Gpu(region, route) => {
                    region.unpack(bytes, from)?;
                    count(*route, &counts::UNPACKED, bytes);
                }
            }
        }
        Ok(())
    }

    /// Packs them into memory of the program; `comm` is that of the call.
    ///
    /// # Safety
    /// The data are as the program's call says, and `to` has room for them.
    pub(super) unsafe fn pack_to(&self, to: *mut u8, comm: MPI_Comm) -> Result<(), Instead> {
        let owner = device::owner(to);
        // SAFETY: the caller's promise.
        unsafe {
            match (&self.place, owner) {
                (Place::Host(base, of), Owner::Host) => pack(of, *base, self.bytes, to),
                (Place::Host(..), _) | (_, Owner::Other) => {
                    return Err(refused(&"the packed bytes are in other memory", comm));
                }
                (Place::Gpu(region, _), _) => {
                    let packed = region.pack_to(self.bytes, to, owner);
                    packed.map_err(|error| refused(&error, comm))?;
                    count(to_memory_of(owner), &counts::PACKED, self.bytes);
                }
            }
        }
        Ok(())
    }

    /// Unpacks them from memory of the program; `comm` is that of the call.
    ///
    /// # Safety
    /// The data are as the program's call says, and `from` has as many bytes.
    pub(super) unsafe fn unpack_from(
        &self,
        from: *const u8,
        comm: MPI_Comm,
    ) -> Result<(), Instead> {
        let owner = device::owner(from);
        // SAFETY: the caller's promise.
        unsafe {
            match (&self.place, owner) {
                (Place::Host(base, of), Owner::Host) => unpack(of, *base, self.bytes, from),
                (Place::Host(..), _) | (_, Owner::Other) => {
                    return Err(refused(&"the packed bytes are in other memory", comm));
                }
                (Place::Gpu(region, _), _) => {
                    let unpacked = region.unpack_from(self.bytes, from, owner);
                    unpacked.map_err(|error| refused(&error, comm))?;
                    count(to_memory_of(owner), &counts::UNPACKED, self.bytes);
                }
            }
        }
        Ok(())
    }
}

const fn to_memory_of(owner: Owner) -> Route {
    match owner {
        Owner::Gpu(_) => Route::Device,
        Owner::Host | Owner::Other => Route::Oneshot,
    }
}

/// Counts data of a GPU that were packed or unpacked.
fn count(route: Route, direction: &crate::sync::AtomicU64, bytes: usize) {
    let way = match route {
        Route::Oneshot => &counts::ONESHOT,
        Route::Device => &counts::ON_DEVICE,
    };
    counts::add(way, 1);
    counts::add(direction, 1);
    counts::add(&counts::BYTES, bytes as u64);
}

/// Packs the first bytes of the elements at an address.
///
/// # Safety
/// The elements are there, and `to` has room for the bytes.
pub(super) unsafe fn pack(of: &Type, base: usize, bytes: usize, to: *mut u8) {
    let base = ptr::with_exposed_provenance(base);
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
    let base = ptr::with_exposed_provenance_mut(base);
    // SAFETY: the caller's promise.
    unsafe { of.layout().unpack(base, 0..bytes, from) };
    counts::add(&counts::UNPACKED, 1);
    counts::add(&counts::BYTES, bytes as u64);
}
