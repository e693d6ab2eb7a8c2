// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions among endpoints: by the proxies with operations of the library, in the calling threads with those of the program.

use std::ffi::c_void;
use std::sync::Arc;

use ::endpoints::command::Operation;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffers::{Data, Output};
use super::collectives::{Buffer, complete, ended};
use super::comm::{Comm, comm_or_next};
use super::elements::{Elements, Shape};
use super::endpoint::Task;
use super::errors::named;
use super::ops;
use crate::sizes;
use crate::table::Functions;

/// Handles of predefined operations are smaller.
const PREDEFINED: usize = 4096;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Reduce,
        MPI_Reduce_c,
        MPI_Allreduce,
        MPI_Allreduce_c,
        MPI_Scan,
        MPI_Scan_c,
        MPI_Exscan,
        MPI_Exscan_c,
        MPI_Reduce_scatter_block,
        MPI_Reduce_scatter_block_c,
        MPI_Reduce_scatter,
        MPI_Reduce_scatter_c,
        ..next
    }
}

/// Who gets what.
#[derive(Clone, Copy)]
enum Goal {
    /// A member the reduction of all.
    Root(i32),
    /// Each member that.
    All,
    /// Each member so many elements of that, from one on.
    Part { first: MPI_Count, count: MPI_Count },
    /// Each member the reduction of those up to itself.
    UpTo,
    /// Each member that of those before it; the first one nothing.
    Before,
}

/// A reduction.
struct Reduction {
    comm: Arc<Comm>,
    from: Buffer,
    to: *mut c_void,
    op: MPI_Op,
    goal: Goal,
}

impl Reduction {
    fn run(&self) -> Result<(), i32> {
        match self.op < PREDEFINED {
            true => self.by_proxies(),
            false => self.here(),
        }
    }

    /// Where this member's elements are.
    fn operands(&self) -> *mut c_void {
        match self.from.is_in_place() {
            true => self.to,
            false => self.from.base,
        }
    }

    /// Whether this member gets something.
    fn has_result(&self) -> bool {
        match self.goal {
            Goal::Root(root) => root == self.comm.rank,
            Goal::Before => self.comm.rank > 0,
            _ => true,
        }
    }

    fn by_proxies(&self) -> Result<(), i32> {
        // Predefined operations have no derived types.
        Shape::of(self.from.datatype)?;
        let (_, extent) = sizes::sizes_of(self.from.datatype).ok_or(mpi::MPI_ERR_OP)?;
        let operation = match self.goal {
            Goal::Root(_) => Operation::Reduce,
            Goal::All | Goal::Part { .. } => Operation::ReduceAll,
            Goal::UpTo => Operation::Scan,
            Goal::Before => Operation::ScanBefore,
        };
        let mut command = self.comm.command(operation);
        if let Goal::Root(root) = self.goal {
            command.peer = root;
        }
        command.count = u64::try_from(self.from.count).map_err(|_| mpi::MPI_ERR_COUNT)?;
        (command.datatype, command.op) = (self.from.datatype as u32, self.op as u32);
        let bytes = command.count.checked_mul(extent as u64);
        let bytes = bytes.ok_or(mpi::MPI_ERR_COUNT)?;
        let mut whole = Vec::new();
        let output = match self.goal {
            Goal::Root(_) if !self.has_result() => Output::Nothing,
            Goal::Before if !self.has_result() => Output::Unwanted(bytes),
            Goal::Part { .. } => {
                whole = memory(bytes)?;
                Output::Results(Data::One(Elements::raw(whole.as_mut_ptr().cast(), bytes)?))
            }
            _ => Output::Results(Data::One(Elements::raw(self.to, bytes)?)),
        };
        let input = Some(Data::One(Elements::raw(self.operands(), bytes)?));
        let task = Task {
            command,
            input,
            output,
        };
        complete(&self.comm, task)?;
        if let Goal::Part { first, count } = self.goal {
            let (first, bytes) = (first as usize * extent, count as usize * extent);
            let to = Elements::raw(self.to, bytes as u64)?;
            // SAFETY: the program's elements, and a part of the result.
            unsafe { to.unpack(whole[first..first + bytes].as_ptr(), to.bytes()) };
        }
        Ok(())
    }

