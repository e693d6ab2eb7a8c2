// SPDX-License-Identifier: MIT OR Apache-2.0
//! A GPU, its streams and events.

use std::ffi::c_int;

use layout_cuda::{Driver, Gpu, Handle};

use super::calls::{Calls, Done};
use super::kernels::{ARGUMENTS, WAIT, empty, module_text};

/// A stream that does not wait for the default one (`CU_STREAM_NON_BLOCKING`).
const NON_BLOCKING: u32 = 1;
/// The driver's answers: an event has not fired; memory of another GPU can be reached already, or cannot be.
const NOT_READY: c_int = 600;
const ENABLED_ALREADY: c_int = 704;
const NOT_ENABLED: c_int = 705;
/// Whether host and GPU may use managed memory at the same time (`CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS`).
const CONCURRENT_MANAGED_ACCESS: c_int = 89;

/// Whether a GPU may reach the memory of another one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reach {
    Direct,
    Staged,
}

/// A GPU with what measurements need.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) gpu: &'static Gpu,
    pub(crate) ordinal: c_int,
    pub(super) calls: Calls,
    wait: Handle,
    /// In the order of [`ARGUMENTS`].
    empty: Vec<Handle>,
}

/// A stream of a GPU.
#[derive(Debug)]
pub(crate) struct Stream<'u> {
    unit: &'u Unit,
    pub(crate) handle: Handle,
}

/// An event of a GPU.
#[derive(Debug)]
pub(crate) struct Event<'u> {
    unit: &'u Unit,
    handle: Handle,
}

impl Unit {
    /// All GPUs of a driver.
    ///
    /// # Errors
    /// When the driver refuses one, or is too old.
    pub(crate) fn all(driver: &'static Driver) -> Done<Vec<Self>> {
        (0..driver.devices()?)
            .map(|ordinal| Self::open(driver, ordinal))
            .collect()
    }

    fn open(driver: &'static Driver, ordinal: c_int) -> Done<Self> {
        let gpu = Gpu::primary(driver, ordinal)?;
        let calls = Calls::find(driver)?;
        let module = gpu.load_module(&module_text(), "the module of measuring kernels")?;
        let kernel = |bytes: usize| gpu.kernel(module, &empty(bytes));
        Ok(Self {
            gpu,
            ordinal,
            calls,
            wait: gpu.kernel(module, WAIT)?,
            empty: ARGUMENTS.into_iter().map(kernel).collect::<Done<_>>()?,
        })
    }

    /// Makes the driver's answer an error, if it is one.
    pub(crate) fn check(&self, code: c_int, call: &'static str) -> Done {
        let argument = || format!("GPU {}", self.ordinal);
        self.gpu.driver().check(code, call, argument)
    }

    /// Runs `action` with the context of this GPU.
    ///
    /// # Errors
    /// Those of `action`, and the driver's.
    pub(crate) fn enter<T>(&self, action: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let outcome = self.gpu.inside(|| Ok(action()));
        outcome.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Makes its context the calling thread's, until the thread ends.
    pub(crate) fn stay(&self) -> Done {
        // SAFETY: a context that is never destroyed.
        let code = unsafe { (self.calls.set_current)(self.gpu.context()) };
        self.check(code, "cuCtxSetCurrent")
    }

    /// A new stream. The context is current, as for all that follows.
    pub(crate) fn stream(&self) -> Done<Stream<'_>> {
        let mut handle = Handle::default();
        // SAFETY: writes one handle.
        let code = unsafe { (self.calls.create_stream)(&raw mut handle, NON_BLOCKING) };
        self.check(code, "cuStreamCreate")?;
        Ok(Stream { unit: self, handle })
    }

