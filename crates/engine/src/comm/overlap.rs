// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one thread at a time may use of a communicator, where that is checked ([`crate::overlap`]), and its collectives, where they
//! are recorded.

use fabric::trace::TraceKind;

// account: argument-checks

use super::Comm;
use crate::errors::Result;
use crate::overlap::{Entered, Overlaps, Subject};
use crate::progress::Vci;
use crate::request::RequestId;

/// A collective call, until this is dropped.
#[must_use]
pub struct InCollective {
    entered: Option<Entered<'static>>,
    recorded: Option<(&'static Vci, &'static str)>,
}

impl InCollective {
    /// Whether calls are checked.
    pub const fn is_checked(&self) -> bool {
        self.entered.is_some()
    }
}

impl Drop for InCollective {
    fn drop(&mut self) {
        if let Some((vci, call)) = self.recorded {
            let kind = TraceKind::CollectiveEnd;
            vci.enter().trace_call(kind, call, RequestId::NULL);
        }
    }
}

impl Comm {
    /// Notes that this thread is in a collective call until the result is dropped.
    ///
    /// # Errors
    /// MPI_ERR_COMM, which names both calls, when another thread is in one and that is checked.
    pub fn enter_collective(&self, call: &'static str) -> Result<InCollective> {
        let entered = self.check_collective(call)?;
        let vci = self.vci();
        let recorded = vci.traces().then_some((vci, call));
        if recorded.is_some() {
            let kind = TraceKind::CollectiveBegin;
            vci.enter().trace_call(kind, call, RequestId::NULL);
        }
        Ok(InCollective { entered, recorded })
    }

    /// The same, checked only; `None` where threads are not checked.
    fn check_collective(&self, call: &'static str) -> Result<Option<Entered<'static>>> {
        let Some(overlaps) = self.vci().overlaps() else {
            return Ok(None);
        };
        if let Some(watchers) = overlaps.watchers() {
            match self.local() {
                None => watchers.call(call, self.group(), self.member()),
                // Members of an intercommunicator wait for those of the other group.
                Some(_) => watchers.learn(),
            }
        }
        let subject = self.endpoint_subject();
        let subject = subject.unwrap_or_else(|| Subject::Collectives(self.context()));
        overlaps.enter(subject, call).map(Some)
    }

    /// Notes that a call may have told this process what others have done (`RANKPOINT_CHECK=rma`).
    #[inline]
    pub fn note_news(&self) {
        if let Some(overlaps) = self.vci().overlaps() {
            overlaps.learn();
        }
    }

    /// The same of any call, if this communicator is that of an endpoint.
    ///
    /// # Errors
    /// MPI_ERR_COMM, which names both calls, when another thread uses the endpoint.
    pub fn enter_endpoint(&self, call: &'static str) -> Result<Option<Entered<'static>>> {
        let Some(overlaps) = self.vci().overlaps() else {
            return Ok(None);
        };
        self.enter_if_endpoint(overlaps, call)
    }

    /// As [`Self::enter_endpoint`], with the calls that must not overlap.
    pub(crate) fn enter_if_endpoint<'a>(
        &self,
        overlaps: &'a Overlaps,
        call: &'static str,
    ) -> Result<Option<Entered<'a>>> {
        let subject = self.endpoint_subject();
        let enter = |subject| overlaps.enter(subject, call);
        subject.map(enter).transpose()
    }

    fn endpoint_subject(&self) -> Option<Subject> {
        self.has_endpoints()
            .then(|| Subject::Endpoint(self.context(), self.member()))
    }
}
