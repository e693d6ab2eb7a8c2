// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties of a simulated network (`network`), and those that it shares with shared memory
//! (`conformance`).

mod conformance;
mod messages;
mod network;
