// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that complete requests, or look at them: they unpack what has arrived.

use std::cell::RefCell;
use std::slice;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::calls::entry;
use super::layer::NEXT;
use super::pending::{self, Operation};
use super::status::Unwritten as _;
use crate::table::{Functions, REAL};

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Wait,
        MPI_Test,
        MPI_Waitall,
        MPI_Testall,
        MPI_Waitany,
        MPI_Testany,
        MPI_Waitsome,
        MPI_Testsome,
        MPI_Request_free,
        MPI_Request_get_status,
        MPI_Request_get_status_all,
        MPI_Request_get_status_any,
        MPI_Request_get_status_some,
        ..next
    }
}

/// Defines calls as `MPI_X(parameters) what they do otherwise;` that pass while no operation of this layer is in progress.
macro_rules! entries {
    ($($function:ident($($name:ident: $kind:ty),*) $otherwise:expr;)*) => {$(
        entry! { $function($($name: $kind),*) if pending::is_none(), else $otherwise }
    )*};
}

entries! {
    MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status)
        all((1, request), status, None, false, |status| (NEXT.get().MPI_Wait)(request, status));
    MPI_Test(request: *mut MPI_Request, flag: *mut i32, status: *mut MPI_Status)
        all((1, request), status, Some(flag), false, |status| (NEXT.get().MPI_Test)(request, flag, status));
    MPI_Waitall(count: i32, requests: *mut MPI_Request, statuses: *mut MPI_Status)
        all((count, requests), statuses, None, false, |statuses| (NEXT.get().MPI_Waitall)(count, requests, statuses));
    MPI_Testall(count: i32, requests: *mut MPI_Request, flag: *mut i32, statuses: *mut MPI_Status)
        all((count, requests), statuses, Some(flag), false, |statuses| (NEXT.get().MPI_Testall)(count, requests, flag, statuses));
    MPI_Waitany(count: i32, requests: *mut MPI_Request, index: *mut i32, status: *mut MPI_Status)
        any((count, requests), status, index, None, false, |status| (NEXT.get().MPI_Waitany)(count, requests, index, status));
    MPI_Testany(count: i32, requests: *mut MPI_Request, index: *mut i32, flag: *mut i32, status: *mut MPI_Status)
        any((count, requests), status, index, Some(flag), false, |status| (NEXT.get().MPI_Testany)(count, requests, index, flag, status));
    MPI_Waitsome(count: i32, requests: *mut MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status)
        some((count, requests), statuses, number, indices, false, |statuses| {
            (NEXT.get().MPI_Waitsome)(count, requests, number, indices, statuses)
        });
    MPI_Testsome(count: i32, requests: *mut MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status)
        some((count, requests), statuses, number, indices, false, |statuses| {
            (NEXT.get().MPI_Testsome)(count, requests, number, indices, statuses)
        });
    MPI_Request_get_status(request: MPI_Request, flag: *mut i32, status: *mut MPI_Status)
        all((1, &raw const request), status, Some(flag), true, |status| (NEXT.get().MPI_Request_get_status)(request, flag, status));
    MPI_Request_get_status_all(count: i32, requests: *const MPI_Request, flag: *mut i32, statuses: *mut MPI_Status)
        all((count, requests), statuses, Some(flag), true, |statuses| {
            (NEXT.get().MPI_Request_get_status_all)(count, requests, flag, statuses)
        });
    MPI_Request_get_status_any(count: i32, requests: *const MPI_Request, index: *mut i32, flag: *mut i32, status: *mut MPI_Status)
        any((count, requests), status, index, Some(flag), true, |status| {
            (NEXT.get().MPI_Request_get_status_any)(count, requests, index, flag, status)
        });
    MPI_Request_get_status_some(
        count: i32, requests: *const MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status
    )
        some((count, requests), statuses, number, indices, true, |statuses| {
            (NEXT.get().MPI_Request_get_status_some)(count, requests, number, indices, statuses)
        });
    MPI_Request_free(request: *mut MPI_Request) request_free(request);
}

/// A call for all of some requests. With a flag it may find that they are not complete; `remain` says that it frees none.
unsafe fn all(
    requests: (i32, *const MPI_Request),
    statuses: *mut MPI_Status,
    flag: Option<*const i32>,
    remain: bool,
    call: impl FnOnce(*mut MPI_Status) -> i32,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let number = usize::try_from(requests.0).unwrap_or(0);
        let mut it = Call::begin(requests, statuses, number, remain);
        let code = call(it.statuses());
        let is_set = |flag: *const i32| !flag.is_null() && *flag != 0;
        let are_complete = code != mpi::MPI_SUCCESS || flag.is_none_or(is_set);
        it.end(code, |at| are_complete.then_some(at))
    }
}

/// A call for any of some requests.
unsafe fn any(
    requests: (i32, *const MPI_Request),
    status: *mut MPI_Status,
    index: *mut i32,
    flag: Option<*const i32>,
    remain: bool,
    call: impl FnOnce(*mut MPI_Status) -> i32,
) -> i32 {
    if index.is_null() || flag.is_some_and(<*const i32>::is_null) {
        return call(status);
    }
    // SAFETY: the program's arguments.
    unsafe {
        let mut it = Call::begin(requests, status, 1, remain);
        *index = mpi::MPI_UNDEFINED;
        let code = call(it.statuses());
        let is_found = flag.is_none_or(|flag| *flag != 0);
        let found = usize::try_from(*index).ok().filter(|_| is_found);
        it.end(code, |at| (Some(at) == found).then_some(0))
    }
}

