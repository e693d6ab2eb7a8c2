// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations in progress whose data are packed here, by the library's request.
//!
//! A request handle is used again as soon as the library has completed it, which another thread may see before the call that completed it
//! has returned. So a call that may complete a request takes its operation out before, and puts it back if it lives on.

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use layout_cuda::CudaError;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffer::Buffer;
use super::instead::raised;
use super::status::Unwritten as _;
use crate::output::say;
use crate::sync::AtomicUsize;
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
    is_owed: bool,
}

impl Operation {
    /// A send that has been started.
    pub(super) fn sending(buffer: Buffer) -> Self {
        Self {
            sent: Some(buffer),
            received: None,
            is_persistent: false,
            is_owed: false,
        }
    }

    /// A receive that has been started.
    pub(super) fn receiving(buffer: Buffer) -> Self {
        Self {
            sent: None,
            received: Some(buffer),
            is_persistent: false,
            is_owed: true,
        }
    }

    /// The same as a persistent operation that has not been started.
    pub(super) fn persistent(self) -> Self {
        Self {
            is_persistent: true,
            is_owed: false,
            ..self
        }
    }

    /// Packs the data of a persistent operation that is about to start; the code of the call.
    ///
    /// # Safety
    /// The program's buffers are as its calls say.
    pub(super) unsafe fn start(&mut self) -> i32 {
        self.is_owed = true;
        match &self.sent {
            // SAFETY: the caller's promise.
            Some(buffer) => unsafe { buffer.pack() },
            None => mpi::MPI_SUCCESS,
        }
    }

    /// Unpacks what has arrived, once.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// The program's buffers are as its calls say, and the operation has ended well with this status.
    unsafe fn unpacked(&mut self, status: &MPI_Status) -> Result<(), CudaError> {
        match &self.received {
            // SAFETY: the caller's promise.
            Some(buffer) if std::mem::take(&mut self.is_owed) => unsafe { buffer.unpack(status) },
            _ => Ok(()),
        }
    }

    /// The same; the code of the call.
    ///
    /// # Safety
    /// As for [`Self::unpacked`].
    pub(super) unsafe fn arrived(&mut self, status: &MPI_Status) -> i32 {
        // SAFETY: the caller's promise.
        let unpacked = unsafe { self.unpacked(status) };
        match (&self.received, unpacked) {
            (Some(buffer), Err(error)) => raised(&error, buffer.comm()),
            _ => mpi::MPI_SUCCESS,
        }
    }
}

const SHARDS: usize = 16;
type Shard = Mutex<Option<HashMap<MPI_Request, Operation>>>;
static OPERATIONS: [Shard; SHARDS] = [const { Mutex::new(None) }; SHARDS];
/// How many operations and freed requests there are.
static PENDING: AtomicUsize = AtomicUsize::new(0);
/// Requests that the program has freed while their operations were in progress.
static FREED: Mutex<Vec<(MPI_Request, Operation)>> = Mutex::new(Vec::new());