    /// Gathers the elements of all where they are needed, and reduces them.
    fn here(&self) -> Result<(), i32> {
        let (comm, count) = (&self.comm, self.from.count);
        let function = ops::find(self.op)?;
        let shape = Shape::of(self.from.datatype)?;
        let own = shape.elements(self.operands(), 0, count)?;
        let bytes = own.bytes();
        let all = bytes.checked_mul(comm.size as u64);
        let all = all.ok_or(mpi::MPI_ERR_COUNT)?;
        let (operation, root) = match self.goal {
            Goal::Root(root) => (Operation::Gather, root),
            _ => (Operation::GatherAll, 0),
        };
        let mut command = comm.command(operation);
        (command.peer, command.count) = (root, bytes);
        let mut task = Task::without_data(command);
        task.input = Some(Data::One(own));
        let mut gathered = Vec::new();
        if operation == Operation::GatherAll {
            gathered = memory(all)?;
            let all = Elements::raw(gathered.as_mut_ptr().cast(), all)?;
            task.output = Output::Results(Data::One(all));
        } else if self.has_result() {
            gathered = memory(all)?;
            let base = gathered.as_mut_ptr();
            let block = |at| {
                let place = base.wrapping_add((at * bytes) as usize);
                Elements::raw(place.cast(), bytes)
            };
            let blocks: Result<_, i32> = (0..comm.size as u64).map(block).collect();
            task.output = Output::Results(Data::Blocks(blocks?));
        }
        complete(comm, task)?;
        if !self.has_result() {
            return Ok(());
        }
        let last = match self.goal {
            Goal::UpTo => comm.rank + 1,
            Goal::Before => comm.rank,
            _ => comm.size,
        };
        let operands = &mut gathered[..last as usize * bytes as usize];
        ops::reduce(function, &shape, self.from.datatype, count, operands)?;
        let result = &operands[operands.len() - bytes as usize..];
        let (first, count) = match self.goal {
            Goal::Part { first, count } => (first, count),
            _ => (0, count),
        };
        let to = shape.elements(self.to, 0, count)?;
        let first = (first as u64 * shape.size()) as usize;
        // SAFETY: the program's elements, and packed ones of the result.
        unsafe { to.unpack(result[first..].as_ptr(), to.bytes()) };
        Ok(())
    }
}

/// Memory for so many bytes.
fn memory(bytes: u64) -> Result<Vec<u8>, i32> {
    let (mut memory, bytes) = (Vec::new(), bytes as usize);
    (memory.try_reserve_exact(bytes)).map_err(|_| mpi::MPI_ERR_NO_MEM)?;
    memory.resize(bytes, 0);
    Ok(memory)
}

/// The elements of all members where each gets a part, and the part of this one.
///
/// # Errors
/// MPI_ERR_COUNT.
fn parts(comm: &Comm, count: impl Fn(i32) -> MPI_Count) -> Result<(MPI_Count, Goal), i32> {
    let (mut all, mut first): (MPI_Count, MPI_Count) = (0, 0);
    for member in 0..comm.size {
        if member == comm.rank {
            first = all;
        }
        let count = Some(count(member)).filter(|&count| count >= 0);
        let sum = count.and_then(|count| all.checked_add(count));
        all = sum.ok_or(mpi::MPI_ERR_COUNT)?;
    }
    let count = count(comm.rank);
    Ok((all, Goal::Part { first, count }))
}

macro_rules! reductions {
    ($($reduce:ident $allreduce:ident $scan:ident $exscan:ident $block:ident $scatter:ident $count:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $reduce(
            from: *const c_void, to: *mut c_void, count: $count, datatype: MPI_Datatype, op: MPI_Op, root: i32,
            comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $reduce(from, to, count, datatype, op, root, comm));
            let (from, goal) = (Buffer::new(from, count, datatype), Goal::Root(root));
            let it = Reduction { comm, from, to, op, goal };
            ended(&it.comm, named!($reduce), it.run())
        }
        reductions!(same $allreduce All $count);
        reductions!(same $scan UpTo $count);
        reductions!(same $exscan Before $count);
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $block(
            from: *const c_void, to: *mut c_void, count: $count, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $block(from, to, count, datatype, op, comm));
            let result = parts(&comm, |_| count.into()).and_then(|(all, goal)| {
                let (comm, from) = (comm.clone(), Buffer::new(from, all, datatype));
                Reduction { comm, from, to, op, goal }.run()
            });
            ended(&comm, named!($block), result)
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $scatter(
            from: *const c_void, to: *mut c_void, counts: *const $count, datatype: MPI_Datatype, op: MPI_Op,
            comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $scatter(from, to, counts, datatype, op, comm));
            // SAFETY: the program's list has a number for each member.
            let result = parts(&comm, |member| unsafe { *counts.add(member as usize) }.into());
            let result = result.and_then(|(all, goal)| {
                let (comm, from) = (comm.clone(), Buffer::new(from, all, datatype));
                Reduction { comm, from, to, op, goal }.run()
            });
            ended(&comm, named!($scatter), result)
        }
    )*};
    (same $name:ident $goal:ident $count:ty) => {
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $name(
            from: *const c_void, to: *mut c_void, count: $count, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $name(from, to, count, datatype, op, comm));
            let (from, goal) = (Buffer::new(from, count, datatype), Goal::$goal);
            let it = Reduction { comm, from, to, op, goal };
            ended(&it.comm, named!($name), it.run())
        }
    };
}

reductions! {
    MPI_Reduce MPI_Allreduce MPI_Scan MPI_Exscan MPI_Reduce_scatter_block MPI_Reduce_scatter i32;
    MPI_Reduce_c MPI_Allreduce_c MPI_Scan_c MPI_Exscan_c MPI_Reduce_scatter_block_c MPI_Reduce_scatter_c MPI_Count;
}
