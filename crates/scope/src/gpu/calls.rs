// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's functions that only measurements need; programs that pack do without them.
//!
//! # Safety
//! Types and structures are those of the driver's documentation. The driver's library is never closed.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use layout_cuda::{CudaError, Driver, Handle};

/// What a call of the driver gives.
pub(crate) type Done<T = ()> = Result<T, CudaError>;

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions.
        #[derive(Debug)]
        pub(super) struct Calls {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Calls {
            /// Looks all of them up.
            ///
            /// # Errors
            /// When the driver lacks one.
            pub(super) fn find(driver: &Driver) -> Done<Self> {
                $(
                    let address = driver.find($symbol)?;
                    // SAFETY: the types are those of the driver's documentation (the head of this file).
                    let $field = unsafe {
                        std::mem::transmute::<*const c_void, unsafe extern "C" fn($($argument),*) -> c_int>(address)
                    };
                )*
                Ok(Self { $($field),* })
            }
        }
    };
}

functions! {
    attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    memory_left = "cuMemGetInfo_v2"(*mut usize, *mut usize);
    can_reach = "cuDeviceCanAccessPeer"(*mut c_int, c_int, c_int);
    enable_peer = "cuCtxEnablePeerAccess"(Handle, c_uint);
    disable_peer = "cuCtxDisablePeerAccess"(Handle);
    set_current = "cuCtxSetCurrent"(Handle);
    synchronize_all = "cuCtxSynchronize"();
    create_stream = "cuStreamCreate"(*mut Handle, c_uint);
    destroy_stream = "cuStreamDestroy_v2"(Handle);
    synchronize = "cuStreamSynchronize"(Handle);
    wait_for = "cuStreamWaitEvent"(Handle, Handle, c_uint);
    create_event = "cuEventCreate"(*mut Handle, c_uint);
    destroy_event = "cuEventDestroy_v2"(Handle);
    record = "cuEventRecord"(Handle, Handle);
    query = "cuEventQuery"(Handle);
    wait = "cuEventSynchronize"(Handle);
    elapsed = "cuEventElapsedTime"(*mut f32, Handle, Handle);
    allocate_pinned = "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
    free_pinned = "cuMemFreeHost"(*mut c_void);
    device_pointer = "cuMemHostGetDevicePointer_v2"(*mut u64, *mut c_void, c_uint);
    allocate_managed = "cuMemAllocManaged"(*mut u64, usize, c_uint);
    allocate = "cuMemAlloc_v2"(*mut u64, usize);
    free = "cuMemFree_v2"(u64);
    prefetch = "cuMemPrefetchAsync"(u64, usize, c_int, Handle);
    copy_in = "cuMemcpyHtoD_v2"(u64, *const c_void, usize);
    copy_out = "cuMemcpyDtoH_v2"(*mut c_void, u64, usize);
    copy_in_later = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, Handle);
    copy_out_later = "cuMemcpyDtoHAsync_v2"(*mut c_void, u64, usize, Handle);
    copy_peer = "cuMemcpyPeerAsync"(u64, Handle, u64, Handle, usize, Handle);
    copy_rows = "cuMemcpy2DAsync_v2"(*const Box2, Handle);
    copy_planes = "cuMemcpy3DAsync_v2"(*const Box3, Handle);
    copy_planes_peer = "cuMemcpy3DPeerAsync"(*const Box3, Handle);
    begin_capture = "cuStreamBeginCapture_v2"(Handle, c_int);
    end_capture = "cuStreamEndCapture"(Handle, *mut Handle);
    instantiate = "cuGraphInstantiateWithFlags"(*mut Handle, Handle, c_ulonglong);
    launch_graph = "cuGraphLaunch"(Handle, Handle);
    destroy_executable = "cuGraphExecDestroy"(Handle);
    destroy_graph = "cuGraphDestroy"(Handle);
}

/// Kinds of memory (`CUmemorytype`).
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;

/// One side of a copy of rows (`CUDA_MEMCPY2D`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side2 {
    x_bytes: usize,
    y: usize,
    kind: c_uint,
    host: *mut c_void,
    device: u64,
    array: usize,
    pitch: usize,
}

/// A copy of rows (`CUDA_MEMCPY2D`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Box2 {
    pub(crate) from: Side2,
    pub(crate) to: Side2,
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
}

/// One side of a copy of planes (`CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER`, which has a context where the other is reserved).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side3 {
    x_bytes: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_uint,
    host: *mut c_void,
    device: u64,
    array: usize,
    context: Handle,
    pitch: usize,
    height: usize,
}

/// A copy of planes (`CUDA_MEMCPY3D`, `CUDA_MEMCPY3D_PEER`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Box3 {
    pub(crate) from: Side3,
    pub(crate) to: Side3,
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

const _: () = assert!(size_of::<Box2>() == 128 && size_of::<Box3>() == 200);

impl Side2 {
    /// Memory of the host whose rows are `pitch` bytes apart.
    pub(crate) fn host(start: *mut u8, pitch: usize) -> Self {
        Self {
            host: start.cast(),
            ..Self::new(HOST, 0, pitch)
        }
    }

    /// Memory of a GPU.
    pub(crate) const fn device(address: u64, pitch: usize) -> Self {
        Self::new(DEVICE, address, pitch)
    }

    const fn new(kind: c_uint, device: u64, pitch: usize) -> Self {
        Self {
            x_bytes: 0,
            y: 0,
            kind,
            host: std::ptr::null_mut(),
            device,
            array: 0,
            pitch,
        }
    }
}

impl Side3 {
    /// Memory of the host whose rows are `pitch` bytes apart, `height` of them in a plane.
    pub(crate) fn host(start: *mut u8, pitch: usize, height: usize) -> Self {
        Self {
            host: start.cast(),
            ..Self::new(HOST, 0, Handle::default(), pitch, height)
        }
    }

    /// Memory of a GPU, of a context where the copy is one between contexts.
    pub(crate) const fn device(address: u64, context: Handle, pitch: usize, height: usize) -> Self {
        Self::new(DEVICE, address, context, pitch, height)
    }

    const fn new(kind: c_uint, device: u64, context: Handle, pitch: usize, height: usize) -> Self {
        Self {
            x_bytes: 0,
            y: 0,
            z: 0,
            level: 0,
            kind,
            host: std::ptr::null_mut(),
            device,
            array: 0,
            context,
            pitch,
            height,
        }
    }
}
