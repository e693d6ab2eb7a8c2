// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's library, opened at run time.
//!
//! # Safety
//! The functions are those of NVIDIA's driver interface; their types below are those of its documentation. A library is never
//! closed, so its functions stay where they are.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::error::CudaError;

/// A handle of the driver: of a context, a module, a function or a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(pub usize);

/// The file by which the driver's library is known to the dynamic linker.
pub const DRIVER_FILE: &str = "libcuda.so.1";

/// Opens a library only if it is there already (Linux, <dlfcn.h>).
const RTLD_NOLOAD: c_int = 4;

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The driver's functions.
        #[derive(Debug)]
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            fn find(library: &Library, file: &str) -> Result<Self, CudaError> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the types are those of the driver's documentation (the head of this file).
                        let found = unsafe { library.get(concat!($symbol, "\0").as_bytes()) };
                        *found.map_err(|_| CudaError::OldDriver { file: file.to_owned(), symbol: $symbol })?
                    },)*
                })
            }
        }
    };
}

functions! {
    init = "cuInit"(c_uint);
    version = "cuDriverGetVersion"(*mut c_int);
    device_count = "cuDeviceGetCount"(*mut c_int);
    device = "cuDeviceGet"(*mut c_int, c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    retain_primary = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
    current = "cuCtxGetCurrent"(*mut Handle);
    push = "cuCtxPushCurrent_v2"(Handle);
    pop = "cuCtxPopCurrent_v2"(*mut Handle);
    load_module = "cuModuleLoadDataEx"(*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
    launch = "cuLaunchKernel"(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
    pointer_attributes = "cuPointerGetAttributes"(c_uint, *mut c_int, *mut *mut c_void, u64);
    allocate = "cuMemAlloc_v2"(*mut u64, usize);
    free = "cuMemFree_v2"(u64);
    allocate_pinned = "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
    free_pinned = "cuMemFreeHost"(*mut c_void);
    copy_in = "cuMemcpyHtoD_v2"(u64, *const c_void, usize);
    copy_out = "cuMemcpyDtoH_v2"(*mut c_void, u64, usize);
    synchronize = "cuStreamSynchronize"(Handle);
    synchronize_context = "cuCtxSynchronize"();
    error_name = "cuGetErrorName"(c_int, *mut *const c_char);
    error_text = "cuGetErrorString"(c_int, *mut *const c_char);
}

/// The driver's library, ready for use.
#[derive(Debug)]
pub struct Driver {
    pub(super) functions: Functions,
    /// Never closed: its functions are used as long as the process lives.
    library: ManuallyDrop<Library>,
    file: String,
}

impl Driver {
    /// The driver of this machine, which is opened and initialised once.
    ///
    /// # Errors
    /// When there is none, or no GPU.
    pub fn get() -> Result<&'static Self, &'static CudaError> {
        static DRIVER: OnceLock<Result<Driver, CudaError>> = OnceLock::new();
        DRIVER.get_or_init(|| Self::open(DRIVER_FILE)).as_ref()
    }

    /// The driver that something in this process has opened; `None` while nothing has. This does not initialise it: until the program has
    /// done so, the driver knows no address.
    ///
    /// # Errors
    /// When it lacks a function.
    pub fn loaded() -> Option<Result<&'static Self, &'static CudaError>> {
        static DRIVER: OnceLock<Result<Driver, CudaError>> = OnceLock::new();
        if DRIVER.get().is_none() && !Self::is_loaded() {
            return None;
        }
        Some(DRIVER.get_or_init(|| Self::find_in(DRIVER_FILE)).as_ref())
    }

    /// Whether something in this process has opened the driver's library, so that it may own memory of a GPU.
    pub fn is_loaded() -> bool {
        // SAFETY: a library that is loaded already runs no code by being named once more; the name is given back at once.
        unsafe { Library::open(Some(DRIVER_FILE), RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL) }.is_ok()
    }

    /// Opens the driver's library by a path of its own, and initialises it.
    ///
    /// # Errors
    /// When it cannot be opened, lacks a function, or finds no GPU.
    pub fn open(file: &str) -> Result<Self, CudaError> {
        let driver = Self::find_in(file)?;
        // SAFETY: the first call of all.
        let code = unsafe { (driver.functions.init)(0) };
        driver.check(code, "cuInit", || "flags 0".to_owned())?;
        match driver.devices()? {
            ..1 => Err(CudaError::NoDevice),
            _ => Ok(driver),
        }
    }

    /// Opens the driver's library and finds its functions.
    fn find_in(file: &str) -> Result<Self, CudaError> {
        // SAFETY: what the library does when it is opened is the driver's business; who installed it is trusted with the machine.
        let library =
            unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
                CudaError::NoDriver {
                    file: file.to_owned(),
                    reason: source_text(&error),
                }
            })?;
        let functions = Functions::find(&library, file)?;
        Ok(Self {
            functions,
            library: ManuallyDrop::new(library),
            file: file.to_owned(),
        })
    }

    /// The version of CUDA that the driver serves, as (major, minor).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn version(&self) -> Result<(i32, i32), CudaError> {
        let mut version = 0;
        // SAFETY: writes one number.
        let code = unsafe { (self.functions.version)(&raw mut version) };
        self.check(code, "cuDriverGetVersion", String::new)?;
        Ok((version / 1000, version % 1000 / 10))
    }

    /// How many GPUs there are.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn devices(&self) -> Result<i32, CudaError> {
        let mut devices = 0;
        // SAFETY: writes one number.
        let code = unsafe { (self.functions.device_count)(&raw mut devices) };
        self.check(code, "cuDeviceGetCount", String::new)?;
        Ok(devices)
    }

    /// The address of another function of the driver, for callers that know its type.
    ///
    /// # Errors
    /// When this driver has no such function.
    pub fn find(&self, symbol: &'static str) -> Result<*const c_void, CudaError> {
        let missing = || CudaError::OldDriver {
            file: self.file.clone(),
            symbol,
        };
        let name = CString::new(symbol).map_err(|_| missing())?;
        // SAFETY: an address is looked up, and not used as anything here.
        let found = unsafe { self.library.get::<*const c_void>(name.as_bytes_with_nul()) };
        found.map(|address| *address).map_err(|_| missing())
    }

    /// The name of a GPU.
    ///
    /// # Errors
    /// When there is no such GPU.
    pub fn device_name(&self, ordinal: i32) -> Result<String, CudaError> {
        let mut name = [0u8; 128];
        let device = self.device(ordinal)?;
        // SAFETY: the driver ends the name within the length given.
        let code = unsafe {
            (self.functions.device_name)(name.as_mut_ptr().cast(), name.len() as c_int, device)
        };
        self.check(code, "cuDeviceGetName", || format!("device {ordinal}"))?;
        let text = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// The driver's number for a GPU.
    ///
    /// # Errors
    /// When there is no such GPU.
    pub fn device(&self, ordinal: i32) -> Result<c_int, CudaError> {
        let mut device = 0;
        // SAFETY: writes one number.
        let code = unsafe { (self.functions.device)(&raw mut device, ordinal) };
        self.check(code, "cuDeviceGet", || format!("device {ordinal}"))?;
        Ok(device)
    }

    /// Makes the driver's answer to a call an error, if it is one. `argument` says what the call was about.
    ///
    /// # Errors
    /// The driver's name and sentence for an answer that is not 0.
    pub fn check(
        &self,
        code: c_int,
        call: &'static str,
        argument: impl FnOnce() -> String,
    ) -> Result<(), CudaError> {
        if code == 0 {
            return Ok(());
        }
        Err(CudaError::Refused {
            call,
            argument: argument(),
            code,
            name: self.words(self.functions.error_name, code),
            text: self.words(self.functions.error_text, code),
            log: String::new(),
        })
    }

    fn words(
        &self,
        function: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
        code: c_int,
    ) -> String {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the driver gives a string that lives as long as itself, or none.
        unsafe {
            if function(code, &raw mut text) != 0 || text.is_null() {
                return "unknown to the driver".to_owned();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// The innermost reason of an error, which is the dynamic linker's sentence.
fn source_text(error: &dyn std::error::Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), |source| source.to_string())
}
