// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of memory that a program may use, as the info key `mpi_memory_alloc_kinds` of objects has them (MPI-5.0, section 11.4.3).

use std::sync::{Mutex, PoisonError};

use engine::device;

use crate::state::process;

/// The info key of requests and of answers.
pub(crate) const KEY: &str = "mpi_memory_alloc_kinds";

/// The request that decides the kinds of communicators, windows and files.
enum Asker {
    /// The launcher, for the World Model.
    World,
    /// The last session, with what its info object has.
    Session(Option<String>),
}

static ASKER: Mutex<Asker> = Mutex::new(Asker::World);

fn with_asker<R>(action: impl FnOnce(&mut Asker) -> R) -> R {
    action(&mut ASKER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// From now on objects are those of the World Model.
pub(crate) fn begin_world() {
    with_asker(|asker| *asker = Asker::World);
}

/// A session begins, of which objects are where there is no World Model.
pub(crate) fn begin_session(request: Option<String>, has_world: bool) {
    if !has_world {
        with_asker(|asker| *asker = Asker::Session(request));
    }
}

/// The answer to a session's request, which wins over the launcher's.
pub(crate) fn of_session(request: Option<&str>) -> String {
    let launched = process().and_then(|process| process.settings().memory_kinds.as_deref());
    device::memory_kinds(request.or(launched))
}

/// The answer of communicators, windows and files.
pub(crate) fn of_objects() -> String {
    let request = with_asker(|asker| match asker {
        Asker::World => None,
        Asker::Session(request) => request.clone(),
    });
    of_session(request.as_deref())
}
