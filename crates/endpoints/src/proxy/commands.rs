// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands: what the program's side asks for, checked, and led to the calls.

use std::collections::HashMap;

use endpoints::area::{Job, Mapped, SLOTS};
use endpoints::command::{Command, Operation};
use endpoints::completion::Completion;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Comm, MPI_Message, MPI_Request};

use crate::communicators::Making;
use crate::library::Mpi;
use crate::messages::Probe;
use crate::under_way::UnderWay;

/// The proxy of an endpoint.
pub(crate) struct Proxy<'a> {
    pub(crate) job: &'a Job,
    pub(crate) mpi: &'a Mpi,
    pub(crate) mapped: Mapped,
    /// By the numbers of the program's side.
    pub(crate) comms: Vec<MPI_Comm>,
    pub(crate) under_way: UnderWay,
    pub(crate) probes: Vec<Probe>,
    pub(crate) making: Vec<Making>,
    /// Messages that were taken out of the matching, by the slots of the commands.
    pub(crate) taken: HashMap<u32, MPI_Message>,
}

/// What a command has become.
pub(crate) enum Started {
    /// The library works on it.
    UnderWay(MPI_Request),
    /// It has ended.
    Ended(Completion),
    /// It ends when a message arrives.
    Probing(Probe),
    /// It ends when a communicator has been made.
    Making(Making),
}

impl Started {
    /// The end of a command with a code of the library, or its request.
    pub(crate) fn by(mpi: &Mpi, code: i32, request: MPI_Request) -> Self {
        match code {
            mpi::MPI_SUCCESS => Self::UnderWay(request),
            code => Self::failed(mpi.class(code)),
        }
    }

    /// A command that has failed with an error of this class.
    pub(crate) fn failed(class: i32) -> Self {
        Self::Ended(Completion {
            code: class,
            ..Completion::default()
        })
    }
}

impl<'a> Proxy<'a> {
    /// A proxy without communicators.
    pub(crate) fn new(job: &'a Job, mpi: &'a Mpi, mapped: Mapped) -> Self {
        Self {
            job,
            mpi,
            mapped,
            comms: Vec::new(),
            under_way: UnderWay::default(),
            probes: Vec::new(),
            making: Vec::new(),
            taken: HashMap::new(),
        }
    }

    /// Starts a command.
    pub(crate) fn start(&mut self, command: &Command) {
        let slot = command.slot;
        if slot as usize >= SLOTS {
            return;
        }
        // A number or a place that cannot be is a defect of the program's side, or stray writes of the program.
        let started = self.started(command);
        match started.unwrap_or_else(|| Started::failed(mpi::MPI_ERR_INTERN)) {
            Started::UnderWay(request) => self.under_way.add(request, slot),
            Started::Ended(end) => self.mapped.area().slots[slot as usize].finish(&end),
            Started::Probing(probe) => self.probes.push(probe),
            Started::Making(making) => self.making.push(making),
        }
    }

    fn started(&mut self, command: &Command) -> Option<Started> {
        let operation = Operation::of(command.operation)?;
        match operation {
            Operation::Create => self.create(command),
            Operation::Free => self.free(command),
            Operation::Duplicate => self.duplicate(command),
            Operation::Split => self.split(command),
            Operation::Compare => self.compare(command),
            Operation::Send | Operation::SynchronousSend => self.send(command),
            Operation::Receive => self.receive(command),
            Operation::Probe | Operation::ProbeNow | Operation::Take | Operation::TakeNow => {
                self.probe(operation, command)
            }
            Operation::ReceiveTaken => self.receive_taken(command),
            Operation::Barrier => self.barrier(command),
            Operation::Broadcast => self.broadcast(command),
            Operation::Reduce | Operation::ReduceAll | Operation::Scan | Operation::ScanBefore => {
                self.reduce(operation, command)
            }
            Operation::GatherAll => self.gather_all(command),
            Operation::Exchange => self.exchange(command),
            Operation::Gather => self.gather(command),
            Operation::Scatter => self.scatter(command),
            Operation::GatherAllBlocks => self.gather_all_blocks(command),
            Operation::ExchangeBlocks => self.exchange_blocks(command),
        }
    }

    /// Reports what has ended; `false` where nothing has.
    pub(crate) fn progress(&mut self) -> bool {
        let ended = self.under_way.progress(self.mpi, self.mapped);
        let made = self.progress_making();
        self.progress_probes() || made || ended
    }

    /// Whether all that is under way has been looked at since the last time.
    pub(crate) fn is_round_over(&self) -> bool {
        self.under_way.is_round_over()
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.probes.is_empty() && self.making.is_empty()
    }

    /// The communicator of a command.
    pub(crate) fn comm(&self, command: &Command) -> Option<MPI_Comm> {
        let comm = self.comms.get(command.comm as usize).copied()?;
        (comm != mpi::MPI_COMM_NULL).then_some(comm)
    }

    /// Members of a communicator.
    pub(crate) fn size(&self, comm: MPI_Comm) -> Option<u64> {
        let mut size = 0;
        let code = crate::library::call!(self.mpi, MPI_Comm_size(comm, &raw mut size));
        (code == mpi::MPI_SUCCESS).then_some(u64::try_from(size).ok()?)
    }

    /// The rank of this endpoint.
    pub(crate) fn rank(&self, comm: MPI_Comm) -> Option<i32> {
        let mut rank = 0;
        let code = crate::library::call!(self.mpi, MPI_Comm_rank(comm, &raw mut rank));
        (code == mpi::MPI_SUCCESS).then_some(rank)
    }
}
