// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which send's message each receive got.

use std::collections::HashMap;

use fabric::trace::{RankTrace, TraceEvent, TraceKind};

use super::job::Place;
use super::operations::Operation;

/// A message, recorded at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// It departs.
    pub(super) sent: Place,
    /// A receive has met it.
    pub(super) matched: Place,
    /// It arrived before, and met none.
    pub(super) kept: Option<Place>,
}

/// The messages of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    /// In the order of the receivers' events.
    pub(super) messages: Vec<Message>,
    /// Sends whose receives are not recorded, and the other way round.
    pub(super) sends_alone: usize,
    pub(super) receives_alone: usize,
}

/// An end of a connection: rank and VCI.
type End = (u32, u8);
/// The sender, the receiver, and what both call the message: an offered receive (`true`), or a position in the ring between them.
type Name = (End, End, bool, u64);

impl Pairs {
    /// Those of the operations of each VCI of each rank.
    pub(super) fn of(ranks: &[RankTrace], operations: &[Vec<Vec<Operation>>]) -> Self {
        let mut sent: HashMap<Name, (Place, usize)> = HashMap::new();
        let mut is_met: Vec<bool> = Vec::new();
        for_each(ranks, operations, |rank, vci, own, operation| {
            if operation.is_send && !operation.sent.is_empty() {
                for &index in &operation.sent {
                    let event = &ranks[rank].vcis[vci].events[index];
                    let is_offered = event.kind == TraceKind::Written;
                    let name = (own, peer(event), is_offered, event.message);
                    sent.insert(name, ((rank, vci, index), is_met.len()));
                }
                is_met.push(false);
            }
        });
        let mut pairs = Self::default();
        for (rank, trace) in ranks.iter().enumerate() {
            for (vci, of_vci) in trace.vcis.iter().enumerate() {
                let own = (trace.rank, of_vci.vci);
                let mut kept: HashMap<u64, usize> = HashMap::new();
                for (index, event) in of_vci.events.iter().enumerate() {
                    let (is_offered, before) = match event.kind {
                        TraceKind::Unexpected => {
                            kept.insert(event.request, index);
                            continue;
                        }
                        TraceKind::Matched => (false, None),
                        TraceKind::MatchedByOffer => (true, None),
                        TraceKind::MatchedUnexpected => (false, kept.remove(&event.message)),
                        _ => continue,
                    };
                    let is_lost = event.kind == TraceKind::MatchedUnexpected && before.is_none();
                    let message =
                        before.map_or(event.message, |place| of_vci.events[place].message);
                    let name = (peer(event), own, is_offered, message);
                    let found = sent.remove(&name).filter(|_| !is_lost);
                    match found {
                        Some((place, send)) => {
                            is_met[send] = true;
                            pairs.messages.push(Message {
                                sent: place,
                                matched: (rank, vci, index),
                                kept: before.map(|index| (rank, vci, index)),
                            });
                        }
                        None => pairs.receives_alone += 1,
                    }
                }
            }
        }
        pairs.sends_alone = is_met.iter().filter(|met| !**met).count();
        pairs
    }
}

const fn peer(event: &TraceEvent) -> End {
    (event.peer, event.peer_vci)
}

fn for_each(
    ranks: &[RankTrace],
    operations: &[Vec<Vec<Operation>>],
    mut action: impl FnMut(usize, usize, End, &Operation),
) {
    for (rank, of_rank) in operations.iter().enumerate() {
        for (vci, of_vci) in of_rank.iter().enumerate() {
            let own = (ranks[rank].rank, ranks[rank].vcis[vci].vci);
            of_vci
                .iter()
                .for_each(|operation| action(rank, vci, own, operation));
        }
    }
}
