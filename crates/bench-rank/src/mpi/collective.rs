// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives in their three forms, on buffers that live as long as the plan.

use std::ffi::c_void;

use mpi_abi_sys::constants::{
    MPI_COMM_WORLD, MPI_INFO_NULL, MPI_INT64_T, MPI_REQUEST_NULL, MPI_SUM,
};
use mpi_abi_sys::types::MPI_Request;

use super::Mpi;
use super::call::{call, int};

/// How an operation is called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    Blocking,
    /// Started and waited for.
    Nonblocking,
    /// Planned once, then started and waited for.
    Persistent,
}

/// What is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Operation {
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    ReduceScatter,
    Scan,
    /// A message from rank 0 to rank 1, which is nonblocking.
    Send,
}

/// An operation of rank 0 or of all, on vectors of 64-bit integers.
pub(crate) struct Plan<'a> {
    mpi: &'a Mpi,
    operation: Operation,
    form: Form,
    /// Elements of a vector, or of a piece.
    count: usize,
    out: Vec<i64>,
    into: Vec<i64>,
    request: MPI_Request,
}

/// Element `index` of what a rank gives.
fn value(rank: i32, index: usize) -> i64 {
    i64::from(rank) * 1_000_003 + index as i64
}

/// Calls an operation in the form of a plan.
macro_rules! in_form {
    ($plan:expr, $now:ident $started:ident $planned:ident($($argument:expr),*)) => {{
        let request = &raw mut $plan.request;
        match $plan.form {
            Form::Blocking => call!($plan.mpi, $now($($argument,)* MPI_COMM_WORLD)),
            Form::Nonblocking => call!($plan.mpi, $started($($argument,)* MPI_COMM_WORLD, request)),
            Form::Persistent => {
                call!($plan.mpi, $planned($($argument,)* MPI_COMM_WORLD, MPI_INFO_NULL, request));
            }
        }
    }};
}

impl<'a> Plan<'a> {
    /// Prepares an operation on pieces of `size` bytes.
    pub(crate) fn new(mpi: &'a Mpi, operation: Operation, form: Form, size: usize) -> Self {
        let count = size / size_of::<i64>();
        let all = count * mpi.size as usize;
        let mut plan = Self {
            mpi,
            operation,
            form,
            count,
            out: (0..all).map(|index| value(mpi.rank, index)).collect(),
            into: vec![-1; all],
            request: MPI_REQUEST_NULL,
        };
        if form == Form::Persistent {
            plan.start();
        }
        plan
    }

    /// Does it once.
    pub(crate) fn run(&mut self) {
        match self.form {
            Form::Blocking => self.start(),
            Form::Nonblocking => {
                self.start();
                self.wait();
            }
            Form::Persistent => {
                call!(self.mpi, MPI_Start(&raw mut self.request));
                self.wait();
            }
        }
    }

    /// Ends a nonblocking operation.
    pub(crate) fn wait(&mut self) {
        call!(
            self.mpi,
            MPI_Wait(&raw mut self.request, std::ptr::null_mut())
        );
    }

    /// Looks once whether a nonblocking operation is complete; [`Self::wait`] may follow in any case.
    pub(crate) fn test(&mut self) {
        let mut flag = 0;
        call!(
            self.mpi,
            MPI_Test(&raw mut self.request, &raw mut flag, std::ptr::null_mut())
        );
    }

    /// Calls a blocking operation, starts a nonblocking one, or plans a persistent one.
    pub(crate) fn start(&mut self) {
        let (count, kind) = (int(self.count), MPI_INT64_T);
        let out = self.out.as_mut_ptr().cast::<c_void>();
        let from = out.cast_const();
        let into = self.into.as_mut_ptr().cast::<c_void>();
        match self.operation {
            Operation::Bcast => {
                in_form!(self, MPI_Bcast MPI_Ibcast MPI_Bcast_init(out, count, kind, 0));
            }
            Operation::Reduce => {
                in_form!(self, MPI_Reduce MPI_Ireduce MPI_Reduce_init(from, into, count, kind, MPI_SUM, 0));
            }
            Operation::Allreduce => {
                in_form!(self, MPI_Allreduce MPI_Iallreduce MPI_Allreduce_init(from, into, count, kind, MPI_SUM));
            }
            Operation::Gather => {
                in_form!(self, MPI_Gather MPI_Igather MPI_Gather_init(from, count, kind, into, count, kind, 0));
            }
            Operation::Scatter => {
                in_form!(self, MPI_Scatter MPI_Iscatter MPI_Scatter_init(from, count, kind, into, count, kind, 0));
            }
            Operation::Allgather => {
                in_form!(self, MPI_Allgather MPI_Iallgather MPI_Allgather_init(from, count, kind, into, count, kind));
            }
            Operation::Alltoall => {
                in_form!(self, MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init(from, count, kind, into, count, kind));
            }
            Operation::ReduceScatter => {
                in_form!(self, MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init(
                    from, into, count, kind, MPI_SUM
                ));
            }
            Operation::Scan => {
                in_form!(self, MPI_Scan MPI_Iscan MPI_Scan_init(from, into, count, kind, MPI_SUM));
            }
            Operation::Send => {
                let request = &raw mut self.request;
                match self.mpi.rank {
                    0 => call!(
                        self.mpi,
                        MPI_Isend(from, count, kind, 1, 0, MPI_COMM_WORLD, request)
                    ),
                    1 => call!(
                        self.mpi,
                        MPI_Irecv(into, count, kind, 0, 0, MPI_COMM_WORLD, request)
                    ),
                    _ => {}
                }
            }
        }
    }

    /// Ends the job when the result of a run is wrong.
    pub(crate) fn check(&self) {
        let (rank, ranks, count) = (self.mpi.rank, self.mpi.size, self.count);
        let sum = |up_to: i32, index| (0..up_to).map(|from| value(from, index)).sum::<i64>();
        let mine = |index| rank as usize * count + index;
        let gathered = |index: usize| value((index / count) as i32, index % count);
        let (result, whole) = match self.operation {
            Operation::Bcast => (&self.out, count),
            Operation::Gather | Operation::Allgather | Operation::Alltoall => {
                (&self.into, self.into.len())
            }
            _ => (&self.into, count),
        };
        let at_root = matches!(self.operation, Operation::Reduce | Operation::Gather);
        if (at_root && rank != 0) || (self.operation == Operation::Send && rank != 1) {
            return;
        }
        let expected = |index: usize| match self.operation {
            Operation::Bcast | Operation::Send => value(0, index),
            Operation::Reduce | Operation::Allreduce => sum(ranks, index),
            Operation::Gather | Operation::Allgather => gathered(index),
            Operation::Scatter => value(0, mine(index)),
            Operation::Alltoall => value((index / count) as i32, mine(index % count)),
            Operation::ReduceScatter => sum(ranks, mine(index)),
            Operation::Scan => sum(rank + 1, index),
        };
        if let Some(index) = (0..whole).find(|&index| result[index] != expected(index)) {
            self.mpi.abort(&format!(
                "{:?} of {count} elements gave {} at {index}, expected {}",
                self.operation,
                result[index],
                expected(index)
            ));
        }
    }
}

impl Drop for Plan<'_> {
    fn drop(&mut self) {
        if self.form == Form::Persistent {
            call!(self.mpi, MPI_Request_free(&raw mut self.request));
        }
    }
}
