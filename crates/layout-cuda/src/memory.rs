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

/// Memory of a GPU around an address.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// The GPU.
    pub gpu: &'static Gpu,
    /// Its number.
    pub ordinal: i32,
    /// Where the allocation begins.
    pub start: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Allocation {
    /// Whether a range lies inside.
    pub const fn contains(&self, start: u64, bytes: usize) -> bool {
        start >= self.start
            && bytes as u64 <= self.bytes
            && start - self.start <= self.bytes - bytes as u64
    }
}

/// Attributes of an address (`CUpointer_attribute`).
const ATTRIBUTE_CONTEXT: c_int = 1;
const ATTRIBUTE_MEMORY_TYPE: c_int = 2;
const ATTRIBUTE_IS_MANAGED: c_int = 8;
const ATTRIBUTE_DEVICE_ORDINAL: c_int = 9;
const ATTRIBUTE_RANGE_START: c_int = 11;
const ATTRIBUTE_RANGE_SIZE: c_int = 12;
/// The kind of memory that is a GPU's (`CU_MEMORYTYPE_DEVICE`).
const MEMORY_TYPE_DEVICE: u32 = 2;
/// The driver's answer for addresses that it does not know, before it is initialised, and before any context exists.
const UNKNOWN_ADDRESS: [c_int; 3] = [1, 3, 201];

/// What the driver says of an address; all zero for one that it does not know.
#[derive(Default)]
struct Answer {
    context: Handle,
    kind: u32,
    is_managed: u32,
    ordinal: c_int,
    start: u64,
    bytes: u64,
}

impl Driver {
    /// The owner of an address. Memory that the driver does not know, pinned memory and managed memory belong to the host.
    ///
    /// # Errors
    /// The driver's errors, except that it does not know the address.
    pub fn space_of(&'static self, address: u64) -> Result<MemorySpace, CudaError> {
        let allocation = self.allocation_of(address)?;
        Ok(allocation.map_or(MemorySpace::Host, |found| MemorySpace::Device(found.gpu)))
    }

    /// The memory of a GPU around an address, by one call of the driver; `None` if the address belongs to the host.
    ///
    /// # Errors
    /// As for [`Self::space_of`].
    pub fn allocation_of(&'static self, address: u64) -> Result<Option<Allocation>, CudaError> {
        let answer = self.ask(address)?;
        if answer.kind != MEMORY_TYPE_DEVICE || answer.is_managed & 0xff != 0 {
            return Ok(None);
        }
        // Memory of a pool belongs to no context.
        let gpu = match answer.context == Handle::default() {
            true => Gpu::primary(self, answer.ordinal)?,
            false => Gpu::with_context(self, answer.context)?,
        };
        Ok(Some(Allocation {
            gpu,
            ordinal: answer.ordinal,
            start: answer.start,
            bytes: answer.bytes,
        }))
    }

    fn ask(&self, address: u64) -> Result<Answer, CudaError> {
        let mut answer = Answer::default();
        let asked: [(c_int, *mut c_void); 6] = [
            (ATTRIBUTE_CONTEXT, (&raw mut answer.context).cast()),
            (ATTRIBUTE_MEMORY_TYPE, (&raw mut answer.kind).cast()),
            (ATTRIBUTE_IS_MANAGED, (&raw mut answer.is_managed).cast()),
            (ATTRIBUTE_DEVICE_ORDINAL, (&raw mut answer.ordinal).cast()),
            (ATTRIBUTE_RANGE_START, (&raw mut answer.start).cast()),
            (ATTRIBUTE_RANGE_SIZE, (&raw mut answer.bytes).cast()),
        ];
        let mut attributes = asked.map(|(attribute, _)| attribute);
        let mut places = asked.map(|(_, place)| place);
        // SAFETY: each attribute is written in the type of its field; the boolean takes less.
        let code = unsafe {
            let (attributes, places) = (attributes.as_mut_ptr(), places.as_mut_ptr());
            (self.functions.pointer_attributes)(asked.len() as u32, attributes, places, address)
        };
        if UNKNOWN_ADDRESS.contains(&code) {
            return Ok(Answer::default());
        }
        self.check(code, "cuPointerGetAttributes", || {
            format!("address {address:#x}")
        })?;
        Ok(answer)
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
