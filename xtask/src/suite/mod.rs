// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask test [STEP...] [--thorough]`: every check and test, then a summary. `--list` names the steps.
//!
//! [`mod@steps`] lists the steps, [`mod@run`] runs and sums them up, [`forecast`] says what they will take, [`scope`] says how much they cover. [`cargo`] runs what cargo knows,
//! [`programs`] C programs and examples, [`abi`] compares our header with another library's, [`mod@apps`] runs mini-apps in C, [`examples`] programs of a page, [`gpu`] tries GPUs without one,
//! [`memory`] measures idle ranks, [`offers`] kills ranks while one writes the memory of the other, [`others`] runs other projects' tests, [`reports`] asks what a program waits for, [`tune`] has a
//! table of rules made, [`sanitizers`] reads all memory of ranks, [`shortest_path`] runs programs with both kinds of calls, [`types`] compares datatypes with another library's, [`wrappers`] tries what is installed.

mod abi;
mod apps;
mod bspmm;
mod cargo;
mod engine;
mod examples;
mod forecast;
mod found;
mod gpu;
mod memory;
mod offers;
mod others;
mod outside;
mod profiling;
mod program_head;
mod programs;
mod rates;
mod reports;
mod run;
mod sanitizers;
mod scope;
mod shortest_path;
mod stencil;
mod steps;
mod tune;
mod types;
mod wrappers;

pub(crate) use gpu::in_this_machine as gpu_in_this_machine;
pub(crate) use run::run;
