// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between the memory of a GPU and that of the host. Each is complete when it returns, and takes one kernel and one copy at most.
#![expect(unsafe_code, reason = "buffers are addresses that programs gave")]

use std::ops::Range;

use layout::{Layout, SharedLayout};
use layout_cuda::{CudaError, Stream};

use super::counts;
use super::detect;
use super::failure::{self, refused};
use super::owner::{Device, device_of};
use super::tables;
use crate::allocate;
use crate::datatype::Memory;
use crate::errors::{Error, ErrorClass, Result};

/// Laid-out memory of a GPU.
pub(crate) struct OnDevice {
    device: Device,
    base: u64,
    pub(super) bytes: usize,
    layout: SharedLayout,
    /// Where the data begin if they are one run of bytes.
    run: Option<u64>,
}

impl OnDevice {
    /// The memory of a message, if it is a GPU's.
    pub(crate) fn of(memory: Memory<'_>) -> Result<Option<Self>> {
        let Some((layout, count)) = memory.layout else {
            return Ok(None);
        };
        let Some(device) = device_of(memory.base, layout, count)? else {
            return Ok(None);
        };
        Ok(Some(Self::new(device, memory.base, layout, count)))
    }

    /// `count` elements at `base`, which are in a GPU's memory.
    pub(super) fn new(
        device: Device,
        base: *const u8,
        layout: &SharedLayout,
        count: usize,
    ) -> Self {
        let run = layout.contiguous_start(count);
        let base = base.addr() as u64;
        Self {
            device,
            base,
            bytes: layout.size() * count,
            layout: layout.clone(),
            run: run.map(|start| base.wrapping_add_signed(start)),
        }
    }

    /// Packs the buffer of a call to the host.
    ///
    /// # Errors
    /// The driver's errors; with `RANKPOINT_CHECK=gpu`, MPI_ERR_BUFFER when work of the GPU changes the buffer afterwards.
    ///
    /// # Safety
    /// `target` is writable for its bytes.
    pub(super) unsafe fn read(&self, target: *mut u8) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.fetch(target) }?;
        match detect::checks_work() {
            // SAFETY: `fetch` has written `bytes` bytes there.
            true => self.check_unchanged(unsafe { std::slice::from_raw_parts(target, self.bytes) }),
            false => Ok(()),
        }
    }

    /// Waits for all work of the context, and compares the buffer with what it was before.
    fn check_unchanged(&self, before: &[u8]) -> Result<()> {
        let gpu = self.device.gpu();
        gpu.synchronize_all().map_err(|error| refused(&error))?;
        let mut after = allocate::zeroed(self.bytes)?;
        // SAFETY: as many bytes are writable.
        unsafe { self.fetch(after.as_mut_ptr()) }?;
        let Some(first) = before
            .iter()
            .zip(&after)
            .position(|(one, other)| one != other)
        else {
            return Ok(());
        };
        let text = format!(
            "work of the GPU on the buffer at {:#x} was not complete when the call began: byte {first} of {} has changed since (RANKPOINT_CHECK=gpu); synchronise its stream or event before the call",
            self.base, self.bytes
        );
        Err(Error::new(ErrorClass::ERR_BUFFER, text))
    }

    /// Packs all of it to the host.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `target` is writable for its bytes.
    pub(super) unsafe fn fetch(&self, target: *mut u8) -> Result<()> {
        failure::check()?;
        let gpu = self.device.gpu();
        // SAFETY: the caller's promise, and the contract of this folder (mod.rs).
        let done = gpu.inside(|| unsafe {
            if let Some(start) = self.run {
                return gpu.copy_out(start, target, self.bytes);
            }
            let layout = tables::prepared(gpu, &self.layout)?;
            let packed = gpu.bounce(self.bytes)?;
            let (to, stream) = (packed.address(), Stream::default());
            layout.pack(self.base, 0..self.bytes, to, stream)?;
            gpu.copy_out(to, target, self.bytes)
        });
        done.map_err(|error: CudaError| refused(&error))?;
        counts::count_copy(self.bytes, self.run.is_none());
        Ok(())
    }

    /// Unpacks the first `bytes` bytes from the host.
    ///
    /// # Safety
    /// `source` is readable for so many bytes.
    pub(super) unsafe fn write(&self, source: *const u8, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.write_range(source, 0..bytes) }
    }

    /// Unpacks a range of the packed bytes from the host.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `source` is readable for its bytes.
    pub(crate) unsafe fn write_range(&self, source: *const u8, range: Range<usize>) -> Result<()> {
        failure::check()?;
        let gpu = self.device.gpu();
        let bytes = range.len();
        // SAFETY: the caller's promise, and the contract of this folder (mod.rs).
        let done = gpu.inside(|| unsafe {
            if let Some(start) = self.run {
                return gpu.copy_in(start + range.start as u64, source, bytes);
            }
            let layout = tables::prepared(gpu, &self.layout)?;
            let packed = gpu.bounce(bytes)?;
            let (from, stream) = (packed.address(), Stream::default());
            gpu.copy_in(from, source, bytes)?;
            layout.unpack(self.base, range, from, stream)?;
            gpu.synchronize(stream)
        });
        done.map_err(|error: CudaError| refused(&error))?;
        counts::count_copy(bytes, self.run.is_none());
        Ok(())
    }
}

/// Packed bytes as a memory, which may be a GPU's.
static BYTES: SharedLayout = SharedLayout::Forever(&const { Layout::named(1, 1) });

/// `bytes` bytes at an address that may be a GPU's.
pub fn packed_at(base: *mut u8, bytes: usize) -> Memory<'static> {
    Memory {
        layout: Some((&BYTES, bytes)),
        ..Memory::contiguous(base, bytes)
    }
}

/// Copies the packed bytes of one memory to another if one of them is a GPU's; else does nothing and gives false.
///
/// # Errors
/// The driver's errors.
///
/// # Safety
/// `from` is readable, and `to` writable for its bytes, by the processor or by a GPU; they do not overlap.
pub unsafe fn copy(from: Memory<'_>, to: Memory<'_>) -> Result<bool> {
    let bytes = from.bytes;
    let (source, target) = (OnDevice::of(from)?, OnDevice::of(to)?);
    if source.is_none() && target.is_none() {
        return Ok(false);
    }
    let mut packed = allocate::zeroed(bytes)?;
    let host = packed.as_mut_ptr();
    // SAFETY: the caller's promise; `packed` is as long as the message.
    unsafe {
        match (source, from.layout) {
            (Some(source), _) => source.read(host)?,
            (None, Some((layout, _))) => layout.pack(from.base, 0..bytes, host),
            (None, None) => std::ptr::copy_nonoverlapping(from.base, host, bytes),
        }
        match (target, to.layout) {
            (Some(target), _) => target.write(host, bytes)?,
            (None, Some((layout, _))) => layout.unpack(to.base, 0..bytes, host),
            (None, None) => std::ptr::copy_nonoverlapping(host, to.base, bytes),
        }
    }
    Ok(true)
}
