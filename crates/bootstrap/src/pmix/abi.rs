// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library's structures and functions, declared here: nothing of PMIx is needed to build. The layout is that of versions 3 to 6,
//! which keep it.
#![expect(unsafe_code, reason = "functions and structures of a C library")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::{offset_of, transmute};
use std::ptr::{NonNull, null, null_mut};

use sys::library::Library;

/// Bytes of a namespace, its zero included.
const SPACE_BYTES: usize = 256;
/// Bytes of a key, its zero included.
const KEY_BYTES: usize = 512;
/// Bytes of a value at most.
const MOST_BYTES: usize = 1 << 20;
/// The rank that stands for all of a namespace.
pub(super) const ALL_RANKS: u32 = u32::MAX - 1;
/// Values for all processes of the job (PMIX_GLOBAL).
const GLOBAL: u8 = 3;
/// PMIX_SUCCESS.
const SUCCESS: c_int = 0;
/// PMIX_ERROR.
const ERROR: c_int = -1;
/// Types of values.
const BOOL: u16 = 1;
const STRING: u16 = 3;
const INT: u16 = 6;
const BYTE_OBJECT: u16 = 27;

/// A process (`pmix_proc_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Proc {
    pub(super) space: [c_char; SPACE_BYTES],
    pub(super) rank: u32,
}

impl Proc {
    /// Another rank of the same namespace.
    pub(super) const fn with_rank(self, rank: u32) -> Self {
        Self { rank, ..self }
    }

    /// The name of the namespace.
    pub(super) fn name(&self) -> String {
        let bytes = self.space.iter().map(|&letter| letter.cast_unsigned());
        let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&name).into_owned()
    }
}

/// Bytes with their number (`pmix_byte_object_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ByteObject {
    pub(super) bytes: *mut c_char,
    pub(super) size: usize,
}

/// The data of a value (`pmix_value_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union Data {
    pub(super) object: ByteObject,
    pub(super) text: *mut c_char,
    pub(super) flag: bool,
    pub(super) byte: u8,
    pub(super) half: u16,
    pub(super) word: u32,
    pub(super) long: u64,
    /// The largest one is a time of the day with its kind.
    size: [u64; 3],
}

/// A value with its type (`pmix_value_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) kind: u16,
    pub(super) data: Data,
}

/// A key with its value (`pmix_info_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Info {
    pub(super) key: [c_char; KEY_BYTES],
    pub(super) flags: u32,
    pub(super) value: Value,
}

const _: () = {
    assert!(size_of::<Proc>() == 260);
    assert!(size_of::<Value>() == 32 && offset_of!(Value, data) == 8);
    assert!(size_of::<Info>() == 552 && offset_of!(Info, value) == 520);
};

impl Info {
    fn new(key: &CStr, kind: u16, data: Data) -> Self {
        let mut info = Self {
            key: [0; KEY_BYTES],
            flags: 0,
            value: Value { kind, data },
        };
        for (to, &from) in info.key.iter_mut().zip(key.to_bytes()) {
            *to = from.cast_signed();
        }
        info
    }
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Number(u64),
    Bytes(Vec<u8>),
    /// A data type that this client does not read, by its number.
    Other(u16),
}

type Init = unsafe extern "C" fn(*mut Proc, *const Info, usize) -> c_int;
type Get =
    unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Proc, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of the library.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub(super) init: Init,
    pub(super) get: Get,
    pub(super) put: Put,
    pub(super) commit: Commit,
    pub(super) fence: Fence,
    pub(super) abort: Abort,
    pub(super) finalize: Finalize,
    pub(super) error_string: ErrorString,
}

unsafe extern "C" {
    fn free(memory: *mut c_void);
}

impl Functions {
    /// Opens the library.
    ///
    /// # Errors
    /// With the loader's reason, or the name of the function that is missing.
    pub(super) fn open(path: &str) -> Result<Self, String> {
        // SAFETY: the initialisers of the library of a launcher, which other MPI libraries run as well.
        let library = unsafe { Library::open(OsStr::new(path)) }.map_err(|why| why.to_string())?;
        let find = |name: &CStr| {
            let symbol = library.symbol(name);
            symbol.ok_or_else(|| format!("{path} has no function {}", name.to_string_lossy()))
        };
        let (init, get, put) = (find(c"PMIx_Init")?, find(c"PMIx_Get")?, find(c"PMIx_Put")?);
        let (commit, fence) = (find(c"PMIx_Commit")?, find(c"PMIx_Fence")?);
        let (abort, finalize) = (find(c"PMIx_Abort")?, find(c"PMIx_Finalize")?);
        let error_string = find(c"PMIx_Error_string")?;
        // SAFETY: functions of the PMIx standard, whose types are those of the fields; a library stays open.
        Ok(unsafe {
            Self {
                init: transmute::<NonNull<c_void>, Init>(init),
                get: transmute::<NonNull<c_void>, Get>(get),
                put: transmute::<NonNull<c_void>, Put>(put),
                commit: transmute::<NonNull<c_void>, Commit>(commit),
                fence: transmute::<NonNull<c_void>, Fence>(fence),
                abort: transmute::<NonNull<c_void>, Abort>(abort),
                finalize: transmute::<NonNull<c_void>, Finalize>(finalize),
                error_string: transmute::<NonNull<c_void>, ErrorString>(error_string),
            }
        })
    }

