// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the driver. There is one device; work is done when a call returns, whatever the stream.
//!
//! # Safety
//! Each function is for programs that call it as the driver's documentation says: pointers to results are writable, texts end
//! with a zero, and host memory is as long as they say.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::memory::DeviceMemory;
use crate::parse::Module;

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 1;
const OUT_OF_MEMORY: c_int = 2;
const NOT_INITIALIZED: c_int = 3;
const INVALID_DEVICE: c_int = 101;
const INVALID_CONTEXT: c_int = 201;
const INVALID_PTX: c_int = 218;
const NOT_FOUND: c_int = 500;
const ILLEGAL_ADDRESS: c_int = 700;

/// The primary context of the only device.
const PRIMARY: usize = 0xc0de;

#[derive(Debug, Default)]
struct State {
    is_ready: bool,
    memory: DeviceMemory,
    modules: Vec<Module>,
    /// Module and name of each function that was asked for.
    functions: Vec<(usize, String)>,
    /// The last error.
    trouble: CString,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Runs `action` on the state once the driver is initialised; its error is the answer, and what the driver says of it.
fn answer(action: impl FnOnce(&mut State) -> Result<(), (c_int, String)>) -> c_int {
    let mut guard: MutexGuard<'_, Option<State>> =
        STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = guard.get_or_insert_default();
    let result = if state.is_ready {
        action(state)
    } else {
        Err((NOT_INITIALIZED, "cuInit was not called".to_owned()))
    };
    match result {
        Ok(()) => SUCCESS,
        Err((code, text)) => {
            state.trouble = CString::new(text).unwrap_or_default();
            code
        }
    }
}

/// As [`answer`], for what needs a current context.
fn inside(action: impl FnOnce(&mut State) -> Result<(), (c_int, String)>) -> c_int {
    let current = CONTEXTS.with_borrow(|contexts| contexts.last().copied());
    answer(|state| match current {
        Some(PRIMARY) => action(state),
        _ => Err((INVALID_CONTEXT, "no context is current".to_owned())),
    })
}

/// Writes a result.
///
/// # Safety
/// `to` is writable.
unsafe fn give<T>(to: *mut T, value: T) -> Result<(), (c_int, String)> {
    // SAFETY: the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

macro_rules! driver {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            /// As the driver's documentation says (the head of this file).
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int $body
        )*
    };
}

