// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective accesses in two calls (MPI-5.0, section 14.4.5): the first begins a nonblocking access whose request the file keeps, the
//! second waits for it.

use std::sync::{Arc, PoisonError};

use super::access::{Action, Moved, Place};
use super::collective;
use super::data::Data;
use super::object::File;
use super::ordered;
use crate::completion;
use crate::errors::{Error, ErrorClass, Result};
use crate::request::RequestId;

/// The kinds of calls that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// _at_all.
    At,
    /// _all.
    Pointer,
    /// _ordered.
    Ordered,
}

/// An access that was begun.
pub(super) struct Split {
    /// The call that began it.
    pub(super) begun_by: &'static str,
    kind: Kind,
    action: Action,
    /// The buffer as the program gave it.
    buffer: usize,
    request: RequestId,
}

/// Refuses another collective access while one that was begun is not ended.
pub(super) fn check_none(file: &File) -> Result<()> {
    let split = file.split.lock().unwrap_or_else(PoisonError::into_inner);
    match &*split {
        None => Ok(()),
        Some(split) => {
            let text = format!("{} was called, and its end was not", split.begun_by);
            Err(Error::new(ErrorClass::ERR_IO, text))
        }
    }
}

/// Begins an access; `buffer` is the program's address of it, and `at` is not used by an ordered one.
///
/// # Errors
/// MPI_ERR_IO while another one is begun. Those of the arguments are returned by [`end`].
pub fn begin(
    file: &Arc<File>,
    (kind, action): (Kind, Action),
    offset: i64,
    (data, buffer): (Result<Data>, usize),
    begun_by: &'static str,
) -> Result<()> {
    check_none(file)?;
    let request = match kind {
        Kind::At => collective::start_all(file, action, Place::At(offset), data),
        Kind::Pointer => collective::start_all(file, action, Place::Pointer, data),
        Kind::Ordered => ordered::start(file, action, data, begun_by),
    }?;
    let mut split = file.split.lock().unwrap_or_else(PoisonError::into_inner);
    *split = Some(Split {
        begun_by,
        kind,
        action,
        buffer,
        request,
    });
    Ok(())
}

/// Ends the access that was begun.
pub fn end(
    file: &File,
    (kind, action): (Kind, Action),
    buffer: usize,
    call: &'static str,
) -> Moved {
    let wrong = |text: String| Moved::failed(Error::new(ErrorClass::ERR_IO, text));
    let mut guard = file.split.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(split) = guard.take() else {
        return wrong("no split collective access was begun".to_owned());
    };
    if (split.kind, split.action) != (kind, action) || split.buffer != buffer {
        let what = match split.buffer == buffer {
            true => "by the end of another call".to_owned(),
            false => "with another buffer".to_owned(),
        };
        let text = format!("{} would be ended {what}", split.begun_by);
        *guard = Some(split);
        return wrong(text);
    }
    drop(guard);
    let mut request = split.request;
    match completion::wait(file.comm.vci(), &mut request, call) {
        Ok(status) => Moved {
            bytes: status.bytes,
            outcome: Ok(()),
        },
        Err(error) => Moved::failed(error),
    }
}