    /// A new event.
    pub(crate) fn event(&self) -> Done<Event<'_>> {
        let mut handle = Handle::default();
        // SAFETY: writes one handle.
        let code = unsafe { (self.calls.create_event)(&raw mut handle, 0) };
        self.check(code, "cuEventCreate")?;
        Ok(Event { unit: self, handle })
    }

    /// Starts the kernel that waits for so many cycles.
    pub(super) fn wait_busily(&self, cycles: u64, stream: &Stream<'_>) -> Done {
        let parameter = cycles.to_ne_bytes();
        // SAFETY: the kernel's parameter is a number of 8 bytes, and it touches no memory.
        unsafe { self.gpu.start(self.wait, Some(&parameter), stream.handle) }
    }

    /// Starts the kernel that does nothing with so many bytes, one of [`ARGUMENTS`].
    pub(crate) fn do_nothing(&self, argument: usize, stream: &Stream<'_>) -> Done {
        static NUMBERS: [u8; 4096] = [7; 4096];
        let bytes = ARGUMENTS[argument];
        let parameter = (bytes > 0).then_some(&NUMBERS[..bytes]);
        // SAFETY: the kernel's parameter has so many bytes, and it touches no memory.
        unsafe {
            self.gpu
                .start(self.empty[argument], parameter, stream.handle)
        }
    }

    /// Waits for all that this GPU was given.
    pub(crate) fn finish(&self) -> Done {
        // SAFETY: takes nothing.
        let code = unsafe { (self.calls.synchronize_all)() };
        self.check(code, "cuCtxSynchronize")
    }

    /// Bytes of its memory that nobody uses.
    pub(crate) fn free_bytes(&self) -> Done<u64> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers.
        let code = unsafe { (self.calls.memory_left)(&raw mut free, &raw mut total) };
        self.check(code, "cuMemGetInfo")?;
        Ok(free as u64)
    }

    /// Whether host and GPU may use managed memory at the same time.
    pub(crate) fn moves_pages(&self) -> Done<bool> {
        let mut value = 0;
        let device = self.gpu.driver().device(self.ordinal)?;
        // SAFETY: writes one number.
        let code =
            unsafe { (self.calls.attribute)(&raw mut value, CONCURRENT_MANAGED_ACCESS, device) };
        self.check(code, "cuDeviceGetAttribute")?;
        Ok(value != 0)
    }

    /// Sets whether this GPU reaches the memory of another one; whether it can.
    pub(crate) fn reach(&self, other: &Self, wanted: Reach) -> Done<bool> {
        let driver = self.gpu.driver();
        let (own, others) = (driver.device(self.ordinal)?, driver.device(other.ordinal)?);
        let mut can = 0;
        // SAFETY: writes one number.
        let code = unsafe { (self.calls.can_reach)(&raw mut can, own, others) };
        self.check(code, "cuDeviceCanAccessPeer")?;
        if can == 0 {
            return Ok(false);
        }
        self.gpu.inside(|| {
            let context = other.gpu.context();
            let (code, call) = match wanted {
                // SAFETY: a context that is never destroyed.
                Reach::Direct => unsafe {
                    (
                        (self.calls.enable_peer)(context, 0),
                        "cuCtxEnablePeerAccess",
                    )
                },
                // SAFETY: as above; nothing of the other GPU is in use.
                Reach::Staged => unsafe {
                    ((self.calls.disable_peer)(context), "cuCtxDisablePeerAccess")
                },
            };
            match code {
                ENABLED_ALREADY | NOT_ENABLED => Ok(true),
                _ => self.check(code, call).map(|()| true),
            }
        })
    }
}

impl Stream<'_> {
    /// Its GPU.
    pub(crate) const fn unit(&self) -> &Unit {
        self.unit
    }

    /// Waits until it has done what it was given.
    pub(crate) fn synchronize(&self) -> Done {
        // SAFETY: a stream that lives.
        let code = unsafe { (self.unit.calls.synchronize)(self.handle) };
        self.unit.check(code, "cuStreamSynchronize")
    }

    /// Goes on when an event has fired.
    pub(super) fn wait_for(&self, event: &Event<'_>) -> Done {
        // SAFETY: a stream and an event that live.
        let code = unsafe { (self.unit.calls.wait_for)(self.handle, event.handle, 0) };
        self.unit.check(code, "cuStreamWaitEvent")
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // Streams that stay cost only memory of the driver.
        drop(self.unit.gpu.inside(|| {
            // SAFETY: a stream that nobody else has.
            let code = unsafe { (self.unit.calls.destroy_stream)(self.handle) };
            self.unit.check(code, "cuStreamDestroy")
        }));
    }
}

impl Event<'_> {
    /// Fires when a stream has come so far.
    pub(super) fn record(&self, stream: &Stream<'_>) -> Done {
        // SAFETY: an event and a stream of the same GPU that live.
        let code = unsafe { (self.unit.calls.record)(self.handle, stream.handle) };
        self.unit.check(code, "cuEventRecord")
    }

    /// Whether it has fired.
    pub(super) fn has_fired(&self) -> Done<bool> {
        // SAFETY: an event that lives.
        match unsafe { (self.unit.calls.query)(self.handle) } {
            NOT_READY => Ok(false),
            code => self.unit.check(code, "cuEventQuery").map(|()| true),
        }
    }

    /// Waits until it has fired.
    pub(super) fn wait(&self) -> Done {
        // SAFETY: an event that lives.
        let code = unsafe { (self.unit.calls.wait)(self.handle) };
        self.unit.check(code, "cuEventSynchronize")
    }

    /// Nanoseconds from this event to a later one; both have fired.
    pub(super) fn ns_until(&self, later: &Self) -> Done<f64> {
        let mut milliseconds = 0.0f32;
        // SAFETY: writes one number; two events that live.
        let code =
            unsafe { (self.unit.calls.elapsed)(&raw mut milliseconds, self.handle, later.handle) };
        self.unit.check(code, "cuEventElapsedTime")?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        drop(self.unit.gpu.inside(|| {
            // SAFETY: an event that nobody else has.
            let code = unsafe { (self.unit.calls.destroy_event)(self.handle) };
            self.unit.check(code, "cuEventDestroy")
        }));
    }
}