driver! {
    /// Makes the driver ready.
    fn cuInit(_flags: c_uint) {
        STATE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().is_ready = true;
        SUCCESS
    }

    /// 12.9, as if it mattered.
    fn cuDriverGetVersion(version: *mut c_int) {
        // SAFETY: the caller's.
        answer(|_| unsafe { give(version, 12090) })
    }

    /// One device.
    fn cuDeviceGetCount(count: *mut c_int) {
        // SAFETY: the caller's.
        answer(|_| unsafe { give(count, 1) })
    }

    /// The only device.
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        answer(|_| match ordinal {
            // SAFETY: the caller's.
            0 => unsafe { give(device, 0) },
            _ => Err((INVALID_DEVICE, format!("there is no device {ordinal}"))),
        })
    }

    /// Its name.
    fn cuDeviceGetName(name: *mut c_char, length: c_int, _device: c_int) {
        let text = c"double of a GPU".to_bytes_with_nul();
        answer(|_| if length as usize >= text.len() {
            // SAFETY: the caller's, and it is long enough.
            unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), name, text.len()) };
            Ok(())
        } else {
            Err((INVALID_VALUE, "no room for the name".to_owned()))
        })
    }

    /// The primary context.
    fn cuDevicePrimaryCtxRetain(context: *mut usize, _device: c_int) {
        // SAFETY: the caller's.
        answer(|_| unsafe { give(context, PRIMARY) })
    }

    /// The thread's current context, 0 without one.
    fn cuCtxGetCurrent(context: *mut usize) {
        let current = CONTEXTS.with_borrow(|contexts| contexts.last().copied());
        // SAFETY: the caller's.
        answer(|_| unsafe { give(context, current.unwrap_or(0)) })
    }

    /// Replaces the thread's current context.
    fn cuCtxSetCurrent(context: usize) {
        CONTEXTS.with_borrow_mut(|contexts| {
            contexts.pop();
            contexts.push(context);
        });
        SUCCESS
    }

    /// Makes a context current until it is popped.
    fn cuCtxPushCurrent_v2(context: usize) {
        CONTEXTS.with_borrow_mut(|contexts| contexts.push(context));
        SUCCESS
    }

    /// The one before is current again.
    fn cuCtxPopCurrent_v2(context: *mut usize) {
        let popped = CONTEXTS.with_borrow_mut(Vec::pop);
        answer(|_| match popped {
            // SAFETY: the caller's.
            Some(popped) => unsafe { give(context, popped) },
            None => Err((INVALID_CONTEXT, "no context to pop".to_owned())),
        })
    }

    /// Parses PTX. What is wrong with it is written where the options say.
    fn cuModuleLoadDataEx(module: *mut usize, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void) {
        // SAFETY: the caller's text, options and values.
        let (text, log) = unsafe { (CStr::from_ptr(image.cast()), log_of(count, options, values)) };
        inside(|state| match Module::parse(&text.to_string_lossy()) {
            Ok(parsed) => {
                state.modules.push(parsed);
                // SAFETY: the caller's.
                unsafe { give(module, state.modules.len()) }
            }
            Err(reason) => {
                if let Some((to, room)) = log {
                    let bytes = reason.len().min(room.saturating_sub(1));
                    // SAFETY: the caller's log has room.
                    unsafe {
                        ptr::copy_nonoverlapping(reason.as_ptr(), to, bytes);
                        to.add(bytes).write(0);
                    }
                }
                Err((INVALID_PTX, reason))
            }
        })
    }

    /// A kernel of a module.
    fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) {
        // SAFETY: the caller's text.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        inside(|state| {
            let known = module.checked_sub(1).and_then(|index| state.modules.get(index));
            if known.and_then(|module| module.kernel(&name)).is_none() {
                return Err((NOT_FOUND, format!("no kernel {name}")));
            }
            state.functions.push((module - 1, name));
            // SAFETY: the caller's.
            unsafe { give(function, state.functions.len()) }
        })
    }

    /// Runs a kernel.
    fn cuLaunchKernel(function: usize, blocks: c_uint, blocks_y: c_uint, blocks_z: c_uint, threads: c_uint, threads_y: c_uint, threads_z: c_uint, _shared: c_uint, _stream: usize, params: *mut *mut c_void, _extra: *mut *mut c_void) {
        inside(|state| {
            let State { memory, modules, functions, .. } = state;
            let kernel = function.checked_sub(1).and_then(|index| functions.get(index));
            let Some(kernel) = kernel.and_then(|(module, name)| modules[*module].kernel(name)) else {
                return Err((INVALID_VALUE, "no such function".to_owned()));
            };
            let is_line = [blocks_y, blocks_z, threads_y, threads_z] == [1; 4];
            if !is_line || blocks == 0 || !(1..=1024).contains(&threads) {
                return Err((INVALID_VALUE, "a grid that is not launched".to_owned()));
            }
            // SAFETY: the caller's parameter is as long as the kernel declares.
            let bytes = unsafe { std::slice::from_raw_parts((*params).cast::<u8>(), kernel.param_bytes) };
            kernel.run(blocks, threads, bytes, memory).map_err(|error| (ILLEGAL_ADDRESS, error))
        })
    }

    /// The driver's information about an address.
    fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: u64) {
        answer(|state| {
            if !state.memory.owns(address) {
                return Err((INVALID_VALUE, format!("{address:#x} is not known")));
            }
            // SAFETY: the caller's; each attribute in its own type.
            unsafe {
                match attribute {
                    1 => give(value.cast(), PRIMARY),
                    2 => give(value.cast(), 2u32),
                    8 => give(value.cast(), false),
                    9 => give(value.cast(), 0 as c_int),
                    _ => Err((INVALID_VALUE, format!("attribute {attribute}"))),
                }
            }
        })
    }

    /// Memory of the device.
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        inside(|state| {
            let memory = state.memory.allocate(bytes).map_err(|text| (OUT_OF_MEMORY, text))?;
            // SAFETY: the caller's.
            unsafe { give(address, memory) }
        })
    }

    /// Gives it back.
    fn cuMemFree_v2(address: u64) {
        inside(|state| if state.memory.free(address) {
            Ok(())
        } else {
            Err((INVALID_VALUE, format!("{address:#x} is not allocated")))
        })
    }

    /// From the host to the device.
    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) {
        inside(|state| {
            let to = state.memory.reach(to, bytes).map_err(|text| (INVALID_VALUE, text))?;
            // SAFETY: the caller's memory, and as much of one allocation.
            unsafe { ptr::copy_nonoverlapping(from.cast(), to, bytes) };
            Ok(())
        })
    }

    /// From the device to the host.
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) {
        inside(|state| {
            let from = state.memory.reach(from, bytes).map_err(|text| (INVALID_VALUE, text))?;
            // SAFETY: the caller's memory, and as much of one allocation.
            unsafe { ptr::copy_nonoverlapping(from, to.cast(), bytes) };
            Ok(())
        })
    }

    /// Everything is done already.
    fn cuStreamSynchronize(_stream: usize) {
        inside(|_| Ok(()))
    }

    /// A name for an answer.
    fn cuGetErrorName(code: c_int, text: *mut *const c_char) {
        let name = match code {
            SUCCESS => c"CUDA_SUCCESS",
            INVALID_VALUE => c"CUDA_ERROR_INVALID_VALUE",
            OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
            NOT_INITIALIZED => c"CUDA_ERROR_NOT_INITIALIZED",
            INVALID_DEVICE => c"CUDA_ERROR_INVALID_DEVICE",
            INVALID_CONTEXT => c"CUDA_ERROR_INVALID_CONTEXT",
            INVALID_PTX => c"CUDA_ERROR_INVALID_PTX",
            NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
            ILLEGAL_ADDRESS => c"CUDA_ERROR_ILLEGAL_ADDRESS",
            _ => return INVALID_VALUE,
        };
        // SAFETY: the caller's.
        unsafe { text.write(name.as_ptr()) };
        SUCCESS
    }

    /// The last error, in more words than a driver has.
    fn cuGetErrorString(_code: c_int, text: *mut *const c_char) {
        let guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = guard.as_ref().map(|state| state.trouble.clone()).unwrap_or_default();
        // SAFETY: the caller's. It is never freed: the program may keep it, as it may keep a driver's.
        unsafe { text.write(trouble.into_raw()) };
        SUCCESS
    }
}

/// Where errors of the compiler go, by its options 5 and 6.
///
/// # Safety
/// `count` options and values.
unsafe fn log_of(
    count: c_uint,
    options: *const c_int,
    values: *const *mut c_void,
) -> Option<(*mut u8, usize)> {
    let (mut to, mut room) = (None, None);
    for index in 0..count as usize {
        // SAFETY: the caller's promise.
        let (option, value) = unsafe { (*options.add(index), *values.add(index)) };
        match option {
            5 => to = Some(value.cast()),
            6 => room = Some(value.addr()),
            _ => {}
        }
    }
    to.zip(room)
}
