// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of the program in the memory of a GPU.
//!
//! Kernels and copies run in the default stream, and are complete when a call of this file returns: messages keep the order of the
//! program's calls. The program's own work on a buffer is complete when it calls MPI, as the standard has it.

use std::ptr;
use std::sync::Arc;

use layout_cuda::{CudaError, DeviceLayout, Gpu, Stream};

use super::device::Owner;
use super::pool::Temporary;
use super::types::Type;

/// Data in the memory of a GPU.
pub(super) struct Region {
    gpu: &'static Gpu,
    /// Where element 0 is, or where a run begins.
    base: usize,
    /// Where the blocks are; `None` of one run of bytes.
    blocks: Option<Arc<DeviceLayout>>,
}

impl Region {
    /// Elements of a type.
    ///
    /// # Errors
    /// The driver's errors.
    pub(super) fn elements(gpu: &'static Gpu, base: usize, of: &Type) -> Result<Self, CudaError> {
        let blocks = Some(of.on(gpu)?);
        Ok(Self { gpu, base, blocks })
    }

    /// A run of bytes.
    pub(super) const fn run(gpu: &'static Gpu, start: usize) -> Self {
        Self {
            gpu,
            base: start,
            blocks: None,
        }
    }

    /// Pinned memory for its packed bytes.
    ///
    /// # Errors
    /// The driver's errors, as for all the following.
    pub(super) fn pinned(&self, bytes: usize) -> Result<Temporary, CudaError> {
        Temporary::pinned(bytes, self.gpu)
    }

    /// Memory of the GPU for its packed bytes.
    pub(super) fn on_device(&self, bytes: usize) -> Result<Temporary, CudaError> {
        Temporary::device(bytes, self.gpu)
    }

    /// Packs the first bytes. A run is copied, which needs a target on the host.
    ///
    /// # Safety
    /// The data are there, and `to` has room for the bytes: pinned memory or memory of this GPU, of the host for a run.
    pub(super) unsafe fn pack(&self, bytes: usize, to: *mut u8) -> Result<(), CudaError> {
        let base = self.base as u64;
        // SAFETY: the caller's promise.
        unsafe {
            let Some(blocks) = &self.blocks else {
                return self.gpu.copy_out(base, to, bytes);
            };
            blocks.pack(base, 0..bytes, to.addr() as u64, Stream::default())?;
        }
        self.gpu.synchronize(Stream::default())
    }

    /// Unpacks the first bytes.
    ///
    /// # Safety
    /// As for [`Self::pack`], with reading and writing exchanged.
    pub(super) unsafe fn unpack(&self, bytes: usize, from: *const u8) -> Result<(), CudaError> {
        let base = self.base as u64;
        // SAFETY: the caller's promise.
        unsafe {
            let Some(blocks) = &self.blocks else {
                return self.gpu.copy_in(base, from, bytes);
            };
            blocks.unpack(base, 0..bytes, from.addr() as u64, Stream::default())?;
        }
        self.gpu.synchronize(Stream::default())
    }

    /// Whether [`Self::pack`] and [`Self::unpack`] reach memory of an owner.
    fn reaches(&self, owner: Owner) -> bool {
        match owner {
            Owner::Host => self.blocks.is_none(),
            Owner::Gpu(gpu) => self.blocks.is_some() && ptr::eq(gpu, self.gpu),
            Owner::Other => false,
        }
    }

    /// Packs the first bytes into memory of the program.
    ///
    /// # Safety
    /// The data are there, and `to`, of this owner, has room for the bytes.
    pub(super) unsafe fn pack_to(
        &self,
        bytes: usize,
        to: *mut u8,
        owner: Owner,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise, and pinned memory of so many bytes.
        unsafe {
            if self.reaches(owner) {
                return self.pack(bytes, to);
            }
            let stage = self.pinned(bytes)?;
            self.pack(bytes, stage.address())?;
            match owner {
                Owner::Gpu(gpu) => gpu.copy_in(to.addr() as u64, stage.address(), bytes),
                _ => {
                    ptr::copy_nonoverlapping(stage.address(), to, bytes);
                    Ok(())
                }
            }
        }
    }

    /// Unpacks the first bytes from memory of the program.
    ///
    /// # Safety
    /// As for [`Self::pack_to`], with reading and writing exchanged.
    pub(super) unsafe fn unpack_from(
        &self,
        bytes: usize,
        from: *const u8,
        owner: Owner,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise, and pinned memory of so many bytes.
        unsafe {
            if self.reaches(owner) {
                return self.unpack(bytes, from);
            }
            let stage = self.pinned(bytes)?;
            match owner {
                Owner::Gpu(gpu) => gpu.copy_out(from.addr() as u64, stage.address(), bytes)?,
                _ => ptr::copy_nonoverlapping(from, stage.address(), bytes),
            }
            self.unpack(bytes, stage.address())
        }
    }
}
