// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators of proxies. These calls block: all members make them in the same order.

use endpoints::command::Command;
use endpoints::completion::Completion;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Comm;

use crate::commands::{Proxy, Started};
use crate::library::call;

/// Most communicators of an endpoint at a time.
const MOST: usize = 1 << 16;

impl Proxy<'_> {
    /// Makes a communicator of proxies by their ranks in MPI_COMM_WORLD.
    pub(crate) fn create(&mut self, command: &Command) -> Option<Started> {
        let ranks = self
            .mapped
            .at(command.offset, command.count.checked_mul(4)?)?
            .cast();
        let count = i32::try_from(command.count).ok()?;
        let world = mpi::MPI_COMM_WORLD;
        let (mut all, mut group) = (mpi::MPI_GROUP_NULL, mpi::MPI_GROUP_NULL);
        let mut new = mpi::MPI_COMM_NULL;
        let mut code = call!(self.mpi, MPI_Comm_group(world, &raw mut all));
        if code == mpi::MPI_SUCCESS {
            code = call!(self.mpi, MPI_Group_incl(all, count, ranks, &raw mut group));
        }
        if code == mpi::MPI_SUCCESS {
            let (tag, new) = (command.tag, &raw mut new);
            code = call!(self.mpi, MPI_Comm_create_group(world, group, tag, new));
        }
        for mut group in [all, group] {
            if group != mpi::MPI_GROUP_NULL {
                // A failure leaves the group with the library.
                let _ = call!(self.mpi, MPI_Group_free(&raw mut group));
            }
        }
        self.made(command.new, code, new)
    }

    /// Keeps a new communicator under the number that the program's side gave it; the completion has its rank and its size.
    fn made(&mut self, number: u32, code: i32, comm: MPI_Comm) -> Option<Started> {
        if code != mpi::MPI_SUCCESS {
            return Some(Started::failed(self.mpi.class(code)));
        }
        let (mut rank, mut size) = (-1, 0);
        if comm != mpi::MPI_COMM_NULL {
            self.mpi.report_errors(comm);
            let codes = [
                call!(self.mpi, MPI_Comm_rank(comm, &raw mut rank)),
                call!(self.mpi, MPI_Comm_size(comm, &raw mut size)),
            ];
            if codes != [mpi::MPI_SUCCESS; 2] {
                return Some(Started::failed(mpi::MPI_ERR_OTHER));
            }
        }
        let number = number as usize;
        if number >= MOST {
            return None;
        }
        if self.comms.len() <= number {
            self.comms.resize(number + 1, mpi::MPI_COMM_NULL);
        }
        self.comms[number] = comm;
        Some(Started::Ended(Completion {
            value: rank.into(),
            second: size.into(),
            ..Completion::default()
        }))
    }

    /// Frees a communicator.
    pub(crate) fn free(&mut self, command: &Command) -> Option<Started> {
        let mut comm = self.comm(command)?;
        self.comms[command.comm as usize] = mpi::MPI_COMM_NULL;
        let code = call!(self.mpi, MPI_Comm_free(&raw mut comm));
        Some(Started::failed(self.mpi.class(code)))
    }

    /// Duplicates a communicator.
    pub(crate) fn duplicate(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut new) = (self.comm(command)?, mpi::MPI_COMM_NULL);
        let code = call!(self.mpi, MPI_Comm_dup(comm, &raw mut new));
        self.made(command.new, code, new)
    }

    /// Splits a communicator.
    pub(crate) fn split(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut new) = (self.comm(command)?, mpi::MPI_COMM_NULL);
        let (color, key) = (command.peer, command.tag);
        let code = call!(self.mpi, MPI_Comm_split(comm, color, key, &raw mut new));
        self.made(command.new, code, new)
    }

    /// Compares two communicators.
    pub(crate) fn compare(&mut self, command: &Command) -> Option<Started> {
        let other = self.comms.get(command.new as usize).copied()?;
        let (comm, mut result) = (self.comm(command)?, mpi::MPI_UNEQUAL);
        let code = call!(self.mpi, MPI_Comm_compare(comm, other, &raw mut result));
        Some(Started::Ended(Completion {
            code: self.mpi.class(code),
            value: result.into(),
            ..Completion::default()
        }))
    }
}
