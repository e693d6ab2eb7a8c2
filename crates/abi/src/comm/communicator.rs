// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators (MPI-5.0, section 7.4).

use core::ffi::c_char;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::call::CallName;
use engine::comm::{Comm, Predefined, Spread};
use engine::{Error, ErrorClass, Result};
use engine::{completion, create, p2p};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Comm, MPI_Group, MPI_Info, MPI_Request};

use crate::error::{note_freed, run};
use crate::handle::{COMMS, GROUPS, INFOS, made_by_library, place_number};
use crate::kinds;
use crate::objects::Info;
use crate::text::store_text;

/// Gives a new communicator its handle, or stores MPI_COMM_NULL.
pub(crate) fn publish(comm: Option<Arc<Comm>>, target: *mut MPI_Comm) -> Result<()> {
    let handle = match comm {
        Some(comm) => {
            let handle = COMMS.insert(comm.clone())?;
            comm.handle.store(handle as u64, Ordering::Relaxed);
            handle
        }
        None => abi::MPI_COMM_NULL,
    };
    // SAFETY: the result is writable (crate head).
    unsafe { *target = handle };
    Ok(())
}

/// A communicator of one group, for operations that two groups do not have.
pub(crate) fn intra(comm: MPI_Comm, argument: &'static str) -> Result<Arc<Comm>> {
    let object = COMMS.share(comm, argument)?;
    if object.remote_size().is_none() {
        return Ok(object);
    }
    let (value, expected) = ("an intercommunicator", "an intracommunicator");
    let class = ErrorClass::ERR_COMM;
    Err(Error::argument(class, argument, value, expected))
}

