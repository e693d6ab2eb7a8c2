// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that complete requests, or look at them: they unpack what has arrived.

use std::cell::RefCell;
use std::slice;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::layer::NEXT;
use super::pending::{self, Operation};
use super::status::Unwritten as _;
use crate::table::Functions;

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

/// Calls that pass while no operation of this layer is in progress, as `MPI_X what it is otherwise(parameters)`. What passes saves no
/// registers.
macro_rules! entries {
    ($($function:ident $slow:ident($($name:ident: $kind:ty),*);)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $function($($name: $kind),*) -> i32 {
            let function = if pending::is_none() { NEXT.get().$function } else { $slow };
            // SAFETY: the program's arguments.
            unsafe { function($($name),*) }
        }
    )*};
}

entries! {
    MPI_Wait wait(request: *mut MPI_Request, status: *mut MPI_Status);
    MPI_Test test(request: *mut MPI_Request, flag: *mut i32, status: *mut MPI_Status);
    MPI_Waitall waitall(count: i32, requests: *mut MPI_Request, statuses: *mut MPI_Status);
    MPI_Testall testall(count: i32, requests: *mut MPI_Request, flag: *mut i32, statuses: *mut MPI_Status);
    MPI_Waitany waitany(count: i32, requests: *mut MPI_Request, index: *mut i32, status: *mut MPI_Status);
    MPI_Testany testany(count: i32, requests: *mut MPI_Request, index: *mut i32, flag: *mut i32, status: *mut MPI_Status);
    MPI_Waitsome waitsome(count: i32, requests: *mut MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status);
    MPI_Testsome testsome(count: i32, requests: *mut MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status);
    MPI_Request_free request_free(request: *mut MPI_Request);
    MPI_Request_get_status get_status(request: MPI_Request, flag: *mut i32, status: *mut MPI_Status);
    MPI_Request_get_status_all get_status_all(count: i32, requests: *const MPI_Request, flag: *mut i32, statuses: *mut MPI_Status);
    MPI_Request_get_status_any get_status_any(count: i32, requests: *const MPI_Request, index: *mut i32, flag: *mut i32, status: *mut MPI_Status);
    MPI_Request_get_status_some get_status_some(count: i32, requests: *const MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status);
}

/// An operation that a call has taken out: its place in the call's array, and its request.
struct Taken {
    index: usize,
    request: MPI_Request,
    operation: Box<Operation>,
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
    /// Before the call, which writes at most `number` statuses.
    unsafe fn begin(
        count: i32,
        requests: *const MPI_Request,
        wanted: *mut MPI_Status,
        number: usize,
    ) -> Self {
        pending::look_at_freed();
        let mut memory = MEMORY.try_with(RefCell::take).unwrap_or_default();
        memory.statuses.clear();
        if count > 0 && !requests.is_null() {
            // SAFETY: the program's array.
            let requests = unsafe { slice::from_raw_parts(requests, count as usize) };
            let taken = requests.iter().enumerate().filter_map(|(index, &request)| {
                let operation = pending::take(request)?;
                Some(Taken {
                    index,
                    request,
                    operation,
                })
            });
            memory.taken.extend(taken);
        }
        let mut taken = memory.taken.iter();
        if taken.any(|it| it.operation.received.is_some()) {
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

    /// After the call, which has completed the requests that have a place among the statuses. `remain` says that it frees none.
    unsafe fn end(
        mut self,
        code: i32,
        remain: bool,
        place: impl Fn(usize) -> Option<usize>,
    ) -> i32 {
        for mut it in self.memory.taken.drain(..) {
            let status = place(it.index).and_then(|place| self.memory.statuses.get(place));
            if let Some(status) = status.filter(|status| status.is_written()) {
                // SAFETY: the program's buffers, and a status of this request.
                unsafe { it.operation.arrived(status) };
            }
            // SAFETY: the program's array.
            let is_same = unsafe { *self.requests.add(it.index) } == it.request;
            if remain || it.operation.is_persistent || is_same {
                pending::put(it.request, it.operation);
            }
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

    /// After a call that returns one index, or none.
    unsafe fn end_any(self, code: i32, remain: bool, index: i32) -> i32 {
        let index = usize::try_from(index).ok();
        // SAFETY: the call has completed this request.
        unsafe { self.end(code, remain, |at| (Some(at) == index).then_some(0)) }
    }

    /// After a call that returns some indices.
    unsafe fn end_some(self, code: i32, remain: bool, number: i32, indices: *const i32) -> i32 {
        let number = usize::try_from(number).unwrap_or(0);
        // SAFETY: the call has written so many indices of requests that it has completed.
        unsafe {
            let indices = slice::from_raw_parts(indices, number);
            let place = |at: usize| indices.iter().position(|&index| index as usize == at);
            self.end(code, remain, place)
        }
    }
}

/// How many statuses a call for so many requests writes.
fn all(count: i32) -> usize {
    usize::try_from(count).unwrap_or(0)
}

unsafe extern "C" fn wait(request: *mut MPI_Request, status: *mut MPI_Status) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let mut call = Call::begin(1, request, status, 1);
        let code = (NEXT.get().MPI_Wait)(request, call.statuses());
        call.end(code, false, Some)
    }
}

unsafe extern "C" fn test(
    request: *mut MPI_Request,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let mut call = Call::begin(1, request, status, 1);
        let code = (NEXT.get().MPI_Test)(request, flag, call.statuses());
        call.end(code, false, |at| is_set(flag).then_some(at))
    }
}

/// Whether a call has set its flag.
unsafe fn is_set(flag: *const i32) -> bool {
    // SAFETY: the program's flag, if there is one.
    !flag.is_null() && unsafe { *flag } != 0
}

unsafe extern "C" fn waitall(
    count: i32,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let mut call = Call::begin(count, requests, statuses, all(count));
        let code = (NEXT.get().MPI_Waitall)(count, requests, call.statuses());
        call.end(code, false, Some)
    }
}

