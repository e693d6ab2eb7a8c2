// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every implemented function, called through its C symbol with each pointer null that it cannot do without.

use std::cell::UnsafeCell;
use std::sync::OnceLock;

use mpi_abi_sys::constants::{
    MPI_COMM_SELF, MPI_ERR_ARG, MPI_ERRORS_RETURN, MPI_INFO_NULL, MPI_MAX_ERROR_STRING,
};
use mpi_abi_sys::table;
use mpi_abi_sys::types::*;

/// Memory that stands for every argument that is not null.
struct Scratch(UnsafeCell<[u64; 64]>);

// SAFETY: nothing reads what the calls store there, and one thread makes them.
unsafe impl Sync for Scratch {}

static SCRATCH: Scratch = Scratch(UnsafeCell::new([0; 64]));

pub(crate) const fn scratch<T>() -> *mut T {
    SCRATCH.0.get().cast()
}

/// A session whose errors are returned.
fn session() -> MPI_Session {
    static SESSION: OnceLock<MPI_Session> = OnceLock::new();
    *SESSION.get_or_init(|| {
        let mut made = 0;
        // SAFETY: the result is writable.
        let code = unsafe {
            crate::env::session::MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &raw mut made)
        };
        assert_eq!(code, 0);
        made
    })
}

/// A call with a null pointer: function, argument, and the call.
type NullCall = (&'static str, &'static str, fn() -> i32);

macro_rules! null_calls {
    ($($name:ident($($argument:ident: $kind:ty),*) null $null:ident = ($($value:expr),*);)*) => {
        const CALLS: &[NullCall] = &[
            $((stringify!($name), stringify!($null), {
                fn call() -> i32 {
                    unsafe extern "C" {
                        fn $name($($argument: $kind),*) -> i32;
                    }
                    // SAFETY: the entry point returns before it uses anything but the null pointer and the handle whose
                    // error handler it calls; else this test has found what it looks for.
                    unsafe { $name($($value),*) }
                }
                call
            }),)*
        ];
    };
}

include!(concat!(env!("OUT_DIR"), "/null_calls.rs"));

pub(crate) fn text_of(code: i32) -> String {
    let mut text = [0u8; MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: the buffer has the standard's size.
    unsafe {
        crate::error::codes::MPI_Error_string(code, text.as_mut_ptr().cast(), &raw mut length)
    };
    String::from_utf8_lossy(&text[..length as usize]).into_owned()
}

#[test]
fn null_pointers_are_refused_by_every_function() {
    // SAFETY: the standard allows null for both.
    let code = unsafe { crate::env::init::MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
    assert_eq!(code, 0);
    let world = mpi_abi_sys::constants::MPI_COMM_WORLD;
    for comm in [MPI_COMM_SELF, world] {
        assert_eq!(
            crate::error::handlers::MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN),
            0
        );
    }
    for (name, argument, call) in CALLS {
        let code = call();
        assert_eq!(code, MPI_ERR_ARG, "{name}, {argument}");
        let text = text_of(code);
        let said = format!(
            "{name}: argument '{}' is null",
            argument.trim_end_matches('_')
        );
        assert!(text.contains(&said), "{text}");
    }
    crate::missing_tests::every_missing_function_says_so();
    // The process has survived, and works.
    let mut size = 0;
    // SAFETY: the result is writable.
    unsafe { crate::comm::communicator::MPI_Comm_size(world, &raw mut size) };
    assert_eq!((size, crate::env::init::MPI_Finalize()), (1, 0));
}

/// Pointers that bodies check, because other arguments decide whether null is right there; C programs try them
/// (`tests/c/null_arguments.c`, `bad_collectives.c`, `bad_constructors.c`).
const CHECKED_BY_BODIES: [&str; 22] = [
    "array_of_requests",
    "argv",
    "coords",
    "counts",
    "datarep",
    "destinations",
    "displs",
    "edges",
    "key",
    "pset_name",
    "rdispls",
    "recvcounts",
    "recvdispls",
    "recvtypes",
    "remain_dims",
    "sdispls",
    "sendcounts",
    "senddispls",
    "sendtypes",
    "value",
    "neighbors",
    "indx",
];

#[test]
fn every_pointer_is_checked_or_may_be_null() {
    let missing: Vec<&str> = crate::MISSING.lines().collect();
    let mut checked = 0;
    for function in table::functions() {
        let is_missing = missing.contains(&function.name);
        // The calls of the tool interface return a code of their own for a null pointer (tests/c/tool_interface.c).
        if is_missing || function.returns != "int" || function.chapter == "mpi_t" {
            continue;
        }
        for (position, (name, rust)) in function.rust_parameters().iter().enumerate() {
            let (kind, _) = function.kind(position);
            if !rust.starts_with('*') {
                continue;
            }
            if CALLS
                .iter()
                .any(|call| call.0 == function.name && call.1 == *name)
            {
                checked += 1;
                continue;
            }
            let may_be_null = [
                "BUFFER",
                "STATUS",
                "WEIGHT",
                "ARGUMENT_COUNT",
                "ARGUMENT_LIST",
                "ATTRIBUTE_VAL",
                "ATTRIBUTE_VAL_10",
                "EXTRA_STATE",
                "EXTRA_STATE2",
            ];
            let reason = may_be_null.contains(&kind) || CHECKED_BY_BODIES.contains(&name.as_str());
            assert!(reason, "{}: {name} ({kind})", function.name);
        }
    }
    // As many as existed when this was written, and more with each function.
    assert!(checked >= 360, "{checked}");
}
