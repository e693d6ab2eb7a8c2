// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that the processor must not touch.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use crate::sync::AtomicU64;

type PointerAttribute = unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int;

/// CU_POINTER_ATTRIBUTE_MEMORY_TYPE and CU_POINTER_ATTRIBUTE_IS_MANAGED.
const MEMORY_TYPE: c_int = 2;
const IS_MANAGED: c_int = 8;
/// CU_MEMORYTYPE_DEVICE.
const DEVICE: u32 = 2;

/// How many objects the process has loaded so far.
fn loaded() -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: usize,
        loaded: *mut c_void,
    ) -> c_int {
        // SAFETY: the linker's record, and the place that is passed below.
        unsafe { *loaded.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut loaded = 0u64;
    // SAFETY: a function with the prototype of a callback, and a place of this function.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut loaded).cast()) };
    loaded
}

/// The driver's function, if the program has loaded CUDA.
fn pointer_attribute() -> Option<PointerAttribute> {
    static FOUND: OnceLock<PointerAttribute> = OnceLock::new();
    static LOOKED: AtomicU64 = AtomicU64::new(0);
    if let Some(found) = FOUND.get() {
        return Some(*found);
    }
    let loaded = loaded();
    // Only a number; the linker's lock orders what it counts.
    if LOOKED.swap(loaded, Relaxed) == loaded {
        return None;
    }
    // SAFETY: names a library that is loaded, or nothing; an open handle and a text.
    let address = unsafe {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        let handle = libc::dlopen(c"libcuda.so.1".as_ptr(), flags);
        match handle.is_null() {
            true => handle,
            false => libc::dlsym(handle, c"cuPointerGetAttribute".as_ptr()),
        }
    };
    if address.is_null() {
        return None;
    }
    // SAFETY: the prototype of that function.
    let found = unsafe { std::mem::transmute::<*mut c_void, PointerAttribute>(address) };
    Some(*FOUND.get_or_init(|| found))
}

/// Whether an address is in the memory of a GPU.
pub(super) fn is_device(address: *const u8) -> bool {
    let Some(attribute) = pointer_attribute() else {
        return false;
    };
    let value = |which| {
        let mut value = 0u32;
        // SAFETY: an attribute of at most 4 bytes. For an address that the driver does not know it reports an error.
        let code = unsafe { attribute((&raw mut value).cast(), which, address.addr() as u64) };
        if code == 0 { value } else { 0 }
    };
    value(MEMORY_TYPE) == DEVICE && value(IS_MANAGED) == 0
}
