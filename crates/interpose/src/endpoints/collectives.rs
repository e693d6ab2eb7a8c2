// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives among endpoints that move equal blocks.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use ::endpoints::command::Operation;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffers::{Data, Output};
use super::comm::{Comm, comm_or_next};
use super::elements::{Elements, Shape};
use super::endpoint::Task;
use super::errors::{named, raise};
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Barrier: barrier,
        MPI_Bcast,
        MPI_Bcast_c,
        MPI_Gather,
        MPI_Gather_c,
        MPI_Scatter,
        MPI_Scatter_c,
        MPI_Allgather,
        MPI_Allgather_c,
        MPI_Alltoall,
        MPI_Alltoall_c,
        ..next
    }
}

/// Has the proxy take part in a collective, and waits for the end.
///
/// # Errors
/// The error class.
pub(super) fn complete(comm: &Arc<Comm>, task: Task) -> Result<(), i32> {
    let slot = comm.endpoint().start(comm, task)?;
    match comm.endpoint().wait(slot).code {
        mpi::MPI_SUCCESS => Ok(()),
        class => Err(class),
    }
}

/// The code of a call with this result.
pub(super) fn ended(comm: &Comm, name: &CStr, result: Result<(), i32>) -> i32 {
    match result {
        Ok(()) => mpi::MPI_SUCCESS,
        Err(class) => raise(comm, name, class),
    }
}

/// The same for a collective that is one task.
pub(super) fn collective(comm: &Arc<Comm>, name: &CStr, task: Result<Task, i32>) -> i32 {
    let result = task.and_then(|task| complete(comm, task));
    ended(comm, name, result)
}

unsafe extern "C" fn barrier(comm: MPI_Comm) -> i32 {
    let comm = comm_or_next!(comm, MPI_Barrier(comm));
    let task = Task::without_data(comm.command(Operation::Barrier));
    collective(&comm, c"MPI_Barrier", Ok(task))
}

/// A buffer of a call.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub(super) base: *mut c_void,
    pub(super) count: MPI_Count,
    pub(super) datatype: MPI_Datatype,
}

impl Buffer {
    pub(super) fn new(
        base: *const c_void,
        count: impl Into<MPI_Count>,
        datatype: MPI_Datatype,
    ) -> Self {
        let (base, count) = (base.cast_mut(), count.into());
        Self {
            base,
            count,
            datatype,
        }
    }

    pub(super) fn is_in_place(self) -> bool {
        self.base.addr() == mpi::MPI_IN_PLACE
    }

    /// The blocks of so many members.
    fn elements(self, members: i32) -> Result<Elements, i32> {
        let all = self.count.checked_mul(members.into());
        let all = all.ok_or(mpi::MPI_ERR_COUNT)?;
        Elements::new(self.base, all, self.datatype)
    }

    /// The block of a member.
    fn block(self, member: i32) -> Result<Elements, i32> {
        let first = self.count.checked_mul(member.into());
        let first = first.ok_or(mpi::MPI_ERR_COUNT)?;
        Shape::of(self.datatype)?.elements(self.base, first, self.count)
    }

    /// The blocks of so many members, each by itself.
    fn blocks(self, members: i32) -> Result<Vec<Elements>, i32> {
        (0..members).map(|member| self.block(member)).collect()
    }
}

/// The number of bytes, unless what is sent and what is received are not as many.
pub(super) fn matching(sent: u64, received: u64) -> Result<u64, i32> {
    match sent == received {
        true => Ok(sent),
        false => Err(mpi::MPI_ERR_COUNT),
    }
}

fn broadcast(comm: &Comm, data: Buffer, root: i32) -> Result<Task, i32> {
    let elements = data.elements(1)?;
    let mut command = comm.command(Operation::Broadcast);
    (command.peer, command.count) = (root, elements.bytes());
    let mut task = Task::without_data(command);
    match comm.rank == root {
        true => task.input = Some(Data::One(elements)),
        false => task.output = Output::Results(Data::One(elements)),
    }
    Ok(task)
}

