// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages and probes. All data travel as MPI_PACKED.

use std::collections::HashMap;

use endpoints::command::{Command, Operation};
use endpoints::completion::Completion;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Comm, MPI_Message, MPI_Status};

use crate::commands::{Proxy, Started};
use crate::library::{Mpi, call};
use crate::under_way::message_end;

/// A probe that waits for a message.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    comm: MPI_Comm,
    peer: i32,
    tag: i32,
    slot: u32,
    /// Whether it takes the message out of the matching.
    takes: bool,
}

impl Probe {
    /// The completion of the command: `second` is 1 with a message; else an error. `None` while no message has come. The proxy keeps a
    /// message that it has taken.
    fn look(&self, mpi: &Mpi, taken: &mut HashMap<u32, MPI_Message>) -> Option<Completion> {
        let (mut flag, mut status) = (0, MPI_Status::default());
        let mut message = mpi::MPI_MESSAGE_NULL;
        let (peer, tag, comm) = (self.peer, self.tag, self.comm);
        let (found, at) = (&raw mut flag, &raw mut status);
        let code = if self.takes {
            call!(
                mpi,
                MPI_Improbe(peer, tag, comm, found, &raw mut message, at)
            )
        } else {
            call!(mpi, MPI_Iprobe(peer, tag, comm, found, at))
        };
        if code == mpi::MPI_SUCCESS && flag == 0 {
            return None;
        }
        if ![mpi::MPI_MESSAGE_NULL, mpi::MPI_MESSAGE_NO_PROC].contains(&message) {
            taken.insert(self.slot, message);
        }
        let mut end = message_end(mpi, status, code);
        end.second = 1;
        Some(end)
    }
}

impl Proxy<'_> {
    /// Sends.
    pub(crate) fn send(&mut self, command: &Command) -> Option<Started> {
        let comm = self.comm(command)?;
        let data = self.mapped.at(command.offset, command.count)?.cast();
        let count = command.count.cast_signed();
        let (mut request, packed) = (mpi::MPI_REQUEST_NULL, mpi::MPI_PACKED);
        let (peer, tag) = (command.peer, command.tag);
        let code = if command.operation == Operation::Send as u32 {
            call!(
                self.mpi,
                MPI_Isend_c(data, count, packed, peer, tag, comm, &raw mut request)
            )
        } else {
            call!(
                self.mpi,
                MPI_Issend_c(data, count, packed, peer, tag, comm, &raw mut request)
            )
        };
        Some(Started::by(self.mpi, code, request))
    }

    /// Receives.
    pub(crate) fn receive(&mut self, command: &Command) -> Option<Started> {
        let comm = self.comm(command)?;
        let data = self.mapped.at(command.second, command.count)?.cast();
        let count = command.count.cast_signed();
        let mut request = mpi::MPI_REQUEST_NULL;
        let code = call!(
            self.mpi,
            MPI_Irecv_c(
                data,
                count,
                mpi::MPI_PACKED,
                command.peer,
                command.tag,
                comm,
                &raw mut request
            )
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// Receives a message that was taken out of the matching.
    pub(crate) fn receive_taken(&mut self, command: &Command) -> Option<Started> {
        let data = self.mapped.at(command.second, command.count)?.cast();
        let count = command.count.cast_signed();
        let mut message = self.taken.remove(&command.new)?;
        let mut request = mpi::MPI_REQUEST_NULL;
        let (packed, from) = (mpi::MPI_PACKED, &raw mut message);
        let code = call!(
            self.mpi,
            MPI_Imrecv_c(data, count, packed, from, &raw mut request)
        );
        Some(Started::by(self.mpi, code, request))
    }

    /// Probes, once or until there is a message.
    pub(crate) fn probe(&mut self, operation: Operation, command: &Command) -> Option<Started> {
        let probe = Probe {
            comm: self.comm(command)?,
            peer: command.peer,
            tag: command.tag,
            slot: command.slot,
            takes: [Operation::Take, Operation::TakeNow].contains(&operation),
        };
        Some(match probe.look(self.mpi, &mut self.taken) {
            Some(end) => Started::Ended(end),
            None if [Operation::ProbeNow, Operation::TakeNow].contains(&operation) => {
                Started::Ended(Completion::default())
            }
            None => Started::Probing(probe),
        })
    }

    /// Looks for the messages of the probes that wait; `false` where there is none.
    pub(crate) fn progress_probes(&mut self) -> bool {
        let (mpi, mapped) = (self.mpi, self.mapped);
        let before = self.probes.len();
        let taken = &mut self.taken;
        self.probes.retain(|probe| match probe.look(mpi, taken) {
            Some(end) => {
                mapped.area().slots[probe.slot as usize].finish(&end);
                false
            }
            None => true,
        });
        self.probes.len() < before
    }
}
