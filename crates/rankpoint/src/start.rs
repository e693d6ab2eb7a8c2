// SPDX-License-Identifier: MIT OR Apache-2.0
//! How nonblocking sends and receives start: the first stage of the engine's fast path inlined into the program, what it leaves out of
//! line.
//!
//! # Safety
//! Buffers are borrowed for the scope, which waits for the operations before it is left (`scope`).
#![expect(unsafe_code, reason = "the engine takes addresses")]

use engine::Result;
use engine::p2p::{self, Injected, Posted};
use engine::request::RequestId;

use crate::Request;
use crate::Scope;
use crate::buffer::{Incoming, Outgoing};
use crate::envelope::rank_code;
use crate::errors::report;
use crate::promise::sealed::State;
use crate::promise::{ByRequest, InBulk, Kind, Promising};
use crate::threads::Threads;

/// The two forms of completion: by a request for each operation, or in bulk.
pub trait Completion: State + Sized {
    /// A request, or nothing.
    type Handle<'scope, B>;

    /// That of a send that is complete.
    fn sent<'scope, B, T: Threads>(
        scope: &'scope Scope<'scope, '_, T>,
        buffer: B,
    ) -> Started<'scope, Self, B>;

    /// That of an operation that may be incomplete.
    fn started<'scope, B, T: Threads>(
        scope: &'scope Scope<'scope, '_, T>,
        id: RequestId,
        buffer: B,
    ) -> Started<'scope, Self, B>;
}

impl Completion for ByRequest {
    type Handle<'scope, B> = Request<'scope, B>;

    #[inline(always)]
    fn sent<'scope, B, T: Threads>(
        scope: &'scope Scope<'scope, '_, T>,
        buffer: B,
    ) -> Result<Request<'scope, B>> {
        scope.started.sent(buffer)
    }

    #[inline(always)]
    fn started<'scope, B, T: Threads>(
        scope: &'scope Scope<'scope, '_, T>,
        id: RequestId,
        buffer: B,
    ) -> Result<Request<'scope, B>> {
        scope.started.keep(id, buffer)
    }
}

impl Completion for InBulk {
    type Handle<'scope, B> = ();

    #[inline(always)]
    fn sent<'scope, B, T: Threads>(_: &'scope Scope<'scope, '_, T>, _: B) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn started<'scope, B, T: Threads>(
        _: &'scope Scope<'scope, '_, T>,
        _: RequestId,
        _: B,
    ) -> Result<()> {
        Ok(())
    }
}

/// The result of a start.
type Started<'scope, C, B> = Result<<C as Completion>::Handle<'scope, B>>;

