// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that complete requests, or look at them: they unpack what has arrived.

use std::cell::RefCell;
use std::slice;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::layer::NEXT;
use super::pending::{self, End, Mark};
use super::status::{or_own, or_owns};
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

/// Calls that pass while no operation of this layer is in progress, as `MPI_X what it is otherwise(parameters)`. What passes saves no registers.
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
    MPI_Request_free request_free(request: *mut MPI_Request);
    MPI_Request_get_status get_status(request: MPI_Request, flag: *mut i32, status: *mut MPI_Status);
    MPI_Request_get_status_all get_status_all(count: i32, requests: *const MPI_Request, flag: *mut i32, statuses: *mut MPI_Status);
    MPI_Request_get_status_any get_status_any(count: i32, requests: *const MPI_Request, index: *mut i32, flag: *mut i32, status: *mut MPI_Status);
    MPI_Request_get_status_some get_status_some(count: i32, requests: *const MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status);
    MPI_Waitsome waitsome(count: i32, requests: *mut MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status);
    MPI_Testsome testsome(count: i32, requests: *mut MPI_Request, number: *mut i32, indices: *mut i32, statuses: *mut MPI_Status);
}

/// The handles of a call, before the library changes them, and statuses for it.
#[derive(Default)]
struct Copies {
    requests: Vec<MPI_Request>,
    statuses: Vec<MPI_Status>,
}

thread_local! {
    static COPIES: RefCell<Copies> = RefCell::default();
}

/// A call for several requests.
struct Call {
    mark: Mark,
    copies: Copies,
    statuses: *mut MPI_Status,
}

impl Call {
    /// Before the call. `wanted` are the program's statuses, of which the call writes at most `number`.
    unsafe fn begin(
        count: i32,
        requests: *const MPI_Request,
        wanted: *mut MPI_Status,
        number: usize,
    ) -> Self {
        pending::look_at_freed();
        let mut copies = COPIES.try_with(RefCell::take).unwrap_or_default();
        copies.requests.clear();
        if count > 0 && !requests.is_null() {
            // SAFETY: the program's array.
            let requests = unsafe { slice::from_raw_parts(requests, count as usize) };
            copies.requests.extend_from_slice(requests);
        }
        let statuses = or_owns(wanted, &mut copies.statuses, number);
        Self {
            mark: pending::mark(),
            copies,
            statuses,
        }
    }

    fn count(&self) -> usize {
        self.copies.requests.len()
    }

    /// A status that the call has written.
    unsafe fn status(&self, index: usize) -> &MPI_Status {
        // SAFETY: the program's array, or that of the copies, has so many.
        unsafe { &*self.statuses.add(index) }
    }

    /// The request at `index` is complete, with the status at `place`.
    unsafe fn finish(&self, index: usize, place: usize) {
        if let Some(&request) = self.copies.requests.get(index) {
            // SAFETY: the call has found it complete.
            unsafe { pending::finish(request, self.mark, End::Complete(self.status(place))) };
        }
    }

    /// The same, and the request remains.
    unsafe fn see(&self, index: usize, place: usize) {
        if let Some(&request) = self.copies.requests.get(index) {
            // SAFETY: the call has found it complete.
            unsafe { pending::finish(request, self.mark, End::Visible(self.status(place))) };
        }
    }

    /// Some requests have failed: each status has a code (MPI-5.0, section 3.7.5). `indices` are those of the statuses; of none, in order.
    unsafe fn finish_by_codes(&self, indices: impl Iterator<Item = usize>) {
        for (place, index) in indices.enumerate() {
            let Some(&request) = self.copies.requests.get(index) else {
                continue;
            };
            // SAFETY: the library has written the status, and the call has found the request so.
            unsafe {
                let status = self.status(place);
                match status.MPI_ERROR {
                    mpi::MPI_SUCCESS => pending::finish(request, self.mark, End::Complete(status)),
                    mpi::MPI_ERR_PENDING => {}
                    _ => pending::finish(request, self.mark, End::Failed),
                }
            }
        }
    }

    /// After the call.
    fn end(self, code: i32) -> i32 {
        // A thread that ends keeps nothing.
        drop(COPIES.try_with(|copies| copies.replace(self.copies)));
        code
    }
}

/// Whether a code says that the statuses have the codes of the requests.
fn is_in_status(code: i32) -> bool {
    let mut class = 0;
    // SAFETY: a place of this function.
    let known = unsafe { (crate::table::REAL.get().MPI_Error_class)(code, &raw mut class) };
    known == mpi::MPI_SUCCESS && class == mpi::MPI_ERR_IN_STATUS
}

/// Finishes one request after a call that completes it.
unsafe fn finish_one(
    before: MPI_Request,
    now: MPI_Request,
    mark: Mark,
    code: i32,
    status: &MPI_Status,
) {
    // SAFETY: the call has found it so.
    unsafe {
        if code == mpi::MPI_SUCCESS {
            pending::finish(before, mark, End::Complete(status));
        } else if now != before {
            pending::finish(before, mark, End::Failed);
        }
    }
}

unsafe extern "C" fn wait(request: *mut MPI_Request, status: *mut MPI_Status) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if request.is_null() {
            return (next.MPI_Wait)(request, status);
        }
        pending::look_at_freed();
        let mut own = MPI_Status::default();
        let (before, mark, status) = (*request, pending::mark(), or_own(status, &mut own));
        let code = (next.MPI_Wait)(request, status);
        finish_one(before, *request, mark, code, &*status);
        code
    }
}

