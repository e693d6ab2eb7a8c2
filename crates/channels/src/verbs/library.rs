// SPDX-License-Identifier: MIT OR Apache-2.0
//! libibverbs and its devices.
#![expect(unsafe_code, reason = "functions of a C library")]

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::mem::transmute_copy;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use super::abi::{DeviceHandle, Functions};
use crate::error::Error;

const NAME: &str = "libibverbs.so.1";

/// libibverbs, opened at run time.
pub struct Verbs {
    pub(super) functions: Functions,
}

/// A device of the list, which lives as long as this value.
pub struct Device {
    pub(super) verbs: Arc<Verbs>,
    pub(super) handle: NonNull<DeviceHandle>,
    /// Keeps the handle valid.
    _list: Rc<List>,
    /// Its name.
    pub name: String,
}

struct List {
    verbs: Arc<Verbs>,
    first: *mut *mut DeviceHandle,
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: made by `get_device_list`, and freed once.
        unsafe { (self.verbs.functions.free_device_list)(self.first) };
    }
}

/// The error of a call that has just failed.
pub(super) fn last(call: &'static str) -> Error {
    let reason = std::io::Error::last_os_error().to_string();
    Error::Device { call, reason }
}

/// A function of the library.
///
/// # Safety
/// `F` is the type of the function with that name.
unsafe fn function<F: Copy>(library: sys::library::Library, name: &CStr) -> Result<F, Error> {
    let address: NonNull<c_void> = library.symbol(name).ok_or_else(|| Error::Device {
        call: NAME,
        reason: format!("it has no function {}", name.to_string_lossy()),
    })?;
    // SAFETY: a function pointer has the size of an address; the caller answers for its type.
    Ok(unsafe { transmute_copy::<NonNull<c_void>, F>(&address) })
}

impl Verbs {
    /// Opens the library.
    ///
    /// # Errors
    /// When it is not installed, or lacks a function.
    pub fn open() -> Result<Arc<Self>, Error> {
        // SAFETY: its initialisers only prepare the library.
        let library = unsafe { sys::library::Library::open(OsStr::new(NAME)) };
        let library = library.map_err(|error| Error::Device {
            call: NAME,
            reason: format!("Verbs need it, and it cannot be loaded ({error}); install rdma-core"),
        })?;
        // SAFETY: the types are those of <infiniband/verbs.h>.
        let functions = unsafe {
            Functions {
                get_device_list: function(library, c"ibv_get_device_list")?,
                free_device_list: function(library, c"ibv_free_device_list")?,
                get_device_name: function(library, c"ibv_get_device_name")?,
                open_device: function(library, c"ibv_open_device")?,
                close_device: function(library, c"ibv_close_device")?,
                query_gid: function(library, c"ibv_query_gid")?,
                alloc_pd: function(library, c"ibv_alloc_pd")?,
                dealloc_pd: function(library, c"ibv_dealloc_pd")?,
                reg_mr: function(library, c"ibv_reg_mr")?,
                dereg_mr: function(library, c"ibv_dereg_mr")?,
                create_cq: function(library, c"ibv_create_cq")?,
                destroy_cq: function(library, c"ibv_destroy_cq")?,
                create_qp: function(library, c"ibv_create_qp")?,
                modify_qp: function(library, c"ibv_modify_qp")?,
                destroy_qp: function(library, c"ibv_destroy_qp")?,
            }
        };
        Ok(Arc::new(Self { functions }))
    }

    /// The devices of this node.
    ///
    /// # Errors
    /// The library's, for instance when the kernel has no RDMA.
    pub fn devices(self: &Arc<Self>) -> Result<Vec<Device>, Error> {
        let mut count: c_int = 0;
        // SAFETY: a place for the number.
        let first = unsafe { (self.functions.get_device_list)(&raw mut count) };
        if first.is_null() {
            return Err(last("ibv_get_device_list"));
        }
        let verbs = self.clone();
        let list = Rc::new(List { verbs, first });
        let device = |index: usize| {
            // SAFETY: the list has `count` members, and names end with zero.
            let (handle, name) = unsafe {
                let handle = *first.add(index);
                let name = CStr::from_ptr((self.functions.get_device_name)(handle));
                (handle, name.to_string_lossy().into_owned())
            };
            Some(Device {
                verbs: self.clone(),
                handle: NonNull::new(handle)?,
                _list: list.clone(),
                name,
            })
        };
        let count = usize::try_from(count).unwrap_or(0);
        Ok((0..count).filter_map(device).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        match Verbs::open().map(|verbs| verbs.devices()) {
            Ok(Ok(devices)) => assert!(devices.iter().all(|one| !one.name.is_empty())),
            Ok(Err(error)) => assert!(error.to_string().starts_with("ibv_get_device_list: ")),
            Err(error) => assert!(
                error.to_string().starts_with("libibverbs.so.1: "),
                "{error}"
            ),
        }
    }
}
