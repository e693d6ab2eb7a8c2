// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages from and to the memory of a GPU: they are staged. A send packs on the GPU and copies the packed bytes to the host when it
//! starts; a receive collects them on the host, and with the last one copies them to the GPU and unpacks there. In between
//! they are contiguous bytes like others.
//!
//! Faces ask for the owner of an address only if [`start`] or [`have_come`] has found a driver; otherwise no path reaches this module. Memory of a GPU
//! always has a layout, contiguous or not, so that no path accesses its bytes directly.
//!
//! # Safety
//! Device memory is the program's until the operation is complete, as host memory is (contracts of `isend` and `irecv`). It must be
//! one allocation of one GPU; the driver is asked about its first byte of data only.

use std::path::Path;
use std::sync::OnceLock;

use layout::{Layout, SharedLayout};
use layout_cuda::{CudaError, DeviceLayout, DeviceMemory, Driver, Gpu, MemorySpace, Stream};
use sys::library;
use sys::signals;
use sys::sync::{AtomicU64, Ordering};

use crate::datatype::Memory;
use crate::errors::{Error, ErrorClass, Result};
use crate::settings::Settings;

/// The driver, once buffers may be a GPU's.
static DRIVER: OnceLock<&'static Driver> = OnceLock::new();

/// How many libraries the process had loaded when [`have_come`] last found that the driver is none of them.
static WITHOUT_DRIVER: AtomicU64 = AtomicU64::new(0);

/// Files that a node with a GPU has, of which a program may load the driver at any time.
const SIGNS_OF_GPUS: [&str; 2] = ["/dev/nvidiactl", "/dev/dxg"];

/// Whether buffers may be in the memory of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// They never are.
    Never,
    /// They may be once the process has loaded the driver: [`have_come`].
    Later,
    /// They may be.
    Now,
}

/// Decides whether buffers may be a GPU's from now on (`RANKPOINT_GPU`).
///
/// # Errors
/// With `RANKPOINT_GPU=2`, why there is no GPU.
pub fn start(settings: &Settings) -> Result<Devices> {
    match settings.gpu {
        0 => Ok(Devices::Never),
        2 => {
            let driver = open_driver().map_err(|error| {
                Error::new(
                    ErrorClass::ERR_OTHER,
                    format!("RANKPOINT_GPU is 2, but {error}"),
                )
            })?;
            DRIVER.get_or_init(|| driver);
            Ok(Devices::Now)
        }
        _ if have_come() => Ok(Devices::Now),
        1 if !SIGNS_OF_GPUS.iter().any(|file| Path::new(file).exists()) => Ok(Devices::Never),
        _ => Ok(Devices::Later),
    }
}

/// Whether the process has loaded the driver by now, so that buffers may be a GPU's. Without a library more than the last time it costs
/// one call of the loader.
pub fn have_come() -> bool {
    let loaded = library::loaded_so_far();
    // Relaxed: a thread that got a buffer of a GPU got it after the library was counted.
    if WITHOUT_DRIVER.load(Ordering::Relaxed) == loaded {
        return false;
    }
    if Driver::is_loaded()
        && let Ok(driver) = open_driver()
    {
        DRIVER.get_or_init(|| driver);
        return true;
    }
    WITHOUT_DRIVER.store(loaded, Ordering::Relaxed);
    false
}

/// The driver of this node. Loading it changes no actions of signals.
fn open_driver() -> std::result::Result<&'static Driver, &'static CudaError> {
    signals::keeping_actions(Driver::get)
}

/// Whether the data of `count` elements at `base` are in the memory of a GPU.
///
/// # Errors
/// The driver's errors.
pub fn holds(base: *const u8, layout: &Layout, count: usize) -> Result<bool> {
    Ok(gpu_of(base, layout, count)?.is_some())
}

/// Whether `bytes` bytes at `base` are in the memory of a GPU.
///
/// # Errors
/// The driver's errors.
pub fn holds_bytes(base: *const u8, bytes: usize) -> Result<bool> {
    holds(base, &BYTES, bytes)
}

