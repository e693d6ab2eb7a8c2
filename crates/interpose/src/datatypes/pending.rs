// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations in progress whose data are packed here, by the library's request.
//!
//! A request handle is used again as soon as the library has completed it, which another thread may see before the call that completed it
//! has returned. So an operation has a number, and a call that completes requests finishes the newest operation of a handle
//! that is older than the call ([`Mark`]).

use std::collections::HashMap;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffer::Buffer;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize};
use crate::table::REAL;

/// An operation whose data are packed here.
pub(super) struct Operation {
    /// What is sent.
    pub(super) sent: Option<Buffer>,
    /// What is received; one buffer serves both where the program's does.
    pub(super) received: Option<Buffer>,
    /// Whether the request lives on after completion.
    pub(super) is_persistent: bool,
    /// Whether data are received that were not unpacked yet.
    is_owed: AtomicBool,
}

impl Operation {
    /// An operation that has been started, or a persistent one that has not.
    pub(super) fn new(sent: Option<Buffer>, received: Option<Buffer>, is_persistent: bool) -> Self {
        Self {
            sent,
            received,
            is_persistent,
            is_owed: AtomicBool::new(!is_persistent),
        }
    }

    /// Packs the data of a persistent operation that is about to start.
    ///
    /// # Safety
    /// The program's buffers are as its calls say.
    pub(super) unsafe fn start(&self) {
        if let Some(buffer) = &self.sent {
            // SAFETY: the caller's promise.
            unsafe { buffer.pack() };
        }
        // Release: with the swap of `arrived`.
        self.is_owed.store(true, Release);
    }

    /// Unpacks what has arrived, once.
    ///
    /// # Safety
    /// The program's buffers are as its calls say, and the operation has ended well with this status.
    unsafe fn arrived(&self, status: &MPI_Status) {
        // AcqRel: of two calls that see the end, one unpacks.
        if let Some(buffer) = &self.received
            && self.is_owed.swap(false, AcqRel)
        {
            // SAFETY: the caller's promise.
            unsafe { buffer.unpack_received(status) };
        }
    }
}

const SHARDS: usize = 16;
type Numbered = (u64, Arc<Operation>);
type Shard = Mutex<Option<HashMap<MPI_Request, Vec<Numbered>>>>;
static OPERATIONS: [Shard; SHARDS] = [const { Mutex::new(None) }; SHARDS];
/// How many operations and freed requests there are.
static PENDING: AtomicUsize = AtomicUsize::new(0);
/// The number of the next operation.
static NUMBER: AtomicU64 = AtomicU64::new(1);
/// Requests that the program has freed while their operations were in progress.
static FREED: Mutex<Vec<(MPI_Request, Arc<Operation>)>> = Mutex::new(Vec::new());

