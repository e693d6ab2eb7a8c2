// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies by the driver, and graphs of kernels.

use layout_cuda::Handle;

use super::calls::{Box2, Box3, Done};
use super::unit::{Stream, Unit};

/// Captures the calls of this thread only (`CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`).
const THREAD_LOCAL: i32 = 1;

impl Unit {
    /// Copies from the host; done when this returns.
    ///
    /// # Safety
    /// So many bytes are readable and memory of this GPU.
    pub(crate) unsafe fn copy_in(&self, to: u64, from: *const u8, bytes: usize) -> Done {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.calls.copy_in)(to, from.cast(), bytes) };
        self.check(code, "cuMemcpyHtoD")
    }

    /// Copies to the host; done when this returns.
    ///
    /// # Safety
    /// So many bytes are memory of this GPU and writable.
    pub(crate) unsafe fn copy_out(&self, to: *mut u8, from: u64, bytes: usize) -> Done {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.calls.copy_out)(to.cast(), from, bytes) };
        self.check(code, "cuMemcpyDtoH")
    }

    /// Copies from the host, in a stream.
    ///
    /// # Safety
    /// As for [`Self::copy_in`], until the stream has come so far.
    pub(crate) unsafe fn copy_in_later(
        &self,
        to: u64,
        from: *const u8,
        bytes: usize,
        stream: Handle,
    ) -> Done {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.calls.copy_in_later)(to, from.cast(), bytes, stream) };
        self.check(code, "cuMemcpyHtoDAsync")
    }

    /// Copies to the host, in a stream.
    ///
    /// # Safety
    /// As for [`Self::copy_out`], until the stream has come so far.
    pub(crate) unsafe fn copy_out_later(
        &self,
        to: *mut u8,
        from: u64,
        bytes: usize,
        stream: Handle,
    ) -> Done {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.calls.copy_out_later)(to.cast(), from, bytes, stream) };
        self.check(code, "cuMemcpyDtoHAsync")
    }

    /// Copies from memory of another GPU (or of this one) into memory of this one, in a stream.
    ///
    /// # Safety
    /// So many bytes are memory of these GPUs until the stream has come so far.
    pub(crate) unsafe fn copy_peer(
        &self,
        to: u64,
        (other, from): (&Self, u64),
        bytes: usize,
        stream: Handle,
    ) -> Done {
        let (own, others) = (self.gpu.context(), other.gpu.context());
        // SAFETY: the caller's promise.
        let code = unsafe { (self.calls.copy_peer)(to, own, from, others, bytes, stream) };
        self.check(code, "cuMemcpyPeerAsync")
    }

    /// Copies rows, in a stream.
    ///
    /// # Safety
    /// Both sides have all rows, of which the source is readable and the target writable, until the stream has come so far.
    pub(crate) unsafe fn copy_rows(&self, copy: &Box2, stream: Handle) -> Done {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.calls.copy_rows)(copy, stream) };
        self.check(code, "cuMemcpy2DAsync")
    }

    /// Copies planes, in a stream.
    ///
    /// # Safety
    /// As for [`Self::copy_rows`].
    pub(crate) unsafe fn copy_planes(&self, copy: &Box3, stream: Handle) -> Done {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.calls.copy_planes)(copy, stream) };
        self.check(code, "cuMemcpy3DAsync")
    }

    /// Copies planes between the contexts of two GPUs, in a stream.
    ///
    /// # Safety
    /// As for [`Self::copy_rows`].
    pub(crate) unsafe fn copy_planes_peer(&self, copy: &Box3, stream: Handle) -> Done {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.calls.copy_planes_peer)(copy, stream) };
        self.check(code, "cuMemcpy3DPeerAsync")
    }

    /// Allocates memory of this GPU and frees it.
    pub(crate) fn allocate_and_free(&self, bytes: usize) -> Done {
        let mut address = 0;
        // SAFETY: writes one address.
        let code = unsafe { (self.calls.allocate)(&raw mut address, bytes) };
        self.check(code, "cuMemAlloc")?;
        // SAFETY: the memory of the line above.
        let code = unsafe { (self.calls.free)(address) };
        self.check(code, "cuMemFree")
    }
}

/// Calls that were captured.
pub(crate) struct Graph<'u> {
    unit: &'u Unit,
    handle: Handle,
}

/// A graph that can be launched.
pub(crate) struct Executable<'u> {
    unit: &'u Unit,
    handle: Handle,
}

impl<'u> Graph<'u> {
    /// Captures what `calls` gives a stream.
    pub(crate) fn capture(
        stream: &'u Stream<'u>,
        calls: impl FnOnce(&Stream<'_>) -> Done,
    ) -> Done<Self> {
        let unit = stream.unit();
        // SAFETY: a stream that lives.
        let code = unsafe { (unit.calls.begin_capture)(stream.handle, THREAD_LOCAL) };
        unit.check(code, "cuStreamBeginCapture")?;
        let called = calls(stream);
        let mut handle = Handle::default();
        // SAFETY: a stream that is captured; writes one handle.
        let code = unsafe { (unit.calls.end_capture)(stream.handle, &raw mut handle) };
        called?;
        unit.check(code, "cuStreamEndCapture")?;
        Ok(Self { unit, handle })
    }

    /// Makes it one that can be launched.
    pub(crate) fn instantiate(&self) -> Done<Executable<'u>> {
        let mut handle = Handle::default();
        // SAFETY: a graph that lives; writes one handle.
        let code = unsafe { (self.unit.calls.instantiate)(&raw mut handle, self.handle, 0) };
        self.unit.check(code, "cuGraphInstantiateWithFlags")?;
        Ok(Executable {
            unit: self.unit,
            handle,
        })
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        // SAFETY: a graph that nobody else has. One that stays costs only memory.
        let _ = unsafe { (self.unit.calls.destroy_graph)(self.handle) };
    }
}

impl Executable<'_> {
    /// Runs the calls again.
    pub(crate) fn launch(&self, stream: &Stream<'_>) -> Done {
        // SAFETY: a graph and a stream that live.
        let code = unsafe { (self.unit.calls.launch_graph)(self.handle, stream.handle) };
        self.unit.check(code, "cuGraphLaunch")
    }
}

impl Drop for Executable<'_> {
    fn drop(&mut self) {
        // SAFETY: a graph that nobody else has.
        let _ = unsafe { (self.unit.calls.destroy_executable)(self.handle) };
    }
}
