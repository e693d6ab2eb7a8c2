// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints inside any MPI, after EP-Lib (Sridharan, Dinan, Kalamkar, *Enabling Efficient Multithreaded MPI Communication through a
//! Library-Based Implementation of MPI Endpoints*, SC'14): what a program and the proxies of its endpoints share.
//!
//! Each endpoint has a proxy, a single-threaded rank of a second job of the same MPI. `rankpoint endpoints` starts both jobs and makes
//! one anonymous memory file for them ([`area`]). The program's side puts commands into the [`queue`] of an endpoint; the proxy
//! executes them as nonblocking MPI calls and reports the end of each in a slot ([`completion`]). Data travel through the heap behind
//! both ([`heap`]), which the program's side alone allocates.
//!
//! The program's side is the layer `endpoints` of the crate `interpose`; the proxy is this crate's binary.
#![cfg_attr(
    not(loom),
    expect(unsafe_code, reason = "memory that several processes map")
)]

#[cfg(not(loom))]
pub mod area;
pub mod command;
pub mod completion;
#[cfg(not(loom))]
pub mod heap;
pub mod queue;
pub mod window;

#[cfg(all(test, loom))]
mod models;
