// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions with a double of the library, whose server has four ranks, knows a few keys, and does not return for some.
#![expect(unsafe_code, reason = "a double of a C library")]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Mutex;
use std::time::Duration;

use super::abi::{ALL_RANKS, ByteObject, Data, Functions, Info, Proc, Value};
use super::session::Session;

const LIMIT: Duration = Duration::from_secs(30);
const NOT_FOUND: c_int = -46;

unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
}

/// Keys and values that ranks have put.
static KEYS: Mutex<Option<HashMap<String, Vec<u8>>>> = Mutex::new(None);

unsafe extern "C" fn init(me: *mut Proc, _: *const Info, _: usize) -> c_int {
    // SAFETY: the caller gives a process that is writable.
    let me = unsafe { &mut *me };
    for (to, from) in me.space.iter_mut().zip(b"lab@1\0") {
        *to = from.cast_signed();
    }
    me.rank = 2;
    0
}

unsafe extern "C" fn unreachable_init(_: *mut Proc, _: *const Info, _: usize) -> c_int {
    -25
}

unsafe extern "C" fn endless_init(_: *mut Proc, _: *const Info, _: usize) -> c_int {
    std::thread::park_timeout(LIMIT);
    0
}

/// A value as the library allocates it.
fn allocate(kind: u16, data: Data) -> *mut Value {
    // SAFETY: room for a value, which is written as a whole.
    unsafe {
        let value = malloc(size_of::<Value>()).cast::<Value>();
        value.write(Value { kind, data });
        value
    }
}

fn allocate_bytes(bytes: &[u8]) -> *mut c_char {
    // SAFETY: room for all bytes and a zero.
    unsafe {
        let copy = malloc(bytes.len() + 1).cast::<u8>();
        copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        copy.add(bytes.len()).write(0);
        copy.cast()
    }
}

unsafe extern "C" fn get(
    who: *const Proc,
    key: *const c_char,
    _: *const Info,
    count: usize,
    result: *mut *mut Value,
) -> c_int {
    // SAFETY: the caller gives a process and a text.
    let (rank, key) = unsafe { ((*who).rank, CStr::from_ptr(key).to_str().unwrap()) };
    let value = match (rank, key) {
        (ALL_RANKS, "pmix.job.size") => allocate(14, Data { word: 4 }),
        (ALL_RANKS, "pmix.univ.size") => allocate(14, Data { word: 9 }),
        (2, "pmix.appnum") => allocate(14, Data { word: 1 }),
        // The first two say a number, the others a name.
        (0 | 1, "pmix.nodeid") => allocate(14, Data { word: 7 }),
        (2 | 3, "pmix.hname") => {
            let text = allocate_bytes(b"far");
            allocate(3, Data { text })
        }
        (3, "number") => allocate(13, Data { half: 5 }),
        _ if count == 0 => {
            let keys = KEYS.lock().unwrap();
            let Some(bytes) = keys.as_ref().and_then(|keys| keys.get(key)) else {
                return NOT_FOUND;
            };
            let object = ByteObject {
                bytes: allocate_bytes(bytes),
                size: bytes.len(),
            };
            allocate(27, Data { object })
        }
        _ => return NOT_FOUND,
    };
    // SAFETY: the caller gives a result that is writable.
    unsafe { result.write(value) };
    0
}

unsafe extern "C" fn get_nothing(
    _: *const Proc,
    _: *const c_char,
    _: *const Info,
    _: usize,
    _: *mut *mut Value,
) -> c_int {
    NOT_FOUND
}

unsafe extern "C" fn put(_: u8, key: *const c_char, value: *mut Value) -> c_int {
    // SAFETY: the caller gives a text, and bytes with their number.
    let (key, bytes) = unsafe {
        let ByteObject { bytes, size } = (*value).data.object;
        let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), size);
        (CStr::from_ptr(key).to_str().unwrap(), bytes)
    };
    let mut keys = KEYS.lock().unwrap();
    let keys = keys.get_or_insert_with(HashMap::new);
    keys.insert(key.to_owned(), bytes.to_vec());
    0
}

