// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast stages of a communicator whose tags name VCIs: those of the lane that a tag names. They touch nothing of the VCI that the
//! communicator itself has, which may be that of another thread.

use super::{Injected, inject_locked, let_owner_work, wake};
use crate::comm::Comm;
use crate::p2p::promised::Promises;

/// The communicator that takes a send which [`inject_locked`] found `Unreached`, if there is another one.
// account: rank-translation
// TIER: short
#[inline(always)]
pub fn lane_of_send<P: Promises>(comm: &Comm, tag: i32) -> Option<&Comm> {
    if P::NO_MATCH || P::GLOBAL {
        return None;
    }
    comm.made_lane_to(tag)
}

/// The same of a receive that [`super::post_locked`] found `Unreached`.
// account: rank-translation
// TIER: short
#[inline(always)]
pub fn lane_of_receive<P: Promises>(comm: &Comm, tag: i32) -> Option<&Comm> {
    if P::NO_MATCH || P::GLOBAL || P::NO_REQUEST {
        return None;
    }
    comm.made_lane_from(tag)
}

/// As [`super::send_now`] on the lane of the tag. It wakes whom the message has to wake.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`.
#[inline(never)]
pub(super) unsafe fn inject_on_lane<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    // account: rank-translation
    let Some(lane) = lane_of_send::<P>(comm, tag) else {
        return Injected::Refused;
    };
    // account: caller
    // SAFETY: passed on.
    let done = unsafe { inject_locked::<P>(lane, base, bytes, dest, tag) };
    match done {
        Injected::SentWake => {
            wake::<P>(lane, dest);
            Injected::Sent
        }
        Injected::Contended => {
            let_owner_work(lane);
            Injected::Refused
        }
        done => done,
    }
}
