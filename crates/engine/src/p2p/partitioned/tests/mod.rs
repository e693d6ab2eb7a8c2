// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitioned communication against its definition: all divisions of a buffer, orders, sizes around the thresholds of the protocols,
//! threads, and wrong calls.

mod exchanges;
mod lanes;
mod offers;
mod wrong_calls;
