// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows whose members are endpoints: those that a process makes at once.
#![expect(unsafe_code, reason = "the memory is an address that the program gave")]

use std::sync::Arc;

use super::create::{allocate, create, decline};
use super::hints::WindowHints;
use super::window::Window;
use crate::comm::{Comm, ThreadLevel};
use crate::create;
use crate::errors::{Error, ErrorClass, Result};

/// What an endpoint brings into a window.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its memory; null for memory that comes with the window.
    pub base: *mut u8,
    /// Bytes of it.
    pub bytes: u64,
    /// Displacement unit in bytes.
    pub unit: i64,
}

/// A window in which this process is `count` members, and each other process of `parent` as many as it gave: its members, each to be used
/// by one thread at a time (MPIX_Win_create_endpoints). They are numbered as those of [`create::create_endpoints`].
///
/// `part` and `hints` tell what the member with an index brings, or why it brings nothing; then all members fail. They are called on other
/// threads, because making a window is collective for its members.
///
/// # Errors
/// Those of [`create::create_endpoints`] and [`create()`]; MPI_ERR_UNSUPPORTED_OPERATION below MPI_THREAD_MULTIPLE.
///
/// # Safety
/// As for [`create()`], for each part with a base.
pub unsafe fn create_endpoints(
    parent: &Arc<Comm>,
    count: i32,
    part: impl Fn(usize) -> Result<Part> + Sync,
    hints: impl Fn() -> WindowHints + Sync,
    call: &'static str,
) -> Result<Vec<Arc<Window>>> {
    if parent.process().thread_level() != ThreadLevel::Multiple {
        let text = "windows of endpoints need MPI_THREAD_MULTIPLE";
        let class = ErrorClass::ERR_UNSUPPORTED_OPERATION;
        return Err(parent.annotate(Error::new(class, text)));
    }
    let endpoints = create::create_endpoints(parent, count, call)?;
    let make = |(index, comm): (usize, &Arc<Comm>)| {
        let made = match part(index) {
            Err(error) => decline(comm, error, call),
            Ok(Part { base, bytes, unit }) if base.is_null() => {
                allocate(comm, bytes, unit, hints(), call)
            }
            // SAFETY: the caller's promise.
            Ok(Part { base, bytes, unit }) => unsafe {
                create(comm, base, bytes, unit, hints(), call)
            },
        };
        comm.free();
        made
    };
    let make = &make;
    std::thread::scope(|scope| {
        let start = |endpoint| scope.spawn(move || make(endpoint));
        let makers: Vec<_> = endpoints.iter().enumerate().map(start).collect();
        let ended = makers.into_iter().map(|maker| {
            let lost = |_| Error::new(ErrorClass::ERR_INTERN, "a thread ended without a window");
            maker.join().unwrap_or_else(|panic| Err(lost(panic)))
        });
        // Members fail together, so none is left when one has failed.
        ended.collect()
    })
}
