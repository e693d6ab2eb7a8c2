// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls for several requests, of which some are of this layer: the others, null requests among them, go to the next layer's call
//! for several requests, in turn with polls of ours, so that both make progress.

use std::ffi::CStr;
use std::slice;
use std::time::Duration;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::endpoint::{End, Patience};
use super::errors::{raise, unknown};
use super::handle::{any_ours, is_ours};
use super::layer::NEXT;
use super::messages::store;
use super::requests::Operation;
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

/// The requests of a call.
struct Many<'a> {
    name: &'static CStr,
    all: &'a mut [MPI_Request],
    /// Positions and operations of ours.
    ours: Vec<(usize, Operation)>,
    /// Positions of others.
    others: Vec<usize>,
    /// The handles at those positions.
    handles: Vec<MPI_Request>,
    statuses: Vec<MPI_Status>,
}

/// What calls for several requests have completed: the position, the status and the code of each.
type Ends = Vec<(usize, MPI_Status, i32)>;

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
            if !is_ours(request) {
                others.push(position);
                continue;
            }
            let operation = Operation::of(request);
            let operation = operation.ok_or_else(|| unknown(name, mpi::MPI_ERR_REQUEST))?;
            ours.push((position, operation));
        }
        let handles: Vec<MPI_Request> = others.iter().map(|&position| all[position]).collect();
        let statuses = vec![MPI_Status::default(); handles.len()];
        Ok(Self {
            name,
            all,
            ours,
            others,
            handles,
            statuses,
        })
    }

    /// Whether all of the others are null.
    fn only_ours_are_active(&self) -> bool {
        self.handles
            .iter()
            .all(|&handle| handle == mpi::MPI_REQUEST_NULL)
    }

    /// Takes the end of one of ours.
    fn took(&mut self, position: usize, end: &End) -> (usize, MPI_Status, i32) {
        self.all[position] = mpi::MPI_REQUEST_NULL;
        let mut status = MPI_Status::default();
        // SAFETY: a status of this function.
        unsafe { store(end, &raw mut status) };
        // A call for several requests reports the error by its own handler, that of the communicator.
        if end.code != mpi::MPI_SUCCESS {
            raise(&end.comm, self.name, end.code);
        }
        (position, status, end.code)
    }

    /// Takes the ends of ours that have come.
    fn take_ours(&mut self, ends: &mut Ends, most: usize) {
        let mut at = 0;
        while at < self.ours.len() && ends.len() < most {
            let (position, operation) = self.ours[at];
            match operation.poll() {
                Some(end) => {
                    self.ours.remove(at);
                    let end = self.took(position, &end);
                    ends.push(end);
                }
                None => at += 1,
            }
        }
    }

    /// Takes the ends of others that have come; an error of the call.
    fn take_others(&mut self, ends: &mut Ends) -> Result<(), i32> {
        if self.only_ours_are_active() {
            return Ok(());
        }
        let (mut number, count) = (0, self.handles.len());
        let mut indices = vec![0i32; count];
        // SAFETY: arrays of `count`.
        let code = unsafe {
            (NEXT.get().MPI_Testsome)(
                count as i32,
                self.handles.as_mut_ptr(),
                &raw mut number,
                indices.as_mut_ptr(),
                self.statuses.as_mut_ptr(),
            )
        };
        if code != mpi::MPI_SUCCESS && code != mpi::MPI_ERR_IN_STATUS {
            return Err(code);
        }
        let number = usize::try_from(number).unwrap_or(0);
        for (place, &index) in indices.iter().take(number).enumerate() {
            let (position, status) = (self.others[index as usize], self.statuses[place]);
            self.all[position] = self.handles[index as usize];
            let code = match code {
                mpi::MPI_ERR_IN_STATUS => status.MPI_ERROR,
                _ => mpi::MPI_SUCCESS,
            };
            ends.push((position, status, code));
        }
        Ok(())
    }

    /// Takes what has come, of both, once there is something.
    fn wait_some(&mut self, ends: &mut Ends, most: usize) -> Result<(), i32> {
        let mut patience = Patience::new();
        loop {
            self.take_some(ends, most)?;
            if !ends.is_empty() {
                return Ok(());
            }
            patience.pause(|| std::thread::sleep(NAP));
        }
    }

    fn take_some(&mut self, ends: &mut Ends, most: usize) -> Result<(), i32> {
        self.take_ours(ends, most);
        if ends.len() < most {
            self.take_others(ends)?;
        }
        Ok(())
    }
}

/// The status of a null request.
fn empty() -> MPI_Status {
    MPI_Status {
        MPI_SOURCE: mpi::MPI_ANY_SOURCE,
        MPI_TAG: mpi::MPI_ANY_TAG,
        ..MPI_Status::default()
    }
}

