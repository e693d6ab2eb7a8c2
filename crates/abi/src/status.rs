// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPI_Status: the contents of its reserved words, and the calls that read and set it (MPI-5.0, section 3.2.5).
//!
//! `MPI_internal[0]` holds the cancelled flag, words 1 and 2 the packed bytes received, low half first.

// account: request

use engine::request::Status;
use engine::{Error, ErrorClass};
use mpi_abi_sys::constants::MPI_UNDEFINED;
use mpi_abi_sys::types::{MPI_Count, MPI_Datatype, MPI_Status};

use crate::error::run;
use crate::handle::DATATYPES;
use crate::naming::{Number, Wide, named};

/// MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are the null pointer.
pub(crate) fn store(target: *mut MPI_Status, status: Status) {
    if target.is_null() {
        return;
    }
    // SAFETY: a status pointer that is not MPI_STATUS_IGNORE is writable (crate head).
    let target = unsafe { &mut *target };
    target.MPI_SOURCE = status.source;
    target.MPI_TAG = status.tag;
    target.MPI_ERROR = status.error;
    target.MPI_internal[0] = i32::from(status.cancelled);
    target.MPI_internal[1] = status.bytes as u32 as i32;
    target.MPI_internal[2] = (status.bytes >> 32) as u32 as i32;
}

/// As [`store`] for calls that complete one operation: they leave MPI_ERROR alone (MPI-5.0, section 3.2.5).
#[inline(always)]
pub(crate) fn store_single(target: *mut MPI_Status, status: Status) {
    if !target.is_null() {
        // SAFETY: a status pointer that is not MPI_STATUS_IGNORE is readable and writable (crate head).
        let error = unsafe { (*target).MPI_ERROR };
        store(target, Status { error, ..status });
    }
}

/// Stores the status of entry `index` of an array, or nothing for MPI_STATUSES_IGNORE.
pub(crate) fn store_at(statuses: *mut MPI_Status, index: usize, status: Status) {
    if !statuses.is_null() {
        store(statuses.wrapping_add(index), status);
    }
}

/// The number of packed bytes in a status.
pub(crate) fn bytes(status: &MPI_Status) -> u64 {
    u64::from(status.MPI_internal[1] as u32) | u64::from(status.MPI_internal[2] as u32) << 32
}

/// An output count of either width: `MPI_UNDEFINED` when the value does not fit.
pub(crate) trait CountOut: Copy + Wide {
    fn from_count(value: i64) -> Self;
}

impl CountOut for i32 {
    fn from_count(value: i64) -> Self {
        i32::try_from(value).unwrap_or(MPI_UNDEFINED)
    }
}

impl CountOut for i64 {
    fn from_count(value: i64) -> Self {
        value
    }
}

impl CountOut for isize {
    fn from_count(value: i64) -> Self {
        value as isize
    }
}

pub(crate) unsafe fn MPI_Get_count<C: CountOut>(
    status: *const MPI_Status,
    datatype: MPI_Datatype,
    count: *mut C,
) -> i32 {
    run(named!("MPI_Get_count", count), 0, || {
        let datatype = DATATYPES.find(datatype, "datatype")?;
        // SAFETY: the status is readable (crate head).
        let found = datatype.count_of(bytes(unsafe { &*status }));
        let value = found.map_or(i64::from(MPI_UNDEFINED), |found| found as i64);
        // SAFETY: the result is writable (crate head).
        unsafe { *count = C::from_count(value) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Get_elements<C: CountOut>(
    status: *const MPI_Status,
    datatype: MPI_Datatype,
    count: *mut C,
) -> i32 {
    run(named!("MPI_Get_elements", count), 0, || {
        let datatype = DATATYPES.find(datatype, "datatype")?;
        // SAFETY: the status is readable (crate head).
        let found = datatype.elements_of(bytes(unsafe { &*status }));
        let value = found.map_or(i64::from(MPI_UNDEFINED), |found| found as i64);
        // SAFETY: the result is writable (crate head).
        unsafe { *count = C::from_count(value) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Get_elements_x(
    status: *const MPI_Status,
    datatype: MPI_Datatype,
    count: *mut MPI_Count,
) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Get_elements(status, datatype, count) }
}

pub(crate) unsafe fn MPI_Status_set_elements(
    status: *mut MPI_Status,
    datatype: MPI_Datatype,
    count: impl Number,
) -> i32 {
    run(named!("MPI_Status_set_elements", count), 0, || {
        let count = count.into();
        let bytes = DATATYPES
            .find(datatype, "datatype")?
            .bytes_of_elements(count)
            .ok_or_else(|| {
                Error::argument(ErrorClass::ERR_COUNT, "count", count, "0 or more elements")
            })?;
        // SAFETY: the status is writable (crate head).
        let status = unsafe { &mut *status };
        status.MPI_internal[1] = bytes as u32 as i32;
        status.MPI_internal[2] = (bytes >> 32) as u32 as i32;
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Status_set_elements_x(
    status: *mut MPI_Status,
    datatype: MPI_Datatype,
    count: MPI_Count,
) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Status_set_elements(status, datatype, count) }
}

pub(crate) unsafe fn MPI_Test_cancelled(status: *const MPI_Status, flag: *mut i32) -> i32 {
    // SAFETY: status and flag are valid (crate head).
    unsafe { *flag = i32::from((*status).MPI_internal[0] != 0) };
    0
}

pub(crate) unsafe fn MPI_Status_set_cancelled(status: *mut MPI_Status, flag: i32) -> i32 {
    // SAFETY: the status is writable (crate head).
    unsafe { (*status).MPI_internal[0] = i32::from(flag != 0) };
    0
}

macro_rules! status_fields {
    ($($get:ident $set:ident $field:ident;)*) => {
        $(
            pub(crate) unsafe fn $get(status: *const MPI_Status, value: *mut i32) -> i32 {
                // SAFETY: status and value are valid (crate head).
                unsafe { *value = (*status).$field };
                0
            }

            pub(crate) unsafe fn $set(status: *mut MPI_Status, value: i32) -> i32 {
                // SAFETY: the status is writable (crate head).
                unsafe { (*status).$field = value };
                0
            }
        )*
    };
}

status_fields! {
    get_source set_source MPI_SOURCE;
    get_tag set_tag MPI_TAG;
    get_error set_error MPI_ERROR;
}

pub(crate) unsafe fn MPI_Status_get_source(status: *const MPI_Status, source: *mut i32) -> i32 {
    // SAFETY: passed on.
    unsafe { get_source(status, source) }
}

pub(crate) unsafe fn MPI_Status_get_tag(status: *const MPI_Status, tag: *mut i32) -> i32 {
    // SAFETY: passed on.
    unsafe { get_tag(status, tag) }
}

pub(crate) unsafe fn MPI_Status_get_error(status: *const MPI_Status, error: *mut i32) -> i32 {
    // SAFETY: passed on.
    unsafe { get_error(status, error) }
}

pub(crate) unsafe fn MPI_Status_set_source(status: *mut MPI_Status, source: i32) -> i32 {
    // SAFETY: passed on.
    unsafe { set_source(status, source) }
}

pub(crate) unsafe fn MPI_Status_set_tag(status: *mut MPI_Status, tag: i32) -> i32 {
    // SAFETY: passed on.
    unsafe { set_tag(status, tag) }
}

pub(crate) unsafe fn MPI_Status_set_error(status: *mut MPI_Status, error: i32) -> i32 {
    // SAFETY: passed on.
    unsafe { set_error(status, error) }
}
