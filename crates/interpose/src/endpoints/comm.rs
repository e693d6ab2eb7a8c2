// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoint communicators: what the program's side keeps of one, and the calls that ask for it.

use std::ffi::{CStr, CString, c_char};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use ::endpoints::command::{Command, Operation};
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::endpoint::{self, Endpoint, Task};
use super::errors::{raise, unknown};
use super::handle::{Handle, Kind, is_ours};
use super::layer::NEXT;
use crate::sync::AtomicUsize;
use crate::table::Functions;

/// An endpoint communicator of an endpoint of this process.
pub(super) struct Comm {
    /// The endpoint.
    pub(super) endpoint: usize,
    /// Its number among the communicators of the endpoint.
    pub(super) number: u32,
    /// How often the number had been used before.
    pub(super) generation: u32,
    /// Rank of the endpoint.
    pub(super) rank: i32,
    /// Members.
    pub(super) size: i32,
    /// Error handler.
    pub(super) handler: AtomicUsize,
    /// Name, for the program alone.
    pub(super) name: Mutex<CString>,
}

impl Comm {
    /// A communicator that is being made.
    pub(super) fn unmade(endpoint: usize, number: u32, handler: usize) -> Arc<Self> {
        Arc::new(Self {
            endpoint,
            number,
            generation: 0,
            rank: mpi::MPI_PROC_NULL,
            size: 0,
            handler: AtomicUsize::new(handler),
            name: Mutex::default(),
        })
    }

    /// The communicator of a handle of this layer.
    pub(super) fn find(handle: MPI_Comm) -> Option<Arc<Self>> {
        let handle = Handle::of(handle).filter(|handle| handle.kind == Kind::Comm)?;
        endpoint::all().get(handle.endpoint)?.comm(handle)
    }

    /// Its handle.
    pub(super) fn handle(&self) -> MPI_Comm {
        let handle = Handle {
            kind: Kind::Comm,
            endpoint: self.endpoint,
            number: self.number,
            generation: self.generation,
        };
        handle.address()
    }

    /// Its endpoint.
    pub(super) fn endpoint(&self) -> &'static Endpoint {
        &endpoint::all()[self.endpoint]
    }

    /// A command for it.
    pub(super) fn command(&self, operation: Operation) -> Command {
        Command {
            operation: operation as u32,
            comm: self.number,
            ..Command::default()
        }
    }

    /// Has the proxy execute a command without data, and waits for the end; an error is raised by this communicator's handler.
    pub(super) fn ask(
        self: &Arc<Self>,
        name: &'static CStr,
        command: Command,
    ) -> Result<(i64, i64), i32> {
        let task = Task::without_data(command);
        let slot = self.endpoint().start(self, task);
        let end = slot.map(|slot| self.endpoint().wait(slot));
        match end {
            Ok(end) if end.code == mpi::MPI_SUCCESS => Ok((end.value, end.second)),
            Ok(end) => Err(raise(self, name, end.code)),
            Err(class) => Err(raise(self, name, class)),
        }
    }
}

/// Gives the communicator of a handle, or returns from the call: by the next layer's where the handle is not of this one.
macro_rules! comm_or_next {
    ($comm:expr, $name:ident($($argument:expr),*)) => {{
        let comm: MPI_Comm = $comm;
        if !$crate::endpoints::handle::is_ours(comm) {
            // SAFETY: the program's arguments.
            return unsafe { ($crate::endpoints::layer::NEXT.get().$name)($($argument),*) };
        }
        match $crate::endpoints::comm::Comm::find(comm) {
            Some(comm) => comm,
            None => return $crate::endpoints::errors::unknown(
                $crate::endpoints::errors::named!($name), mpi::MPI_ERR_COMM),
        }
    }};
}
pub(super) use comm_or_next;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Comm_rank: rank,
        MPI_Comm_size: size,
        MPI_Comm_test_inter: test_inter,
        MPI_Comm_compare: compare,
        MPI_Comm_free: free,
        MPI_Comm_dup: dup,
        MPI_Comm_split: split,
        MPI_Comm_set_errhandler: set_errhandler,
        MPI_Comm_get_errhandler: get_errhandler,
        MPI_Comm_set_name: set_name,
        MPI_Comm_get_name: get_name,
        MPI_Abort: abort,
        ..next
    }
}

unsafe extern "C" fn rank(comm: MPI_Comm, rank: *mut i32) -> i32 {
    let found = comm_or_next!(comm, MPI_Comm_rank(comm, rank));
    // SAFETY: the program's argument.
    unsafe { *rank = found.rank };
    mpi::MPI_SUCCESS
}

unsafe extern "C" fn size(comm: MPI_Comm, size: *mut i32) -> i32 {
    let found = comm_or_next!(comm, MPI_Comm_size(comm, size));
    // SAFETY: the program's argument.
    unsafe { *size = found.size };
    mpi::MPI_SUCCESS
}

unsafe extern "C" fn test_inter(comm: MPI_Comm, flag: *mut i32) -> i32 {
    let _ = comm_or_next!(comm, MPI_Comm_test_inter(comm, flag));
    // SAFETY: the program's argument.
    unsafe { *flag = 0 };
    mpi::MPI_SUCCESS
}

