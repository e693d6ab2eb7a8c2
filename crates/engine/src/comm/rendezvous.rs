// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the long messages of a communicator travel: the info key `rankpoint_rendezvous`, with the values of `RANKPOINT_RENDEZVOUS`.
//!
//! The key counts for the receives and sends of the process that sets it. Processes may differ: an offer that its sender does not use
//! is taken back when the message comes.

use super::Comm;
use crate::settings::Rendezvous;

/// The info key.
const KEY: &str = "rankpoint_rendezvous";

impl Comm {
    /// Gives a new communicator, which nobody uses yet, the hints for which `value_of` returns a value that is understood, and no others.
    /// The protocol of long messages is chosen here once: MPI_Comm_set_info does not change it.
    pub fn start_hints(&self, value_of: impl Fn(&str) -> Option<String>) {
        self.hints.clear();
        self.hints.set(&value_of);
        let rendezvous = value_of(KEY).as_deref().and_then(Rendezvous::parse);
        self.owner.set_rendezvous(rendezvous);
    }

    /// Gives a new communicator, which nobody uses yet, the hints of another one.
    pub(crate) fn inherit_hints(&self, other: &Self) {
        self.hints.inherit(&other.hints);
        self.owner.set_rendezvous(other.owner.rendezvous());
    }

    /// The key of the protocol of long messages, and its value.
    pub fn rendezvous_pair(&self) -> (&'static str, &'static str) {
        (KEY, self.rendezvous().name())
    }

    fn rendezvous(&self) -> Rendezvous {
        let hint = self.owner.rendezvous();
        hint.unwrap_or(self.process.settings().rendezvous)
    }
}
