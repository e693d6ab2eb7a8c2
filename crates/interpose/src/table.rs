// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the ABI as tables.
#![expect(non_snake_case, reason = "names of the standard")]

use std::arch::naked_asm;
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::mem::{MaybeUninit, transmute};

use mpi_abi_sys::types::*;

/// A table that is filled once, before anybody is led to a function that reads it.
pub(crate) struct Next(UnsafeCell<MaybeUninit<Functions>>);

// SAFETY: written once by `fill`, before the slots that lead to its readers are (Release there; the processors that the entries are
// written for order the jump's load before the loads of the function that it leads to).
unsafe impl Sync for Next {}

impl Next {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Fills the table.
    ///
    /// # Safety
    /// Nobody reads it yet.
    pub(crate) unsafe fn fill(&self, functions: Functions) {
        // SAFETY: the caller's promise.
        unsafe { (*self.0.get()).write(functions) };
    }

    /// The functions. Only what the slots lead to after [`Self::fill`] calls this.
    pub(crate) fn get(&self) -> &Functions {
        // SAFETY: filled before the slots were, and never written again.
        unsafe { (*self.0.get()).assume_init_ref() }
    }
}

/// The functions of the MPI library.
pub(crate) static REAL: Next = Next::new();

impl Functions {
    /// Functions by their addresses.
    ///
    /// # Safety
    /// Each address is that of a function with the prototype of the name at its position.
    pub(crate) unsafe fn of(addresses: &[*const (); COUNT]) -> Self {
        const { assert!(size_of::<Functions>() == COUNT * size_of::<usize>()) };
        // SAFETY: the struct has one function pointer for each name, in order; the caller's promise for what they are.
        unsafe { transmute(*addresses) }
    }

    /// The address of each function.
    pub(crate) fn addresses(&self) -> [*const (); COUNT] {
        // SAFETY: a function pointer is an address.
        unsafe { transmute(*self) }
    }
}

/// The first of these functions that the MPI library does not have.
pub(crate) fn lacking(names: &[&'static CStr]) -> Option<&'static CStr> {
    let addresses = REAL.get().addresses();
    let lacks = |name: &&'static CStr| {
        number_of(name).is_none_or(|number| addresses[number] == MISSING[number] as *const ())
    };
    names.iter().copied().find(lacks)
}

/// Position of a function in the tables.
pub(crate) fn number_of(name: &CStr) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}

/// Names a function that the MPI library does not have, and ends the process as the dynamic linker would.
extern "C" fn missing(number: usize) -> ! {
    let name = NAMES[number].to_string_lossy();
    crate::output::end(&format!(
        "symbol lookup error: undefined symbol: {name} (the MPI library does not have it)"
    ))
}

macro_rules! missing {
    ($($number:literal $name:ident;)*) => {
        /// What stands for functions that the MPI library does not have.
        pub(crate) static MISSING: &[extern "C" fn(); COUNT] = &[$({
            #[unsafe(naked)]
            extern "C" fn absent() {
                naked_asm!("mov edi, {number}", "jmp {missing}", number = const $number, missing = sym missing)
            }
            absent
        }),*];
    };
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
