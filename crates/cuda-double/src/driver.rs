// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the driver: devices, contexts, modules, launches, memory of the device. Work is done when a call returns, whatever
//! the stream; when it would have ended on a device is a matter of [`crate::timeline`].
//!
//! # Safety
//! Each function is for programs that call it as the driver's documentation says: pointers to results are writable, texts end
//! with a zero, and host memory is as long as they say.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::memory::{DeviceMemory, Owner};
use crate::parse::Module;
use crate::timeline::{Launch, Timeline};

const SUCCESS: c_int = 0;
pub(crate) const INVALID_VALUE: c_int = 1;
pub(crate) const OUT_OF_MEMORY: c_int = 2;
const NOT_INITIALIZED: c_int = 3;
pub(crate) const INVALID_DEVICE: c_int = 101;
const INVALID_CONTEXT: c_int = 201;
const INVALID_PTX: c_int = 218;
const NOT_FOUND: c_int = 500;
pub(crate) const NOT_READY: c_int = 600;
const ILLEGAL_ADDRESS: c_int = 700;

/// The primary context of the first device; those of others follow it.
const PRIMARY: usize = 0xc0de;

/// An answer, and what the driver says of it.
pub(crate) type Answer = Result<(), (c_int, String)>;

#[derive(Debug, Default)]
pub(crate) struct State {
    is_ready: bool,
    /// Devices besides the first.
    more_devices: usize,
    pub(crate) memory: DeviceMemory,
    pub(crate) timeline: Timeline,
    modules: Vec<Module>,
    /// Module and name of each function that was asked for.
    functions: Vec<(usize, String)>,
    /// The last error.
    trouble: CString,
    /// The answer of all calls, once a kernel has failed for good.
    failure: Option<c_int>,
    /// Bytes that work under way stores at addresses when the host waits for the context.
    late: Vec<(u64, u8)>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Runs `action` on the state once the driver is initialised; its error is the answer, and what the driver says of it.
pub(crate) fn answer(action: impl FnOnce(&mut State) -> Answer) -> c_int {
    let mut guard: MutexGuard<'_, Option<State>> =
        STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = guard.get_or_insert_default();
    let result = match state.failure {
        Some(code) => Err((code, "an earlier kernel has failed".to_owned())),
        None if state.is_ready => action(state),
        None => Err((NOT_INITIALIZED, "cuInit was not called".to_owned())),
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
pub(crate) fn inside(action: impl FnOnce(&mut State) -> Answer) -> c_int {
    let current = CONTEXTS.with_borrow(|contexts| contexts.last().copied());
    answer(|state| {
        let is_context =
            |&context: &usize| (PRIMARY..=PRIMARY + state.more_devices).contains(&context);
        if !current.as_ref().is_some_and(is_context) {
            return Err((INVALID_CONTEXT, "no context is current".to_owned()));
        }
        state.timeline.call();
        action(state)
    })
}

impl State {
    /// How many devices there are.
    pub(crate) const fn devices(&self) -> usize {
        self.more_devices + 1
    }

    /// Ends the work that is under way.
    pub(crate) fn finish(&mut self) -> Answer {
        for (address, byte) in std::mem::take(&mut self.late) {
            let place = self
                .memory
                .reach(address, 1)
                .map_err(|text| (ILLEGAL_ADDRESS, text))?;
            // SAFETY: a byte of an allocation.
            unsafe { place.cast::<u8>().write(byte) };
        }
        Ok(())
    }

    /// Runs a kernel at its time in a stream.
    pub(crate) fn run(&mut self, launch: &Launch, stream: usize) -> Answer {
        let known = self.functions.get(launch.function);
        let kernel = known.and_then(|(module, name)| self.modules[*module].kernel(name));
        let Some(kernel) = kernel else {
            return Err((INVALID_VALUE, "no such function".to_owned()));
        };
        let before = self.memory.cycles;
        let ran = kernel.run(
            launch.blocks,
            launch.threads,
            &launch.parameter,
            &mut self.memory,
        );
        ran.map_err(|error| (ILLEGAL_ADDRESS, error))?;
        self.timeline.kernel(stream, self.memory.cycles - before);
        Ok(())
    }
}

/// Gives the double more devices than one, or fewer again. They all have the same memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuda_double_devices(count: usize) {
    let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_default().more_devices = count.saturating_sub(1);
}

/// From now on all calls have this answer.
#[unsafe(no_mangle)]
pub extern "C" fn cuda_double_fail(code: c_int) {
    let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_default().failure = Some(code);
}

/// Work under way stores a byte at an address of the device when the host waits for the context.
#[unsafe(no_mangle)]
pub extern "C" fn cuda_double_store_late(address: u64, byte: u8) {
    let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_default().late.push((address, byte));
}

/// Writes a result.
///
/// # Safety
/// `to` is writable.
pub(crate) unsafe fn give<T>(to: *mut T, value: T) -> Answer {
    // SAFETY: the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

/// How often each function was called.
static CALLS: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());

/// Counts a call.
pub(crate) fn called(name: &'static str) {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    *calls.entry(name).or_default() += 1;
}

/// How often a function of the driver was called; with a null name, how often all of them were.
///
/// # Safety
/// The name ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuda_double_calls(name: *const c_char) -> usize {
    let calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    if name.is_null() {
        return calls.values().sum();
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    let number = name.to_str().ok().and_then(|name| calls.get(name));
    number.copied().unwrap_or(0)
}

macro_rules! driver {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            /// As the driver's documentation says (the head of this file).
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
                $crate::driver::called(stringify!($name));
                $body
            }
        )*
    };
}
pub(crate) use driver;

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

    /// How many devices there are.
    fn cuDeviceGetCount(count: *mut c_int) {
        // SAFETY: the caller's.
        answer(|state| unsafe { give(count, state.devices() as c_int) })
    }

    /// A device.
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        answer(|state| if (0..state.devices() as c_int).contains(&ordinal) {
            // SAFETY: the caller's.
            unsafe { give(device, ordinal) }
        } else {
            Err((INVALID_DEVICE, format!("there is no device {ordinal}")))
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
    fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) {
        // SAFETY: the caller's.
        answer(|_| unsafe { give(context, PRIMARY + device as usize) })
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

    /// Runs a kernel, or keeps it where the stream is captured.
    fn cuLaunchKernel(function: usize, blocks: c_uint, blocks_y: c_uint, blocks_z: c_uint, threads: c_uint, threads_y: c_uint, threads_z: c_uint, _shared: c_uint, stream: usize, params: *mut *mut c_void, _extra: *mut *mut c_void) {
        inside(|state| {
            let function = function.wrapping_sub(1);
            let known = state.functions.get(function);
            let kernel = known.and_then(|(module, name)| state.modules[*module].kernel(name));
            let Some(kernel) = kernel else {
                return Err((INVALID_VALUE, "no such function".to_owned()));
            };
            let is_line = [blocks_y, blocks_z, threads_y, threads_z] == [1; 4];
            if !is_line || blocks == 0 || !(1..=1024).contains(&threads) {
                return Err((INVALID_VALUE, "a grid that is not launched".to_owned()));
            }
            let parameter = match kernel.param_bytes {
                0 => &[][..],
                // SAFETY: the caller's parameter is as long as the kernel declares.
                bytes => unsafe { std::slice::from_raw_parts((*params).cast::<u8>(), bytes) },
            };
            let launch = Launch { function, blocks, threads, parameter: parameter.to_vec() };
            match state.timeline.captured(stream) {
                Some(kept) => {
                    kept.push(launch);
                    Ok(())
                }
                None => state.run(&launch, stream),
            }
        })
    }

    /// The driver's information about an address; zeros for one that it does not know.
    fn cuPointerGetAttributes(count: c_uint, attributes: *mut c_int, values: *mut *mut c_void, address: u64) {
        answer(|state| (0..count as usize).try_for_each(|index| {
            // SAFETY: the caller's arrays have as many entries.
            let (attribute, value) = unsafe { (*attributes.add(index), *values.add(index)) };
            let found = state.memory.allocation(address);
            let owner = found.map(|(_, _, owner)| owner);
            // SAFETY: the caller's; each attribute in its own type.
            unsafe {
                match attribute {
                    1 => give(value.cast(), owner.map_or(0, |_| PRIMARY)),
                    2 => give(value.cast(), owner.map_or(0, |owner| if owner == Owner::Host { 1u32 } else { 2 })),
                    8 => give(value.cast(), owner == Some(Owner::Managed)),
                    9 => give(value.cast(), 0 as c_int),
                    11 => give(value.cast(), found.map_or(0, |(start, _, _)| start)),
                    12 => give(value.cast(), found.map_or(0, |(_, bytes, _)| bytes)),
                    _ => Err((INVALID_VALUE, format!("attribute {attribute}"))),
                }
            }
        }))
    }

    /// Memory of the device.
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        inside(|state| {
            let memory = state.memory.allocate(bytes, Owner::Device).map_err(|text| (OUT_OF_MEMORY, text))?;
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
            state.timeline.copy(0, bytes);
            Ok(())
        })
    }

    /// From the device to the host.
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) {
        inside(|state| {
            let from = state.memory.reach(from, bytes).map_err(|text| (INVALID_VALUE, text))?;
            // SAFETY: the caller's memory, and as much of one allocation.
            unsafe { ptr::copy_nonoverlapping(from, to.cast(), bytes) };
            state.timeline.copy(0, bytes);
            Ok(())
        })
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
            NOT_READY => c"CUDA_ERROR_NOT_READY",
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
