// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of sections that belong to operations under way.
//!
//! A call that completes requests first takes their copies out of the table, because a request's integer may mean another
//! operation as soon as the call has freed it, and puts those back whose operations go on. Calls on requests without copies read
//! one counter.

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use mpi_abi_sys::constants::{MPI_REQUEST_NULL, MPI_SUCCESS};

use super::buffer::is_complete;
use super::copy::Copy;
use crate::sync::AtomicUsize;

/// The copies of one operation.
pub(super) struct Pending {
    copies: Vec<Copy>,
    is_given_back: bool,
}

impl Pending {
    pub(super) fn new(copies: Vec<Copy>) -> Self {
        Self {
            copies,
            is_given_back: false,
        }
    }

    /// Stores in the sections what the operation stored, once.
    ///
    /// # Safety
    /// The operation is complete, and the sections may be written.
    pub(super) unsafe fn give_back(mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.settle() };
    }

    unsafe fn settle(&mut self) {
        if !self.is_given_back {
            self.is_given_back = true;
            for copy in &self.copies {
                // SAFETY: the operation is complete.
                unsafe { copy.give_back() };
            }
        }
    }

    unsafe fn start(&mut self) {
        self.is_given_back = false;
        for copy in &mut self.copies {
            // SAFETY: the program starts the operation.
            unsafe { copy.take() };
        }
    }
}

/// Operations by the integers of their requests or files.
pub(super) struct Table {
    count: AtomicUsize,
    entries: Mutex<BTreeMap<i32, Pending>>,
}

/// By request.
pub(super) static REQUESTS: Table = Table::new();
/// By file: a file has one split collective call at a time.
pub(super) static FILES: Table = Table::new();

impl Table {
    const fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            entries: Mutex::new(BTreeMap::new()),
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn with<R>(&self, change: impl FnOnce(&mut BTreeMap<i32, Pending>) -> R) -> R {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut entries);
        self.count.store(entries.len(), Ordering::Relaxed);
        result
    }

    pub(super) fn keep(&self, number: i32, pending: Pending) {
        self.with(|entries| entries.insert(number, pending));
    }

    fn take(&self, number: i32) -> Option<Pending> {
        if self.is_empty() {
            return None;
        }
        self.with(|entries| entries.remove(&number))
    }
}

/// Copies of requests that a call may complete, with the places of the requests in its array.
pub(crate) struct Completing(Vec<(usize, i32, Pending)>);

/// Takes the copies of requests that a call may complete.
///
/// # Safety
/// `requests` has `count` entries.
#[inline]
pub(crate) unsafe fn completing(requests: *const i32, count: usize) -> Option<Completing> {
    if REQUESTS.is_empty() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { taken(requests, count) })
}

#[cold]
unsafe fn taken(requests: *const i32, count: usize) -> Completing {
    REQUESTS.with(|entries| {
        let found = (0..count).filter_map(|place| {
            // SAFETY: the caller's promise.
            let number = unsafe { *requests.add(place) };
            let pending = entries.remove(&number)?;
            Some((place, number, pending))
        });
        Completing(found.collect())
    })
}

/// Stores what operations stored that the call completed, and keeps the copies of the others.
///
/// # Safety
/// `requests` is the array that the copies were taken for, behind the call.
#[inline]
pub(crate) unsafe fn settle(completing: Option<Completing>, requests: *const i32) {
    if let Some(completing) = completing {
        // SAFETY: the caller's promise.
        unsafe { settle_all(completing, requests) };
    }
}

#[cold]
unsafe fn settle_all(completing: Completing, requests: *const i32) {
    for (place, number, mut pending) in completing.0 {
        // SAFETY: the caller's promise; an operation whose request is null is complete.
        unsafe {
            if *requests.add(place) as usize == MPI_REQUEST_NULL {
                pending.settle();
                continue;
            }
            if is_complete(number) {
                pending.settle();
            }
        }
        REQUESTS.keep(number, pending);
    }
}

/// Takes the elements of sections again whose persistent requests the program starts.
///
/// # Safety
/// `requests` has `count` entries.
#[inline]
pub(crate) unsafe fn starting(requests: *const i32, count: usize) {
    if REQUESTS.is_empty() {
        return;
    }
    REQUESTS.with(|entries| {
        for place in 0..count {
            // SAFETY: the caller's promise.
            unsafe {
                if let Some(pending) = entries.get_mut(&*requests.add(place)) {
                    pending.start();
                }
            }
        }
    });
}

/// Lets go of the copies of a request that the program frees. An operation under way uses them until the end of the process.
///
/// # Safety
/// The request is one of the library.
#[inline]
pub(crate) unsafe fn released(request: i32) {
    if let Some(pending) = REQUESTS.take(request) {
        // SAFETY: the caller's promise.
        unsafe {
            if is_complete(request) {
                pending.give_back();
            } else {
                Box::leak(Box::new(pending));
            }
        }
    }
}

/// The address that the first half of a split collective call on a file got, from the one that the other half gets.
///
/// # Safety
/// As the C functions.
#[inline]
pub(crate) unsafe fn begun(file: i32, buffer: *mut c_void) -> *mut c_void {
    if FILES.is_empty() {
        return buffer;
    }
    FILES.with(|entries| match entries.get(&file) {
        Some(Pending { copies, .. }) if copies.iter().any(|copy| copy.is_of(buffer)) => {
            copies[0].address()
        }
        _ => buffer,
    })
}

/// Stores what a split collective call on a file stored, if this was the end of it.
///
/// # Safety
/// As the C functions.
#[inline]
pub(crate) unsafe fn ended(file: i32, code: i32) {
    if code != MPI_SUCCESS {
        return;
    }
    if let Some(pending) = FILES.take(file) {
        // SAFETY: the call is complete.
        unsafe { pending.give_back() };
    }
}
