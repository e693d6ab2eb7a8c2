// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions (MPI-5.0, section 11.3): using MPI without MPI_COMM_WORLD, by several parts of a program at once.
//!
//! All sessions and the World Model share one engine. It starts with the first of them and stays: a session that comes
//! after the last one has gone finds it again. There are two process sets, `mpi://WORLD` and `mpi://SELF`.

use core::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use engine::comm::ThreadLevel;
use engine::group::Group;
use engine::p2p::buffered;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{MPI_INFO_NULL, MPI_SESSION_NULL};
use mpi_abi_sys::types::{MPI_Errhandler, MPI_Group, MPI_Info, MPI_Request, MPI_Session};

use super::init;
use crate::error::handlers;
use crate::error::raise::Null;
use crate::error::{inactive_on, raise_to, run_any_time};
use crate::handle::{GROUPS, INFOS, SESSIONS};
use crate::info;
use crate::kinds;
use crate::naming::named;
use crate::objects::{HandlerOf, Session};
use crate::p2p::buffer;
use crate::state::{is_active, parent, require_process};
use crate::status::CountOut;
use crate::text::{room_for_text, store_text};

/// Names of the process sets.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// Runs a body; an error goes to the handler of the session.
fn run(call: &'static str, session: MPI_Session, body: impl FnOnce(&Session) -> Result<()>) -> i32 {
    if !is_active() {
        return inactive_on(call, || {
            let handler = SESSIONS.get(session)?.handler();
            Some((handler as usize, session))
        });
    }
    let found = match SESSIONS.find(session, "session") {
        Ok(found) => found,
        // There is no object that the call belongs to.
        Err(error) => return run_any_time(call, || Err(error)),
    };
    match body(found) {
        Ok(()) => 0,
        Err(error) => raise_to(call, found.handler() as usize, session, error),
    }
}

/// Refuses a null pointer through a session's error handler.
#[cold]
#[inline(never)]
pub(crate) fn refuse_null(null: &'static Null, session: MPI_Session) -> i32 {
    run(null.call, session, |_| Err(null.error()))
}

/// The level that an info object asks for; sessions of independent parts of a program come from any thread.
fn level(info: MPI_Info) -> Result<ThreadLevel> {
    if info == MPI_INFO_NULL {
        return Ok(ThreadLevel::Multiple);
    }
    let wanted = INFOS.find(info, "info")?.get("thread_level");
    Ok(match wanted.as_deref() {
        Some("MPI_THREAD_SINGLE") => ThreadLevel::Single,
        Some("MPI_THREAD_FUNNELED") => ThreadLevel::Funneled,
        Some("MPI_THREAD_SERIALIZED") => ThreadLevel::Serialized,
        _ => ThreadLevel::Multiple,
    })
}

pub(crate) unsafe fn MPI_Session_init(
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    session: *mut MPI_Session,
) -> i32 {
    let call = "MPI_Session_init";
    // First, because the errors go to one of them.
    handlers::define_predefined();
    if let Err(error) = handlers::check(errhandler, HandlerOf::Sessions) {
        // It belongs to no object, and there is no session yet.
        return run_any_time(call, || Err(error));
    }
    let made = || {
        let level = level(info)?;
        let request = match info {
            MPI_INFO_NULL => None,
            _ => INFOS.find(info, "info")?.get(kinds::KEY),
        };
        init::join_engine(call, level)?;
        kinds::begin_session(request.clone(), init::has_world());
        let made = SESSIONS.insert(Arc::new(Session::new(errhandler as u64, request)));
        made.or_else(|error| init::leave_engine(call, false).and(Err(error)))
    };
    match made() {
        Ok(handle) => {
            // SAFETY: the result is writable (crate head).
            unsafe { *session = handle };
            0
        }
        Err(error) => raise_to(call, errhandler, MPI_SESSION_NULL, error),
    }
}

pub(crate) unsafe fn MPI_Session_finalize(session: *mut MPI_Session) -> i32 {
    let call = "MPI_Session_finalize";
    // SAFETY: the handle is readable and writable (crate head).
    let handle = unsafe { &mut *session };
    if parent().is_some() {
        // The session is that of the rank which has forked.
        *handle = MPI_SESSION_NULL;
        return 0;
    }
    run(call, *handle, |_| {
        SESSIONS.remove(*handle, "session")?;
        *handle = MPI_SESSION_NULL;
        init::leave_engine(call, false)
    })
}

