// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the pending operations of a rank depend on.

use fabric::board::{ANY_TAG, kind, phase};
use fabric::call::CallName;

use super::state::{Operation, RankState, belongs_to_collective, communicator_name};

/// Operations that the call of a waiting rank may wait for, as far as its name tells.
fn of_call(state: &RankState) -> impl Iterator<Item = &Operation> {
    let pending = state.pending.iter().filter(|_| state.waits());
    pending.filter(|record| may_wait_for(state.call(), record))
}

fn may_wait_for(call: &str, record: &Operation) -> bool {
    let is_own = !belongs_to_collective(record.match_word);
    match call.strip_suffix("_c").unwrap_or(call) {
        "MPI_Recv" | "MPI_Mrecv" => is_own && is_receive(record),
        "MPI_Send" | "MPI_Ssend" | "MPI_Rsend" => is_own && is_send(record),
        "MPI_Probe" | "MPI_Mprobe" => record.kind == kind::PROBE,
        call if CallName::of(call).moves_data() => !is_own,
        _ => true,
    }
}

const fn is_receive(record: &Operation) -> bool {
    matches!(record.kind, kind::RECEIVE_POSTED | kind::RECEIVE_ACTIVE)
}

const fn is_send(record: &Operation) -> bool {
    matches!(record.kind, kind::SEND_QUEUED | kind::SEND_ACTIVE)
}

/// Operations that a call waits for, with the rank that each depends on. A receive from anyone may be satisfied by any rank, so it
/// proves nothing.
pub(super) fn awaited(state: &RankState) -> impl Iterator<Item = (usize, &Operation)> {
    of_call(state).filter_map(|record| Some((record.peer? as usize, record)))
}

/// Those of them that the other side does nothing for.
pub(super) fn blocked(
    states: &[RankState],
    rank: usize,
) -> impl Iterator<Item = (usize, &Operation)> {
    let state = &states[rank];
    // A call that also waits for others may return without the operations with the rank itself.
    let only_itself = of_call(state).all(|record| record.peer == u32::try_from(rank).ok());
    awaited(state).filter(move |&(peer, record)| {
        (peer != rank || only_itself) && !is_met(states, rank, record)
    })
}

/// Whether the other side has the operation that belongs to this one, so that the message gets on.
fn is_met(states: &[RankState], rank: usize, record: &Operation) -> bool {
    if record.kind == kind::RECEIVE_ACTIVE {
        return true;
    }
    let Some(other) = record.peer.and_then(|peer| states.get(peer as usize)) else {
        return false;
    };
    let is_counterpart = |there: &&Operation| {
        let is_pair = is_send(record) && is_receive(there) || is_receive(record) && is_send(there);
        let comes_from_here = there.peer.is_none_or(|peer| peer as usize == rank);
        is_pair && comes_from_here && matches(record.match_word, there.match_word)
    };
    let is_alike = |here: &&Operation| {
        (is_send(here), is_receive(here)) == (is_send(record), is_receive(record))
            && (here.peer, here.match_word) == (record.peer, record.match_word)
    };
    let before = states[rank].pending.iter();
    let before = before.take_while(|&here| !std::ptr::eq(here, record));
    before.filter(is_alike).count() < other.pending.iter().filter(is_counterpart).count()
}

/// Whether the match words of a send and a receive, in either order, fit.
pub(super) const fn matches(one: u64, other: u64) -> bool {
    let (one_tag, other_tag) = (one as u32, other as u32);
    one >> 32 == other >> 32 && (one_tag == other_tag || one_tag == ANY_TAG || other_tag == ANY_TAG)
}

/// The collective that an operation belongs to, if that has a request: its call and communicator.
pub(super) fn collective_of(state: &RankState, record: &Operation) -> Option<String> {
    let is_blocking = state.waits() && CallName::of(state.call()).moves_data();
    if is_blocking || record.kind == kind::ROUND {
        return None;
    }
    let is_it = |other: &&Operation| {
        other.kind == kind::COLLECTIVE && other.match_word >> 32 == record.match_word >> 32
    };
    let found = match record.kind {
        kind::COLLECTIVE => record,
        _ => state.pending.iter().find(is_it)?,
    };
    let communicator = communicator_name(state, found.match_word);
    Some(format!("{}, {communicator}", found.call()))
}

/// Collectives with requests, with a rank that each depends on, whether a call waits for them or not.
pub(super) fn collectives(state: &RankState) -> impl Iterator<Item = (usize, String)> {
    let with_peer =
        |record: &Operation| Some((record.peer? as usize, collective_of(state, record)?));
    state.pending.iter().filter_map(with_peer)
}

/// Whether a rank takes part in nothing any more.
pub(super) fn is_gone(state: &RankState) -> bool {
    let phase = state.board.as_ref().map(|board| board.phase);
    !state.alive || state.finalizes() || phase == Some(phase::FINALIZED)
}

/// For each rank, whether a collective of it cannot end because a rank is gone: one that it depends on, or one that another
/// rank depends on for which it waits.
pub(super) fn held_up(states: &[RankState]) -> Vec<bool> {
    let needed = |state| collectives(state).map(|(peer, _)| peer).collect();
    let needed: Vec<Vec<usize>> = states.iter().map(needed).collect();
    let mut held = vec![false; states.len()];
    loop {
        let is_held = |peer: &usize| {
            states
                .get(*peer)
                .is_some_and(|it| is_gone(it) || held[*peer])
        };
        let next: Vec<_> = needed
            .iter()
            .map(|peers| peers.iter().any(is_held))
            .collect();
        if next == held {
            return held;
        }
        held = next;
    }
}