fn shard(request: MPI_Request) -> &'static Shard {
    let hash = (request ^ (request >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    &OPERATIONS[hash % SHARDS]
}

/// Whether no call has anything to finish.
#[inline]
pub(super) fn is_none() -> bool {
    // Acquire: with the Release of `keep`; a request reaches another thread by the program's own synchronisation anyway.
    PENDING.load(Acquire) == 0
}

/// Keeps an operation until its request is completed.
///
/// # Safety
/// The request is that of the operation, whose buffers are as the program's call says.
pub(super) unsafe fn started(request: MPI_Request, operation: Operation) {
    if !operation.is_persistent {
        let (mut flag, mut status) = (0, MPI_Status::default());
        // SAFETY: the library's request, and places of this function. Requests that are complete at once may share a handle: nothing of
        // them is kept.
        unsafe {
            let library = REAL.get();
            let code = (library.MPI_Request_get_status)(request, &raw mut flag, &raw mut status);
            if code == mpi::MPI_SUCCESS && flag != 0 {
                operation.arrived(&status);
                return;
            }
        }
    }
    // Release: with the Acquire of `is_none`.
    PENDING.fetch_add(1, Release);
    if let Ok(mut operations) = shard(request).lock() {
        let number = NUMBER.fetch_add(1, Relaxed);
        let of_request = operations
            .get_or_insert_default()
            .entry(request)
            .or_default();
        of_request.push((number, Arc::new(operation)));
    }
}

/// The moment before a call: operations that begin later are not its own.
#[derive(Clone, Copy)]
pub(super) struct Mark(u64);

/// The moment now.
pub(super) fn mark() -> Mark {
    Mark(NUMBER.load(Relaxed))
}

/// The operation of a request.
pub(super) fn operation(request: MPI_Request, Mark(mark): Mark) -> Option<Arc<Operation>> {
    let operations = shard(request).lock().ok()?;
    let of_request = operations.as_ref()?.get(&request)?;
    let newest = of_request.iter().rev().find(|(number, _)| *number < mark);
    newest.map(|(_, operation)| operation.clone())
}

/// Forgets the operation of a request, and gives it.
fn take(request: MPI_Request, Mark(mark): Mark) -> Option<Arc<Operation>> {
    let mut operations = shard(request).lock().ok()?;
    let operations = operations.as_mut()?;
    let of_request = operations.get_mut(&request)?;
    let newest = of_request.iter().rposition(|(number, _)| *number < mark)?;
    let (_, operation) = of_request.remove(newest);
    if of_request.is_empty() {
        operations.remove(&request);
    }
    PENDING.fetch_sub(1, Relaxed);
    Some(operation)
}

/// How an operation ended.
#[derive(Clone, Copy)]
pub(super) enum End<'a> {
    /// Well, with a status; the request may be used further, if it is persistent.
    Complete(&'a MPI_Status),
    /// The same, and the request is still the program's.
    Visible(&'a MPI_Status),
    /// With an error.
    Failed,
}

/// Finishes the operation of a request that a call has found complete, if it is one of this layer.
///
/// # Safety
/// The call has found the request so, and the program's buffers are as its calls say.
pub(super) unsafe fn finish(request: MPI_Request, mark: Mark, end: End<'_>) {
    let Some(operation) = operation(request, mark) else {
        return;
    };
    let (status, is_over) = match end {
        End::Complete(status) => (Some(status), true),
        End::Visible(status) => (Some(status), false),
        End::Failed => (None, true),
    };
    if let Some(status) = status {
        // SAFETY: the caller's promise.
        unsafe { operation.arrived(status) };
    }
    if is_over && !operation.is_persistent {
        take(request, mark);
    }
}

/// Frees a request of the program; `None` where it is not one of this layer.
///
/// # Safety
/// The program's request, whose buffers are as its calls say.
pub(super) unsafe fn free(request: &mut MPI_Request) -> Option<i32> {
    let operation = take(*request, mark())?;
    // SAFETY: the caller's promise.
    if !unsafe { end(request, &operation, false) }
        && let Ok(mut freed) = FREED.lock()
    {
        PENDING.fetch_add(1, Release);
        freed.push((*request, operation));
    }
    *request = mpi::MPI_REQUEST_NULL;
    Some(mpi::MPI_SUCCESS)
}

/// Ends the operation of a freed request, if it is complete or may be waited for.
unsafe fn end(request: &mut MPI_Request, operation: &Operation, may_wait: bool) -> bool {
    let (mut flag, mut status) = (1, MPI_Status::default());
    let library = REAL.get();
    // SAFETY: a request that the program has given back, and places of this function.
    unsafe {
        let code = match may_wait {
            true => (library.MPI_Wait)(request, &raw mut status),
            false => (library.MPI_Test)(request, &raw mut flag, &raw mut status),
        };
        if flag == 0 {
            return false;
        }
        if code == mpi::MPI_SUCCESS {
            operation.arrived(&status);
        }
        if *request != mpi::MPI_REQUEST_NULL {
            (library.MPI_Request_free)(request);
        }
    }
    true
}

/// Ends operations of freed requests that are complete.
pub(super) fn look_at_freed() {
    // Another thread that is here looks at them.
    if let Ok(mut freed) = FREED.try_lock() {
        // SAFETY: requests that the program has given back.
        let ended = freed.extract_if(.., |(request, operation)| unsafe {
            end(request, operation, false)
        });
        PENDING.fetch_sub(ended.count(), Relaxed);
    }
}

/// Waits for the operations of freed requests, before MPI ends.
pub(super) fn finish_all() {
    if let Ok(mut freed) = FREED.lock() {
        for (mut request, operation) in freed.drain(..) {
            // SAFETY: as above.
            unsafe { end(&mut request, &operation, true) };
            PENDING.fetch_sub(1, Relaxed);
        }
    }
}