unsafe extern "C" fn testall(
    count: i32,
    requests: *mut MPI_Request,
    flag: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let mut call = Call::begin(count, requests, statuses, all(count));
        let code = (NEXT.get().MPI_Testall)(count, requests, flag, call.statuses());
        call.end(code, false, |at| {
            (code != mpi::MPI_SUCCESS || is_set(flag)).then_some(at)
        })
    }
}

unsafe extern "C" fn waitany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if index.is_null() {
            return (next.MPI_Waitany)(count, requests, index, status);
        }
        let mut call = Call::begin(count, requests, status, 1);
        *index = mpi::MPI_UNDEFINED;
        let code = (next.MPI_Waitany)(count, requests, index, call.statuses());
        call.end_any(code, false, *index)
    }
}

unsafe extern "C" fn testany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if index.is_null() || flag.is_null() {
            return (next.MPI_Testany)(count, requests, index, flag, status);
        }
        let mut call = Call::begin(count, requests, status, 1);
        *index = mpi::MPI_UNDEFINED;
        let code = (next.MPI_Testany)(count, requests, index, flag, call.statuses());
        let found = if *flag != 0 {
            *index
        } else {
            mpi::MPI_UNDEFINED
        };
        call.end_any(code, false, found)
    }
}

macro_rules! some {
    ($($name:ident $function:ident($array:ty) $remain:literal;)*) => {$(
        unsafe extern "C" fn $name(
            count: i32,
            requests: $array,
            number: *mut i32,
            indices: *mut i32,
            statuses: *mut MPI_Status,
        ) -> i32 {
            let next = NEXT.get();
            // SAFETY: the program's arguments.
            unsafe {
                if number.is_null() || indices.is_null() {
                    return (next.$function)(count, requests, number, indices, statuses);
                }
                let mut call = Call::begin(count, requests, statuses, all(count));
                *number = mpi::MPI_UNDEFINED;
                let code = (next.$function)(count, requests, number, indices, call.statuses());
                call.end_some(code, $remain, *number, indices)
            }
        }
    )*};
}

some! {
    waitsome MPI_Waitsome(*mut MPI_Request) false;
    testsome MPI_Testsome(*mut MPI_Request) false;
    get_status_some MPI_Request_get_status_some(*const MPI_Request) true;
}

unsafe extern "C" fn request_free(request: *mut MPI_Request) -> i32 {
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

unsafe extern "C" fn get_status(
    request: MPI_Request,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let mut call = Call::begin(1, &raw const request, status, 1);
        let code = (NEXT.get().MPI_Request_get_status)(request, flag, call.statuses());
        call.end(code, true, |at| is_set(flag).then_some(at))
    }
}

unsafe extern "C" fn get_status_all(
    count: i32,
    requests: *const MPI_Request,
    flag: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let mut call = Call::begin(count, requests, statuses, all(count));
        let code = (NEXT.get().MPI_Request_get_status_all)(count, requests, flag, call.statuses());
        call.end(code, true, |at| is_set(flag).then_some(at))
    }
}

unsafe extern "C" fn get_status_any(
    count: i32,
    requests: *const MPI_Request,
    index: *mut i32,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if index.is_null() || flag.is_null() {
            return (next.MPI_Request_get_status_any)(count, requests, index, flag, status);
        }
        let mut call = Call::begin(count, requests, status, 1);
        *index = mpi::MPI_UNDEFINED;
        let code = (next.MPI_Request_get_status_any)(count, requests, index, flag, call.statuses());
        let found = if *flag != 0 {
            *index
        } else {
            mpi::MPI_UNDEFINED
        };
        call.end_any(code, true, found)
    }
}
