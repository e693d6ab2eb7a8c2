// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for partitioned requests that have lanes on several VCIs.
//!
//! A thread that waits for such a request waits for one lane after the other, on the VCI of each, so that it depends on no rounds over
//! all VCIs.

// account: request

use std::sync::Arc;

use crate::errors::Result;
use crate::progress::Vci;
use crate::request::{RequestId, RequestIndex, RequestLanes, Role};
use crate::vci::VciState;

/// The lanes of an active request.
pub(super) fn lanes_of(state: &VciState, id: RequestId) -> Option<Arc<RequestLanes>> {
    lanes_at(state, state.slab.find(id)?)
}

fn lanes_at(state: &VciState, index: RequestIndex) -> Option<Arc<RequestLanes>> {
    if state.slab.entry(index).role() != Role::Partitioned {
        return None;
    }
    state.awaited_lanes(index)
}

/// Makes progress on the VCIs of lanes.
pub(super) fn poll_lanes(vci: &Vci, lanes: Option<Arc<RequestLanes>>) {
    for &lane in lanes.iter().flat_map(|lanes| lanes.ids()) {
        vci.of(lane).poll();
    }
}

/// Makes progress on the VCIs of a request's lanes that are free, while the VCIs `held` and that of the request, whose state is given, are
/// entered.
pub(super) fn advance_lanes(held: &Vci, state: &VciState, id: RequestId) {
    let Some(lanes) = lanes_of(state, id) else {
        return;
    };
    for &lane in lanes.ids() {
        let vci = held.of(lane);
        if vci.index() == held.index() || vci.index() == held.of(id).index() {
            continue;
        }
        if let Some(mut guard) = vci.try_enter()
            && guard.progress() != 0
        {
            drop(guard);
            vci.ring_own_doorbell();
        }
    }
}

/// Frees the lanes of a request that is freed.
pub(super) fn free_lanes(vci: &Vci, lanes: Option<Arc<RequestLanes>>) {
    for &lane in lanes.iter().flat_map(|lanes| lanes.ids()) {
        let mut guard = vci.of(lane).enter();
        if let Some(index) = guard.slab.find(lane) {
            guard.let_go(index);
        }
    }
}

/// The lanes that a wait comes across.
#[derive(Default)]
pub(super) struct Awaited {
    /// Those of the request that is not complete.
    found: Option<Arc<RequestLanes>>,
    /// The request whose lanes were waited for last.
    done: Option<RequestId>,
}

impl Awaited {
    /// Waits until `ends`, which may interrupt the wait by [`Self::find`]; true if it has, and the lanes are complete now.
    pub(super) fn wait(
        &mut self,
        vci: &Vci,
        call: &'static str,
        mut ends: impl FnMut(&mut VciState, &mut Self) -> bool,
    ) -> Result<bool> {
        vci.wait_until(call, |state| ends(state, self))?;
        let Some(lanes) = self.found.take() else {
            return Ok(false);
        };
        for &lane in lanes.ids() {
            vci.of(lane)
                .wait_until(call, |state| state.is_complete(lane))?;
        }
        Ok(true)
    }

    /// Whether the wait for a request that is not complete goes on with its lanes.
    #[inline]
    pub(super) fn find(&mut self, state: &VciState, index: RequestIndex) -> bool {
        if state.slab.entry(index).role() != Role::Partitioned {
            return false;
        }
        self.find_lanes(state, index)
    }

    #[cold]
    fn find_lanes(&mut self, state: &VciState, index: RequestIndex) -> bool {
        let id = state.slab.id(index);
        if self.done != Some(id) {
            self.found = lanes_at(state, index);
            if self.found.is_some() {
                self.done = Some(id);
            }
        }
        self.found.is_some()
    }
}
