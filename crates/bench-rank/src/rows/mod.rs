// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of the table of measurements: pairs of ranks, queues, all ranks at once, work meanwhile, datatypes, memory, windows, and
//! long messages whose order is forced.

pub(crate) mod collective;
pub(crate) mod many;
pub(crate) mod memory;
pub(crate) mod overlap;
pub(crate) mod pack;
pub(crate) mod pair;
pub(crate) mod queue;
pub(crate) mod rendezvous;
pub(crate) mod rma;
