// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that host and GPU both reach.

use std::ffi::c_int;

use super::calls::Done;
use super::unit::Unit;
use layout_cuda::Handle;

/// Pinned for all GPUs, and mapped for them (`CU_MEMHOSTALLOC_PORTABLE`, `CU_MEMHOSTALLOC_DEVICEMAP`).
const PORTABLE_AND_MAPPED: u32 = 3;
/// Managed memory that every stream may use (`CU_MEM_ATTACH_GLOBAL`).
const ATTACH_GLOBAL: u32 = 1;
/// The host as a place of managed memory (`CU_DEVICE_CPU`).
const HOST: c_int = -1;
/// Bytes of a page of the host.
pub(crate) const PAGE: usize = 4096;

/// Pinned memory of the host.
#[derive(Debug)]
pub(crate) struct Pinned<'u> {
    unit: &'u Unit,
    start: *mut u8,
}

/// Memory that moves to who uses it. Its pages are on the host first.
#[derive(Debug)]
pub(crate) struct Managed<'u> {
    unit: &'u Unit,
    address: u64,
    bytes: usize,
}

impl<'u> Pinned<'u> {
    /// Memory whose pages are those of the calling thread's NUMA node, each touched.
    pub(crate) fn new(unit: &'u Unit, bytes: usize) -> Done<Self> {
        let mut start = std::ptr::null_mut();
        // SAFETY: writes one address.
        let code =
            unsafe { (unit.calls.allocate_pinned)(&raw mut start, bytes, PORTABLE_AND_MAPPED) };
        unit.check(code, "cuMemHostAlloc")?;
        let start: *mut u8 = start.cast();
        touch(start, bytes);
        Ok(Self { unit, start })
    }

    /// Its begin.
    pub(crate) const fn start(&self) -> *mut u8 {
        self.start
    }

    /// Where the GPU reaches it.
    pub(crate) fn device_address(&self) -> Done<u64> {
        let mut address = 0;
        // SAFETY: writes one address; memory of `cuMemHostAlloc` that is mapped.
        let code =
            unsafe { (self.unit.calls.device_pointer)(&raw mut address, self.start.cast(), 0) };
        self.unit.check(code, "cuMemHostGetDevicePointer")?;
        Ok(address)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        drop(self.unit.gpu.inside(|| {
            // SAFETY: memory of `cuMemHostAlloc` that nobody else frees.
            let code = unsafe { (self.unit.calls.free_pinned)(self.start.cast()) };
            self.unit.check(code, "cuMemFreeHost")
        }));
    }
}

impl<'u> Managed<'u> {
    /// Memory of so many bytes, touched by the host.
    pub(crate) fn new(unit: &'u Unit, bytes: usize) -> Done<Self> {
        let mut address = 0;
        // SAFETY: writes one address.
        let code = unsafe { (unit.calls.allocate_managed)(&raw mut address, bytes, ATTACH_GLOBAL) };
        unit.check(code, "cuMemAllocManaged")?;
        let memory = Self {
            unit,
            address,
            bytes,
        };
        memory.touch();
        Ok(memory)
    }

    /// Where host and GPU reach it.
    pub(crate) const fn address(&self) -> u64 {
        self.address
    }

    /// The host writes a byte of each page.
    pub(crate) fn touch(&self) {
        touch(
            std::ptr::with_exposed_provenance_mut(self.address as usize),
            self.bytes,
        );
    }

    /// Moves it to the host, in a stream.
    pub(crate) fn to_host(&self, stream: Handle) -> Done {
        self.prefetch(HOST, stream)
    }

    /// Moves it to a GPU, in a stream.
    pub(crate) fn to_gpu(&self, unit: &Unit, stream: Handle) -> Done {
        self.prefetch(unit.gpu.driver().device(unit.ordinal)?, stream)
    }

    fn prefetch(&self, device: c_int, stream: Handle) -> Done {
        // SAFETY: managed memory of so many bytes.
        let code = unsafe { (self.unit.calls.prefetch)(self.address, self.bytes, device, stream) };
        self.unit.check(code, "cuMemPrefetchAsync")
    }
}

impl Drop for Managed<'_> {
    fn drop(&mut self) {
        drop(self.unit.gpu.inside(|| {
            // SAFETY: memory of `cuMemAllocManaged` that nobody else frees.
            let code = unsafe { (self.unit.calls.free)(self.address) };
            self.unit.check(code, "cuMemFree")
        }));
    }
}

/// Writes a byte of each page of memory that the host may write.
fn touch(start: *mut u8, bytes: usize) {
    for offset in (0..bytes).step_by(PAGE) {
        // SAFETY: both callers have allocated so many bytes there.
        unsafe { start.add(offset).write_volatile(1) };
    }
}
