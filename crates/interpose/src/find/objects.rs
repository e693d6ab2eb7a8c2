// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loaded objects of this process, and where the dynamic linker searches for what they need.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// A loaded object.
pub(super) struct Object {
    /// Its file; empty for the program.
    pub(super) path: CString,
    /// Names of the libraries that it needs.
    pub(super) needed: Vec<CString>,
}

impl Object {
    /// Whether it names a library among those that it needs.
    pub(super) fn needs(&self, soname: &CStr) -> bool {
        self.needed.iter().any(|name| name.as_c_str() == soname)
    }
}

/// The loaded objects, the program first.
pub(super) fn loaded() -> Vec<Object> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        state: *mut c_void,
    ) -> c_int {
        // SAFETY: the linker passes a valid object, and `loaded` its own state.
        unsafe {
            let objects = &mut *state.cast::<Vec<Object>>();
            let name = (*info).dlpi_name;
            let path = match name.is_null() {
                true => CString::default(),
                false => CStr::from_ptr(name).to_owned(),
            };
            let needed = needed(&*info);
            objects.push(Object { path, needed });
        }
        0
    }
    let mut objects = Vec::<Object>::new();
    // SAFETY: `visit` gets the state that it expects, and unwinds nowhere.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut objects).cast()) };
    objects
}

/// The libraries that the dynamic section of an object names.
///
/// # Safety
/// `info` describes a loaded object.
unsafe fn needed(info: &libc::dl_phdr_info) -> Vec<CString> {
    const NEEDED: i64 = 1;
    const STRINGS: i64 = 5;
    // SAFETY: the headers of a loaded object lie in memory; the linker has made the address of the texts absolute, but for the object
    // of the kernel, which needs nothing.
    unsafe {
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let Some(dynamic) = headers
            .iter()
            .find(|header| header.p_type == libc::PT_DYNAMIC)
        else {
            return Vec::new();
        };
        let mut entry = (info.dlpi_addr + dynamic.p_vaddr) as *const [i64; 2];
        let (mut names, mut strings) = (Vec::new(), std::ptr::null::<c_char>());
        while (*entry)[0] != 0 {
            match *entry {
                [NEEDED, offset] => names.push(offset as usize),
                [STRINGS, address] => strings = address as *const c_char,
                _ => {}
            }
            entry = entry.add(1);
        }
        if strings.is_null() {
            return Vec::new();
        }
        let names = names.into_iter();
        names
            .map(|at| CStr::from_ptr(strings.add(at)).to_owned())
            .collect()
    }
}

/// Folders in which the linker searches for what an object needs.
pub(super) fn folders(object: &CStr) -> Vec<PathBuf> {
    #[repr(C)]
    struct Head {
        size: usize,
        count: c_uint,
    }
    #[repr(C)]
    struct Folder {
        name: *const c_char,
        flags: c_uint,
    }
    let name = match object.is_empty() {
        true => std::ptr::null(),
        false => object.as_ptr(),
    };
    let mut found = Vec::new();
    // SAFETY: the object is loaded, so that no initialiser runs; `dlinfo` fills in what it said it needs, in the format of
    // `Dl_serinfo`: a head and folders, whose names lie in the same memory.
    unsafe {
        let handle = libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return found;
        }
        let mut head = Head { size: 0, count: 0 };
        if libc::dlinfo(handle, libc::RTLD_DI_SERINFOSIZE, (&raw mut head).cast()) == 0 {
            let mut room = vec![0u64; head.size.div_ceil(8)];
            let info = room.as_mut_ptr().cast::<Head>();
            info.write(head);
            if libc::dlinfo(handle, libc::RTLD_DI_SERINFO, info.cast()) == 0 {
                let folders = info.add(1).cast::<Folder>();
                for index in 0..(*info).count as usize {
                    let name = CStr::from_ptr((*folders.add(index)).name);
                    found.push(PathBuf::from(OsStr::from_bytes(name.to_bytes())));
                }
            }
        }
        libc::dlclose(handle);
    }
    found
}
