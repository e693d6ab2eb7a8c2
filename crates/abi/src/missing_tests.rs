// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every function that is not written yet, called through its C symbol: its error reaches the error handler and names it. Those of the tool
//! interface return a code.

use std::sync::atomic::Ordering;

use mpi_abi_sys::constants::{
    MPI_COMM_SELF, MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERRORS_RETURN, MPI_FILE_NULL,
    MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_INDEX, MPI_T_ERR_INVALID_NAME,
    MPI_T_ERR_NOT_INITIALIZED,
};
use mpi_abi_sys::table;
use mpi_abi_sys::types::*;

use crate::null_tests::{scratch, text_of};
use crate::sync::AtomicU32;

/// A call of a missing function.
type MissingCall = (&'static str, fn() -> i32);

macro_rules! missing_calls {
    ($($name:ident($($argument:ident: $kind:ty),*) = ($($value:expr),*);)*) => {
        const CALLS: &[MissingCall] = &[
            $((stringify!($name), {
                fn call() -> i32 {
                    unsafe extern "C" {
                        fn $name($($argument: $kind),*) -> i32;
                    }
                    // SAFETY: the entry point looks at nothing but the communicator.
                    unsafe { $name($($value),*) }
                }
                call
            }),)*
        ];
    };
}

include!(concat!(env!("OUT_DIR"), "/missing_calls.rs"));

/// Errors that reached the handler, and the code of the last one.
static SEEN: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// A handler of the program's.
unsafe extern "C" fn note(_comm: *mut MPI_Comm, code: *mut i32) {
    SEEN[0].fetch_add(1, Ordering::Relaxed);
    // SAFETY: handlers are given the address of a code.
    SEEN[1].store(unsafe { *code } as u32, Ordering::Relaxed);
}

/// Part of the one test that may start MPI.
pub(crate) fn every_missing_function_says_so() {
    let names: Vec<&str> = crate::MISSING.lines().collect();
    assert!(names.iter().eq(CALLS.iter().map(|(name, _)| name)));
    let function = note as *const () as usize;
    let (mut handler, mut of_files) = (0, 0);
    // SAFETY: the results are writable; the function takes what handlers are given.
    let codes = unsafe {
        [
            crate::error::handlers::MPI_Comm_create_errhandler(function, &raw mut handler),
            crate::error::handlers::MPI_File_create_errhandler(function, &raw mut of_files),
        ]
    };
    assert_eq!(codes, [0, 0]);
    let set = crate::error::handlers::MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    assert_eq!(set, 0);
    let set = crate::error::file::MPI_File_set_errhandler(MPI_FILE_NULL, of_files);
    assert_eq!(set, 0);
    let mut raised = 0;
    for (name, call) in CALLS {
        let code = call();
        let [calls, last] = SEEN.each_ref().map(|seen| seen.load(Ordering::Relaxed));
        if name.starts_with("MPI_T_") {
            assert_eq!((code, calls), (MPI_T_ERR_NOT_INITIALIZED, raised), "{name}");
            continue;
        }
        raised += 1;
        assert_eq!(code, MPI_ERR_UNSUPPORTED_OPERATION, "{name}");
        let said = format!("{name}: not implemented yet; `rankpoint info --missing`");
        assert!(text_of(code).contains(&said), "{}", text_of(code));
        assert_eq!((calls, last as i32), (raised, code), "{name}");
    }
    every_missing_tool_call_has_a_code();
    let set = crate::error::handlers::MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    assert_eq!(set, 0);
}

/// Between MPI_T_init_thread and MPI_T_finalize.
fn every_missing_tool_call_has_a_code() {
    let mut provided = 0;
    // SAFETY: the result is writable.
    let code = unsafe { crate::tool::MPI_T_init_thread(0, &raw mut provided) };
    assert_eq!(code, 0);
    let codes = [
        MPI_T_ERR_INVALID_INDEX,
        MPI_T_ERR_INVALID_HANDLE,
        MPI_T_ERR_INVALID_NAME,
    ];
    for (name, call) in CALLS.iter().filter(|(name, _)| name.starts_with("MPI_T_")) {
        let code = call();
        assert!(codes.contains(&code), "{name} returns {code}");
    }
    assert_eq!(crate::tool::MPI_T_finalize(), 0);
}

#[test]
fn what_is_missing_belongs_to_chapters_that_are() {
    let open = ["rma", "io", "spawn", "part", "mpi_t"];
    let functions = table::functions();
    for name in crate::MISSING.lines() {
        let function = functions.iter().find(|function| function.name == name);
        let chapter = function.map_or("", |function| function.chapter);
        // Attributes and error handlers of windows and files.
        let of_others = name.starts_with("MPI_Win_") || name.starts_with("MPI_File_");
        assert!(open.contains(&chapter) || of_others, "{name} ({chapter})");
    }
}
