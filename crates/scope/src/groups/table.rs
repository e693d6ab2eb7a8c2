// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of entries.

use super::{
    atomics, both, calls, chase, copies, double, gpu, line, loopback, numa, pack, pages, peer,
    streams, transfer, wake,
};
use crate::entry::Entry;

/// All entries that need nothing but this process and its peer, in the order in which they are measured.
pub fn entries() -> Vec<Entry> {
    let groups = [
        line::entries(),
        atomics::entries(),
        copies::entries(),
        streams::entries(),
        transfer::entries(),
        both::entries(),
        double::entries(),
        peer::entries(),
        numa::entries(),
        pages::entries(),
        chase::entries(),
        wake::entries(),
        calls::entries(),
        pack::entries(),
        loopback::entries(),
        gpu::entries(),
    ];
    groups.into_iter().flatten().collect()
}
