// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls for several requests, of which some are of this layer: the others, null requests among them, go to the next layer's call
//! for any of several requests, in turn with polls of ours, so that both make progress.

use std::ffi::CStr;
use std::slice;
use std::time::Duration;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::endpoint::Patience;
use super::errors::{raise, unknown};
use super::handle::{any_ours, is_ours};
use super::layer::NEXT;
use super::requests::{Found, Operation, empty};
use crate::table::Functions;

/// Between two polls of a thread that has waited for long for one of several operations.
const NAP: Duration = Duration::from_micros(50);

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Waitall: waitall,
        MPI_Testall: testall,
        MPI_Waitany: waitany,
        MPI_Testany: testany,
        MPI_Waitsome: waitsome,
        MPI_Testsome: testsome,
        ..next
    }
}

/// What a call completes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    One,
    Some,
    All,
}

/// A request that a call has completed.
struct Ended {
    position: usize,
    status: MPI_Status,
    code: i32,
}

/// The requests of a call.
struct Many<'a> {
    name: &'static CStr,
    all: &'a mut [MPI_Request],
    /// Positions and operations of ours that are active.
    ours: Vec<(usize, Operation)>,
    /// Positions of others that may be.
    others: Vec<usize>,
    /// The handles at those positions.
    handles: Vec<MPI_Request>,
    ended: Vec<Ended>,
}

