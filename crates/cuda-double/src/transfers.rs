// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of all kinds, and copies in streams.
//!
//! # Safety
//! As in [`crate::driver`].

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use crate::driver::{
    Answer, INVALID_DEVICE, INVALID_VALUE, OUT_OF_MEMORY, State, driver, give, inside,
};
use crate::memory::Owner;

/// One side of a copy of rows (`CUDA_MEMCPY2D`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Side2 {
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
pub struct Copy2 {
    from: Side2,
    to: Side2,
    width_bytes: usize,
    height: usize,
}

/// One side of a copy of planes (`CUDA_MEMCPY3D`, `CUDA_MEMCPY3D_PEER`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Side3 {
    x_bytes: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_uint,
    host: *mut c_void,
    device: u64,
    array: usize,
    context: usize,
    pitch: usize,
    height: usize,
}

/// A copy of planes (`CUDA_MEMCPY3D`, `CUDA_MEMCPY3D_PEER`).
#[repr(C)]
pub struct Copy3 {
    from: Side3,
    to: Side3,
    width_bytes: usize,
    height: usize,
    depth: usize,
}

const _: () = assert!(size_of::<Copy2>() == 128 && size_of::<Copy3>() == 200);

/// Where rows begin.
struct Rows {
    start: *mut u8,
    pitch: usize,
    /// Bytes from a plane to the next.
    plane: usize,
}

impl State {
    /// Where the rows of one side begin, with room for all of them.
    fn rows(
        &self,
        side: Side3,
        [width, height, depth]: [usize; 3],
    ) -> Result<Rows, (c_int, String)> {
        let plane = side.pitch * side.height;
        let first = side.z * plane + side.y * side.pitch + side.x_bytes;
        let is_wide = side.pitch < side.x_bytes + width || side.height < side.y + height;
        if is_wide || side.level != 0 || side.array != 0 {
            return Err((
                INVALID_VALUE,
                "a pitch or a height that is too small, or an array".to_owned(),
            ));
        }
        let span = (depth.max(1) - 1) * plane + (height.max(1) - 1) * side.pitch + width;
        let start = match side.kind {
            1 => side.host.cast::<u8>().wrapping_add(first),
            2 => {
                let from = side.device + first as u64;
                self.memory
                    .reach(from, span)
                    .map_err(|text| (INVALID_VALUE, text))?
            }
            kind => return Err((INVALID_VALUE, format!("memory of kind {kind}"))),
        };
        Ok(Rows {
            start,
            pitch: side.pitch,
            plane,
        })
    }

    /// Copies rows of planes.
    ///
    /// # Safety
    /// The sides are as the caller of the driver promises.
    unsafe fn copy_rows(&mut self, copy: &Copy3, stream: usize) -> Answer {
        let extent @ [width, height, depth] = [copy.width_bytes, copy.height, copy.depth];
        let (from, to) = (self.rows(copy.from, extent)?, self.rows(copy.to, extent)?);
        for plane in 0..depth {
            for row in 0..height {
                let start = |side: &Rows| {
                    side.start
                        .wrapping_add(plane * side.plane + row * side.pitch)
                };
                // SAFETY: the caller's memory on the host, and as much of one allocation of the device (`rows`).
                unsafe { ptr::copy(start(&from), start(&to), width) };
            }
        }
        self.timeline.copy(stream, width * height * depth);
        Ok(())
    }
}

fn plane(side: Side2, height: usize) -> Side3 {
    Side3 {
        x_bytes: side.x_bytes,
        y: side.y,
        z: 0,
        level: 0,
        kind: side.kind,
        host: side.host,
        device: side.device,
        array: side.array,
        context: 0,
        pitch: side.pitch,
        height: side.y + height,
    }
}