pub(crate) unsafe fn MPI_Session_get_num_psets(
    session: MPI_Session,
    info: MPI_Info,
    npset_names: *mut i32,
) -> i32 {
    run("MPI_Session_get_num_psets", session, |_| {
        info::check(info)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *npset_names = SETS.len() as i32 };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Session_get_nth_pset(
    session: MPI_Session,
    info: MPI_Info,
    n: i32,
    pset_len: *mut i32,
    pset_name: *mut c_char,
) -> i32 {
    run("MPI_Session_get_nth_pset", session, |_| {
        info::check(info)?;
        let name = usize::try_from(n).ok().and_then(|n| SETS.get(n));
        let name = name.ok_or_else(|| {
            let expected = format!("0..{}", SETS.len() - 1);
            Error::argument(ErrorClass::ERR_ARG, "n", n, expected)
        })?;
        // SAFETY: the length is readable and writable, the name writable for as many bytes (crate head).
        unsafe {
            room_for_text("pset_name", pset_name, *pset_len)?;
            let room = usize::try_from(*pset_len).unwrap_or(0);
            if room > 0 {
                store_text(name, pset_name, core::ptr::null_mut(), room);
            }
            *pset_len = name.len() as i32 + 1;
        }
        Ok(())
    })
}

/// The processes of a set.
unsafe fn set(name: *const c_char) -> Result<Group> {
    let process = require_process()?;
    // SAFETY: the text is NUL-terminated (crate head).
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    match SETS.iter().position(|set| set.eq_ignore_ascii_case(&name)) {
        Some(0) => Ok(process.world().group().clone()),
        Some(_) => Ok(process.itself().group().clone()),
        None => {
            let expected = format!("one of {}", SETS.join(", "));
            let value = name.into_owned();
            Err(Error::argument(
                ErrorClass::ERR_ARG,
                "pset_name",
                value,
                expected,
            ))
        }
    }
}

pub(crate) unsafe fn MPI_Session_get_pset_info(
    session: MPI_Session,
    pset_name: *const c_char,
    info: *mut MPI_Info,
) -> i32 {
    run("MPI_Session_get_pset_info", session, |_| {
        // SAFETY: passed on; the result is writable (crate head).
        unsafe {
            let size = set(pset_name)?.size().to_string();
            *info = info::of_pairs(&[("mpi_size", &size)])?;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Session_get_info(session: MPI_Session, info_used: *mut MPI_Info) -> i32 {
    run("MPI_Session_get_info", session, |object| {
        let kinds = kinds::of_session(object.memory_kinds());
        let pairs = [("thread_level", info::level_name()), (kinds::KEY, &kinds)];
        // SAFETY: the result is writable (crate head).
        unsafe { *info_used = info::of_pairs(&pairs)? };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Group_from_session_pset(
    session: MPI_Session,
    pset_name: *const c_char,
    newgroup: *mut MPI_Group,
) -> i32 {
    run("MPI_Group_from_session_pset", session, |_| {
        // SAFETY: passed on; the result is writable (crate head).
        unsafe { *newgroup = GROUPS.insert(Arc::new(set(pset_name)?))? };
        Ok(())
    })
}

pub(crate) fn MPI_Session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) -> i32 {
    run("MPI_Session_set_errhandler", session, |object| {
        handlers::check(errhandler, HandlerOf::Sessions)?;
        object.set_handler(errhandler as u64);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Session_get_errhandler(
    session: MPI_Session,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    run("MPI_Session_get_errhandler", session, |object| {
        let handle = handlers::lend(object.handler());
        // SAFETY: the result is writable (crate head).
        unsafe { *errhandler = handle };
        Ok(())
    })
}

pub(crate) fn MPI_Session_call_errhandler(session: MPI_Session, errorcode: i32) -> i32 {
    let call = "MPI_Session_call_errhandler";
    run(call, session, |object| {
        let handler = object.handler() as usize;
        let error = Error::new(ErrorClass(errorcode), "the program raised this error");
        raise_to(call, handler, session, error);
        Ok(())
    })
}

// Sessions share the buffer of the process: a buffer attached to a session serves all buffered sends of the process.

pub(crate) fn MPI_Session_attach_buffer(
    session: MPI_Session,
    buffer: *mut c_void,
    size: impl Into<i64>,
) -> i32 {
    run("MPI_Session_attach_buffer", session, |_| {
        buffer::attach_to(require_process()?.buffer(), buffer, size.into())
    })
}

pub(crate) unsafe fn MPI_Session_detach_buffer<C: CountOut>(
    session: MPI_Session,
    buffer_addr: *mut c_void,
    size: *mut C,
) -> i32 {
    let call = named!("MPI_Session_detach_buffer", size);
    run(call, session, |_| {
        let bytes = buffer::detach_from(require_process()?.buffer(), call, buffer_addr)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *size = C::from_count(bytes) };
        Ok(())
    })
}

pub(crate) fn MPI_Session_flush_buffer(session: MPI_Session) -> i32 {
    let call = "MPI_Session_flush_buffer";
    run(call, session, |_| {
        let process = require_process()?;
        buffered::flush(process, process.buffer(), call)
    })
}

pub(crate) unsafe fn MPI_Session_iflush_buffer(
    session: MPI_Session,
    request: *mut MPI_Request,
) -> i32 {
    run("MPI_Session_iflush_buffer", session, |_| {
        let process = require_process()?;
        let id = buffered::iflush(process.world(), process.buffer())?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}
