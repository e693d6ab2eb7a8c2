// SPDX-License-Identifier: MIT OR Apache-2.0
//! An MPI library that was opened.

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{cache, objects};
use crate::table::{COUNT, MISSING, NAMES};

/// Soname of libraries with the standard ABI.
pub(super) const SONAME: &CStr = c"libmpi_abi.so.1";
/// A name that this library exports and MPI libraries do not.
const MARK: &CStr = c"rankpoint_interpose_is_loaded";

#[unsafe(export_name = "rankpoint_interpose_is_loaded")]
extern "C" fn mark() {}

/// An MPI library.
pub(crate) struct Library {
    handle: *mut c_void,
    /// Its file.
    pub(crate) path: PathBuf,
}

impl Library {
    /// Opens the library that the program would have had, or the one that is named.
    ///
    /// # Errors
    /// A line that says what was sought, where.
    pub(crate) fn find(named: Option<&Path>) -> Result<Self, String> {
        if let Some(path) = named {
            let library = Self::open(path)?;
            return library.not_ours().ok_or_else(|| {
                let path = path.display();
                format!("{path} is this library itself, not an MPI library")
            });
        }
        let loaded = objects::loaded();
        let paths = loaded.iter().map(|object| path_of(&object.path));
        let mut candidates: Vec<PathBuf> = paths.filter(|path| is_mpi_library(path)).collect();
        let soname = SONAME.to_string_lossy();
        let needing = loaded.iter().filter(|object| object.needs(SONAME));
        let seeking: Vec<_> = needing.chain(loaded.first()).collect();
        for object in seeking {
            let folders = objects::folders(&object.path).into_iter();
            candidates.extend(folders.map(|folder| folder.join(&*soname)));
        }
        candidates.extend(cache::paths(&soname));
        let mut why = None;
        for path in candidates.iter().filter(|path| path.exists()) {
            match Self::open(path) {
                Ok(library) => match library.not_ours() {
                    Some(library) => return Ok(library),
                    None => continue,
                },
                Err(error) => why = why.or(Some(error)),
            }
        }
        Err(why.unwrap_or_else(|| {
            format!(
                "error while loading shared libraries: {soname}: cannot open shared object file"
            )
        }))
    }

    fn open(path: &Path) -> Result<Self, String> {
        // What it exports beyond the ABI is global, as when the program needs it.
        Self::load(path, libc::RTLD_GLOBAL)
    }

    /// Opens a profiling tool, whose names stay its own.
    ///
    /// # Errors
    /// The linker's text.
    pub(crate) fn tool(path: &Path) -> Result<Self, String> {
        Self::load(path, libc::RTLD_LOCAL)
    }

    fn load(path: &Path, scope: c_int) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        // SAFETY: its initialisers run as they do when the dynamic linker loads it for a program.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | scope) };
        if handle.is_null() {
            // SAFETY: the linker's text of the error above, which belongs to this thread.
            let text = unsafe { CStr::from_ptr(libc::dlerror()) };
            return Err(text.to_string_lossy().into_owned());
        }
        let path = path.to_owned();
        Ok(Self { handle, path })
    }

    /// Nothing if it is a copy of this library.
    fn not_ours(self) -> Option<Self> {
        if self.address(MARK).is_some() {
            // SAFETY: opened here, and nothing of it is kept.
            unsafe { libc::dlclose(self.handle) };
            return None;
        }
        Some(self)
    }

    /// The address of a function of this library or of what it needs.
    pub(crate) fn address(&self, name: &CStr) -> Option<*const ()> {
        // SAFETY: an open handle and a text.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address.cast_const().cast())
    }

    /// Its functions; what names a missing one, where there is none.
    pub(crate) fn functions(&self) -> [*const (); COUNT] {
        std::array::from_fn(|number| {
            let address = self.address(NAMES[number]);
            address.unwrap_or(MISSING[number] as *const ())
        })
    }

    /// The functions that a tool defines itself, not by what it needs.
    pub(crate) fn own_functions(&self) -> [Option<*const ()>; COUNT] {
        // SAFETY: an open handle; a link map starts with the base address and the name of the object.
        let base = unsafe {
            let mut map = std::ptr::null::<LinkMap>();
            libc::dlinfo(self.handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast());
            (!map.is_null()).then(|| CStr::from_ptr((*map).name).to_owned())
        };
        std::array::from_fn(|number| {
            let address = self.address(NAMES[number])?;
            (base.is_some() && object_of(address) == base).then_some(address)
        })
    }

    /// The major version of the ABI that the library has, if it has one.
    pub(crate) fn abi_version(&self) -> Option<i32> {
        let address = self.address(c"MPI_Abi_get_version")?;
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: the prototype of that function, which may be called before MPI_Init.
        let code = unsafe {
            let get: unsafe extern "C" fn(*mut i32, *mut i32) -> i32 = std::mem::transmute(address);
            get(&raw mut major, &raw mut minor)
        };
        (code == 0).then_some(major)
    }
}

#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const std::ffi::c_char,
}

/// By its name.
fn is_mpi_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    name.starts_with(b"libmpi_abi.so")
}

fn path_of(text: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.to_bytes()))
}

/// The last part of a path.
pub(super) fn file_name(path: &CStr) -> &[u8] {
    let path = path.to_bytes();
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// The file of the object that an address lies in.
pub(super) fn object_of(address: *const ()) -> Option<CString> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address; the name lives as long as the object.
    unsafe {
        let found = libc::dladdr(address.cast(), info.as_mut_ptr()) != 0;
        let name = info.assume_init().dli_fname;
        (found && !name.is_null()).then(|| CStr::from_ptr(name).to_owned())
    }
}

/// Whether a program's calls arrive here; if not, the library where they do.
pub(crate) fn is_first() -> Result<(), PathBuf> {
    // SAFETY: searches the global scope for a name.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"MPI_Init".as_ptr()) };
    if address.is_null() {
        return Ok(());
    }
    let object = object_of(address.cast_const().cast()).map(|object| path_of(&object));
    let own = object_of(mark as *const ()).map(|object| path_of(&object));
    // A program that is linked statically, or takes the function's address, has a name of its own.
    match object.filter(|object| is_mpi_library(object)) {
        Some(object) if Some(&object) != own.as_ref() => Err(object),
        _ => Ok(()),
    }
}
