// SPDX-License-Identifier: MIT OR Apache-2.0
//! C libraries opened at run time, with the versions of their symbols, which libloading does not offer.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr::NonNull;

use crate::signals;

/// A library that stays open until the process ends: its functions are valid for ever.
#[derive(Clone, Copy, Debug)]
pub struct Library(NonNull<c_void>);

// SAFETY: a handle may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: as for Send.
unsafe impl Sync for Library {}

impl Library {
    /// Opens a library by its path, or by a name that the loader searches. Signals keep their actions.
    ///
    /// # Errors
    /// With the loader's reason.
    ///
    /// # Safety
    /// The library's initialisers may run in this process.
    pub unsafe fn open(path: &OsStr) -> io::Result<Self> {
        let name = CString::new(path.as_bytes())?;
        // SAFETY: a valid text; the caller answers for the initialisers.
        let open = || unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = signals::keeping_actions(open);
        NonNull::new(handle).map(Self).ok_or_else(|| {
            // SAFETY: the loader's last message, which belongs to this thread until its next call.
            let text = unsafe { libc::dlerror().as_ref() };
            let text = text.map_or(c"no reason given", |text| {
                // SAFETY: the loader ends its messages with zero.
                unsafe { CStr::from_ptr(text) }
            });
            io::Error::other(text.to_string_lossy().into_owned())
        })
    }

    /// The address of a symbol.
    pub fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: an open library and a valid text.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// The address of a symbol of this version; where the C library knows no versions, of any.
    pub fn versioned(self, name: &CStr, version: &CStr) -> Option<NonNull<c_void>> {
        #[cfg(target_env = "gnu")]
        {
            // SAFETY: as for `symbol`.
            NonNull::new(unsafe { dlvsym(self.0.as_ptr(), name.as_ptr(), version.as_ptr()) })
        }
        #[cfg(not(target_env = "gnu"))]
        {
            let _ = version;
            self.symbol(name)
        }
    }
}

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    fn dlvsym(
        handle: *mut c_void,
        name: *const libc::c_char,
        version: *const libc::c_char,
    ) -> *mut c_void;
}

/// How many libraries the process has loaded so far, those that it has closed included.
pub fn loaded_so_far() -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        count: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: the loader describes an object, and `count` is the counter below.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        // Each object comes with the same number.
        1
    }
    let mut count = 0u64;
    // SAFETY: the function stores a number where `count` is, and calls nothing.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_by_name_and_version() {
        // SAFETY: the C library is loaded already.
        let library = unsafe { Library::open(OsStr::new("libc.so.6")) }.unwrap();
        assert!(library.symbol(c"malloc").is_some());
        assert!(library.symbol(c"no_such_function").is_none());
        if cfg!(all(target_env = "gnu", target_arch = "x86_64")) {
            assert!(library.versioned(c"malloc", c"GLIBC_2.2.5").is_some());
            assert!(library.versioned(c"malloc", c"NONE_1.0").is_none());
        }
    }

    #[test]
    fn libraries_are_counted_as_they_come() {
        let before = loaded_so_far();
        assert!(before > 0);
        // Closing one counts nothing, so other tests can only add.
        // SAFETY: the C library's own part, which initialises nothing of the program's.
        unsafe { Library::open(OsStr::new("libresolv.so.2")) }.unwrap();
        assert!(loaded_so_far() > before);
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        // SAFETY: there is nothing to initialise.
        let error = unsafe { Library::open(OsStr::new("libnone.so.77")) }.unwrap_err();
        assert!(error.to_string().contains("libnone.so.77"), "{error}");
    }
}