pub(crate) unsafe fn MPI_Comm_rank(comm: MPI_Comm, rank: *mut i32) -> i32 {
    run("MPI_Comm_rank", comm, || {
        // SAFETY: the result is writable (crate head).
        unsafe { *rank = COMMS.find(comm, "comm")?.rank() };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_size(comm: MPI_Comm, size: *mut i32) -> i32 {
    run("MPI_Comm_size", comm, || {
        // SAFETY: the result is writable (crate head).
        unsafe { *size = COMMS.find(comm, "comm")?.size() };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_remote_size(comm: MPI_Comm, size: *mut i32) -> i32 {
    run("MPI_Comm_remote_size", comm, || {
        let remote = COMMS.find(comm, "comm")?.remote_size();
        let expected = || {
            Error::argument(
                ErrorClass::ERR_COMM,
                "comm",
                "an intracommunicator",
                "an intercommunicator",
            )
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *size = remote.ok_or_else(expected)? };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_test_inter(comm: MPI_Comm, flag: *mut i32) -> i32 {
    run("MPI_Comm_test_inter", comm, || {
        let inter = COMMS.find(comm, "comm")?.remote_group().is_some();
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(inter) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) -> i32 {
    run("MPI_Comm_dup", comm, || {
        publish(
            Some(create::dup(&COMMS.share(comm, "comm")?, "MPI_Comm_dup")?),
            newcomm,
        )
    })
}

pub(crate) unsafe fn MPI_Comm_dup_with_info(
    comm: MPI_Comm,
    info: MPI_Info,
    newcomm: *mut MPI_Comm,
) -> i32 {
    let call = "MPI_Comm_dup_with_info";
    run(call, comm, || {
        let hints = hints_of(info)?;
        let made = create::dup_spread(&COMMS.share(comm, "comm")?, spread_of(hints), call)?;
        replace_hints(&made, hints);
        publish(Some(made), newcomm)
    })
}

/// The info object with the hints for a new communicator; `None` for MPI_INFO_NULL.
pub(crate) fn hints_of(info: MPI_Info) -> Result<Option<&'static Info>> {
    match info {
        abi::MPI_INFO_NULL => Ok(None),
        _ => INFOS.find(info, "info").map(Some),
    }
}

/// How hints spread the messages of a new communicator over VCIs.
fn spread_of(hints: Option<&Info>) -> Result<Option<Spread>> {
    hints.map_or(Ok(None), |hints| Spread::read(|key| hints.get(key)))
}

/// Gives a duplicate hints of its own instead of its original's.
pub(super) fn replace_hints(comm: &Comm, hints: Option<&Info>) {
    comm.start_hints(|key| hints.and_then(|hints| hints.get(key)));
}

/// Takes back the handle of a communicator on which its members did not agree.
fn withdraw(comm: &Arc<Comm>) {
    let handle = comm.handle.load(Ordering::Relaxed) as usize;
    if handle != 0 {
        // It was there before; a program that freed it meanwhile has no handle to lose.
        let _ = COMMS.remove(handle, "newcomm");
    }
}

/// Starts a duplicate; its handle is there at once, to be used when the request is complete.
fn start_dup(
    call: &'static str,
    comm: MPI_Comm,
    info: Option<MPI_Info>,
    newcomm: *mut MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    run(call, comm, || {
        let parent = COMMS.share(comm, "comm")?;
        let hints = info.map(hints_of).transpose()?;
        let spread = hints.map(spread_of);
        // The handle comes first: without a free handle, messages to other ranks could not be taken back.
        let announce = |made: &Arc<Comm>| {
            if let Some(hints) = hints {
                replace_hints(made, hints);
            }
            let has_room = publish(Some(made.clone()), newcomm).is_ok();
            if !has_room {
                // SAFETY: the result is writable (crate head).
                unsafe { *newcomm = abi::MPI_COMM_NULL };
            }
            has_room
        };
        let (_, id) =
            create::idup_announced(&parent, CallName::of(call), spread, announce, withdraw)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_idup(
    comm: MPI_Comm,
    newcomm: *mut MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    start_dup("MPI_Comm_idup", comm, None, newcomm, request)
}

pub(crate) unsafe fn MPI_Comm_idup_with_info(
    comm: MPI_Comm,
    info: MPI_Info,
    newcomm: *mut MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    let call = "MPI_Comm_idup_with_info";
    start_dup(call, comm, Some(info), newcomm, request)
}

pub(crate) unsafe fn MPI_Comm_split(
    comm: MPI_Comm,
    color: i32,
    key: i32,
    newcomm: *mut MPI_Comm,
) -> i32 {
    run("MPI_Comm_split", comm, || {
        publish(
            create::split(&COMMS.share(comm, "comm")?, color, key, "MPI_Comm_split")?,
            newcomm,
        )
    })
}

pub(crate) unsafe fn MPI_Comm_create(
    comm: MPI_Comm,
    group: MPI_Group,
    newcomm: *mut MPI_Comm,
) -> i32 {
    run("MPI_Comm_create", comm, || {
        let group = GROUPS.find(group, "group")?;
        publish(
            create::create(&COMMS.share(comm, "comm")?, group, "MPI_Comm_create")?,
            newcomm,
        )
    })
}

pub(crate) unsafe fn MPI_Comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: *mut i32) -> i32 {
    run("MPI_Comm_compare", comm1, || {
        let (a, b) = (COMMS.find(comm1, "comm1")?, COMMS.find(comm2, "comm2")?);
        // SAFETY: the result is writable (crate head).
        unsafe { *result = a.compare(b) as i32 };
        Ok(())
    })
}

/// Refuses to free a communicator with operations that nobody can complete afterwards.
fn check_ended(comm: &Comm) -> Result<()> {
    let pending = completion::pending_in_bulk(comm);
    if pending > 0 {
        let text = format!(
            "{pending} operations without requests are pending on it: complete them first (MPIX_Comm_waitall)"
        );
        return Err(Error::new(ErrorClass::ERR_PENDING, text));
    }
    p2p::check_received(comm)
}

/// Frees a communicator, after everything on it is complete (`ends_all`), or at once.
fn release(call: &'static str, comm: *mut MPI_Comm, ends_all: bool) -> i32 {
    // SAFETY: the handle is readable and writable (crate head).
    let handle = unsafe { &mut *comm };
    run(call, *handle, || {
        if let abi::MPI_COMM_WORLD | abi::MPI_COMM_SELF = *handle {
            let expected = "a communicator that the program made";
            let class = ErrorClass::ERR_COMM;
            return Err(made_by_library(class, "comm", *handle, expected));
        }
        let object = COMMS.find(*handle, "comm")?;
        check_ended(object)?;
        if ends_all {
            object.complete_all(call)?;
        }
        object.attributes.clear(*handle as u64)?;
        if object.has_requests() {
            note_freed(object, *handle);
        }
        let object = COMMS.remove(*handle, "comm")?;
        if let Some(number) = place_number(*handle) {
            Predefined::at(number).clear(&object);
        }
        object.free();
        *handle = abi::MPI_COMM_NULL;
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_free(comm: *mut MPI_Comm) -> i32 {
    release("MPI_Comm_free", comm, false)
}

pub(crate) unsafe fn MPI_Comm_disconnect(comm: *mut MPI_Comm) -> i32 {
    release("MPI_Comm_disconnect", comm, true)
}

pub(crate) unsafe fn MPI_Comm_set_name(comm: MPI_Comm, name: *const c_char) -> i32 {
    run("MPI_Comm_set_name", comm, || {
        // SAFETY: the text is NUL-terminated (crate head).
        let text = unsafe { core::ffi::CStr::from_ptr(name) }.to_string_lossy();
        COMMS.find(comm, "comm")?.set_name(&text);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_get_name(
    comm: MPI_Comm,
    name: *mut c_char,
    resultlen: *mut i32,
) -> i32 {
    run("MPI_Comm_get_name", comm, || {
        let text = if comm == abi::MPI_COMM_NULL {
            "MPI_COMM_NULL".to_owned()
        } else {
            COMMS.find(comm, "comm")?.name()
        };
        // SAFETY: the buffer has the standard's size (crate head).
        unsafe { store_text(&text, name, resultlen, abi::MPI_MAX_OBJECT_NAME as usize) };
        Ok(())
    })
}

pub(crate) fn MPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) -> i32 {
    run("MPI_Comm_set_info", comm, || {
        let found = COMMS.find(comm, "comm")?;
        let hints = INFOS.find(info, "info")?;
        found.hints.set(|key| hints.get(key));
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_get_info(comm: MPI_Comm, info_used: *mut MPI_Info) -> i32 {
    run("MPI_Comm_get_info", comm, || {
        let comm = COMMS.find(comm, "comm")?;
        let (spread, kinds) = (comm.spread_pairs(), kinds::of_objects());
        let spread = spread.iter().map(|(key, value)| (*key, value.as_str()));
        let pairs = comm.hints.pairs().into_iter().chain(spread);
        let more = [comm.rendezvous_pair(), (kinds::KEY, &kinds)];
        let hints: Vec<_> = pairs.chain(more).collect();
        // SAFETY: the result is writable (crate head).
        unsafe { *info_used = crate::info::of_pairs(&hints)? };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_get_parent(parent: *mut MPI_Comm) -> i32 {
    // SAFETY: the result is writable (crate head).
    unsafe { *parent = abi::MPI_COMM_NULL };
    0
}
