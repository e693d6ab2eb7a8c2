// SPDX-License-Identifier: MIT OR Apache-2.0
//! A library that is opened at run time.
#![expect(non_snake_case, reason = "names of the standard")]

use crate::types::*;

/// Prototype of `MPIX_Comm_create_endpoints`: parent, endpoints of this process, info, communicators.
type CreateEndpoints =
    unsafe extern "C" fn(MPI_Comm, core::ffi::c_int, MPI_Info, *mut MPI_Comm) -> core::ffi::c_int;

/// Prototype of `MPIX_Win_create_endpoints`: memory and sizes of this process's members, unit, info, parent, members, windows.
type CreateWindowEndpoints = unsafe extern "C" fn(
    *const *mut core::ffi::c_void,
    *const MPI_Aint,
    core::ffi::c_int,
    MPI_Info,
    MPI_Comm,
    core::ffi::c_int,
    *mut MPI_Win,
) -> core::ffi::c_int;

macro_rules! functions {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        /// An MPI library opened at run time: a pointer for each function of the ABI, `None` where the library has none.
        #[expect(missing_docs, reason = "the fields are the functions of the standard")]
        #[non_exhaustive]
        pub struct Library {
            $(pub $name: Option<unsafe extern "C" fn($($argument: $kind),*) -> $result>,)*
            /// Rankpoint's extension: a communicator in which each process has several ranks.
            pub MPIX_Comm_create_endpoints: Option<CreateEndpoints>,
            /// Rankpoint's extension: a window in which each process has several members.
            pub MPIX_Win_create_endpoints: Option<CreateWindowEndpoints>,
            handle: libloading::Library,
        }

        impl Library {
            /// Opens a library by its file name or soname.
            ///
            /// # Errors
            /// When the dynamic linker cannot load it.
            pub fn open(name: &str) -> Result<Self, libloading::Error> {
                // SAFETY: initialisers of an MPI library run as they do when a program links it.
                let handle = unsafe { libloading::Library::new(name) }?;
                // SAFETY: the ABI fixes the prototype of every function name; pointers live as long as `handle`.
                unsafe {
                    Ok(Self {
                        $($name: handle.get(concat!(stringify!($name), "\0").as_bytes()).ok().map(|symbol| *symbol),)*
                        MPIX_Comm_create_endpoints: handle.get(b"MPIX_Comm_create_endpoints\0").ok().map(|symbol| *symbol),
                        MPIX_Win_create_endpoints: handle.get(b"MPIX_Win_create_endpoints\0").ok().map(|symbol| *symbol),
                        handle,
                    })
                }
            }
        }
    };
}
include!(concat!(env!("OUT_DIR"), "/library.rs"));

impl Library {
    /// Text that a function `name` of the library without arguments returns, for Rankpoint's own symbols.
    pub fn text(&self, name: &str) -> Option<String> {
        // SAFETY: Rankpoint's text symbols all have this prototype; other libraries do not have them.
        let symbol: libloading::Symbol<'_, unsafe extern "C" fn() -> *const core::ffi::c_char> =
            unsafe { self.handle.get(name.as_bytes()) }.ok()?;
        // SAFETY: as above; the text is NUL-terminated and lives until this thread calls the function again, at least.
        Some(
            unsafe { core::ffi::CStr::from_ptr(symbol()) }
                .to_string_lossy()
                .into_owned(),
        )
    }
}
