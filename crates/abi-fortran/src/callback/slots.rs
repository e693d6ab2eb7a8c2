// SPDX-License-Identifier: MIT OR Apache-2.0
//! C functions that each call one procedure of the program. A procedure has its function for as long as the process lives, however
//! many objects are made from it.

use core::ffi::c_void;
use std::sync::atomic::Ordering;

use super::errhandler::{comm_handler, file_handler, session_handler, win_handler};
use super::op::{large_operation, operation};
use crate::sync::AtomicUsize;

/// A C operation.
pub(super) type Operation = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i32, *mut usize);
/// A C operation with a large count.
pub(super) type LargeOperation =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut usize);
/// A C error handler, which takes more arguments than it looks at.
pub(super) type Handler = unsafe extern "C" fn(*mut usize, *mut i32);

/// C functions and the procedures that they call.
pub(super) struct Slots<F: 'static, const N: usize> {
    functions: [F; N],
    procedures: [AtomicUsize; N],
}

impl<F: Copy, const N: usize> Slots<F, N> {
    const fn new(functions: [F; N]) -> Self {
        Self {
            functions,
            procedures: [const { AtomicUsize::new(0) }; N],
        }
    }

    /// The C function of a procedure; none if all are taken.
    pub(super) fn function_of(&self, procedure: usize) -> Option<F> {
        for (slot, function) in self.procedures.iter().zip(&self.functions) {
            // Relaxed: an address is all that there is to it.
            let taken = slot.compare_exchange(0, procedure, Ordering::Relaxed, Ordering::Relaxed);
            if taken.is_ok() || taken == Err(procedure) {
                return Some(*function);
            }
        }
        None
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        N
    }

    /// The procedure of a slot.
    pub(super) fn procedure(&self, number: usize) -> usize {
        self.procedures[number].load(Ordering::Relaxed)
    }
}

/// Reports that no slot is free, to the handler of MPI_COMM_SELF.
#[cold]
pub(super) fn no_slot(call: &str, most: usize) -> i32 {
    use mpi_abi_sys::constants::{MPI_COMM_SELF, MPI_ERR_NO_MEM};
    use std::io::Write as _;
    // There is nowhere else to report that this cannot be written.
    let _ = writeln!(
        std::io::stderr(),
        "libmpifort_rankpoint.so.1: {call}: {most} procedures of this process are callbacks of this kind, which is the most"
    );
    // SAFETY: the handler of a predefined communicator gets a predefined error class.
    unsafe {
        crate::library::profiling::MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_NO_MEM);
    }
    MPI_ERR_NO_MEM
}

include!(concat!(env!("OUT_DIR"), "/trampolines.rs"));
