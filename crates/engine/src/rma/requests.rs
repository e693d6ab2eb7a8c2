// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations with a request (MPI-5.0, section 12.3.5).
//!
//! The request completes when the origin may use its memory again; for a get, when the data are there. What is complete when the call
//! returns, as everything in memory that this process reaches by itself, has the request that is always complete.
#![expect(
    unsafe_code,
    reason = "origin and target are addresses that programs gave"
)]

use super::message::operations::{self, Action};
use super::target::{Path, Remote};
use super::transfer::{get, put};
use super::window::Window;
use crate::datatype::Memory;
use crate::errors::Result;
use crate::request::RequestId;

impl Window {
    /// Whether a target is reached by messages.
    fn sends_to(&self, rank: i32) -> bool {
        let target = self.targets.get(rank as usize);
        target.is_some_and(|target| target.path == Path::Message)
    }
}

/// Starts a put or a get by messages.
///
/// # Safety
/// As for [`rput`] and [`rget`].
unsafe fn start(
    window: &Window,
    remote: &Remote<'_>,
    origin: &Memory<'_>,
    action: Action<'_>,
) -> Result<RequestId> {
    match (window.counterpart(origin, remote)?, &window.channel) {
        // SAFETY: the caller's promise; the place is as long as the origin.
        (Some(place), Some(channel)) => unsafe {
            operations::operate_with_request(window, channel, &place, action)
        },
        _ => Ok(RequestId::SENT),
    }
}

/// As [`put`], with a request (MPI_Rput).
///
/// # Errors
/// As for [`put`].
///
/// # Safety
/// The origin is readable until the request is complete.
pub unsafe fn rput(window: &Window, origin: &Memory<'_>, remote: &Remote<'_>) -> Result<RequestId> {
    // SAFETY: passed on.
    unsafe {
        if window.sends_to(remote.rank) {
            return start(window, remote, origin, Action::Put(origin));
        }
        put(window, origin, remote)?;
    }
    Ok(RequestId::SENT)
}

/// As [`get`], with a request (MPI_Rget).
///
/// # Errors
/// As for [`get`].
///
/// # Safety
/// The origin is writable until the request is complete.
pub unsafe fn rget(window: &Window, origin: &Memory<'_>, remote: &Remote<'_>) -> Result<RequestId> {
    // SAFETY: passed on.
    unsafe {
        if window.sends_to(remote.rank) {
            return start(window, remote, origin, Action::Get(origin));
        }
        get(window, origin, remote)?;
    }
    Ok(RequestId::SENT)
}
