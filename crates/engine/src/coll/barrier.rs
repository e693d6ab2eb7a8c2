// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barrier.

use std::sync::Arc;

use super::commons::{Purpose, meet};
use super::primitives::{Round, Scratch};
use super::shared;
use crate::comm::Comm;
use crate::errors::Result;

/// Nobody leaves before everybody entered: dissemination, ceil(log2 p) rounds of one empty message each way.
///
/// # Errors
/// Those of the messages.
pub async fn barrier(comm: Arc<Comm>) -> Result<()> {
    if comm.local().is_some() {
        return Box::pin(super::inter::barrier(comm)).await;
    }
    let mut round = Round::new(comm);
    if let Some(meeting) = meet(&mut round, Purpose::Barrier, 0, (1, 0)).await {
        return shared::barrier(meeting).await;
    }
    Box::pin(dissemination(&mut round)).await;
    round.outcome()
}

/// Messages to the ranks at distances 1, 2, 4...
pub(super) async fn dissemination(round: &mut Round) {
    let nothing = Scratch::new(0).block(0, 0);
    let mut distance = 1;
    while distance < round.size {
        let (to, from) = (round.above(distance), round.below(distance));
        round.exchange(&nothing, to, &nothing, from).await;
        distance *= 2;
    }
}
