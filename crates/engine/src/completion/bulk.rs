// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completing all operations of a communicator that have no request (`MPIX_Comm_waitall`).
#![expect(unsafe_code, reason = "the counts are guarded by the VCI's lock")]

// account: request

use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};
use crate::request::Failures;

/// Waits for the operations of a communicator that this process has started without a request; `call` is the MPI call that waits.
///
/// # Errors
/// That of the first operation that failed, when all are complete; or when a peer broke the protocol.
pub fn wait_bulk(comm: &Comm, call: &'static str) -> Result<()> {
    let _entered = comm.enter_endpoint(call)?;
    let mut failures = wait_one(comm, call)?;
    for lane in comm.all_lanes() {
        failures = join(failures, wait_one(lane, call)?);
    }
    failures.map_or(Ok(()), |failures| Err(error_of(*failures)))
}

/// Operations of a communicator that have no request and are not complete.
pub fn pending_in_bulk(comm: &Comm) -> u32 {
    let of = |comm: &Comm| {
        let _guard = comm.vci().enter();
        // SAFETY: under the guard.
        unsafe { comm.owner.pending_in_bulk() }
    };
    of(comm) + comm.all_lanes().map(|lane| of(lane)).sum::<u32>()
}

/// Waits for those of one VCI, and takes out how they failed.
fn wait_one(comm: &Comm, call: &'static str) -> Result<Option<Box<Failures>>> {
    let mut failures = None;
    comm.vci().wait_until(call, |_state| {
        // SAFETY: the state is that behind the guard of the communicator's VCI.
        unsafe {
            if comm.owner.pending_in_bulk() != 0 {
                return false;
            }
            failures = comm.owner.take_failures();
        }
        true
    })?;
    Ok(failures)
}

fn join(one: Option<Box<Failures>>, other: Option<Box<Failures>>) -> Option<Box<Failures>> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.count += other.count;
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

#[cold]
fn error_of(failures: Failures) -> Error {
    let (class, text) = failures.first;
    let text = match (text.as_str(), failures.count) {
        ("", _) => format!("{} operations without requests failed", failures.count),
        (text, 1) => format!("an operation without a request failed: {text}"),
        (text, count) => {
            format!("{count} operations without requests failed, the first one: {text}")
        }
    };
    Error::new(ErrorClass(class), text)
}
