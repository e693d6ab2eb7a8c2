// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures of a network.

use std::io::{self, ErrorKind};

/// A failure, of which each VCI of the process is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What has happened, with the rank and its host.
    pub text: String,
    /// Whether a peer is lost that messages were exchanged with, or that did not answer; else a peer broke the protocol, or the library
    /// failed.
    pub is_loss: bool,
}

impl Fault {
    pub(super) const fn loss(text: String) -> Self {
        let is_loss = true;
        Self { text, is_loss }
    }

    pub(super) fn of(error: &io::Error) -> Self {
        Self {
            text: error.to_string(),
            is_loss: error.kind() == ErrorKind::ConnectionAborted,
        }
    }
}

/// An error of the kind `ConnectionAborted` tells that a peer is lost.
impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        let kind = match fault.is_loss {
            true => ErrorKind::ConnectionAborted,
            false => ErrorKind::Other,
        };
        Self::new(kind, fault.text)
    }
}
