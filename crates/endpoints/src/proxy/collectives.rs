// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives. Data travel as MPI_PACKED, except those of reductions, which have predefined types.

use endpoints::command::{Command, Operation, TABLE_BYTES};
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Op};

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

    /// A reduction, of whatever reach.
    pub(crate) fn reduce(&mut self, operation: Operation, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let bytes = command.count.checked_mul(WIDEST)?;
        let from = self.mapped.at(command.offset, bytes)?.cast();
        let to = self.mapped.at(command.second, bytes)?.cast();
        let (datatype, op) = (command.datatype as MPI_Datatype, command.op as MPI_Op);
        let (count, root) = (command.count.cast_signed(), command.peer);
        let (mpi, new) = (self.mpi, &raw mut request);
        let code = match operation {
            Operation::Reduce => {
                call!(
                    mpi,
                    MPI_Ireduce_c(from, to, count, datatype, op, root, comm, new)
                )
            }
            Operation::ReduceAll => {
                call!(
                    mpi,
                    MPI_Iallreduce_c(from, to, count, datatype, op, comm, new)
                )
            }
            Operation::Scan => call!(mpi, MPI_Iscan_c(from, to, count, datatype, op, comm, new)),
            Operation::ScanBefore => {
                call!(mpi, MPI_Iexscan_c(from, to, count, datatype, op, comm, new))
            }
            _ => return None,
        };
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

    /// Gathers blocks of different sizes at one member.
    pub(crate) fn gather(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let from = self.mapped.at(command.offset, command.count)?.cast();
        let to = self.root_blocks(comm, command.peer, command.second)?;
        let (count, packed) = (command.count.cast_signed(), mpi::MPI_PACKED);
        let code = call!(
            self.mpi,
            MPI_Igatherv_c(
                from,
                count,
                packed,
                to.data.cast(),
                to.bytes,
                to.places,
                packed,
                command.peer,
                comm,
                &raw mut request
            )
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// Scatters blocks of different sizes from one member.
    pub(crate) fn scatter(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let from = self.root_blocks(comm, command.peer, command.offset)?;
        let to = self.mapped.at(command.second, command.count)?.cast();
        let (count, packed) = (command.count.cast_signed(), mpi::MPI_PACKED);
        let code = call!(
            self.mpi,
            MPI_Iscatterv_c(
                from.data.cast_const().cast(),
                from.bytes,
                from.places,
                packed,
                to,
                count,
                packed,
                command.peer,
                comm,
                &raw mut request
            )
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// Gathers blocks of different sizes everywhere.
    pub(crate) fn gather_all_blocks(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let from = self.mapped.at(command.offset, command.count)?.cast();
        let to = self.blocks(comm, command.second)?;
        let (count, packed) = (command.count.cast_signed(), mpi::MPI_PACKED);
        let code = call!(
            self.mpi,
            MPI_Iallgatherv_c(
                from,
                count,
                packed,
                to.data.cast(),
                to.bytes,
                to.places,
                packed,
                comm,
                &raw mut request
            )
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// Exchanges blocks of different sizes between all members.
    pub(crate) fn exchange_blocks(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let from = self.blocks(comm, command.offset)?;
        let to = self.blocks(comm, command.second)?;
        let packed = mpi::MPI_PACKED;
        let code = call!(
            self.mpi,
            MPI_Ialltoallv_c(
                from.data.cast_const().cast(),
                from.bytes,
                from.places,
                packed,
                to.data.cast(),
                to.bytes,
                to.places,
                packed,
                comm,
                &raw mut request
            )
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// The blocks of the table at a place of the heap, which stays as it is until the operation has ended.
    fn blocks(&self, comm: MPI_Comm, at: u64) -> Option<Blocks> {
        let members = self.size(comm)?;
        let table_bytes = members.checked_mul(TABLE_BYTES)?;
        let table = self.mapped.at(at, table_bytes)?.cast::<u64>();
        let members = members as usize;
        let mut end = 0u64;
        for member in 0..members {
            // SAFETY: inside the heap.
            let (bytes, place) = unsafe {
                let (bytes, place) = (table.add(member), table.add(members + member));
                (bytes.read(), place.read())
            };
            end = end.max(place.checked_add(bytes)?);
        }
        Some(Blocks {
            bytes: table.cast_const().cast(),
            // SAFETY: inside the heap.
            places: unsafe { table.add(members) }.cast_const().cast(),
            data: self.mapped.at(at.checked_add(table_bytes)?, end)?,
        })
    }

    /// The same for the root of a collective; nothing for the others.
    fn root_blocks(&self, comm: MPI_Comm, root: i32, at: u64) -> Option<Blocks> {
        if self.rank(comm)? == root {
            return self.blocks(comm, at);
        }
        Some(Blocks {
            bytes: std::ptr::null(),
            places: std::ptr::null(),
            data: std::ptr::null_mut(),
        })
    }
}

/// Blocks of different sizes.
struct Blocks {
    bytes: *const MPI_Count,
    places: *const MPI_Aint,
    data: *mut u8,
}
