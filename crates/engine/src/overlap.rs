// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=threads`: calls of several threads that must not overlap.
//!
//! At most one thread of a process at a time is in a collective on a communicator (MPI-5.0, section 6.14), completes or starts a request
//! (section 11.6.2), or uses an endpoint. Where the check is on, each such call is noted while it lasts; the second one gets an error
//! that names both, has no effect, and leaves the first one alone. Calls that fast paths could end are kept off them.

use std::sync::PoisonError;

use sys::sync::{Mutex, MutexGuard};
use sys::thread;

use crate::errors::{Error, ErrorClass, Result};
use crate::ordering::Watchers;
use crate::request::RequestId;

/// What one thread uses at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The collectives of the communicator with this context id.
    Collectives(u32),
    /// The communicator with this context id of the endpoint that groups name by this number.
    Endpoint(u32, u32),
    /// A request.
    Request(RequestId),
}

/// A call that has not returned.
struct Call {
    subject: Subject,
    name: &'static str,
    thread: u32,
}

/// The calls of a process that have not returned and must not overlap with others. They are few: those of one thread each.
///
/// Calls by which a process learns of others are the same ones, so those who watch these are kept here, too
/// (`RANKPOINT_CHECK=rma`, [`crate::ordering`]).
#[derive(Default)]
pub(crate) struct Overlaps {
    calls: Mutex<Vec<Call>>,
    /// Calls may overlap: it is others who watch them.
    are_permitted: bool,
    watchers: Option<Watchers>,
}

/// A call, until this is dropped. A call inside another one of the same thread belongs to that one.
#[must_use]
pub struct Entered<'a>(Option<(&'a Overlaps, Subject)>);

impl Overlaps {
    /// Those of a process that checks threads, one-sided operations, or both.
    pub(crate) fn new(checks_threads: bool, checks_rma: bool) -> Option<Self> {
        (checks_threads || checks_rma).then(|| Self {
            calls: Mutex::default(),
            are_permitted: !checks_threads,
            watchers: checks_rma.then(Watchers::default),
        })
    }

    /// Those who watch what the process may know, if anybody does.
    pub(crate) const fn watchers(&self) -> Option<&Watchers> {
        self.watchers.as_ref()
    }

    /// Notes that the process may have learned what others have done.
    pub(crate) fn learn(&self) {
        if let Some(watchers) = &self.watchers {
            watchers.learn();
        }
    }

    /// Notes that this thread has begun a call.
    ///
    /// # Errors
    /// MPI_ERR_COMM or MPI_ERR_REQUEST, which names the other call, when another thread uses the same.
    pub(crate) fn enter(&self, subject: Subject, name: &'static str) -> Result<Entered<'_>> {
        if self.are_permitted {
            return Ok(Entered(None));
        }
        let thread = thread::number();
        let mut calls = self.calls();
        match calls.iter().find(|call| call.subject == subject) {
            Some(call) if call.thread == thread => Ok(Entered(None)),
            Some(call) => Err(overlap(call)),
            None => {
                calls.push(Call {
                    subject,
                    name,
                    thread,
                });
                Ok(Entered(Some((self, subject))))
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call that uses this now.
    #[cfg(test)]
    pub(crate) fn call_on(&self, subject: Subject) -> Option<&'static str> {
        let calls = self.calls();
        let found = calls.iter().find(|call| call.subject == subject);
        found.map(|call| call.name)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some((overlaps, subject)) = self.0 {
            overlaps.calls().retain(|call| call.subject != subject);
        }
    }
}

/// The error of a call on what another call uses.
#[cold]
fn overlap(other: &Call) -> Error {
    let Call {
        subject,
        name,
        thread,
    } = other;
    let here = thread::number();
    match subject {
        Subject::Collectives(_) => Error::argument(
            ErrorClass::ERR_COMM,
            "comm",
            format!("one on which thread {thread} is in {name} while thread {here} calls this"),
            "a communicator whose collectives are called by one thread at a time: RANKPOINT_CHECK=threads",
        ),
        Subject::Endpoint(..) => Error::argument(
            ErrorClass::ERR_COMM,
            "comm",
            format!(
                "that of an endpoint which thread {thread} uses in {name} while thread {here} calls this"
            ),
            "an endpoint that one thread at a time uses: RANKPOINT_CHECK=threads",
        ),
        Subject::Request(id) => Error::argument(
            ErrorClass::ERR_REQUEST,
            "request",
            format!(
                "{:#x}, for which thread {thread} is in {name} while thread {here} calls this",
                id.0
            ),
            "one that one thread at a time starts, completes or frees: RANKPOINT_CHECK=threads",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject = Subject::Endpoint(5, 17);

    #[test]
    fn the_second_of_two_threads_is_told_the_call_of_the_first() {
        let overlaps = Overlaps::default();
        let first = overlaps.enter(SUBJECT, "MPI_Recv").unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| overlaps.enter(SUBJECT, "MPI_Isend").map(drop));
            let error = second.join().unwrap().unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_COMM);
            assert!(
                error.to_string().contains("uses in MPI_Recv while thread "),
                "{error}"
            );
            let other = scope.spawn(|| {
                overlaps
                    .enter(Subject::Endpoint(5, 18), "MPI_Isend")
                    .map(drop)
            });
            other.join().unwrap().unwrap();
        });
        drop(first);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| overlaps.enter(SUBJECT, "MPI_Isend").map(drop));
            second.join().unwrap().unwrap();
        });
        assert_eq!(overlaps.call_on(SUBJECT), None);
    }

    #[test]
    fn a_call_inside_a_call_ends_with_the_outer_one() {
        let overlaps = Overlaps::default();
        let outer = overlaps.enter(SUBJECT, "MPI_Recv").unwrap();
        drop(overlaps.enter(SUBJECT, "MPI_Wait").unwrap());
        assert_eq!(overlaps.call_on(SUBJECT), Some("MPI_Recv"));
        drop(outer);
        assert_eq!(overlaps.call_on(SUBJECT), None);
    }
}