impl<'scope, T: Threads, R: State, M: State, C: Completion> Promising<'scope, '_, T, R, M, C> {
    /// Whose calls errors name: a scope's, unless something was promised.
    const IS_ORDINARY: bool = !R::IS_PROMISED && !M::IS_PROMISED && !C::IS_PROMISED;

    /// Starts a send. `tag` means nothing in order.
    // TIER: short
    #[inline(always)]
    pub(crate) fn send<B: Outgoing<'scope>>(
        self,
        data: B,
        dest: usize,
        tag: i32,
    ) -> Started<'scope, C, B> {
        if C::IS_PROMISED {
            self.scope.note_bulk();
        }
        let dest = rank_code(dest);
        if let Some((base, bytes)) = data.outgoing_run() {
            let comm = self.scope.started.comm();
            // SAFETY: the memory is borrowed for the scope (file head).
            match unsafe { p2p::inject::<Kind<R, M, C>>(comm, base, bytes, dest, tag) } {
                Injected::Sent => return C::sent(self.scope, data),
                Injected::SentWake => return self.sent_wake(data, dest),
                Injected::Refused | Injected::Contended | Injected::Unreached => {}
            }
        }
        self.send_further(data, dest, tag)
    }

    /// Ends a send after [`Injected::SentWake`].
    #[cold]
    #[inline(never)]
    fn sent_wake<B: Outgoing<'scope>>(self, data: B, dest: i32) -> Started<'scope, C, B> {
        p2p::wake::<Kind<R, M, C>>(self.scope.started.comm(), dest);
        C::sent(self.scope, data)
    }

    /// Sends what the first stage of [`Self::send`] has refused.
    #[inline(never)]
    fn send_further<B: Outgoing<'scope>>(
        self,
        data: B,
        dest: i32,
        tag: i32,
    ) -> Started<'scope, C, B> {
        let comm = self.scope.started.comm();
        if let Some((base, bytes)) = data.outgoing_run() {
            // SAFETY: the memory is borrowed for the scope (file head).
            match unsafe { p2p::send_now::<Kind<R, M, C>>(comm, base, bytes, dest, tag) } {
                Injected::Sent => return C::sent(self.scope, data),
                Injected::SentWake => return self.sent_wake(data, dest),
                Injected::Refused | Injected::Contended | Injected::Unreached => {}
            }
        }
        let started = data.outgoing().and_then(|region| {
            // SAFETY: as above.
            unsafe { p2p::isend_promised::<Kind<R, M, C>>(comm, region.memory(), dest, tag) }
        });
        let call = if Self::IS_ORDINARY {
            "Scope::isend"
        } else {
            "Promising::isend"
        };
        self.end_start(started, data, call)
    }

    /// Starts a receive. `source` and `tag` mean nothing in order.
    // TIER: short
    #[inline(always)]
    pub(crate) fn receive<B: Incoming<'scope>>(
        self,
        mut into: B,
        source: i32,
        tag: i32,
    ) -> Started<'scope, C, B> {
        if C::IS_PROMISED {
            self.scope.note_bulk();
        }
        if let Some((base, bytes)) = into.incoming_run() {
            let comm = self.scope.started.comm();
            // SAFETY: the memory is borrowed exclusively for the scope (file head).
            let posted = unsafe { p2p::post::<Kind<R, M, C>>(comm, base, bytes, source, tag) };
            if let Posted::Posted(id) = posted {
                return C::started(self.scope, id, into);
            }
        }
        self.receive_further(into, source, tag)
    }

    /// Receives what the first stage of [`Self::receive`] has refused.
    #[inline(never)]
    fn receive_further<B: Incoming<'scope>>(
        self,
        mut into: B,
        source: i32,
        tag: i32,
    ) -> Started<'scope, C, B> {
        let comm = self.scope.started.comm();
        if let Some((base, bytes)) = into.incoming_run() {
            // SAFETY: the memory is borrowed exclusively for the scope (file head).
            match unsafe { p2p::post_now::<Kind<R, M, C>>(comm, base, bytes, source, tag) } {
                Posted::Posted(id) => return C::started(self.scope, id, into),
                Posted::PostedWake(id) => {
                    p2p::wake_contenders(comm);
                    return C::started(self.scope, id, into);
                }
                Posted::Refused | Posted::Contended | Posted::Unreached => {}
            }
        }
        let wanted = self.scope.comm.wanted(source, tag);
        let started = wanted.and_then(|(source, tag)| {
            let region = into.incoming()?;
            // SAFETY: as above.
            unsafe { p2p::irecv_promised::<Kind<R, M, C>>(comm, region.memory(), source, tag) }
        });
        let call = if Self::IS_ORDINARY {
            "Scope::irecv"
        } else {
            "Promising::irecv"
        };
        self.end_start(started, into, call)
    }

    /// The result of a start that the engine has decided.
    fn end_start<B>(
        self,
        started: Result<RequestId>,
        buffer: B,
        call: &'static str,
    ) -> Started<'scope, C, B> {
        match started {
            Ok(RequestId::SENT) => C::sent(self.scope, buffer),
            Ok(id) => C::started(self.scope, id, buffer),
            Err(error) => Err(report(self.scope.started.comm(), call, error)),
        }
    }
}
