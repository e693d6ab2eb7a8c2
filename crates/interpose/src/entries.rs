// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exported functions and the slots through which they jump.
//!
//! `MPI_X` is one jump through its slot of [`PROGRAM`], `PMPI_X` one through its slot of [`PROFILING`], whatever their parameters are.
//! A slot first leads to [`first_call`], which fills all slots ([`start`]) and then jumps where the slot leads now.

use std::arch::naked_asm;
use std::sync::Once;
use std::sync::atomic::Ordering::{Relaxed, Release};

use crate::start;
use crate::sync::AtomicPtr;
use crate::table::{COUNT, Functions};

/// Where functions lead.
type Slots = [AtomicPtr<()>; COUNT];

/// Leads each slot to a function.
fn lead(slots: &Slots, functions: &Functions) {
    for (slot, address) in slots.iter().zip(functions.addresses()) {
        // Release: with the load of the jump (`Next`).
        slot.store(address.cast_mut(), Release);
    }
}

/// Fills the slots, at the first call of all; gives where the slot of the call leads then.
extern "C" fn filled(slot: &AtomicPtr<()>) -> *mut () {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        if let Some(led) = start::another_abi() {
            lead(&PROFILING, &led.profiling);
            lead(&PROGRAM, &led.program);
            return;
        }
        let opened = start::library();
        // Initialisers of tools may call MPI.
        lead(&PROFILING, &opened.real);
        lead(&PROGRAM, &opened.real);
        if let Some(led) = start::between(&opened) {
            lead(&PROFILING, &led.profiling);
            lead(&PROGRAM, &led.program);
        }
    });
    slot.load(Relaxed)
}

/// Keeps all arguments, fills the tables, and jumps where the slot whose address is in `r11` leads then. `rax` counts the vector
/// registers of a variadic call.
#[unsafe(naked)]
unsafe extern "C" fn first_call() {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, 192",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov [rsp + 48], rax",
        "movups [rsp + 64], xmm0",
        "movups [rsp + 80], xmm1",
        "movups [rsp + 96], xmm2",
        "movups [rsp + 112], xmm3",
        "movups [rsp + 128], xmm4",
        "movups [rsp + 144], xmm5",
        "movups [rsp + 160], xmm6",
        "movups [rsp + 176], xmm7",
        "mov rdi, r11",
        "call {filled}",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "movups xmm0, [rsp + 64]",
        "movups xmm1, [rsp + 80]",
        "movups xmm2, [rsp + 96]",
        "movups xmm3, [rsp + 112]",
        "movups xmm4, [rsp + 128]",
        "movups xmm5, [rsp + 144]",
        "movups xmm6, [rsp + 160]",
        "movups xmm7, [rsp + 176]",
        "leave",
        "jmp r11",
        filled = sym filled,
    )
}

macro_rules! program_entries {
    ($($number:literal $name:ident $symbol:literal;)*) => {
        /// Where each `MPI_X` leads.
        static PROGRAM: Slots = [$(AtomicPtr::new({
            #[unsafe(export_name = $symbol)]
            #[unsafe(naked)]
            extern "C" fn entry() {
                naked_asm!("jmp [rip + {slots} + {offset}]", slots = sym PROGRAM, offset = const $number * 8)
            }
            #[unsafe(naked)]
            extern "C" fn first() {
                naked_asm!(
                    "lea r11, [rip + {slots} + {offset}]", "jmp {first_call}",
                    slots = sym PROGRAM, offset = const $number * 8, first_call = sym first_call,
                )
            }
            (first as *const ()).cast_mut()
        })),*];
    };
}

macro_rules! profiling_entries {
    ($($number:literal $name:ident $symbol:literal;)*) => {
        /// Where each `PMPI_X` leads.
        static PROFILING: Slots = [$(AtomicPtr::new({
            #[unsafe(export_name = $symbol)]
            #[unsafe(naked)]
            extern "C" fn entry() {
                naked_asm!("jmp [rip + {slots} + {offset}]", slots = sym PROFILING, offset = const $number * 8)
            }
            #[unsafe(naked)]
            extern "C" fn first() {
                naked_asm!(
                    "lea r11, [rip + {slots} + {offset}]", "jmp {first_call}",
                    slots = sym PROFILING, offset = const $number * 8, first_call = sym first_call,
                )
            }
            (first as *const ()).cast_mut()
        })),*];
    };
}

include!(concat!(env!("OUT_DIR"), "/entries.rs"));