driver! {
    /// What a device can: each of these things.
    fn cuDeviceGetAttribute(value: *mut c_int, _attribute: c_int, _device: c_int) {
        // SAFETY: the caller's.
        inside(|_| unsafe { give(value, 1) })
    }

    /// A gibibyte, free.
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        // SAFETY: the caller's.
        inside(|_| unsafe { give(free, 1 << 30).and_then(|()| give(total, 1 << 30)) })
    }

    /// Memory of the host that the device reaches.
    fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, _flags: c_uint) {
        inside(|state| {
            let memory = state.memory.allocate(bytes, Owner::Host).map_err(|text| (OUT_OF_MEMORY, text))?;
            // SAFETY: the caller's.
            unsafe { give(address, ptr::with_exposed_provenance_mut(memory as usize)) }
        })
    }

    /// Gives it back.
    fn cuMemFreeHost(address: *mut c_void) {
        inside(|state| if state.memory.free(address.expose_provenance() as u64) {
            Ok(())
        } else {
            Err((INVALID_VALUE, format!("{address:p} is not allocated")))
        })
    }

    /// Where the device reaches memory of the host.
    fn cuMemHostGetDevicePointer_v2(device: *mut u64, host: *mut c_void, _flags: c_uint) {
        let address = host.expose_provenance() as u64;
        inside(|state| match state.memory.owner(address) {
            // SAFETY: the caller's.
            Some(Owner::Host) => unsafe { give(device, address) },
            _ => Err((INVALID_VALUE, format!("{address:#x} is not pinned"))),
        })
    }

    /// Memory that moves to who uses it.
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, _flags: c_uint) {
        inside(|state| {
            let memory = state.memory.allocate(bytes, Owner::Managed).map_err(|text| (OUT_OF_MEMORY, text))?;
            // SAFETY: the caller's.
            unsafe { give(address, memory) }
        })
    }

    /// Moves managed memory.
    fn cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: usize) {
        inside(|state| {
            let is_place = (-1..state.devices() as c_int).contains(&device);
            if !is_place || state.memory.owner(address) != Some(Owner::Managed) {
                return Err((INVALID_DEVICE, format!("{address:#x} is not managed, or there is no device {device}")));
            }
            state.timeline.copy(stream, bytes);
            Ok(())
        })
    }

    /// From the host to the device, in a stream.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: usize) {
        inside(|state| {
            let to = state.memory.reach(to, bytes).map_err(|text| (INVALID_VALUE, text))?;
            // SAFETY: the caller's memory, and as much of one allocation.
            unsafe { ptr::copy_nonoverlapping(from.cast(), to, bytes) };
            state.timeline.copy(stream, bytes);
            Ok(())
        })
    }

    /// From the device to the host, in a stream.
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: usize) {
        inside(|state| {
            let from = state.memory.reach(from, bytes).map_err(|text| (INVALID_VALUE, text))?;
            // SAFETY: the caller's memory, and as much of one allocation.
            unsafe { ptr::copy_nonoverlapping(from, to.cast(), bytes) };
            state.timeline.copy(stream, bytes);
            Ok(())
        })
    }

    /// From one device to another, in a stream.
    fn cuMemcpyPeerAsync(to: u64, _to_context: usize, from: u64, _from_context: usize, bytes: usize, stream: usize) {
        inside(|state| {
            let reach = |address| state.memory.reach(address, bytes).map_err(|text| (INVALID_VALUE, text));
            let (from, to) = (reach(from)?, reach(to)?);
            // SAFETY: as much of two allocations.
            unsafe { ptr::copy(from, to, bytes) };
            state.timeline.copy(stream, bytes);
            Ok(())
        })
    }

    /// Rows, in a stream.
    fn cuMemcpy2DAsync_v2(copy: *const Copy2, stream: usize) {
        inside(|state| {
            // SAFETY: the caller's.
            let copy = unsafe { &*copy };
            let (from, to) = (plane(copy.from, copy.height), plane(copy.to, copy.height));
            let copy = Copy3 { from, to, width_bytes: copy.width_bytes, height: copy.height, depth: 1 };
            // SAFETY: the caller's.
            unsafe { state.copy_rows(&copy, stream) }
        })
    }

    /// Planes, in a stream.
    fn cuMemcpy3DAsync_v2(copy: *const Copy3, stream: usize) {
        // SAFETY: the caller's.
        inside(|state| unsafe { state.copy_rows(&*copy, stream) })
    }

    /// Planes from one device to another, in a stream.
    fn cuMemcpy3DPeerAsync(copy: *const Copy3, stream: usize) {
        inside(|state| {
            // SAFETY: the caller's.
            let copy = unsafe { &*copy };
            if copy.from.context == 0 || copy.to.context == 0 {
                return Err((INVALID_VALUE, "a copy between devices without contexts".to_owned()));
            }
            // SAFETY: the caller's.
            unsafe { state.copy_rows(copy, stream) }
        })
    }

    /// Whether a device reaches the memory of another one.
    fn cuDeviceCanAccessPeer(can: *mut c_int, _device: c_int, _peer: c_int) {
        // SAFETY: the caller's.
        inside(|_| unsafe { give(can, 1) })
    }

    /// The current context reaches the memory of another one.
    fn cuCtxEnablePeerAccess(_peer: usize, _flags: c_uint) {
        inside(|_| Ok(()))
    }

    /// It does not any more.
    fn cuCtxDisablePeerAccess(_peer: usize) {
        inside(|_| Ok(()))
    }
}