unsafe extern "C" fn test(
    request: *mut MPI_Request,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if request.is_null() || flag.is_null() {
            return (next.MPI_Test)(request, flag, status);
        }
        pending::look_at_freed();
        let mut own = MPI_Status::default();
        let (before, mark, status) = (*request, pending::mark(), or_own(status, &mut own));
        let code = (next.MPI_Test)(request, flag, status);
        if code != mpi::MPI_SUCCESS || *flag != 0 {
            finish_one(before, *request, mark, code, &*status);
        }
        code
    }
}

unsafe extern "C" fn waitall(
    count: i32,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        let call = Call::begin(count, requests, statuses, count.max(0) as usize);
        let code = (next.MPI_Waitall)(count, requests, call.statuses);
        call.finish_all(code);
        call.end(code)
    }
}

unsafe extern "C" fn testall(
    count: i32,
    requests: *mut MPI_Request,
    flag: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if flag.is_null() {
            return (next.MPI_Testall)(count, requests, flag, statuses);
        }
        let call = Call::begin(count, requests, statuses, count.max(0) as usize);
        let code = (next.MPI_Testall)(count, requests, flag, call.statuses);
        if code != mpi::MPI_SUCCESS || *flag != 0 {
            call.finish_all(code);
        }
        call.end(code)
    }
}

impl Call {
    /// After a call that completes all requests.
    unsafe fn finish_all(&self, code: i32) {
        // SAFETY: the call has found them so.
        unsafe {
            if code == mpi::MPI_SUCCESS {
                for index in 0..self.count() {
                    self.finish(index, index);
                }
            } else if is_in_status(code) {
                self.finish_by_codes(0..self.count());
            }
        }
    }

    /// After a call that completes one request.
    unsafe fn finish_any(&self, index: *const i32, code: i32) {
        // SAFETY: the call has written the index of the request that it has found so.
        unsafe {
            let Ok(index) = usize::try_from(*index) else {
                return;
            };
            if code == mpi::MPI_SUCCESS {
                self.finish(index, 0);
            } else if let Some(&request) = self.copies.requests.get(index) {
                pending::finish(request, self.mark, End::Failed);
            }
        }
    }

    /// After a call that completes some requests.
    unsafe fn finish_some(&self, number: *const i32, indices: *const i32, code: i32) {
        // SAFETY: the call has written so many indices of requests that it has found so.
        unsafe {
            let Ok(number) = usize::try_from(*number) else {
                return;
            };
            let indices = slice::from_raw_parts(indices, number.min(self.count()));
            let indices = indices.iter().map(|&index| index as usize);
            if code == mpi::MPI_SUCCESS {
                for (place, index) in indices.enumerate() {
                    self.finish(index, place);
                }
            } else if is_in_status(code) {
                self.finish_by_codes(indices);
            }
        }
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
        let call = Call::begin(count, requests, status, 1);
        *index = mpi::MPI_UNDEFINED;
        let code = (next.MPI_Waitany)(count, requests, index, call.statuses);
        call.finish_any(index, code);
        call.end(code)
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
        let call = Call::begin(count, requests, status, 1);
        *index = mpi::MPI_UNDEFINED;
        let code = (next.MPI_Testany)(count, requests, index, flag, call.statuses);
        if code != mpi::MPI_SUCCESS || *flag != 0 {
            call.finish_any(index, code);
        }
        call.end(code)
    }
}

macro_rules! some {
    ($($name:ident $function:ident;)*) => {$(
        unsafe extern "C" fn $name(
            count: i32,
            requests: *mut MPI_Request,
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
                let call = Call::begin(count, requests, statuses, count.max(0) as usize);
                *number = mpi::MPI_UNDEFINED;
                let code = (next.$function)(count, requests, number, indices, call.statuses);
                call.finish_some(number, indices, code);
                call.end(code)
            }
        }
    )*};
}

some! {
    waitsome MPI_Waitsome;
    testsome MPI_Testsome;
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
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if flag.is_null() {
            return (next.MPI_Request_get_status)(request, flag, status);
        }
        let call = Call::begin(1, &raw const request, status, 1);
        let code = (next.MPI_Request_get_status)(request, flag, call.statuses);
        if code == mpi::MPI_SUCCESS && *flag != 0 {
            call.see(0, 0);
        }
        call.end(code)
    }
}

unsafe extern "C" fn get_status_all(
    count: i32,
    requests: *const MPI_Request,
    flag: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if flag.is_null() {
            return (next.MPI_Request_get_status_all)(count, requests, flag, statuses);
        }
        let call = Call::begin(count, requests, statuses, count.max(0) as usize);
        let code = (next.MPI_Request_get_status_all)(count, requests, flag, call.statuses);
        if code == mpi::MPI_SUCCESS && *flag != 0 {
            for index in 0..call.count() {
                call.see(index, index);
            }
        }
        call.end(code)
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
        let call = Call::begin(count, requests, status, 1);
        *index = mpi::MPI_UNDEFINED;
        let code = (next.MPI_Request_get_status_any)(count, requests, index, flag, call.statuses);
        if code == mpi::MPI_SUCCESS
            && *flag != 0
            && let Ok(index) = usize::try_from(*index)
        {
            call.see(index, 0);
        }
        call.end(code)
    }
}

unsafe extern "C" fn get_status_some(
    count: i32,
    requests: *const MPI_Request,
    number: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments.
    unsafe {
        if number.is_null() || indices.is_null() {
            return (next.MPI_Request_get_status_some)(count, requests, number, indices, statuses);
        }
        let call = Call::begin(count, requests, statuses, count.max(0) as usize);
        *number = mpi::MPI_UNDEFINED;
        let code =
            (next.MPI_Request_get_status_some)(count, requests, number, indices, call.statuses);
        if code == mpi::MPI_SUCCESS
            && let Ok(number) = usize::try_from(*number)
        {
            for place in 0..number.min(call.count()) {
                call.see(*indices.add(place) as usize, place);
            }
        }
        call.end(code)
    }
}
