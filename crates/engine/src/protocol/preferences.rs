// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which messages go by CMA: what receivers prefer, and how senders know it.

use super::is_contiguous;
use super::rendezvous::cma_policy;
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, flag};
use crate::vci::copy_mode;
use crate::vci::{CmaPolicy, CopyModes, VciState};

/// A bit beside [`CopyModes::preferences`]: the receiver has lately posted its receives before their messages arrived, so that
/// messages within the eager limit may use rendezvous too.
const PROMPT: u32 = 1 << 16;

/// A receiver is prompt from so many points on until it has none: a message whose receive is posted adds a point, an unexpected
/// message subtracts one.
const PROMPT_AT: u8 = 16;

/// Whether the receiver of a send prefers CMA to chunks.
pub(super) fn receiver_prefers_cma(state: &VciState, index: RequestIndex) -> bool {
    let entry = state.slab.entry(index);
    let policy = cma_policy(state, entry);
    let longest_eager = match entry.has(flag::COPIED_BY_RECEIVER) && !state.copy_modes.is_refused()
    {
        true => state.node.copied_by_receiver_bytes - 1,
        false => usize::MAX,
    };
    let longest_eager = longest_eager.min(state.node.eager_bytes) as u64;
    let (peer, bytes) = (entry.send().target, entry.record.bytes);
    is_contiguous(entry) && prefers_cma_by(state, policy, peer, bytes, longest_eager)
}

/// Whether a peer prefers CMA to chunks for a message of `bytes` contiguous bytes.
pub(super) fn prefers_cma(state: &VciState, peer: LinkIndex, bytes: u64) -> bool {
    let longest_eager = state.node.eager_bytes as u64;
    prefers_cma_by(state, state.node.cma, peer, bytes, longest_eager)
}

fn prefers_cma_by(
    state: &VciState,
    policy: CmaPolicy,
    peer: LinkIndex,
    bytes: u64,
    longest_eager: u64,
) -> bool {
    let node = &state.node;
    if bytes < node.cma_min_bytes || peer == node.own_link() || state.links[peer].is_remote() {
        return false;
    }
    match policy {
        CmaPolicy::Never => false,
        CmaPolicy::Always => bytes > longest_eager,
        CmaPolicy::Measured => CopyModes::class(bytes).is_some_and(|class| {
            let preferences = state.links[peer].sender.preferences();
            preferences >> class & 1 != 0 && (bytes > longest_eager || preferences & PROMPT != 0)
        }),
    }
}

/// Publishes to all senders for which messages this rank prefers CMA.
pub(crate) fn publish_preferences(state: &VciState) {
    let preferences = u32::from(state.copy_modes.preferences());
    for incoming in &state.incoming {
        let prompt = if incoming.prompt { PROMPT } else { 0 };
        incoming.ring.set_preferences(preferences | prompt);
    }
}

/// Notes a message of `bytes` bytes from the sender of `ring`, and whether it found its receive posted.
pub(super) fn note_arrival(state: &mut VciState, ring: usize, bytes: u64, posted: bool) {
    if !is_noted(state, bytes) {
        return;
    }
    let is_new = note_promptness(state, ring, posted);
    let sends_too = state.offered != 0 || !state.backlogs.is_empty();
    if state.copy_modes.count(bytes, sends_too) || is_new {
        publish_preferences(state);
    }
}

/// Notes a message of `bytes` bytes that the sender of `ring` has written into an offered receive. It took neither copy mode, so no trial
/// of one goes on with it, and what is known of both stays: the messages that come when offers end need it.
pub(super) fn note_written(state: &mut VciState, ring: usize, bytes: u64) {
    if is_noted(state, bytes) && note_promptness(state, ring, true) {
        publish_preferences(state);
    }
}

fn is_noted(state: &VciState, bytes: u64) -> bool {
    bytes >= copy_mode::SMALLEST && state.node.cma == CmaPolicy::Measured
}

/// Notes whether a message found its receive posted; whether this rank is prompt now and was not, or the reverse.
fn note_promptness(state: &mut VciState, ring: usize, posted: bool) -> bool {
    let incoming = &mut state.incoming[ring];
    incoming.points = if posted {
        PROMPT_AT.min(incoming.points + 1)
    } else {
        incoming.points.saturating_sub(1)
    };
    let before = incoming.prompt;
    incoming.prompt = incoming.points == PROMPT_AT || before && incoming.points != 0;
    incoming.prompt != before
}
