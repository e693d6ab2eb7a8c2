// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes of communicators and datatypes, and what those of windows share with them (MPI-5.0, section 7.7).

use core::ffi::c_void;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use engine::attr::{Attributes, CopyFunction, DeleteFunction, Keyval};
use engine::comm::Process;
use engine::p2p::TAG_UPPER_BOUND;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{Callback, MPI_Comm, MPI_Datatype};

use crate::error::codes::last_used_code;
use crate::error::run;
use crate::handle::{COMMS, DATATYPES};
use crate::state::require_process;

/// The kind of object that a keyval was created for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comm,
    Type,
    Win,
}

impl Kind {
    /// The name of such a key in the calls' arguments.
    const fn argument(self) -> &'static str {
        match self {
            Self::Comm => "comm_keyval",
            Self::Type => "type_keyval",
            Self::Win => "win_keyval",
        }
    }
}

/// The keyvals by number.
static KEYVALS: Mutex<Option<Keyvals>> = Mutex::new(None);

type Keyvals = HashMap<i32, (Kind, Held)>;

/// A keyval by how it is held.
enum Held {
    /// The program has it.
    Live(Arc<Keyval>),
    /// The program has freed it; it is found as long as an attribute uses it (MPI-5.0, section 7.7.2).
    Freed(Weak<Keyval>),
}

impl Held {
    fn get(&self) -> Option<Arc<Keyval>> {
        match self {
            Self::Live(keyval) => Some(keyval.clone()),
            Self::Freed(keyval) => keyval.upgrade(),
        }
    }
}

/// Own keyvals start above the integers that the ABI reserves.
const FIRST_KEYVAL: i32 = 16385;

/// Values behind the predefined attributes; C programs get their addresses.
struct Environment {
    tag_upper_bound: i32,
    host: i32,
    io: i32,
    wtime_is_global: i32,
    universe_size: i32,
    app_number: Option<i32>,
}

static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();

pub(crate) fn define_predefined(process: &Process) {
    ENVIRONMENT.get_or_init(|| Environment {
        tag_upper_bound: TAG_UPPER_BOUND,
        host: abi::MPI_PROC_NULL,
        io: abi::MPI_ANY_SOURCE,
        wtime_is_global: 0,
        universe_size: process.universe_size() as i32,
        app_number: process.app_number(),
    });
}

/// The address of a predefined attribute's value; `None` if the number is none of them.
fn predefined(keyval: i32) -> Option<Option<usize>> {
    static LAST: Mutex<i32> = Mutex::new(0);
    let environment = ENVIRONMENT.get()?;
    let value: *const i32 = match keyval {
        abi::MPI_TAG_UB => &raw const environment.tag_upper_bound,
        abi::MPI_HOST => &raw const environment.host,
        abi::MPI_IO => &raw const environment.io,
        abi::MPI_WTIME_IS_GLOBAL => &raw const environment.wtime_is_global,
        abi::MPI_UNIVERSE_SIZE => &raw const environment.universe_size,
        abi::MPI_APPNUM => match &environment.app_number {
            Some(number) => std::ptr::from_ref(number),
            None => return Some(None),
        },
        abi::MPI_LASTUSEDCODE => {
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            *last = last_used_code();
            &raw const *last
        }
        _ => return None,
    };
    Some(Some(value as usize))
}

pub(crate) fn find(kind: Kind, keyval: i32) -> Result<Arc<Keyval>> {
    let keyvals = KEYVALS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = keyvals.as_ref().and_then(|map| map.get(&keyval));
    let found = found.filter(|(made_for, _)| *made_for == kind);
    match found.and_then(|(_, held)| held.get()) {
        Some(keyval) => Ok(keyval),
        None => {
            let (argument, expected) = match kind {
                Kind::Comm => (kind.argument(), "a key from MPI_Comm_create_keyval"),
                Kind::Type => (kind.argument(), "a key from MPI_Type_create_keyval"),
                Kind::Win => (kind.argument(), "a key from MPI_Win_create_keyval"),
            };
            let class = ErrorClass::ERR_KEYVAL;
            Err(Error::argument(class, argument, key_text(keyval), expected))
        }
    }
}

/// A key as its name, if the standard has one for it.
fn key_text(keyval: i32) -> String {
    let name = match keyval {
        abi::MPI_KEYVAL_INVALID => "MPI_KEYVAL_INVALID",
        abi::MPI_TAG_UB => "MPI_TAG_UB",
        abi::MPI_HOST => "MPI_HOST",
        abi::MPI_IO => "MPI_IO",
        abi::MPI_WTIME_IS_GLOBAL => "MPI_WTIME_IS_GLOBAL",
        abi::MPI_UNIVERSE_SIZE => "MPI_UNIVERSE_SIZE",
        abi::MPI_APPNUM => "MPI_APPNUM",
        abi::MPI_LASTUSEDCODE => "MPI_LASTUSEDCODE",
        abi::MPI_WIN_BASE => "MPI_WIN_BASE",
        abi::MPI_WIN_SIZE => "MPI_WIN_SIZE",
        abi::MPI_WIN_DISP_UNIT => "MPI_WIN_DISP_UNIT",
        abi::MPI_WIN_CREATE_FLAVOR => "MPI_WIN_CREATE_FLAVOR",
        abi::MPI_WIN_MODEL => "MPI_WIN_MODEL",
        _ => return keyval.to_string(),
    };
    name.to_owned()
}