    pub(super) fn init(&self) -> Result<Proc, c_int> {
        let mut me = Proc {
            space: [0; SPACE_BYTES],
            rank: 0,
        };
        // SAFETY: the result is writable, and there are no keys.
        check(unsafe { (self.init)(&raw mut me, null(), 0) })?;
        me.space[SPACE_BYTES - 1] = 0;
        Ok(me)
    }

    /// The value of a key of a process; with `is_local`, only if the server of this node has it.
    pub(super) fn get(&self, who: &Proc, key: &CStr, is_local: bool) -> Result<Item, c_int> {
        let optional = Info::new(c"pmix.optional", BOOL, Data { flag: true });
        let mut value: *mut Value = null_mut();
        // SAFETY: process, key and information live through the call; the result is writable.
        let code = unsafe {
            (self.get)(
                who,
                key.as_ptr(),
                &raw const optional,
                usize::from(is_local),
                &raw mut value,
            )
        };
        check(code)?;
        if value.is_null() {
            return Err(ERROR);
        }
        // SAFETY: a value that the library has allocated for this process; its type says which part of it is there, and texts end with
        // zero.
        unsafe {
            let Value { kind, data } = *value;
            let item = match kind {
                BOOL => Item::Number(u64::from(data.byte)),
                2 | 12 => Item::Number(u64::from(data.byte)),
                13 => Item::Number(u64::from(data.half)),
                5 | INT | 9 | 11 | 14 | 40 => Item::Number(u64::from(data.word)),
                4 | 10 | 15 => Item::Number(data.long),
                STRING if !data.text.is_null() => {
                    let bytes = CStr::from_ptr(data.text).to_bytes().to_vec();
                    free(data.text.cast());
                    Item::Bytes(bytes)
                }
                BYTE_OBJECT if !data.object.bytes.is_null() && data.object.size <= MOST_BYTES => {
                    let ByteObject { bytes, size } = data.object;
                    let copy = std::slice::from_raw_parts(bytes.cast::<u8>(), size).to_vec();
                    free(bytes.cast());
                    Item::Bytes(copy)
                }
                other => Item::Other(other),
            };
            free(value.cast());
            Ok(item)
        }
    }

    /// Puts bytes for all processes of the job, who see them after [`Self::fence`].
    pub(super) fn put(&self, key: &CStr, bytes: &[u8]) -> Result<(), c_int> {
        let object = ByteObject {
            bytes: bytes.as_ptr().cast_mut().cast(),
            size: bytes.len(),
        };
        let mut value = Value {
            kind: BYTE_OBJECT,
            data: Data { object },
        };
        // SAFETY: key and value live through the call, which copies them.
        check(unsafe { (self.put)(GLOBAL, key.as_ptr(), &raw mut value) })
    }

    /// Waits for all processes of the job, with all that they have put.
    pub(super) fn fence(&self) -> Result<(), c_int> {
        // SAFETY: no arguments.
        check(unsafe { (self.commit)() })?;
        let collect = Info::new(c"pmix.collect", BOOL, Data { flag: true });
        // SAFETY: no list of processes, which means all; the information lives through the call.
        check(unsafe { (self.fence)(null(), 0, &raw const collect, 1) })
    }

    pub(super) fn abort(&self, code: c_int) -> Result<(), c_int> {
        // SAFETY: the text lives through the call; no list of processes, which means all.
        check(unsafe { (self.abort)(code, c"MPI_Abort".as_ptr(), null(), 0) })
    }

    pub(super) fn finalize(&self) -> Result<(), c_int> {
        // SAFETY: no keys.
        check(unsafe { (self.finalize)(null(), 0) })
    }

    /// The name of an error.
    pub(super) fn name_of(&self, code: c_int) -> String {
        // SAFETY: any number is allowed; the result is a text that stays.
        let text = unsafe { (self.error_string)(code).as_ref() };
        let text = text.map_or(c"", |text| {
            // SAFETY: as above.
            unsafe { CStr::from_ptr(text) }
        });
        format!("{} ({code})", text.to_string_lossy())
    }
}

fn check(code: c_int) -> Result<(), c_int> {
    match code {
        SUCCESS => Ok(()),
        code => Err(code),
    }
}

/// A key for the library.
pub(super) fn key(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}