impl<'a> Many<'a> {
    /// The requests of a call; an error where one is not known.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn new(
        name: &'static CStr,
        count: i32,
        requests: *mut MPI_Request,
    ) -> Result<Self, i32> {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: the caller's promise.
        let all = unsafe { slice::from_raw_parts_mut(requests, count) };
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for (position, &request) in all.iter().enumerate() {
            if request == mpi::MPI_REQUEST_NULL {
                continue;
            }
            if !is_ours(request) {
                others.push(position);
                continue;
            }
            match Operation::find(request) {
                Some(Found::Active(operation)) => ours.push((position, operation)),
                Some(Found::Inactive) => {}
                None => return Err(unknown(name, mpi::MPI_ERR_REQUEST)),
            }
        }
        let handles = others.iter().map(|&position| all[position]).collect();
        Ok(Self {
            name,
            all,
            ours,
            others,
            handles,
            ended: Vec::new(),
        })
    }

    /// Whether there is something to wait for.
    fn is_active(&self) -> bool {
        !(self.ours.is_empty() && self.others.is_empty())
    }

    /// Takes the ends that have come: one of all, or all of them.
    fn take(&mut self, wanted: Wanted) -> Result<(), i32> {
        let mut at = 0;
        while at < self.ours.len() && !self.has_enough(wanted) {
            let (position, operation) = self.ours[at];
            let Some(end) = operation.poll(&mut self.all[position]) else {
                // All have to end: one after the other is looked at.
                if wanted == Wanted::All {
                    break;
                }
                at += 1;
                continue;
            };
            self.ours.swap_remove(at);
            let (status, code) = (end.status, end.code);
            self.ended.push(Ended {
                position,
                status,
                code,
            });
            if code != mpi::MPI_SUCCESS {
                raise(&end.comm, self.name, code);
            }
        }
        while !(self.others.is_empty() || self.has_enough(wanted)) && self.take_other()? {}
        Ok(())
    }

    fn has_enough(&self, wanted: Wanted) -> bool {
        wanted == Wanted::One && !self.ended.is_empty()
    }

    /// Takes the end of one of the others, if one has come.
    fn take_other(&mut self) -> Result<bool, i32> {
        let (mut index, mut flag, mut status) = (mpi::MPI_UNDEFINED, 0, MPI_Status::default());
        let count = self.handles.len() as i32;
        // SAFETY: arrays of `count`.
        let code = unsafe {
            let handles = self.handles.as_mut_ptr();
            let (index, flag) = (&raw mut index, &raw mut flag);
            (NEXT.get().MPI_Testany)(count, handles, index, flag, &raw mut status)
        };
        let Ok(index) = usize::try_from(index) else {
            if code == mpi::MPI_SUCCESS && flag != 0 {
                // None of them is active.
                self.others.clear();
            }
            return match code {
                mpi::MPI_SUCCESS => Ok(false),
                code => Err(code),
            };
        };
        if flag == 0 && code == mpi::MPI_SUCCESS {
            return Ok(false);
        }
        let position = self.others[index];
        self.all[position] = self.handles[index];
        self.ended.push(Ended {
            position,
            status,
            code,
        });
        Ok(true)
    }

    /// Takes the ends of all the others, if they have come. `false` where they have not.
    fn take_all_others(&mut self) -> Result<bool, i32> {
        let (mut flag, count) = (0, self.handles.len());
        let mut statuses = vec![MPI_Status::default(); count];
        // SAFETY: arrays of `count`.
        let code = unsafe {
            let (handles, statuses) = (self.handles.as_mut_ptr(), statuses.as_mut_ptr());
            (NEXT.get().MPI_Testall)(count as i32, handles, &raw mut flag, statuses)
        };
        match code {
            mpi::MPI_SUCCESS if flag == 0 => return Ok(false),
            mpi::MPI_SUCCESS | mpi::MPI_ERR_IN_STATUS => {}
            code => return Err(code),
        }
        for (at, position) in std::mem::take(&mut self.others).into_iter().enumerate() {
            let status = statuses[at];
            self.all[position] = self.handles[at];
            self.ended.push(Ended {
                position,
                status,
                code: match code {
                    mpi::MPI_ERR_IN_STATUS => status.MPI_ERROR,
                    code => code,
                },
            });
        }
        self.handles.clear();
        Ok(true)
    }

    /// Has the library work on the others, and completes none of them.
    fn progress_others(&self) -> Result<(), i32> {
        if self.others.is_empty() {
            return Ok(());
        }
        let (mut flag, none) = (0, std::ptr::null_mut());
        let (any, comm) = (mpi::MPI_ANY_SOURCE, mpi::MPI_COMM_SELF);
        // SAFETY: a predefined communicator, and a place of this function.
        let code =
            unsafe { (NEXT.get().MPI_Iprobe)(any, mpi::MPI_ANY_TAG, comm, &raw mut flag, none) };
        match code {
            mpi::MPI_SUCCESS => Ok(()),
            code => Err(code),
        }
    }

    /// Takes what has come, once that is enough.
    fn wait(&mut self, wanted: Wanted) -> Result<(), i32> {
        let mut patience = Patience::new();
        loop {
            let before = self.ended.len();
            self.take(wanted)?;
            let is_enough = wanted != Wanted::All && !self.ended.is_empty();
            if is_enough || !self.is_active() {
                return Ok(());
            }
            if self.ended.len() > before {
                patience = Patience::new();
            }
            patience.pause(|| match self.ours.first() {
                Some((_, first)) if self.others.is_empty() && wanted == Wanted::All => {
                    first.sleep();
                }
                _ => std::thread::sleep(NAP),
            });
        }
    }

    /// The code of a call that has completed several requests.
    fn code(&self) -> i32 {
        let failed = self.ended.iter().any(|it| it.code != mpi::MPI_SUCCESS);
        match failed {
            true => mpi::MPI_ERR_IN_STATUS,
            false => mpi::MPI_SUCCESS,
        }
    }

    /// Stores the statuses of all requests; gives the call's code.
    ///
    /// # Safety
    /// The program's argument.
    unsafe fn store_all(&self, statuses: *mut MPI_Status) -> i32 {
        let code = self.code();
        for position in 0..self.all.len() {
            // SAFETY: the caller's promise.
            unsafe { put(statuses, position, empty(), code, mpi::MPI_SUCCESS) };
        }
        for it in &self.ended {
            // SAFETY: as above.
            unsafe { put(statuses, it.position, it.status, code, it.code) };
        }
        code
    }

    /// Stores the results of a call for some requests; gives its code.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn store_some(
        &self,
        number: *mut i32,
        indices: *mut i32,
        statuses: *mut MPI_Status,
    ) -> i32 {
        let code = self.code();
        // SAFETY: the caller's promise.
        unsafe {
            *number = match self.ended.is_empty() && !self.is_active() {
                true => mpi::MPI_UNDEFINED,
                false => self.ended.len() as i32,
            };
            for (place, it) in self.ended.iter().enumerate() {
                *indices.add(place) = it.position as i32;
                put(statuses, place, it.status, code, it.code);
            }
        }
        code
    }

    /// Stores the result of a call for one of several requests; gives its code. Without one that is active the status is empty.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn store_one(&self, index: *mut i32, status: *mut MPI_Status) -> i32 {
        let found = self.ended.first();
        let (position, found, code) = match found {
            Some(it) => (it.position as i32, it.status, it.code),
            None => (mpi::MPI_UNDEFINED, empty(), mpi::MPI_SUCCESS),
        };
        // SAFETY: the caller's promise.
        unsafe {
            *index = position;
            if position != mpi::MPI_UNDEFINED || !self.is_active() {
                put(status, 0, found, mpi::MPI_SUCCESS, code);
            }
        }
        code
    }
}

