// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators made from groups, and intercommunicators (MPI-5.0, sections 7.4 and 7.6).

use core::ffi::{CStr, c_char};
use std::sync::atomic::Ordering;

use engine::comm::Comm;
use engine::create::{self, inter};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_MAX_STRINGTAG_LEN;
use mpi_abi_sys::types::{MPI_Comm, MPI_Errhandler, MPI_Group, MPI_Info};

use super::communicator::{intra, publish};
use crate::error::handlers;
use crate::error::run;
use crate::handle::{COMMS, GROUPS};
use crate::info;
use crate::state::require_process;

pub(crate) unsafe fn MPI_Comm_create_group(
    comm: MPI_Comm,
    group: MPI_Group,
    tag: i32,
    newcomm: *mut MPI_Comm,
) -> i32 {
    let call = "MPI_Comm_create_group";
    run(call, comm, || {
        let group = GROUPS.find(group, "group")?;
        let made = create::create_group(&intra(comm, "comm")?, group, tag, call)?;
        publish(made, newcomm)
    })
}

/// # Safety
/// The text is NUL-terminated, or null.
unsafe fn string_tag<'a>(text: *const c_char) -> Result<&'a str> {
    let bad = |value: String| {
        let expected = format!("a text of at most {} bytes", MPI_MAX_STRINGTAG_LEN - 1);
        Err(Error::argument(
            ErrorClass::ERR_ARG,
            "stringtag",
            value,
            expected,
        ))
    };
    if text.is_null() {
        return bad("null".to_owned());
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    match text.to_str() {
        Ok(text) if text.len() < MPI_MAX_STRINGTAG_LEN as usize => Ok(text),
        Ok(text) => bad(format!("{} bytes long", text.len())),
        Err(_) => bad("no UTF-8".to_owned()),
    }
}

/// Checks the arguments of calls without a parent communicator, before other ranks wait for this rank.
///
/// # Safety
/// The text is NUL-terminated, or null.
unsafe fn check<'a>(stringtag: *const c_char, info: MPI_Info) -> Result<&'a str> {
    info::check(info)?;
    // SAFETY: the caller's promise.
    unsafe { string_tag(stringtag) }
}

/// Sets the error handler that such a call was given.
fn set_handler(comm: &Comm, errhandler: MPI_Errhandler) {
    comm.error_handler
        .store(errhandler as u64, Ordering::Relaxed);
}

pub(crate) unsafe fn MPI_Comm_create_from_group(
    group: MPI_Group,
    stringtag: *const c_char,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newcomm: *mut MPI_Comm,
) -> i32 {
    let call = "MPI_Comm_create_from_group";
    handlers::run_with_handler(call, errhandler, || {
        let group = GROUPS.find(group, "group")?;
        // SAFETY: the text is NUL-terminated (crate head).
        let text = unsafe { check(stringtag, info) }?;
        let made = create::create_from_group(require_process()?, group, text, call)?;
        if let Some(comm) = &made {
            set_handler(comm, errhandler);
        }
        publish(made, newcomm)
    })
}

pub(crate) unsafe fn MPI_Intercomm_create(
    local_comm: MPI_Comm,
    local_leader: i32,
    peer_comm: MPI_Comm,
    remote_leader: i32,
    tag: i32,
    newintercomm: *mut MPI_Comm,
) -> i32 {
    let call = "MPI_Intercomm_create";
    run(call, local_comm, || {
        let local = intra(local_comm, "local_comm")?;
        // The peer communicator is significant at the leader only, whose errors the others learn.
        let is_leader = local.rank() == local_leader;
        let peer = is_leader.then(|| Ok((COMMS.share(peer_comm, "peer_comm")?, remote_leader)));
        let made = inter::create(&local, local_leader, peer, tag, call)?;
        publish(Some(made), newintercomm)
    })
}

pub(crate) unsafe fn MPI_Intercomm_create_from_groups(
    local_group: MPI_Group,
    local_leader: i32,
    remote_group: MPI_Group,
    remote_leader: i32,
    stringtag: *const c_char,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newintercomm: *mut MPI_Comm,
) -> i32 {
    let call = "MPI_Intercomm_create_from_groups";
    handlers::run_with_handler(call, errhandler, || {
        let local = (GROUPS.find(local_group, "local_group")?, local_leader);
        let remote = (GROUPS.find(remote_group, "remote_group")?, remote_leader);
        // SAFETY: the text is NUL-terminated (crate head).
        let text = unsafe { check(stringtag, info) }?;
        let made = inter::create_from_groups(require_process()?, local, remote, text, call)?;
        set_handler(&made, errhandler);
        publish(Some(made), newintercomm)
    })
}

pub(crate) unsafe fn MPI_Intercomm_merge(
    intercomm: MPI_Comm,
    high: i32,
    newintracomm: *mut MPI_Comm,
) -> i32 {
    let call = "MPI_Intercomm_merge";
    run(call, intercomm, || {
        let inter = COMMS.share(intercomm, "intercomm")?;
        publish(Some(inter::merge(&inter, high != 0, call)?), newintracomm)
    })
}
