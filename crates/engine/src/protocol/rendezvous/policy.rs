// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the long messages of a communicator travel: by its hint, or else by the setting of the process.

use crate::request::RequestEntry;
use crate::settings::Rendezvous;
use crate::vci::{CmaPolicy, VciState};

/// The protocol that an operation's communicator asks for.
pub(super) fn rendezvous_of(state: &VciState, entry: &RequestEntry) -> Rendezvous {
    // SAFETY: null, or a communicator, which lives while it counts operations (Process::purge).
    let owner = unsafe { entry.owner.as_ref() };
    let hint = owner.and_then(|owner| owner.rendezvous());
    hint.unwrap_or(state.node.rendezvous)
}

/// When the data of an operation are copied by cross-memory attach.
pub(in super::super) fn cma_policy(state: &VciState, entry: &RequestEntry) -> CmaPolicy {
    state.node.cma_policy(rendezvous_of(state, entry))
}