/// A call for some of some requests.
unsafe fn some(
    requests: (i32, *const MPI_Request),
    statuses: *mut MPI_Status,
    number: *mut i32,
    indices: *mut i32,
    remain: bool,
    call: impl FnOnce(*mut MPI_Status) -> i32,
) -> i32 {
    if number.is_null() || indices.is_null() {
        return call(statuses);
    }
    // SAFETY: the program's arguments. The call writes as many indices of requests that it has completed.
    unsafe {
        let mut it = {
            let number = usize::try_from(requests.0).unwrap_or(0);
            Call::begin(requests, statuses, number, remain)
        };
        *number = mpi::MPI_UNDEFINED;
        let code = call(it.statuses());
        let found = slice::from_raw_parts(indices, usize::try_from(*number).unwrap_or(0));
        it.end(code, |at| {
            found.iter().position(|&index| index as usize == at)
        })
    }
}

unsafe fn request_free(request: *mut MPI_Request) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        if !request.is_null() {
            pending::look_at_freed();
            if let Some(code) = pending::free(&mut *request) {
                return code;
            }
        }
        (NEXT.get().MPI_Request_free)(request)
    }
}

/// A request of this layer: its place in the call's array, and its operation, which the call has taken out unless it leaves the request.
struct Taken {
    index: usize,
    request: MPI_Request,
    operation: Option<Operation>,
}

impl Taken {
    /// `None` of a request without an operation here.
    fn new((index, &request): (usize, &MPI_Request), remain: bool) -> Option<Self> {
        let operation = match remain {
            true if !pending::is_receive(request) => return None,
            true => None,
            false => Some(pending::take(request)?),
        };
        Some(Self {
            index,
            request,
            operation,
        })
    }

    fn receives(&self) -> bool {
        let operation = self.operation.as_ref();
        operation.is_none_or(|it| it.received.is_some())
    }
}

/// What calls of a thread need memory for.
#[derive(Default)]
struct Memory {
    taken: Vec<Taken>,
    statuses: Vec<MPI_Status>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// A call for requests.
struct Call {
    requests: *const MPI_Request,
    memory: Memory,
    /// The program's statuses.
    wanted: *mut MPI_Status,
}

impl Call {
    /// Before the call, which writes at most `number` statuses; `remain` says that it frees no request.
    unsafe fn begin(
        (count, requests): (i32, *const MPI_Request),
        wanted: *mut MPI_Status,
        number: usize,
        remain: bool,
    ) -> Self {
        pending::look_at_freed();
        let mut memory = MEMORY.try_with(RefCell::take).unwrap_or_default();
        memory.statuses.clear();
        if count > 0 && !requests.is_null() {
            // SAFETY: the program's array.
            let requests = unsafe { slice::from_raw_parts(requests, count as usize) };
            let requests = requests.iter().enumerate();
            let taken = requests.filter_map(|request| Taken::new(request, remain));
            memory.taken.extend(taken);
        }
        if memory.taken.iter().any(Taken::receives) {
            memory.statuses.resize(number, MPI_Status::unwritten());
        }
        Self {
            requests,
            memory,
            wanted,
        }
    }

    /// What the call gets: statuses of this layer where something is received, and the program's otherwise.
    fn statuses(&mut self) -> *mut MPI_Status {
        match self.memory.statuses.is_empty() {
            true => self.wanted,
            false => self.memory.statuses.as_mut_ptr(),
        }
    }

    /// After the call, which has completed the requests that have a place among the statuses. Gives the call's code, or that of data that
    /// could not be unpacked.
    unsafe fn end(mut self, mut code: i32, place: impl Fn(usize) -> Option<usize>) -> i32 {
        // The error of a call for one request is the call's, and not in the status.
        let is_written = |status: &&MPI_Status| {
            status.is_written() && (code == mpi::MPI_SUCCESS || has_statuses(code))
        };
        let mut unpacked = mpi::MPI_SUCCESS;
        for mut it in self.memory.taken.drain(..) {
            let status = place(it.index).and_then(|place| self.memory.statuses.get(place));
            if let Some(status) = status.filter(is_written) {
                // SAFETY: the program's buffers, and a status of this request.
                let code = unsafe {
                    match &mut it.operation {
                        Some(operation) => operation.arrived(status),
                        None => pending::arrived(it.request, status),
                    }
                };
                if unpacked == mpi::MPI_SUCCESS {
                    unpacked = code;
                }
            }
            let Some(operation) = it.operation else {
                continue;
            };
            // SAFETY: the program's array.
            let is_same = unsafe { *self.requests.add(it.index) } == it.request;
            if operation.is_persistent || is_same {
                pending::put(it.request, operation);
            }
        }
        if code == mpi::MPI_SUCCESS {
            code = unpacked;
        }
        for (index, status) in self.memory.statuses.iter().enumerate() {
            if !self.wanted.is_null() {
                // SAFETY: the program's array has as many.
                unsafe { status.copy_to(self.wanted.add(index)) };
            }
        }
        // A thread that ends keeps nothing.
        drop(MEMORY.try_with(|memory| memory.replace(self.memory)));
        code
    }
}

/// Whether an error is one of several requests, whose own errors are in their statuses.
fn has_statuses(code: i32) -> bool {
    let mut class = 0;
    // SAFETY: a code of the library, and a place of this function.
    let found = unsafe { (REAL.get().MPI_Error_class)(code, &raw mut class) };
    found == mpi::MPI_SUCCESS && class == mpi::MPI_ERR_IN_STATUS
}