fn shard(request: MPI_Request) -> &'static Shard {
    let hash = (request ^ (request >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    &OPERATIONS[hash % SHARDS]
}

/// Whether no call has anything to finish.
#[inline]
pub(super) fn is_none() -> bool {
    // Acquire: with the Release of `put`; a request reaches another thread by the program's own synchronisation anyway.
    PENDING.load(Acquire) == 0
}

/// Keeps an operation until its request is completed; the code of the call.
///
/// # Safety
/// The request is that of the operation, whose buffers are as the program's call says.
unsafe fn started(request: MPI_Request, mut operation: Operation) -> i32 {
    if !operation.is_persistent {
        let (mut flag, mut status) = (0, MPI_Status::unwritten());
        // SAFETY: the library's request, and places of this function. Requests that are complete at once may share a handle: nothing of
        // them is kept.
        unsafe {
            let library = REAL.get();
            let code = (library.MPI_Request_get_status)(request, &raw mut flag, &raw mut status);
            if code == mpi::MPI_SUCCESS && flag != 0 && status.is_written() {
                return operation.arrived(&status);
            }
        }
    }
    put(request, operation);
    mpi::MPI_SUCCESS
}

/// Keeps the operation of a request.
pub(super) fn put(request: MPI_Request, operation: Operation) {
    if let Ok(mut operations) = shard(request).lock() {
        // An older one was completed where this layer did not see it.
        let old = operations
            .get_or_insert_default()
            .insert(request, operation);
        if old.is_none() {
            // Release: with the Acquire of `is_none`.
            PENDING.fetch_add(1, Release);
        }
    }
}

/// Takes the operation of a request out.
pub(super) fn take(request: MPI_Request) -> Option<Operation> {
    let mut operations = shard(request).lock().ok()?;
    let operation = operations.as_mut()?.remove(&request)?;
    PENDING.fetch_sub(1, Relaxed);
    Some(operation)
}

/// Whether a request receives data that are unpacked here.
pub(super) fn is_receive(request: MPI_Request) -> bool {
    let Ok(operations) = shard(request).lock() else {
        return false;
    };
    let operation = operations.as_ref().and_then(|all| all.get(&request));
    operation.is_some_and(|it| it.received.is_some())
}

/// Unpacks what has arrived of a request that lives on; the code of the call. A second thread that asks for the same request waits meanwhile.
///
/// # Safety
/// As for [`Operation::arrived`].
pub(super) unsafe fn arrived(request: MPI_Request, status: &MPI_Status) -> i32 {
    let Ok(mut operations) = shard(request).lock() else {
        return mpi::MPI_SUCCESS;
    };
    let Some(operation) = operations.as_mut().and_then(|all| all.get_mut(&request)) else {
        return mpi::MPI_SUCCESS;
    };
    // SAFETY: the caller's promise.
    let unpacked = unsafe { operation.unpacked(status) };
    let comm = operation.received.as_ref().map(Buffer::comm);
    // An error handler of the program may use requests.
    drop(operations);
    match (unpacked, comm) {
        (Err(error), Some(comm)) => raised(&error, comm),
        _ => mpi::MPI_SUCCESS,
    }
}

/// Frees a request of the program; `None` where it is not one of this layer.
///
/// # Safety
/// The program's request, whose buffers are as its calls say.
pub(super) unsafe fn free(request: &mut MPI_Request) -> Option<i32> {
    let mut operation = take(*request)?;
    // SAFETY: the caller's promise.
    if !unsafe { end(request, &mut operation) } {
        keep_freed([(*request, operation)]);
    }
    *request = mpi::MPI_REQUEST_NULL;
    Some(mpi::MPI_SUCCESS)
}

/// Keeps operations of freed requests.
fn keep_freed(operations: impl IntoIterator<Item = (MPI_Request, Operation)>) {
    if let Ok(mut freed) = FREED.lock() {
        let before = freed.len();
        freed.extend(operations);
        // Release: with the Acquire of `is_none`.
        PENDING.fetch_add(freed.len() - before, Release);
    }
}

/// The operations of all freed requests, which are the caller's now: the library may call the program meanwhile.
fn take_freed() -> Vec<(MPI_Request, Operation)> {
    let freed = FREED.lock();
    let freed = freed.map(|mut freed| std::mem::take(&mut *freed));
    let freed = freed.unwrap_or_default();
    PENDING.fetch_sub(freed.len(), Relaxed);
    freed
}

/// Ends the operation of a freed request, if it is complete.
unsafe fn end(request: &mut MPI_Request, operation: &mut Operation) -> bool {
    let (mut flag, mut status) = (0, MPI_Status::unwritten());
    let library = REAL.get();
    // SAFETY: a request that the program has given back, and places of this function.
    unsafe {
        let code = (library.MPI_Test)(request, &raw mut flag, &raw mut status);
        if flag == 0 {
            return false;
        }
        if code == mpi::MPI_SUCCESS && status.is_written() {
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
    let mut freed = take_freed();
    if freed.is_empty() {
        return;
    }
    // SAFETY: requests that the program has given back.
    freed.retain_mut(|(request, operation)| unsafe { !end(request, operation) });
    keep_freed(freed);
}

/// How long freed requests may take to complete before MPI ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// Completes the operations of freed requests, before MPI ends. Messages of a correct program have been sent by then and arrive soon; what has
/// none is left to the library, as the program's own request would be.
pub(super) fn finish_all() {
    let start = Instant::now();
    let mut freed = take_freed();
    loop {
        // SAFETY: requests that the program has given back.
        freed.retain_mut(|(request, operation)| unsafe { !end(request, operation) });
        if freed.is_empty() {
            return;
        }
        if start.elapsed() > PATIENCE {
            break;
        }
        std::thread::yield_now();
    }
    let number = freed.len();
    say(&format!(
        "datatypes: {number} requests were freed and are not complete a second after MPI_Finalize was called: receives have got no data"
    ));
    for (mut request, operation) in freed {
        // SAFETY: as above. The library keeps the packed bytes' address.
        unsafe { (REAL.get().MPI_Request_free)(&raw mut request) };
        let _kept = ManuallyDrop::new(operation);
    }
}

/// Makes the request of an operation by a call, and keeps the operation's buffers until the request is completed.
///
/// # Safety
/// The request is where the call writes it, and the buffers are as the program's call says.
pub(super) unsafe fn keep(
    operation: Operation,
    request: *mut MPI_Request,
    call: impl FnOnce(*mut MPI_Request) -> i32,
) -> i32 {
    // SAFETY: the caller's promise. Some libraries return success from an error handler of the program: whether the call has made a
    // request, the request says.
    unsafe {
        if !request.is_null() {
            *request = mpi::MPI_REQUEST_NULL;
        }
        let code = call(request);
        if code == mpi::MPI_SUCCESS && !request.is_null() && *request != mpi::MPI_REQUEST_NULL {
            return started(*request, operation);
        }
        code
    }
}