/// Null and dup functions are small numbers in the ABI and never called.
fn copy_function(function: Callback, number: i32, state: usize) -> Option<Box<CopyFunction>> {
    match function {
        0 => None,
        1 => Some(Box::new(|_, value| Ok(Some(value)))),
        address => Some(Box::new(move |object, value| {
            let (mut copy, mut flag) = (0usize, 0i32);
            // SAFETY: the user registered a function of this type (MPI_Comm_create_keyval); no lock is held.
            let code = unsafe {
                let function: unsafe extern "C" fn(
                    usize,
                    i32,
                    usize,
                    usize,
                    *mut usize,
                    *mut i32,
                ) -> i32 = std::mem::transmute(address);
                function(
                    object as usize,
                    number,
                    state,
                    value,
                    &raw mut copy,
                    &raw mut flag,
                )
            };
            if code != 0 {
                Err(code)
            } else {
                Ok((flag != 0).then_some(copy))
            }
        })),
    }
}

fn delete_function(function: Callback, number: i32, state: usize) -> Option<Box<DeleteFunction>> {
    (function != 0).then(|| -> Box<DeleteFunction> {
        Box::new(move |object, value| {
            // SAFETY: the user registered a function of this type (MPI_Comm_create_keyval); no lock is held.
            unsafe {
                let function: unsafe extern "C" fn(usize, i32, usize, usize) -> i32 =
                    std::mem::transmute(function);
                function(object as usize, number, value, state)
            }
        })
    })
}

/// Makes a keyval; the types of the callbacks differ between the kinds in the handle only.
pub(crate) unsafe fn create(
    call: &'static str,
    kind: Kind,
    (copy_fn, delete_fn): (Callback, Callback),
    keyval: *mut i32,
    extra_state: *mut c_void,
) -> i32 {
    run(call, 0, || {
        let number = FIRST_KEYVAL + require_process()?.next_number() as i32;
        let state = extra_state as usize;
        let made = Keyval {
            number,
            copy: copy_function(copy_fn, number, state),
            delete: delete_function(delete_fn, number, state),
        };
        KEYVALS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_default()
            .insert(number, (kind, Held::Live(Arc::new(made))));
        // SAFETY: the result is writable (crate head).
        unsafe { *keyval = number };
        Ok(())
    })
}

pub(crate) unsafe fn free(call: &'static str, kind: Kind, keyval: *mut i32) -> i32 {
    run(call, 0, || {
        // SAFETY: the number is readable and writable (crate head).
        let number = unsafe { &mut *keyval };
        let freed = find(kind, *number)?;
        let mut keyvals = KEYVALS.lock().unwrap_or_else(PoisonError::into_inner);
        let keyvals = keyvals.get_or_insert_default();
        keyvals.insert(*number, (kind, Held::Freed(Arc::downgrade(&freed))));
        drop(freed);
        keyvals.retain(|_, (_, held)| match held {
            Held::Live(_) => true,
            Held::Freed(keyval) => keyval.strong_count() > 0,
        });
        *number = abi::MPI_KEYVAL_INVALID;
        Ok(())
    })
}

/// Deletes the value under a key, which there must be.
pub(crate) fn delete(kind: Kind, attributes: &Attributes, object: u64, keyval: i32) -> Result<()> {
    if attributes.get(keyval).is_none() {
        find(kind, keyval)?;
    }
    let outcome = attributes.delete(object, keyval);
    outcome.map_err(|error| {
        error.renamed(|argument| match argument {
            "keyval" => kind.argument(),
            other => other,
        })
    })
}

/// Stores the value found under a key.
pub(crate) unsafe fn store(value: Option<usize>, attribute_val: *mut c_void, flag: *mut i32) {
    // SAFETY: `attribute_val` is the address of a pointer, the flag is writable (crate head).
    unsafe {
        *flag = i32::from(value.is_some());
        if let Some(value) = value {
            *attribute_val.cast::<usize>() = value;
        }
    }
}

pub(crate) unsafe fn MPI_Comm_create_keyval(
    copy_fn: Callback,
    delete_fn: Callback,
    comm_keyval: *mut i32,
    extra_state: *mut c_void,
) -> i32 {
    let call = "MPI_Comm_create_keyval";
    // SAFETY: passed on.
    unsafe {
        create(
            call,
            Kind::Comm,
            (copy_fn, delete_fn),
            comm_keyval,
            extra_state,
        )
    }
}

