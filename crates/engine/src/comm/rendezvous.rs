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
    /// Takes over the hints for which `value_of` returns a value that is understood; others are ignored.
    pub fn set_hints(&self, value_of: impl Fn(&str) -> Option<String>) {
        self.hints.set(&value_of);
        let value = value_of(KEY);
        if let Some(rendezvous) = value.as_deref().and_then(Rendezvous::parse) {
            self.set_rendezvous(Some(rendezvous));
        }
    }

    /// Takes over the hints of another communicator.
    pub(crate) fn inherit_hints(&self, other: &Self) {
        self.hints.inherit(&other.hints);
        self.set_rendezvous(other.owner.rendezvous());
    }

    /// Has no hints from now on.
    pub fn clear_hints(&self) {
        self.hints.clear();
        self.set_rendezvous(None);
    }

    /// The key of the protocol of long messages, and its value.
    pub fn rendezvous_pair(&self) -> (&'static str, &'static str) {
        (KEY, self.rendezvous().name())
    }

    fn rendezvous(&self) -> Rendezvous {
        let hint = self.owner.rendezvous();
        hint.unwrap_or(self.process.settings().rendezvous)
    }

    fn set_rendezvous(&self, rendezvous: Option<Rendezvous>) {
        self.owner.set_rendezvous(rendezvous);
        self.route_receives();
    }

    /// Has receives that may be offered take the way where they are.
    pub(super) fn route_receives(&self) {
        let offers = self.process.settings().offers != 0 && self.process.vcis().share_memory();
        if !self.is_spread() {
            let is_offered = offers && self.rendezvous() == Rendezvous::Write;
            self.route().offer_receives(is_offered);
        }
    }
}
