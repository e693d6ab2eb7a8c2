// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends cells without data.

use super::rendezvous::moment_now;
use crate::identity::LinkIndex;
use crate::vci::VciState;
use crate::vci::cell::{Cell, Landed};
use crate::vci::link::Queued;

/// Sends a cell of a protocol, or queues it in order.
pub(crate) fn send_control(state: &mut VciState, peer: LinkIndex, cell: impl Into<Cell>) {
    let cell = cell.into();
    if !state.links[peer].sender.is_connected()
        && let Err(error) = state.links.connect(&mut state.transport, peer)
    {
        state.fail(&error);
        return;
    }
    if state.links[peer].backlogged || !put_control(state, peer, cell) {
        state.enqueue(peer, Queued::Cell(Box::new(cell)));
    }
}

/// Sends a cell of a protocol; false when the ring has no room.
pub(super) fn put_control(state: &mut VciState, peer: LinkIndex, cell: Cell) -> bool {
    let cell = match cell {
        // One that has waited behind a full ring says when it leaves.
        Cell::Landed(landed) => Cell::Landed(Landed {
            moment: moment_now(state, peer),
            ..landed
        }),
        other => other,
    };
    let link = &mut state.links[peer];
    let sent = cell.put(&mut link.sender);
    if sent {
        link.ring_doorbell();
        state.count_other_cell_sent();
        state.observe_cell_sent(peer, &cell);
    }
    sent
}