/// A block of this member to one of the root's.
pub(super) fn gathered(
    comm: &Comm,
    root: i32,
    from: Buffer,
    blocks: impl FnOnce() -> Result<Vec<Elements>, i32>,
) -> Result<Task, i32> {
    let mut command = comm.command(Operation::Gather);
    command.peer = root;
    let mut task = Task::without_data(command);
    let mut input = None;
    if comm.rank == root {
        let blocks = blocks()?;
        if from.is_in_place() {
            input = blocks.get(root as usize).cloned();
        }
        task.output = Output::Results(Data::Blocks(blocks));
    }
    let input = match input {
        Some(block) => block,
        None => from.elements(1)?,
    };
    task.command.count = input.bytes();
    task.input = Some(Data::One(input));
    Ok(task)
}

/// One of the root's blocks to this member.
pub(super) fn scattered(
    comm: &Comm,
    root: i32,
    to: Buffer,
    blocks: impl FnOnce() -> Result<Vec<Elements>, i32>,
) -> Result<Task, i32> {
    let mut command = comm.command(Operation::Scatter);
    command.peer = root;
    let mut task = Task::without_data(command);
    let mut own = None;
    if comm.rank == root {
        let blocks = blocks()?;
        if to.is_in_place() {
            own = blocks.get(root as usize).map(Elements::bytes);
        }
        task.input = Some(Data::Blocks(blocks));
    }
    (task.command.count, task.output) = match own {
        Some(bytes) => (bytes, Output::Unwanted(bytes)),
        None => {
            let elements = to.elements(1)?;
            (elements.bytes(), Output::Results(Data::One(elements)))
        }
    };
    Ok(task)
}

fn gather(comm: &Comm, from: Buffer, to: Buffer, root: i32) -> Result<Task, i32> {
    gathered(comm, root, from, || to.blocks(comm.size))
}

fn scatter(comm: &Comm, from: Buffer, to: Buffer, root: i32) -> Result<Task, i32> {
    scattered(comm, root, to, || from.blocks(comm.size))
}

/// A block of this member for all, to blocks of all.
fn gather_all(comm: &Comm, from: Buffer, to: Buffer) -> Result<Task, i32> {
    let all = to.elements(comm.size)?;
    let block = to.block(comm.rank)?;
    let received = block.bytes();
    let input = match from.is_in_place() {
        true => block,
        false => from.elements(1)?,
    };
    let mut command = comm.command(Operation::GatherAll);
    command.count = matching(input.bytes(), received)?;
    Ok(Task {
        command,
        input: Some(Data::One(input)),
        output: Output::Results(Data::One(all)),
    })
}

/// Blocks for all members, to blocks of all.
fn exchange(comm: &Comm, from: Buffer, to: Buffer) -> Result<Task, i32> {
    let all = to.elements(comm.size)?;
    let input = match from.is_in_place() {
        true => all.clone(),
        false => from.elements(comm.size)?,
    };
    matching(input.bytes(), all.bytes())?;
    let mut command = comm.command(Operation::Exchange);
    command.count = to.elements(1)?.bytes();
    Ok(Task {
        command,
        input: Some(Data::One(input)),
        output: Output::Results(Data::One(all)),
    })
}

macro_rules! collectives {
    ($($bcast:ident $gather:ident $scatter:ident $allgather:ident $alltoall:ident $count:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $bcast(
            base: *mut c_void, count: $count, datatype: MPI_Datatype, root: i32, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $bcast(base, count, datatype, root, comm));
            let task = broadcast(&comm, Buffer::new(base, count, datatype), root);
            collective(&comm, named!($bcast), task)
        }
        collectives!(blocks $gather gather $count; root);
        collectives!(blocks $scatter scatter $count; root);
        collectives!(blocks $allgather gather_all $count;);
        collectives!(blocks $alltoall exchange $count;);
    )*};
    (blocks $name:ident $make:ident $count:ty; $($root:ident)?) => {
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $name(
            from: *const c_void, sent: $count, sent_type: MPI_Datatype, to: *mut c_void, count: $count,
            datatype: MPI_Datatype, $($root: i32,)? comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $name(from, sent, sent_type, to, count, datatype, $($root,)? comm));
            let from = Buffer::new(from, sent, sent_type);
            let task = $make(&comm, from, Buffer::new(to, count, datatype) $(, $root)?);
            collective(&comm, named!($name), task)
        }
    };
}

collectives! {
    MPI_Bcast MPI_Gather MPI_Scatter MPI_Allgather MPI_Alltoall i32;
    MPI_Bcast_c MPI_Gather_c MPI_Scatter_c MPI_Allgather_c MPI_Alltoall_c MPI_Count;
}
