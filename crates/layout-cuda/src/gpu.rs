// SPDX-License-Identifier: MIT OR Apache-2.0
//! A context of the driver with the kernels loaded.
//!
//! # Safety
//! A context is made the thread's current one for the calls that need it, and the one before is restored. Contexts with kernels
//! are kept for the rest of the process. A program must not destroy a context that was used here; no program destroys
//! primary contexts.

use std::cell::Cell;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::driver::{Driver, Handle};
use crate::emit::{KernelName, module_text};
use crate::error::CudaError;
use crate::plan::Launch;

/// A stream of the driver; [`Stream::default`] is the default one.
pub type Stream = Handle;

/// A GPU's context with the kernels loaded.
#[derive(Debug)]
pub struct Gpu {
    pub(super) driver: &'static Driver,
    context: Handle,
    /// In the order of [`KernelName::all`].
    kernels: Vec<Handle>,
}

thread_local! {
    /// The context that this thread has made current by [`Gpu::inside`] and not yet restored; the null handle without one.
    static ENTERED: Cell<Handle> = const { Cell::new(Handle(0)) };
}

/// Contexts with kernels, of all drivers.
static GPUS: Mutex<Vec<&'static Gpu>> = Mutex::new(Vec::new());

impl Gpu {
    /// The GPU whose context is the calling thread's current one; `None` if it has none.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn current(driver: &'static Driver) -> Result<Option<&'static Self>, CudaError> {
        let mut context = Handle::default();
        // SAFETY: writes one handle.
        let code = unsafe { (driver.functions.current)(&raw mut context) };
        driver.check(code, "cuCtxGetCurrent", String::new)?;
        if context == Handle::default() {
            return Ok(None);
        }
        Self::with_context(driver, context).map(Some)
    }

    /// The GPU with this number, in its primary context (the one that the runtime library uses).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn primary(driver: &'static Driver, ordinal: i32) -> Result<&'static Self, CudaError> {
        let device = driver.device(ordinal)?;
        let mut context = Handle::default();
        // SAFETY: writes one handle. It is never released, as it is used until the process ends.
        let code = unsafe { (driver.functions.retain_primary)(&raw mut context, device) };
        driver.check(code, "cuDevicePrimaryCtxRetain", || {
            format!("device {ordinal}")
        })?;
        Self::with_context(driver, context)
    }

    /// The GPU in this context.
    ///
    /// # Errors
    /// The driver's errors, for example if it refuses the kernels.
    pub fn with_context(
        driver: &'static Driver,
        context: Handle,
    ) -> Result<&'static Self, CudaError> {
        let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |gpu: &&&Self| gpu.context == context && ptr::eq(gpu.driver, driver);
        if let Some(gpu) = gpus.iter().find(is_known) {
            return Ok(gpu);
        }
        let mut gpu = Self {
            driver,
            context,
            kernels: Vec::new(),
        };
        gpu.kernels = gpu.inside(|| load_kernels(driver))?;
        let gpu: &'static Self = Box::leak(Box::new(gpu));
        gpus.push(gpu);
        Ok(gpu)
    }

    /// Waits until a stream has done what it was given.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn synchronize(&self, stream: Stream) -> Result<(), CudaError> {
        self.inside(|| {
            // SAFETY: a stream of this context, or the default one.
            let code = unsafe { (self.driver.functions.synchronize)(stream) };
            self.driver.check(code, "cuStreamSynchronize", || {
                format!("stream {:#x}", stream.0)
            })
        })
    }

    /// Waits until all streams of the context have done what they were given.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn synchronize_all(&self) -> Result<(), CudaError> {
        self.inside(|| {
            // SAFETY: takes nothing, and the context is current.
            let code = unsafe { (self.driver.functions.synchronize_context)() };
            self.driver.check(code, "cuCtxSynchronize", || {
                format!("context {:#x}", self.context.0)
            })
        })
    }

    /// The driver that it is of.
    pub const fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// Its context.
    pub const fn context(&self) -> Handle {
        self.context
    }

    /// Loads a module of PTX into the context, where it stays. `what` names it in errors.
    ///
    /// # Errors
    /// The driver's errors, with the messages of its compiler.
    pub fn load_module(&self, text: &str, what: &str) -> Result<Handle, CudaError> {
        self.inside(|| load_module(self.driver, text, what))
    }

    /// A kernel of a module of this context.
    ///
    /// # Errors
    /// The driver's errors, for example if there is none of this name.
    pub fn kernel(&self, module: Handle, name: &str) -> Result<Handle, CudaError> {
        self.inside(|| find_kernel(self.driver, module, name))
    }

    /// Starts one thread of a kernel whose only parameter is an array of bytes; `None` for a kernel without parameters.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `kernel` is one of this context whose parameter is at most as long as `parameter`, and what it does with these values is
    /// sound; `stream` is one of this context.
    pub unsafe fn start(
        &self,
        kernel: Handle,
        parameter: Option<&[u8]>,
        stream: Stream,
    ) -> Result<(), CudaError> {
        let bytes = parameter.map_or(ptr::null(), <[u8]>::as_ptr);
        let mut params: [*mut c_void; 1] = [bytes.cast_mut().cast()];
        let params = match parameter {
            Some(_) => params.as_mut_ptr(),
            None => ptr::null_mut(),
        };
        // SAFETY: the caller's promise; the driver reads the parameter before it returns.
        let code = unsafe {
            let run = self.driver.functions.launch;
            run(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, ptr::null_mut())
        };
        self.driver
            .check(code, "cuLaunchKernel", || "one thread".to_owned())
    }

    /// Runs `action` in the context: it is the calling thread's current one meanwhile. Within such an action it costs nothing.
    ///
    /// # Errors
    /// Those of `action`, and the driver's.
    pub fn inside<T>(&self, action: impl FnOnce() -> Result<T, CudaError>) -> Result<T, CudaError> {
        let around = ENTERED.get();
        if around == self.context {
            return action();
        }
        let functions = &self.driver.functions;
        // SAFETY: the context lives as long as the process (the head of this file).
        let code = unsafe { (functions.push)(self.context) };
        let argument = || format!("context {:#x}", self.context.0);
        self.driver.check(code, "cuCtxPushCurrent", argument)?;
        ENTERED.set(self.context);
        let result = action();
        ENTERED.set(around);
        let mut popped = Handle::default();
        // SAFETY: writes one handle: the context pushed above.
        let code = unsafe { (functions.pop)(&raw mut popped) };
        self.driver.check(code, "cuCtxPopCurrent", argument)?;
        result
    }

    /// Starts a kernel in the current context.
    pub(super) fn launch(&self, launch: &Launch, stream: Stream) -> Result<(), CudaError> {
        let kernel = self.kernels[launch.kernel.index()];
        let mut params: [*mut c_void; 1] = [launch.params().as_ptr().cast_mut().cast()];
        // SAFETY: the kernel's only parameter is at most as long as these bytes, which the driver reads before it returns.
        let code = unsafe {
            let (blocks, threads) = (launch.blocks, Launch::THREADS);
            let run = self.driver.functions.launch;
            let params = params.as_mut_ptr();
            run(
                kernel,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                stream,
                params,
                ptr::null_mut(),
            )
        };
        self.driver.check(code, "cuLaunchKernel", || {
            format!("kernel {} in {} blocks", launch.kernel, launch.blocks)
        })
    }
}

