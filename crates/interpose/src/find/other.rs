// SPDX-License-Identifier: MIT OR Apache-2.0
//! An MPI library without the standard ABI, which the program is linked with, such as `libmpi.so.12`.
//!
//! Its functions have the names of the standard, so a program's calls of them arrive here, with handles of another kind.

use std::ffi::{CStr, CString, c_void};

use super::library::{SONAME, file_name, object_of};
use super::objects;
use crate::table::{COUNT, MISSING, NAMES};

/// A loaded library.
pub(crate) struct Other {
    handle: *mut c_void,
    /// The name of its file.
    pub(crate) name: String,
}

impl Other {
    /// The library that the objects of this process are linked with, if none of them needs one with the standard ABI.
    pub(crate) fn find() -> Option<Self> {
        let loaded = objects::loaded();
        if loaded.iter().any(|object| object.needs(SONAME)) {
            return None;
        }
        // A library with the standard ABI may be built on another one.
        let linked = loaded.iter().filter(|object| {
            let name = file_name(&object.path);
            !name.starts_with(b"libmpi_abi.so")
        });
        let needed = linked.flat_map(|object| &object.needed);
        let mut others = needed.filter(|name| name.to_bytes().starts_with(b"libmpi"));
        others.find_map(|name| Self::open(name))
    }

    /// A loaded library, if it is one for MPI.
    fn open(name: &CStr) -> Option<Self> {
        // SAFETY: a text. The library is loaded, so that no initialiser runs.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return None;
        }
        // Libraries for Fortran need the one that has it.
        let object = object_of(symbol(handle, c"MPI_Init")?)?;
        let name = String::from_utf8_lossy(file_name(&object)).into_owned();
        Some(Self { handle, name })
    }

    /// Where calls would go by names of the ABI behind a prefix, had this library not been loaded; what names a missing function, where
    /// there is none.
    pub(crate) fn functions(&self, prefix: &str) -> [*const (); COUNT] {
        std::array::from_fn(|number| {
            let name = format!("{prefix}{}", NAMES[number].to_string_lossy());
            let name = CString::new(name).unwrap_or_default();
            // A profiling tool may stand before the library; one that was opened by name may stand outside the global scope.
            let address = symbol(libc::RTLD_NEXT, &name).or_else(|| symbol(self.handle, &name));
            address.unwrap_or(MISSING[number] as *const ())
        })
    }
}

/// The address of a name.
fn symbol(handle: *mut c_void, name: &CStr) -> Option<*const ()> {
    // SAFETY: an open handle, or what stands for the objects behind this one, and a text.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address.cast_const().cast())
}