unsafe extern "C" fn compare(one: MPI_Comm, other: MPI_Comm, result: *mut i32) -> i32 {
    if !is_ours(one) && !is_ours(other) {
        // SAFETY: the program's arguments.
        return unsafe { (NEXT.get().MPI_Comm_compare)(one, other, result) };
    }
    let name = c"MPI_Comm_compare";
    // A communicator of processes is not one of endpoints.
    let mut found = mpi::MPI_UNEQUAL;
    if is_ours(one) && is_ours(other) {
        let (Some(here), Some(there)) = (Comm::find(one), Comm::find(other)) else {
            return unknown(name, mpi::MPI_ERR_COMM);
        };
        if here.endpoint == there.endpoint {
            let mut command = here.command(Operation::Compare);
            command.new = there.number;
            match here.ask(name, command) {
                Ok((value, _)) => found = value as i32,
                Err(code) => return code,
            }
        }
    }
    // SAFETY: the program's argument.
    unsafe { *result = found };
    mpi::MPI_SUCCESS
}

unsafe extern "C" fn free(comm: *mut MPI_Comm) -> i32 {
    // SAFETY: the program's argument.
    let handle = unsafe { *comm };
    let found = comm_or_next!(handle, MPI_Comm_free(comm));
    let command = found.command(Operation::Free);
    match found.ask(c"MPI_Comm_free", command) {
        Ok(_) => {
            found.endpoint().forget(&found);
            // SAFETY: the program's argument.
            unsafe { *comm = mpi::MPI_COMM_NULL };
            mpi::MPI_SUCCESS
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn dup(comm: MPI_Comm, new: *mut MPI_Comm) -> i32 {
    let found = comm_or_next!(comm, MPI_Comm_dup(comm, new));
    let command = found.command(Operation::Duplicate);
    // SAFETY: the program's argument.
    unsafe { made(&found, c"MPI_Comm_dup", command, new) }
}

unsafe extern "C" fn split(comm: MPI_Comm, color: i32, key: i32, new: *mut MPI_Comm) -> i32 {
    let found = comm_or_next!(comm, MPI_Comm_split(comm, color, key, new));
    let mut command = found.command(Operation::Split);
    (command.peer, command.tag) = (color, key);
    // SAFETY: the program's argument.
    unsafe { made(&found, c"MPI_Comm_split", command, new) }
}

/// Has a communicator made of another one.
///
/// # Safety
/// `new` is a place of the program.
unsafe fn made(
    old: &Arc<Comm>,
    name: &'static CStr,
    mut command: Command,
    new: *mut MPI_Comm,
) -> i32 {
    let endpoint = old.endpoint();
    let Some(number) = endpoint.new_number() else {
        return raise(old, name, mpi::MPI_ERR_NO_MEM);
    };
    command.new = number;
    let (code, handle) = match old.ask(name, command) {
        // This rank is not in the new one.
        Ok((rank, _)) if rank < 0 => (mpi::MPI_SUCCESS, None),
        Ok((rank, size)) => {
            let (rank, size) = (rank as i32, size as i32);
            let handler = old.handler.load(Relaxed);
            let made = endpoint.keep(old.endpoint, number, rank, size, handler);
            (mpi::MPI_SUCCESS, Some(made.handle()))
        }
        Err(code) => (code, None),
    };
    if handle.is_none() {
        endpoint.release_number(number);
    }
    // SAFETY: the caller's promise.
    unsafe { *new = handle.unwrap_or(mpi::MPI_COMM_NULL) };
    code
}

unsafe extern "C" fn set_errhandler(comm: MPI_Comm, handler: MPI_Errhandler) -> i32 {
    let found = comm_or_next!(comm, MPI_Comm_set_errhandler(comm, handler));
    let is_known = [
        mpi::MPI_ERRORS_ARE_FATAL,
        mpi::MPI_ERRORS_ABORT,
        mpi::MPI_ERRORS_RETURN,
    ];
    if !is_known.contains(&handler) {
        return super::errors::refuse(c"MPI_Comm_set_errhandler", comm);
    }
    found.handler.store(handler, Relaxed);
    mpi::MPI_SUCCESS
}

unsafe extern "C" fn get_errhandler(comm: MPI_Comm, handler: *mut MPI_Errhandler) -> i32 {
    let found = comm_or_next!(comm, MPI_Comm_get_errhandler(comm, handler));
    // SAFETY: the program's argument.
    unsafe { *handler = found.handler.load(Relaxed) };
    mpi::MPI_SUCCESS
}

unsafe extern "C" fn set_name(comm: MPI_Comm, name: *const c_char) -> i32 {
    let found = comm_or_next!(comm, MPI_Comm_set_name(comm, name));
    if name.is_null() {
        return raise(&found, c"MPI_Comm_set_name", mpi::MPI_ERR_ARG);
    }
    // SAFETY: the program's text.
    let mut name = unsafe { CStr::from_ptr(name) }.to_bytes().to_vec();
    name.truncate(mpi::MPI_MAX_OBJECT_NAME as usize - 1);
    let name = CString::new(name).unwrap_or_default();
    *found.name.lock().unwrap_or_else(PoisonError::into_inner) = name;
    mpi::MPI_SUCCESS
}

unsafe extern "C" fn get_name(comm: MPI_Comm, name: *mut c_char, length: *mut i32) -> i32 {
    let found = comm_or_next!(comm, MPI_Comm_get_name(comm, name, length));
    let kept = found.name.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = kept.as_bytes_with_nul();
    // SAFETY: the program's places: room for MPI_MAX_OBJECT_NAME characters, and a number.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), name, bytes.len());
        *length = bytes.len() as i32 - 1;
    }
    mpi::MPI_SUCCESS
}

/// Ends the job: proxies end with the program.
unsafe extern "C" fn abort(comm: MPI_Comm, code: i32) -> i32 {
    let comm = match is_ours(comm) {
        true => mpi::MPI_COMM_WORLD as MPI_Comm,
        false => comm,
    };
    // SAFETY: the program's arguments.
    unsafe { (NEXT.get().MPI_Abort)(comm, code) }
}