/// Stores a status in an array of the program, unless it wants none. The field for errors is written where the call's code says so.
///
/// # Safety
/// The array has such a place, or is null.
unsafe fn put(statuses: *mut MPI_Status, place: usize, found: MPI_Status, call: i32, code: i32) {
    if statuses.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let status = unsafe { &mut *statuses.add(place) };
    let error = match call {
        mpi::MPI_ERR_IN_STATUS => code,
        _ => status.MPI_ERROR,
    };
    *status = MPI_Status {
        MPI_ERROR: error,
        ..found
    };
}

/// Gives the requests of a call, or returns from it: by the next layer's where none is of this one.
macro_rules! many_or_next {
    ($count:expr, $requests:expr, $name:ident($($argument:expr),*)) => {{
        // SAFETY: the program's arguments.
        let many = unsafe {
            if !any_ours($requests, $count) {
                return (NEXT.get().$name)($($argument),*);
            }
            Many::new(super::errors::named!($name), $count, $requests)
        };
        match many {
            Ok(many) => many,
            Err(code) => return code,
        }
    }};
}

unsafe extern "C" fn waitall(
    count: i32,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> i32 {
    let mut many = many_or_next!(count, requests, MPI_Waitall(count, requests, statuses));
    match many.wait(Wanted::All) {
        // SAFETY: the program's argument.
        Ok(()) => unsafe { many.store_all(statuses) },
        Err(code) => code,
    }
}

unsafe extern "C" fn testall(
    count: i32,
    requests: *mut MPI_Request,
    flag: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let mut many = many_or_next!(
        count,
        requests,
        MPI_Testall(count, requests, flag, statuses)
    );
    // None is completed before all are: what has ended stays so.
    let are_done = many.ours.iter().all(|(_, it)| it.is_done());
    let are_done = match are_done {
        true => many.take_all_others(),
        false => many.progress_others().map(|()| false),
    };
    // SAFETY: the program's argument.
    unsafe { *flag = i32::from(are_done == Ok(true)) };
    match are_done {
        Ok(true) => {}
        Ok(false) => return mpi::MPI_SUCCESS,
        Err(code) => return code,
    }
    match many.wait(Wanted::All) {
        // SAFETY: the program's argument.
        Ok(()) => unsafe { many.store_all(statuses) },
        Err(code) => code,
    }
}

unsafe extern "C" fn waitany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let mut many = many_or_next!(count, requests, MPI_Waitany(count, requests, index, status));
    match many.wait(Wanted::One) {
        // SAFETY: the program's arguments.
        Ok(()) => unsafe { many.store_one(index, status) },
        Err(code) => code,
    }
}

unsafe extern "C" fn testany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let mut many = many_or_next!(
        count,
        requests,
        MPI_Testany(count, requests, index, flag, status)
    );
    if let Err(code) = many.take(Wanted::One) {
        return code;
    }
    // SAFETY: the program's arguments.
    unsafe {
        *flag = i32::from(!(many.ended.is_empty() && many.is_active()));
        many.store_one(index, status)
    }
}

unsafe extern "C" fn waitsome(
    count: i32,
    requests: *mut MPI_Request,
    number: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let mut many = many_or_next!(
        count,
        requests,
        MPI_Waitsome(count, requests, number, indices, statuses)
    );
    match many.wait(Wanted::Some) {
        // SAFETY: the program's arguments.
        Ok(()) => unsafe { many.store_some(number, indices, statuses) },
        Err(code) => code,
    }
}

unsafe extern "C" fn testsome(
    count: i32,
    requests: *mut MPI_Request,
    number: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let mut many = many_or_next!(
        count,
        requests,
        MPI_Testsome(count, requests, number, indices, statuses)
    );
    match many.take(Wanted::Some) {
        // SAFETY: the program's arguments.
        Ok(()) => unsafe { many.store_some(number, indices, statuses) },
        Err(code) => code,
    }
}