/// Stores the statuses of all requests of a call; gives its code.
///
/// # Safety
/// The program's arguments.
unsafe fn store_all(count: usize, ends: &Ends, statuses: *mut MPI_Status) -> i32 {
    let failed = ends.iter().any(|&(_, _, code)| code != mpi::MPI_SUCCESS);
    if !statuses.is_null() {
        // SAFETY: the caller's promise.
        let statuses = unsafe { slice::from_raw_parts_mut(statuses, count) };
        for status in &mut *statuses {
            let error = status.MPI_ERROR;
            *status = empty();
            status.MPI_ERROR = if failed { mpi::MPI_SUCCESS } else { error };
        }
        for &(position, status, code) in ends {
            let error = statuses[position].MPI_ERROR;
            statuses[position] = status;
            statuses[position].MPI_ERROR = if failed { code } else { error };
        }
    }
    match failed {
        true => mpi::MPI_ERR_IN_STATUS,
        false => mpi::MPI_SUCCESS,
    }
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
    let (number, mut ends) = (many.all.len(), Ends::new());
    if many.only_ours_are_active() {
        for (position, operation) in std::mem::take(&mut many.ours) {
            let end = operation.endpoint.wait(operation.slot);
            let end = many.took(position, &end);
            ends.push(end);
        }
    } else {
        let mut patience = Patience::new();
        while !(many.ours.is_empty() && many.only_ours_are_active()) {
            let before = ends.len();
            if let Err(code) = many.take_some(&mut ends, usize::MAX) {
                return code;
            }
            match ends.len() > before {
                true => patience = Patience::new(),
                false => patience.pause(|| std::thread::sleep(NAP)),
            }
        }
    }
    // SAFETY: the program's arguments.
    unsafe { store_all(number, &ends, statuses) }
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
    // None is completed before all are: ours that have ended stay so.
    let ours_are_done = many.ours.iter().all(|(_, it)| it.endpoint.is_done(it.slot));
    let mut done = i32::from(ours_are_done);
    if !many.only_ours_are_active() {
        let (count, handles) = (many.handles.len() as i32, many.handles.clone());
        for (at, &handle) in handles.iter().enumerate() {
            let mut is_done = 0;
            // SAFETY: an active or null request of the program.
            let code = unsafe {
                let status = &raw mut many.statuses[at];
                (NEXT.get().MPI_Request_get_status)(handle, &raw mut is_done, status)
            };
            if code != mpi::MPI_SUCCESS || at >= count as usize {
                return code;
            }
            done &= i32::from(is_done != 0);
        }
    }
    // SAFETY: the program's argument.
    unsafe { *flag = done };
    if done == 0 {
        return mpi::MPI_SUCCESS;
    }
    // SAFETY: the program's arguments.
    unsafe { waitall(count, requests, statuses) }
}

/// Ends a call for one of several requests.
///
/// # Safety
/// The program's arguments.
unsafe fn found_one(ends: &Ends, index: *mut i32, status: *mut MPI_Status) -> i32 {
    let Some(&(position, found, code)) = ends.first() else {
        return mpi::MPI_SUCCESS;
    };
    // SAFETY: the caller's promise.
    unsafe {
        *index = position as i32;
        if let Some(status) = status.as_mut() {
            let error = status.MPI_ERROR;
            *status = found;
            status.MPI_ERROR = error;
        }
    }
    code
}

/// Takes the end of one of several requests.
fn one(many: &mut Many<'_>, ends: &mut Ends) -> Result<(), i32> {
    many.take_ours(ends, 1);
    if !ends.is_empty() || many.only_ours_are_active() {
        return Ok(());
    }
    let (mut index, mut flag, mut status) = (0, 0, MPI_Status::default());
    let count = many.handles.len() as i32;
    // SAFETY: arrays of `count`.
    let code = unsafe {
        let handles = many.handles.as_mut_ptr();
        (NEXT.get().MPI_Testany)(
            count,
            handles,
            &raw mut index,
            &raw mut flag,
            &raw mut status,
        )
    };
    if flag != 0 && index >= 0 {
        let position = many.others[index as usize];
        many.all[position] = many.handles[index as usize];
        ends.push((position, status, code));
        return Ok(());
    }
    match code {
        mpi::MPI_SUCCESS => Ok(()),
        code => Err(code),
    }
}

unsafe extern "C" fn waitany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let mut many = many_or_next!(count, requests, MPI_Waitany(count, requests, index, status));
    let (mut ends, mut patience) = (Ends::new(), Patience::new());
    while ends.is_empty() {
        if let Err(code) = one(&mut many, &mut ends) {
            return code;
        }
        if ends.is_empty() {
            patience.pause(|| std::thread::sleep(NAP));
        }
    }
    // SAFETY: the program's arguments.
    unsafe { found_one(&ends, index, status) }
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
    let mut ends = Ends::new();
    if let Err(code) = one(&mut many, &mut ends) {
        return code;
    }
    // SAFETY: the program's arguments.
    unsafe {
        *flag = i32::from(!ends.is_empty());
        if ends.is_empty() {
            *index = mpi::MPI_UNDEFINED;
        }
        found_one(&ends, index, status)
    }
}

/// Stores the results of a call for some requests; gives its code.
///
/// # Safety
/// The program's arguments.
unsafe fn store_some(
    ends: &Ends,
    number: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let failed = ends.iter().any(|&(_, _, code)| code != mpi::MPI_SUCCESS);
    // SAFETY: the caller's promise.
    unsafe {
        *number = ends.len() as i32;
        for (place, &(position, status, code)) in ends.iter().enumerate() {
            *indices.add(place) = position as i32;
            if let Some(stored) = statuses
                .wrapping_add(place)
                .as_mut()
                .filter(|_| !statuses.is_null())
            {
                let error = if failed { code } else { stored.MPI_ERROR };
                *stored = status;
                stored.MPI_ERROR = error;
            }
        }
    }
    match failed {
        true => mpi::MPI_ERR_IN_STATUS,
        false => mpi::MPI_SUCCESS,
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
    let mut ends = Ends::new();
    if let Err(code) = many.wait_some(&mut ends, usize::MAX) {
        return code;
    }
    // SAFETY: the program's arguments.
    unsafe { store_some(&ends, number, indices, statuses) }
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
    let mut ends = Ends::new();
    if let Err(code) = many.take_some(&mut ends, usize::MAX) {
        return code;
    }
    // SAFETY: the program's arguments.
    unsafe { store_some(&ends, number, indices, statuses) }
}
