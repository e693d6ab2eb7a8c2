// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that GPUs reach: the owner of an address, and memory that this crate allocates.

use std::ffi::{c_int, c_void};

use crate::driver::{Driver, Handle};
use crate::error::CudaError;
use crate::gpu::Gpu;

/// The owner of an address.
#[derive(Clone, Copy, Debug)]
pub enum MemorySpace {
    /// Memory that the processor reads and writes, also if a GPU can.
    Host,
    /// Memory of a GPU, which the processor must not touch.
    Device(&'static Gpu),
}

/// Attributes of an address (`CUpointer_attribute`).
const ATTRIBUTE_CONTEXT: c_int = 1;
const ATTRIBUTE_MEMORY_TYPE: c_int = 2;
const ATTRIBUTE_IS_MANAGED: c_int = 8;
const ATTRIBUTE_DEVICE_ORDINAL: c_int = 9;
/// The kind of memory that is a GPU's (`CU_MEMORYTYPE_DEVICE`).
const MEMORY_TYPE_DEVICE: u32 = 2;
/// The driver's answer for addresses that it does not know, and before any context exists.
const UNKNOWN_ADDRESS: [c_int; 3] = [1, 3, 201];

impl Driver {
    /// The owner of an address. Memory that the driver does not know, pinned memory and managed memory belong to the host.
    ///
    /// # Errors
    /// The driver's errors, except that it does not know the address.
    pub fn space_of(&'static self, address: u64) -> Result<MemorySpace, CudaError> {
        let Some(kind) = self.attribute::<u32>(ATTRIBUTE_MEMORY_TYPE, address)? else {
            return Ok(MemorySpace::Host);
        };
        let managed = self.attribute::<u32>(ATTRIBUTE_IS_MANAGED, address)?;
        if kind != MEMORY_TYPE_DEVICE || managed.is_some_and(|is| is & 0xff != 0) {
            return Ok(MemorySpace::Host);
        }
        let context = self.attribute::<Handle>(ATTRIBUTE_CONTEXT, address)?;
        let gpu = match context.filter(|&context| context != Handle::default()) {
            Some(context) => Gpu::with_context(self, context)?,
            // Memory of a pool belongs to no context.
            None => {
                let device = self.attribute::<i32>(ATTRIBUTE_DEVICE_ORDINAL, address)?;
                Gpu::primary(self, device.unwrap_or(0))?
            }
        };
        Ok(MemorySpace::Device(gpu))
    }

    fn attribute<T: Default>(
        &self,
        attribute: c_int,
        address: u64,
    ) -> Result<Option<T>, CudaError> {
        let mut value = T::default();
        // SAFETY: each attribute is written in the type of which it is asked for here; booleans take less.
        let code = unsafe {
            let value: *mut c_void = (&raw mut value).cast();
            (self.functions.pointer_attribute)(value, attribute, address)
        };
        if UNKNOWN_ADDRESS.contains(&code) {
            return Ok(None);
        }
        self.check(code, "cuPointerGetAttribute", || {
            format!("attribute {attribute} of address {address:#x}")
        })?;
        Ok(Some(value))
    }
}

/// Memory of a GPU that is freed when this is dropped.
#[derive(Debug)]
pub struct DeviceMemory {
    gpu: &'static Gpu,
    address: u64,
}

impl DeviceMemory {
    /// The GPU that it is of.
    pub const fn gpu(&self) -> &'static Gpu {
        self.gpu
    }

    /// Where it begins.
    pub const fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // When the process ends the driver may be gone before; then the memory is too.
        drop(self.gpu.inside(|| {
            // SAFETY: `Gpu::allocate` made it in this context, and only this destructor frees it.
            let code = unsafe { (self.gpu.driver.functions.free)(self.address) };
            let argument = || format!("address {:#x}", self.address);
            self.gpu.driver.check(code, "cuMemFree", argument)
        }));
    }
}

/// Pinned for all GPUs, and mapped for them (`CU_MEMHOSTALLOC_PORTABLE`, `CU_MEMHOSTALLOC_DEVICEMAP`).
const PORTABLE_AND_MAPPED: u32 = 3;

/// Pinned memory of the host that is freed when this is dropped. All GPUs reach it at its own address, because 64-bit processes have
/// unified addresses.
#[derive(Debug)]
pub struct PinnedMemory {
    gpu: &'static Gpu,
    address: *mut u8,
}

// SAFETY: it owns its memory, and the driver takes it back from any thread.
unsafe impl Send for PinnedMemory {}
// SAFETY: it hands out an address and nothing else.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Where it begins, for the processor and for GPUs.
    pub const fn address(&self) -> *mut u8 {
        self.address
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // As for memory of a GPU.
        drop(self.gpu.inside(|| {
            // SAFETY: `Gpu::allocate_pinned` made it in this context, and only this destructor frees it.
            let code = unsafe { (self.gpu.driver.functions.free_pinned)(self.address.cast()) };
            let argument = || format!("address {:p}", self.address);
            self.gpu.driver.check(code, "cuMemFreeHost", argument)
        }));
    }
}

impl Gpu {
    /// Memory of the host that this GPU and all others reach; at least one byte, aligned to a page.
    ///
    /// # Errors
    /// When there is not so much.
    pub fn allocate_pinned(&'static self, bytes: usize) -> Result<PinnedMemory, CudaError> {
        self.inside(|| {
            let mut address = std::ptr::null_mut();
            let allocate = self.driver.functions.allocate_pinned;
            // SAFETY: writes one address.
            let code = unsafe { allocate(&raw mut address, bytes.max(1), PORTABLE_AND_MAPPED) };
            self.driver
                .check(code, "cuMemHostAlloc", || format!("{bytes} bytes"))?;
            let address = address.cast();
            Ok(PinnedMemory { gpu: self, address })
        })
    }

    /// Memory of this GPU; at least one byte, aligned to 256.
    ///
    /// # Errors
    /// When there is not so much.
    pub fn allocate(&'static self, bytes: usize) -> Result<DeviceMemory, CudaError> {
        self.inside(|| {
            let mut address = 0;
            // SAFETY: writes one address.
            let code = unsafe { (self.driver.functions.allocate)(&raw mut address, bytes.max(1)) };
            self.driver
                .check(code, "cuMemAlloc", || format!("{bytes} bytes"))?;
            Ok(DeviceMemory { gpu: self, address })
        })
    }

    /// Copies from the host to the GPU; done when this returns, after all earlier work of the default stream.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `from` is readable and `to` memory of this GPU, for `bytes` bytes.
    pub unsafe fn copy_in(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), CudaError> {
        self.inside(|| {
            // SAFETY: the caller's promise.
            let code = unsafe { (self.driver.functions.copy_in)(to, from.cast(), bytes) };
            self.driver
                .check(code, "cuMemcpyHtoD", || format!("{bytes} bytes to {to:#x}"))
        })
    }

    /// Copies from the GPU to the host; done when this returns, after all earlier work of the default stream.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `from` is memory of this GPU and `to` writable, for `bytes` bytes.
    pub unsafe fn copy_out(&self, from: u64, to: *mut u8, bytes: usize) -> Result<(), CudaError> {
        self.inside(|| {
            // SAFETY: the caller's promise.
            let code = unsafe { (self.driver.functions.copy_out)(to.cast(), from, bytes) };
            self.driver.check(code, "cuMemcpyDtoH", || {
                format!("{bytes} bytes from {from:#x}")
            })
        })
    }
}