pub(crate) unsafe fn MPI_Comm_free_keyval(comm_keyval: *mut i32) -> i32 {
    // SAFETY: passed on.
    unsafe { free("MPI_Comm_free_keyval", Kind::Comm, comm_keyval) }
}

pub(crate) fn MPI_Comm_set_attr(
    comm: MPI_Comm,
    comm_keyval: i32,
    attribute_val: *mut c_void,
) -> i32 {
    run("MPI_Comm_set_attr", comm, || {
        let object = COMMS.find(comm, "comm")?;
        object.attributes.set(
            comm as u64,
            &find(Kind::Comm, comm_keyval)?,
            attribute_val as usize,
        )
    })
}

pub(crate) unsafe fn MPI_Comm_get_attr(
    comm: MPI_Comm,
    comm_keyval: i32,
    attribute_val: *mut c_void,
    flag: *mut i32,
) -> i32 {
    run("MPI_Comm_get_attr", comm, || {
        let object = COMMS.find(comm, "comm")?;
        let value = match predefined(comm_keyval) {
            Some(value) => value,
            None => {
                let found = object.attributes.get(comm_keyval);
                if found.is_none() {
                    find(Kind::Comm, comm_keyval)?;
                }
                found
            }
        };
        // SAFETY: passed on.
        unsafe { store(value, attribute_val, flag) };
        Ok(())
    })
}

pub(crate) fn MPI_Comm_delete_attr(comm: MPI_Comm, comm_keyval: i32) -> i32 {
    run("MPI_Comm_delete_attr", comm, || {
        let attributes = &COMMS.find(comm, "comm")?.attributes;
        delete(Kind::Comm, attributes, comm as u64, comm_keyval)
    })
}

pub(crate) unsafe fn MPI_Keyval_create(
    copy_fn: Callback,
    delete_fn: Callback,
    keyval: *mut i32,
    extra_state: *mut c_void,
) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state) }
}

pub(crate) unsafe fn MPI_Keyval_free(keyval: *mut i32) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Comm_free_keyval(keyval) }
}

pub(crate) fn MPI_Attr_put(comm: MPI_Comm, keyval: i32, attribute_val: *mut c_void) -> i32 {
    MPI_Comm_set_attr(comm, keyval, attribute_val)
}

pub(crate) unsafe fn MPI_Attr_get(
    comm: MPI_Comm,
    keyval: i32,
    attribute_val: *mut c_void,
    flag: *mut i32,
) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Comm_get_attr(comm, keyval, attribute_val, flag) }
}

pub(crate) fn MPI_Attr_delete(comm: MPI_Comm, keyval: i32) -> i32 {
    MPI_Comm_delete_attr(comm, keyval)
}

pub(crate) unsafe fn MPI_Type_create_keyval(
    copy_fn: Callback,
    delete_fn: Callback,
    type_keyval: *mut i32,
    extra_state: *mut c_void,
) -> i32 {
    let call = "MPI_Type_create_keyval";
    // SAFETY: passed on.
    unsafe {
        create(
            call,
            Kind::Type,
            (copy_fn, delete_fn),
            type_keyval,
            extra_state,
        )
    }
}

pub(crate) unsafe fn MPI_Type_free_keyval(type_keyval: *mut i32) -> i32 {
    // SAFETY: passed on.
    unsafe { free("MPI_Type_free_keyval", Kind::Type, type_keyval) }
}

pub(crate) fn MPI_Type_set_attr(
    datatype: MPI_Datatype,
    type_keyval: i32,
    attribute_val: *mut c_void,
) -> i32 {
    run("MPI_Type_set_attr", 0, || {
        let object = DATATYPES.find(datatype, "datatype")?;
        let keyval = find(Kind::Type, type_keyval)?;
        object
            .attributes
            .set(datatype as u64, &keyval, attribute_val as usize)
    })
}

pub(crate) unsafe fn MPI_Type_get_attr(
    datatype: MPI_Datatype,
    type_keyval: i32,
    attribute_val: *mut c_void,
    flag: *mut i32,
) -> i32 {
    run("MPI_Type_get_attr", 0, || {
        let found = DATATYPES
            .find(datatype, "datatype")?
            .attributes
            .get(type_keyval);
        if found.is_none() {
            find(Kind::Type, type_keyval)?;
        }
        // SAFETY: passed on.
        unsafe { store(found, attribute_val, flag) };
        Ok(())
    })
}

pub(crate) fn MPI_Type_delete_attr(datatype: MPI_Datatype, type_keyval: i32) -> i32 {
    run("MPI_Type_delete_attr", 0, || {
        let attributes = &DATATYPES.find(datatype, "datatype")?.attributes;
        delete(Kind::Type, attributes, datatype as u64, type_keyval)
    })
}
