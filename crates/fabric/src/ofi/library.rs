// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading libfabric.
#![expect(unsafe_code, reason = "a C library")]

use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_void};
use std::io;
use std::mem::transmute;
use std::ptr::NonNull;

use super::abi::{Fabric, FabricAttr, Info, version};

/// The name that the system's loader searches.
const NAME: &str = "libfabric.so.1";
/// Symbol version of the structures in [`super::abi`].
const SYMBOLS: &CStr = c"FABRIC_1.3";
/// The interface that is requested, unless the library is older.
const WANTED: (u32, u32) = (1, 17);
/// The oldest interface that has all that is used.
const OLDEST: (u32, u32) = (1, 14);

type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Info,
    *mut *mut Info,
) -> c_int;
type FreeInfo = unsafe extern "C" fn(*mut Info);
type DupInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
type OpenFabric = unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int;
type StrError = unsafe extern "C" fn(c_int) -> *const c_char;
type Version = unsafe extern "C" fn() -> u32;

/// The library's own functions; all others are in the tables of its objects. It stays loaded until the process ends.
pub struct Library {
    pub(super) getinfo: GetInfo,
    pub(super) freeinfo: FreeInfo,
    pub(super) dupinfo: DupInfo,
    pub(super) fabric: OpenFabric,
    strerror: StrError,
    found: u32,
    path: OsString,
}

impl Library {
    /// Opens the library by `path`, or by its name where that is `None`.
    ///
    /// # Errors
    /// When it is not there, too old, or lacks a function.
    pub fn open(path: Option<&OsStr>) -> io::Result<Self> {
        let path = path.unwrap_or(OsStr::new(NAME));
        // SAFETY: libfabric's initialisers only allocate and read the environment.
        let handle = unsafe { sys::library::Library::open(path) }.map_err(|error| {
            io::Error::other(format!(
                "a job of several nodes needs libfabric, which cannot be loaded ({error}); install it, or name it by \
                 RANKPOINT_LIBFABRIC"
            ))
        })?;
        let refuse = |why: String| {
            let (major, minor) = OLDEST;
            let path = path.display();
            io::Error::other(format!(
                "{path} is no libfabric of version {major}.{minor} or later: {why}"
            ))
        };
        let missing = |name: &CStr| refuse(format!("it has no {}", name.to_string_lossy()));
        let any = |name| handle.symbol(name).ok_or_else(|| missing(name));
        let layout = |name| handle.versioned(name, SYMBOLS).ok_or_else(|| missing(name));
        let number = any(c"fi_version")?;
        // SAFETY: the function has this signature (man fi_version).
        let found = unsafe { transmute::<NonNull<c_void>, Version>(number)() };
        if found < version(OLDEST.0, OLDEST.1) {
            return Err(refuse(format!("its version is {}", text_of(found))));
        }
        // SAFETY: the functions have these signatures (man fi_getinfo, fi_fabric, fi_errno).
        unsafe {
            Ok(Self {
                getinfo: transmute::<NonNull<c_void>, GetInfo>(layout(c"fi_getinfo")?),
                freeinfo: transmute::<NonNull<c_void>, FreeInfo>(layout(c"fi_freeinfo")?),
                dupinfo: transmute::<NonNull<c_void>, DupInfo>(layout(c"fi_dupinfo")?),
                fabric: transmute::<NonNull<c_void>, OpenFabric>(any(c"fi_fabric")?),
                strerror: transmute::<NonNull<c_void>, StrError>(any(c"fi_strerror")?),
                found,
                path: path.to_owned(),
            })
        }
    }

    /// The same library, but it opens nothing: the process has no descriptors left, or the provider is gone.
    #[cfg(test)]
    pub(crate) fn that_opens_nothing(&self) -> Self {
        unsafe extern "C" fn refuse(
            _: *mut FabricAttr,
            _: *mut *mut Fabric,
            _: *mut c_void,
        ) -> c_int {
            const TOO_MANY_FILES: c_int = 24;
            -TOO_MANY_FILES
        }
        Self {
            fabric: refuse,
            path: self.path.clone(),
            ..*self
        }
    }

    /// The interface to request.
    pub(super) fn version(&self) -> u32 {
        self.found.min(version(WANTED.0, WANTED.1))
    }

    /// Whether the library is of this version or a later one.
    pub(super) fn is_at_least(&self, major: u32, minor: u32) -> bool {
        self.found >= version(major, minor)
    }

    /// The version of the library's interface, such as "1.17".
    pub fn version_text(&self) -> String {
        text_of(self.found)
    }

    /// How the library was named to the loader.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    /// The text for an error number, which is positive.
    pub(super) fn error_text(&self, number: i32) -> String {
        // SAFETY: the function returns a text of the library, whatever the number is.
        let text = unsafe { CStr::from_ptr((self.strerror)(number)) };
        text.to_string_lossy().into_owned()
    }

    /// The error of a call that returned `code`, which is negative.
    pub(super) fn error(&self, call: &str, code: isize) -> io::Error {
        let number = i32::try_from(code.saturating_neg()).unwrap_or(i32::MAX);
        io::Error::other(format!("libfabric's {call}: {}", self.error_text(number)))
    }
}

fn text_of(version: u32) -> String {
    format!("{}.{}", version >> 16, version & 0xffff)
}
