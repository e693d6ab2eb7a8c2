// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a simulated network promises (`network`), and what it promises like shared memory does
//! (`conformance`).

mod conformance;
mod messages;
mod network;
