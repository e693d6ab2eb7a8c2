// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which stage takes a message that the first one does not reach, and on which communicator: where tags name VCIs, on the lane that the
//! tag names. Then nothing is touched of the VCI that the communicator itself has, which may be that of another thread.

use std::hint::cold_path;

use crate::comm::Comm;
use crate::p2p::promised::{NoPromise, Promises};

/// The stage that takes a message which the first one does not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// [`super::inject_locked`], [`super::post_locked`]: a linear rank map.
    Locked,
    /// [`super::inject_mapped`], [`super::post_mapped`]: a table as rank map, or ranks that have to be looked up.
    Mapped,
    /// `Locked` on the lane of [`lane_of_send`] or [`lane_of_receive`], if there is one: tags name VCIs, or the rank is none.
    Lane,
}

/// The stage that takes a send.
// account: proc-null
// TIER: short
#[inline(always)]
pub fn stage_of_send<P: Promises>(comm: &Comm, dest: i32) -> Stage {
    let (route, dest) = (comm.route(), dest as u32);
    let (linear, mapped) = if P::GLOBAL {
        (route.locked_world, u32::MAX)
    } else {
        (route.locked_ranks, route.fast_ranks)
    };
    if dest < linear {
        Stage::Locked
    } else if dest < mapped {
        Stage::Mapped
    } else {
        cold_path();
        Stage::Lane
    }
}

/// The stage that takes a receive. One without matching needs no rank.
// TIER: short
#[inline(always)]
pub fn stage_of_receive<P: Promises>(comm: &Comm, source: i32) -> Stage {
    if P::NO_MATCH {
        return Stage::Locked;
    }
    stage_of_send::<P>(comm, source)
}

/// The lane that takes a send of [`Stage::Lane`]; `None` when the slow path decides. Of a negative tag the result means nothing.
// account: rank-translation
// TIER: short
#[inline(always)]
pub fn lane_of_send<P: Promises>(comm: &Comm, dest: i32, tag: i32) -> Option<&Comm> {
    if P::NO_MATCH || P::GLOBAL {
        return None;
    }
    let lane = comm.known_lane_to(tag)?;
    ((dest as u32) < lane.route().locked_ranks).then_some(lane)
}

/// The same of a receive.
// account: rank-translation
// TIER: short
#[inline(always)]
pub fn lane_of_receive<P: Promises>(comm: &Comm, source: i32, tag: i32) -> Option<&Comm> {
    if P::NO_MATCH || P::GLOBAL || P::NO_REQUEST {
        return None;
    }
    let lane = comm.known_lane_from(tag)?;
    ((source as u32) < lane.route().locked_ranks).then_some(lane)
}

/// Whether the fast stages reach the source of a receive; otherwise [`taker_of_receive`] tells the communicator with which they may.
// account: proc-null
// TIER: short
#[inline(always)]
pub fn reaches_receive(comm: &Comm, source: i32) -> bool {
    (source as u32) < comm.route().fast_ranks
}

/// The communicator with which the fast stages reach the source of a receive, if they do: this one, or the lane of the tag.
// TIER: short
#[inline(always)]
pub fn taker_of_receive(comm: &Comm, source: i32, tag: i32) -> &Comm {
    if reaches_receive(comm, source) {
        return comm;
    }
    cold_path();
    let lane = lane_of_receive::<NoPromise>(comm, source, tag).filter(|_| tag >= 0);
    lane.unwrap_or(comm)
}