unsafe extern "C" fn nothing() -> c_int {
    0
}

unsafe extern "C" fn fence(_: *const Proc, _: usize, _: *const Info, count: usize) -> c_int {
    c_int::from(count != 1)
}

unsafe extern "C" fn endless_fence(_: *const Proc, _: usize, _: *const Info, _: usize) -> c_int {
    std::thread::park_timeout(LIMIT);
    0
}

unsafe extern "C" fn abort(code: c_int, _: *const c_char, _: *const Proc, _: usize) -> c_int {
    c_int::from(code != 37)
}

unsafe extern "C" fn finalize(_: *const Info, _: usize) -> c_int {
    0
}

unsafe extern "C" fn error_string(code: c_int) -> *const c_char {
    match code {
        -25 => c"UNREACHABLE".as_ptr(),
        NOT_FOUND => c"NOT-FOUND".as_ptr(),
        _ => std::ptr::null(),
    }
}

const LIBRARY: Functions = Functions {
    init,
    get,
    put,
    commit: nothing,
    fence,
    abort,
    finalize,
    error_string,
};

#[test]
fn ranks_learn_their_job_and_exchange_keys() {
    let (session, welcome) = Session::start(LIBRARY, 2, LIMIT).unwrap();
    assert_eq!((welcome.rank, welcome.size), (2, 4));
    assert_eq!(
        (welcome.step.as_str(), &welcome.node_of[..]),
        ("lab@1", &[0, 0, 1, 1][..])
    );
    assert_eq!(
        (welcome.app_number, welcome.universe_size),
        (Some(1), Some(9))
    );
    session.put("card", "00ff").unwrap();
    session.fence().unwrap();
    assert_eq!(session.get(0, "card").unwrap(), "00ff");
    let text = session.get(3, "missing").unwrap_err();
    assert_eq!(
        text,
        "PMIx_Get of key missing, which rank 3 puts, fails: NOT-FOUND (-46)"
    );
    let text = session.get(3, "number").unwrap_err();
    assert!(text.contains("gives Number(5), expected bytes"), "{text}");
    session.abort(37);
    session.finalize().unwrap();
}

#[test]
fn servers_that_are_not_there_or_say_nothing_are_named() {
    let refused =
        |library: Functions, rank, limit| Session::start(library, rank, limit).err().unwrap();
    let nobody = Functions {
        init: unreachable_init,
        ..LIBRARY
    };
    assert_eq!(
        refused(nobody, 2, LIMIT),
        "PMIx_Init fails: UNREACHABLE (-25)"
    );
    let silent = Functions {
        init: endless_init,
        ..LIBRARY
    };
    let short = Duration::from_millis(20);
    assert_eq!(
        refused(silent, 2, short),
        "PMIx_Init has not returned for 0.02 s"
    );
    let text = refused(LIBRARY, 1, LIMIT);
    assert_eq!(
        text,
        "PMIx_Init says that this is rank 2 of lab@1, but PMIX_RANK is 1"
    );
    let empty = Functions {
        get: get_nothing,
        ..LIBRARY
    };
    let text = refused(empty, 2, LIMIT);
    assert!(
        text.contains("does not tell the size of job lab@1"),
        "{text}"
    );
    let alone = Functions {
        fence: endless_fence,
        ..LIBRARY
    };
    let (session, _) = Session::start(alone, 2, short).unwrap();
    assert_eq!(
        session.fence().unwrap_err(),
        "PMIx_Fence has not returned for 0.02 s"
    );
}

#[test]
fn a_library_that_is_missing_or_another_one_is_named() {
    let text = Session::open("libnone.so.77", 0, LIMIT).err().unwrap();
    for part in ["libnone.so.77", "RANKPOINT_LIBPMIX", "libpmix2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = Session::open("libc.so.6", 0, LIMIT).err().unwrap();
    assert!(
        text.contains("libc.so.6 has no function PMIx_Init"),
        "{text}"
    );
    assert_eq!(super::abi::key("a\0b"), CString::new("ab").unwrap());
}
