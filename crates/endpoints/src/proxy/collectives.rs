// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives. Data travel as MPI_PACKED, except those of reductions, which have predefined types.

use endpoints::command::Command;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Datatype, MPI_Op};

use crate::commands::{Proxy, Started};
use crate::library::call;

/// Of the heap: most bytes of an element of a predefined type.
const WIDEST: u64 = 32;

impl Proxy<'_> {
    /// A barrier.
    pub(crate) fn barrier(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let code = call!(self.mpi, MPI_Ibarrier(comm, &raw mut request));
        Some(Started::by(self.mpi, code, request))
    }

    /// A broadcast.
    pub(crate) fn broadcast(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let place = match self.rank(comm)? == command.peer {
            true => command.offset,
            false => command.second,
        };
        let data = self.mapped.at(place, command.count)?.cast();
        let count = command.count.cast_signed();
        let code = call!(
            self.mpi,
            MPI_Ibcast_c(
                data,
                count,
                mpi::MPI_PACKED,
                command.peer,
                comm,
                &raw mut request
            )
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// A reduction to one member.
    pub(crate) fn reduce(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let bytes = command.count.checked_mul(WIDEST)?;
        let from = self.mapped.at(command.offset, bytes)?.cast();
        let to = self.mapped.at(command.second, bytes)?.cast();
        let (datatype, op) = (command.datatype as MPI_Datatype, command.op as MPI_Op);
        let (count, root) = (command.count.cast_signed(), command.peer);
        let code = call!(
            self.mpi,
            MPI_Ireduce_c(from, to, count, datatype, op, root, comm, &raw mut request)
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// A reduction to all members.
    pub(crate) fn reduce_all(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let bytes = command.count.checked_mul(WIDEST)?;
        let from = self.mapped.at(command.offset, bytes)?.cast();
        let to = self.mapped.at(command.second, bytes)?.cast();
        let (datatype, op) = (command.datatype as MPI_Datatype, command.op as MPI_Op);
        let count = command.count.cast_signed();
        let code = call!(
            self.mpi,
            MPI_Iallreduce_c(from, to, count, datatype, op, comm, &raw mut request)
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// Gathers everywhere.
    pub(crate) fn gather_all(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let all = command.count.checked_mul(self.size(comm)?)?;
        let from = self.mapped.at(command.offset, command.count)?.cast();
        let to = self.mapped.at(command.second, all)?.cast();
        let (count, packed) = (command.count.cast_signed(), mpi::MPI_PACKED);
        let code = call!(
            self.mpi,
            MPI_Iallgather_c(
                from,
                count,
                packed,
                to,
                count,
                packed,
                comm,
                &raw mut request
            )
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// Exchanges blocks between all members.
    pub(crate) fn exchange(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let all = command.count.checked_mul(self.size(comm)?)?;
        let from = self.mapped.at(command.offset, all)?.cast();
        let to = self.mapped.at(command.second, all)?.cast();
        let (count, packed) = (command.count.cast_signed(), mpi::MPI_PACKED);
        let code = call!(
            self.mpi,
            MPI_Ialltoall_c(
                from,
                count,
                packed,
                to,
                count,
                packed,
                comm,
                &raw mut request
            )
        );
        Some(Started::by(self.mpi, code, request))
    }
}
