// SPDX-License-Identifier: MIT OR Apache-2.0
//! A double of the CUDA driver, for tests on machines without a GPU.
//!
//! The library that this builds can stand in for `libcuda.so.1`: it compiles PTX to instructions, runs every thread of a launch
//! one after the other, and hands out "device memory" at addresses where the processor faults, so that a program which
//! touches it by mistake ends as it would with a GPU. It knows the instructions and functions that this workspace uses and refuses the
//! rest. Every access is checked against the allocations and its alignment, and registers must be written before they are read.
//!
//! Streams and events have a clock of their own, which says when a device would have ended what it was given, so that programs which
//! time with events find the same times in every run.
//!
//! What it says about a kernel is about the very text that a driver would be given; what it cannot say is how a processor
//! that runs threads at once behaves, or how fast.
//!
//! Life of the data: [`Module`] is parsed text (`parse`), [`Kernel::run`](Kernel::run) runs a grid on any [`Memory`] (`run`), `memory` is that of the
//! double, `timeline` its clock, `driver`, `streams` and `transfers` its functions.

pub mod driver;
mod memory;
mod parse;
mod run;
pub mod streams;
mod timeline;
pub mod transfers;

pub use parse::{Kernel, Module};
pub use run::Memory;