/// The GPU in whose memory the data are, if they are in one's.
fn gpu_of(base: *const u8, layout: &Layout, count: usize) -> Result<Option<&'static Gpu>> {
    let (Some(driver), true) = (DRIVER.get(), layout.size() > 0 && count > 0) else {
        return Ok(None);
    };
    let first = base.wrapping_offset(layout.true_lower_bound() as isize);
    match driver.space_of(first.addr() as u64).map_err(refused)? {
        MemorySpace::Host => Ok(None),
        MemorySpace::Device(gpu) => Ok(Some(gpu)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn refused(error: CudaError) -> Error {
    Error::new(
        ErrorClass::ERR_BUFFER,
        format!("the buffer is in the memory of a GPU: {error}"),
    )
}

/// Laid-out memory of a GPU.
struct OnDevice {
    gpu: &'static Gpu,
    base: u64,
    bytes: usize,
    layout: SharedLayout,
    /// Where the data begin if they are one run of bytes.
    run: Option<u64>,
}

impl OnDevice {
    /// The memory of a message, if it is a GPU's.
    fn of(memory: Memory<'_>) -> Result<Option<Self>> {
        let Some((layout, count)) = memory.layout else {
            return Ok(None);
        };
        let Some(gpu) = gpu_of(memory.base, layout, count)? else {
            return Ok(None);
        };
        let base = memory.base.addr() as u64;
        let run = layout.contiguous_start(count);
        Ok(Some(Self {
            gpu,
            base,
            bytes: memory.bytes,
            layout: layout.clone(),
            run: run.map(|start| base.wrapping_add_signed(start)),
        }))
    }

    fn prepare(&self) -> std::result::Result<(DeviceLayout, DeviceMemory), CudaError> {
        Ok((
            self.gpu.prepare(&self.layout)?,
            self.gpu.allocate(self.bytes)?,
        ))
    }

    /// Packs all of it to the host.
    ///
    /// # Safety
    /// `target` is writable for its bytes.
    unsafe fn read(&self, target: *mut u8) -> std::result::Result<(), CudaError> {
        // SAFETY: the caller's promise, and the head of this file.
        unsafe {
            if let Some(start) = self.run {
                return self.gpu.copy_out(start, target, self.bytes);
            }
            let (layout, packed) = self.prepare()?;
            layout.pack(
                self.base,
                0..self.bytes,
                packed.address(),
                Stream::default(),
            )?;
            self.gpu.copy_out(packed.address(), target, self.bytes)
        }
    }

    /// Unpacks the first `bytes` bytes from the host.
    ///
    /// # Safety
    /// `source` is readable for so many bytes.
    unsafe fn write(&self, source: *const u8, bytes: usize) -> std::result::Result<(), CudaError> {
        // SAFETY: the caller's promise, and the head of this file.
        unsafe {
            if let Some(start) = self.run {
                return self.gpu.copy_in(start, source, bytes);
            }
            let (layout, packed) = self.prepare()?;
            self.gpu.copy_in(packed.address(), source, bytes)?;
            layout.unpack(self.base, 0..bytes, packed.address(), Stream::default())?;
            self.gpu.synchronize(Stream::default())
        }
    }
}

/// The packed bytes of an operation whose memory is a GPU's.
pub(crate) struct Staged {
    place: OnDevice,
    host: Vec<u8>,
}

impl Staged {
    /// A place for the packed bytes of a memory, if it is a GPU's.
    pub(crate) fn of(memory: Memory<'_>) -> Result<Option<Box<Self>>> {
        let place = OnDevice::of(memory)?;
        Ok(place.map(|place| {
            let host = vec![0; place.bytes];
            Box::new(Self { place, host })
        }))
    }

    /// Fetches them from the GPU.
    pub(crate) fn load(&mut self) -> Result<()> {
        // SAFETY: `host` is as long as the message (Self::of).
        unsafe { self.place.read(self.host.as_mut_ptr()) }.map_err(refused)
    }

    /// Puts the first ones into the memory of the GPU.
    pub(crate) fn store(&self, bytes: usize) -> Result<()> {
        debug_assert!(bytes <= self.host.len());
        // SAFETY: a message that is received has at most the bytes of its buffer, and `host` has as many.
        unsafe { self.place.write(self.host.as_ptr(), bytes) }.map_err(refused)
    }

    /// The packed bytes, to be filled.
    pub(crate) const fn host(&mut self) -> &mut Vec<u8> {
        &mut self.host
    }

    /// The packed bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.host
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
    let mut packed = vec![0u8; bytes];
    let host = packed.as_mut_ptr();
    // SAFETY: the caller's promise; `packed` is as long as the message.
    unsafe {
        match (source, from.layout) {
            (Some(source), _) => source.read(host).map_err(refused)?,
            (None, Some((layout, _))) => layout.pack(from.base, 0..bytes, host),
            (None, None) => std::ptr::copy_nonoverlapping(from.base, host, bytes),
        }
        match (target, to.layout) {
            (Some(target), _) => target.write(host, bytes).map_err(refused)?,
            (None, Some((layout, _))) => layout.unpack(to.base, 0..bytes, host),
            (None, None) => std::ptr::copy_nonoverlapping(host, to.base, bytes),
        }
    }
    Ok(true)
}
