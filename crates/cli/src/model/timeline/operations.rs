// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends and receives, of the events of a VCI.

use std::collections::HashMap;

use fabric::trace::{TraceKind, VciTrace};

/// A send or a receive: indices of its events, of which those that were dropped are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) is_send: bool,
    pub(super) posted: Option<usize>,
    /// Of a send: its message has departed. Twice where it was announced and then written into an offered receive.
    pub(super) sent: Vec<usize>,
    /// Of a receive: it has met its message.
    pub(super) matched: Option<usize>,
    pub(super) done: Option<usize>,
}

impl Operation {
    /// Its events, in order.
    pub(super) fn events(&self) -> impl Iterator<Item = usize> + '_ {
        let sent = self.sent.iter().copied();
        let inside = sent.chain(self.matched);
        self.posted.into_iter().chain(inside).chain(self.done)
    }
}

/// The operations of a VCI, in the order of their first events. A request of a repeated operation names one after the other.
pub(super) fn operations(vci: &VciTrace) -> Vec<Operation> {
    let mut all: Vec<Operation> = Vec::new();
    let mut current: HashMap<u64, usize> = HashMap::new();
    for (index, event) in vci.events.iter().enumerate() {
        let kind = event.kind;
        let is_of_one = kind <= TraceKind::ReceiveDone && kind != TraceKind::Unexpected;
        if !is_of_one {
            continue;
        }
        let is_begun = matches!(kind, TraceKind::SendPosted | TraceKind::ReceivePosted);
        if is_begun {
            current.remove(&event.request);
        }
        let own = *current.entry(event.request).or_insert_with(|| {
            all.push(Operation::default());
            all.len() - 1
        });
        let operation = &mut all[own];
        operation.is_send = kind <= TraceKind::SendDone;
        match kind {
            TraceKind::SendPosted | TraceKind::ReceivePosted => operation.posted = Some(index),
            TraceKind::SendDone | TraceKind::ReceiveDone => {
                operation.done = Some(index);
                current.remove(&event.request);
            }
            TraceKind::Matched | TraceKind::MatchedByOffer | TraceKind::MatchedUnexpected => {
                operation.matched = Some(index);
            }
            _ => operation.sent.push(index),
        }
    }
    all
}
