// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers from and to GPUs, and what giving work to a GPU costs.
//!
//! ```text
//! transfer   the rows: method and direction, and how each is timed
//! ways       what each of them gives to the driver
//! pageable   both directions at once through memory that is not pinned: two threads
//! calls      calls, launches, graphs, allocations
//! ```

mod calls;
mod pageable;
mod transfer;
mod ways;

use crate::entry::Entry;
use crate::gpu::Unit;
use crate::session::Session;

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let mut entries = transfer::entries();
    entries.extend(calls::entries());
    entries
}

/// The GPU that is measured, and the one at the other end of transfers between GPUs: itself where it is the only one.
fn units(session: &Session) -> Result<[&Unit; 2], String> {
    let units = session.gpus()?;
    let here = units.first().ok_or("the driver finds no GPU")?;
    Ok([here, units.get(1).unwrap_or(here)])
}
