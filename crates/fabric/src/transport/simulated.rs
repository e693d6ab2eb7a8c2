// SPDX-License-Identifier: MIT OR Apache-2.0
//! A port of a simulated network as a transport.

use std::io;

use super::connection::{Bell, Connection, Polled};
use crate::identity::LinkIndex;
use crate::ring::RingReceiver;
use crate::sim::{Fate, Port};

/// One rank of a simulated network.
pub struct Simulated {
    port: Port,
    /// Connections accepted so far.
    accepted: u32,
}

impl Simulated {
    pub(super) const fn new(port: Port) -> Self {
        Self { port, accepted: 0 }
    }

    pub(super) fn connect(&self, peer: LinkIndex) -> io::Result<Connection> {
        Ok(Connection {
            sender: self.port.connect(peer).map_err(io::Error::other)?,
            bell: Bell::None,
        })
    }

    pub(super) fn poll(&self) -> io::Result<Polled> {
        match self.port.poll() {
            Ok(Fate::Alive) => Ok(Polled::Alive),
            Ok(Fate::Dead) => Ok(Polled::Dead),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    pub(super) fn accept(&mut self) -> Vec<(LinkIndex, RingReceiver)> {
        let mut found = Vec::new();
        while self.accepted != self.port.accept_count() {
            let Some(connection) = self.port.accept() else {
                break;
            };
            self.accepted += 1;
            found.push(connection);
        }
        found
    }
}