/// Options of the driver's compiler: where its errors go, and how long that is.
const JIT_ERROR_LOG_BUFFER: c_int = 5;
const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;

/// Loads the kernels into the current context.
fn load_kernels(driver: &Driver) -> Result<Vec<Handle>, CudaError> {
    let module = load_module(driver, &module_text(), "the module of pack kernels")?;
    let find = |kernel: KernelName| find_kernel(driver, module, &kernel.to_string());
    KernelName::all().map(find).collect()
}

/// Loads a module into the current context.
fn load_module(driver: &Driver, text: &str, what: &str) -> Result<Handle, CudaError> {
    // PTX has no zero bytes; an empty text would be refused by the driver.
    let text = CString::new(text).unwrap_or_default();
    let mut log = [0u8; 2048];
    let mut options = [JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [
        log.as_mut_ptr().cast(),
        ptr::without_provenance_mut(log.len()),
    ];
    let mut module = Handle::default();
    // SAFETY: the text ends with a zero, and each option has its value.
    let code = unsafe {
        let count = options.len() as u32;
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        (driver.functions.load_module)(
            &raw mut module,
            text.as_ptr().cast(),
            count,
            options,
            values,
        )
    };
    let written = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    driver
        .check(code, "cuModuleLoadDataEx", || what.to_owned())
        .map_err(|error| with_log(error, &log[..written]))?;
    Ok(module)
}

/// A kernel of a module of the current context.
fn find_kernel(driver: &Driver, module: Handle, name: &str) -> Result<Handle, CudaError> {
    let text = CString::new(name).unwrap_or_default();
    let mut function = Handle::default();
    // SAFETY: a module of the current context and a name that ends with a zero.
    let code = unsafe { (driver.functions.function)(&raw mut function, module, text.as_ptr()) };
    driver.check(code, "cuModuleGetFunction", || format!("kernel {name}"))?;
    Ok(function)
}

fn with_log(error: CudaError, written: &[u8]) -> CudaError {
    match error {
        CudaError::Refused {
            call,
            argument,
            code,
            name,
            text,
            ..
        } => CudaError::Refused {
            call,
            argument,
            code,
            name,
            text,
            log: String::from_utf8_lossy(written).trim().to_owned(),
        },
        other => other,
    }
}
