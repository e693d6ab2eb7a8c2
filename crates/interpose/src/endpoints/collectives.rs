// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives among endpoints.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use ::endpoints::command::{Command, Operation};
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffers::Output;
use super::comm::{Comm, comm_or_next};
use super::elements::{Elements, Shape};
use super::endpoint::Task;
use super::errors::{named, raise};
use super::types;
use crate::table::Functions;

/// Handles of predefined operations are smaller.
const PREDEFINED: usize = 4096;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Barrier: barrier,
        MPI_Bcast,
        MPI_Bcast_c,
        MPI_Reduce,
        MPI_Reduce_c,
        MPI_Allreduce,
        MPI_Allreduce_c,
        MPI_Allgather,
        MPI_Allgather_c,
        MPI_Alltoall,
        MPI_Alltoall_c,
        ..next
    }
}

/// Has the proxy take part in a collective, and waits for the end; gives the call's code.
fn collective(comm: &Arc<Comm>, name: &'static CStr, task: Result<Task, i32>) -> i32 {
    let slot = task.and_then(|task| comm.endpoint().start(comm, task));
    let code = slot.map(|slot| comm.endpoint().wait(slot).code);
    match code {
        Ok(mpi::MPI_SUCCESS) => mpi::MPI_SUCCESS,
        Ok(class) | Err(class) => raise(comm, name, class),
    }
}

unsafe extern "C" fn barrier(comm: MPI_Comm) -> i32 {
    let comm = comm_or_next!(comm, MPI_Barrier(comm));
    let task = Task::without_data(comm.command(Operation::Barrier));
    collective(&comm, c"MPI_Barrier", Ok(task))
}

/// A buffer of a call.
#[derive(Clone, Copy)]
struct Buffer {
    base: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
}

impl Buffer {
    fn new(base: *const c_void, count: impl Into<MPI_Count>, datatype: MPI_Datatype) -> Self {
        let (base, count) = (base.cast_mut(), count.into());
        Self {
            base,
            count,
            datatype,
        }
    }

    fn is_in_place(self) -> bool {
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
}

fn broadcast(comm: &Comm, data: Buffer, root: i32) -> Result<Task, i32> {
    let elements = data.elements(1)?;
    let mut command = comm.command(Operation::Broadcast);
    (command.peer, command.count) = (root, elements.bytes());
    let mut task = Task::without_data(command);
    match comm.rank == root {
        true => task.input = Some(elements),
        false => task.output = Output::Results(elements),
    }
    Ok(task)
}

/// A reduction of elements from one buffer to another, which only the members that get the result have.
fn reduction(
    mut command: Command,
    from: Buffer,
    to: Option<*mut c_void>,
    op: MPI_Op,
) -> Result<Task, i32> {
    let sizes = types::sizes_of(from.datatype).ok_or(mpi::MPI_ERR_OP)?;
    if op >= PREDEFINED {
        return Err(mpi::MPI_ERR_UNSUPPORTED_OPERATION);
    }
    command.count = u64::try_from(from.count).map_err(|_| mpi::MPI_ERR_COUNT)?;
    let bytes = command.count.checked_mul(sizes.1 as u64);
    let bytes = bytes.ok_or(mpi::MPI_ERR_COUNT)?;
    (command.datatype, command.op) = (from.datatype as u32, op as u32);
    let base = match to {
        Some(to) if from.is_in_place() => to,
        _ => from.base,
    };
    let output = match to {
        Some(to) => Output::Results(Elements::raw(to, bytes)?),
        None => Output::Nothing,
    };
    Ok(Task {
        command,
        input: Some(Elements::raw(base, bytes)?),
        output,
    })
}

/// A block of this member for all, to blocks of all.
fn gather(comm: &Comm, from: Buffer, to: Buffer) -> Result<Task, i32> {
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
        input: Some(input),
        output: Output::Results(all),
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
        input: Some(input),
        output: Output::Results(all),
    })
}

/// The number of bytes, unless what is sent and what is received are not as many.
fn matching(sent: u64, received: u64) -> Result<u64, i32> {
    match sent == received {
        true => Ok(sent),
        false => Err(mpi::MPI_ERR_COUNT),
    }
}

macro_rules! collectives {
    ($($bcast:ident $reduce:ident $allreduce:ident $allgather:ident $alltoall:ident $count:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $bcast(
            base: *mut c_void, count: $count, datatype: MPI_Datatype, root: i32, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $bcast(base, count, datatype, root, comm));
            let task = broadcast(&comm, Buffer::new(base, count, datatype), root);
            collective(&comm, named!($bcast), task)
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $reduce(
            from: *const c_void, to: *mut c_void, count: $count, datatype: MPI_Datatype, op: MPI_Op, root: i32,
            comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $reduce(from, to, count, datatype, op, root, comm));
            let mut command = comm.command(Operation::Reduce);
            command.peer = root;
            let to = (comm.rank == root).then_some(to);
            let task = reduction(command, Buffer::new(from, count, datatype), to, op);
            collective(&comm, named!($reduce), task)
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $allreduce(
            from: *const c_void, to: *mut c_void, count: $count, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $allreduce(from, to, count, datatype, op, comm));
            let command = comm.command(Operation::ReduceAll);
            let task = reduction(command, Buffer::new(from, count, datatype), Some(to), op);
            collective(&comm, named!($allreduce), task)
        }
        collectives!(blocks $allgather gather $count);
        collectives!(blocks $alltoall exchange $count);
    )*};
    (blocks $name:ident $make:ident $count:ty) => {
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $name(
            from: *const c_void, sent: $count, sent_type: MPI_Datatype, to: *mut c_void, count: $count,
            datatype: MPI_Datatype, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $name(from, sent, sent_type, to, count, datatype, comm));
            let from = Buffer::new(from, sent, sent_type);
            let task = $make(&comm, from, Buffer::new(to, count, datatype));
            collective(&comm, named!($name), task)
        }
    };
}

collectives! {
    MPI_Bcast MPI_Reduce MPI_Allreduce MPI_Allgather MPI_Alltoall i32;
    MPI_Bcast_c MPI_Reduce_c MPI_Allreduce_c MPI_Allgather_c MPI_Alltoall_c MPI_Count;
}
