// SPDX-License-Identifier: MIT OR Apache-2.0
//! A transport that forgets: sends write their cells to private memory, and nothing arrives.

use std::io;

use super::connection::{Bell, Connection};
use crate::ring::RingSender;

/// The transport of `RANKPOINT_FABRIC=null`.
pub struct Null {
    ring_cells: u32,
    payload_bytes: u32,
}

impl Null {
    /// A transport whose links pretend to have rings of these sizes.
    pub const fn new(ring_cells: u32, payload_bytes: u32) -> Self {
        Self {
            ring_cells,
            payload_bytes,
        }
    }

    pub(super) fn connect(&self) -> io::Result<Connection> {
        let sender = RingSender::forgetting(self.ring_cells, self.payload_bytes)
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Connection {
            sender,
            bell: Bell::None,
        })
    }
}
