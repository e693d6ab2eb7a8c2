// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators of proxies.
//!
//! The proxy serves other threads of the endpoint while members of a communicator have not come to its duplication or its split. A split
//! has no nonblocking call: once all members have come, the first of them takes the turn among all proxies, and when all know that it
//! has, they make the blocking call. The program's side has taken the turn for communicators of new endpoints.

use endpoints::command::Command;
use endpoints::completion::Completion;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Comm, MPI_Request};

use crate::commands::{Proxy, Started};
use crate::library::call;

/// Most communicators of an endpoint at a time.
const MOST: usize = 1 << 16;

/// A communicator that is being made, while the library works on a request.
pub(crate) struct Making {
    request: MPI_Request,
    slot: u32,
    number: u32,
    step: Step,
}

/// The step of a split or a duplicate that a request completes.
#[derive(Clone, Copy)]
enum Step {
    /// The duplicate, which the library stores here.
    Duplicate(*mut MPI_Comm),
    /// All members come to the split.
    Meet(Split),
    /// Nothing: the first member takes the turn.
    Turn(Split),
    /// All members learn that it has.
    Go(Split),
}

/// The arguments of a split.
#[derive(Clone, Copy)]
struct Split {
    comm: MPI_Comm,
    color: i32,
    key: i32,
}

impl Started {
    /// A communicator that is being made.
    fn making(command: &Command, request: MPI_Request, step: Step) -> Self {
        Self::Making(Making {
            request,
            slot: command.slot,
            number: command.new,
            step,
        })
    }
}

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
        self.job.leave_turn();
        for mut group in [all, group] {
            if group != mpi::MPI_GROUP_NULL {
                // A failure leaves the group with the library.
                let _ = call!(self.mpi, MPI_Group_free(&raw mut group));
            }
        }
        Some(Started::Ended(self.made(command.new, code, new)))
    }

    /// Keeps a new communicator under the number that the program's side gave it; the completion has its rank and its size.
    fn made(&mut self, number: u32, code: i32, comm: MPI_Comm) -> Completion {
        if code != mpi::MPI_SUCCESS {
            return failed(self.mpi.class(code));
        }
        let (mut rank, mut size) = (-1, 0);
        if comm != mpi::MPI_COMM_NULL {
            self.mpi.report_errors(comm);
            let codes = [
                call!(self.mpi, MPI_Comm_rank(comm, &raw mut rank)),
                call!(self.mpi, MPI_Comm_size(comm, &raw mut size)),
            ];
            if codes != [mpi::MPI_SUCCESS; 2] {
                return failed(mpi::MPI_ERR_OTHER);
            }
        }
        let number = number as usize;
        if number >= MOST {
            return failed(mpi::MPI_ERR_INTERN);
        }
        if self.comms.len() <= number {
            self.comms.resize(number + 1, mpi::MPI_COMM_NULL);
        }
        self.comms[number] = comm;
        Completion {
            value: rank.into(),
            second: size.into(),
            ..Completion::default()
        }
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
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let new = Box::into_raw(Box::new(mpi::MPI_COMM_NULL));
        Some(
            match call!(self.mpi, MPI_Comm_idup(comm, new, &raw mut request)) {
                mpi::MPI_SUCCESS => Started::making(command, request, Step::Duplicate(new)),
                code => Started::Ended(self.duplicated(command.new, code, new)),
            },
        )
    }

    /// The end of a duplication whose result the library has stored in a box.
    fn duplicated(&mut self, number: u32, code: i32, new: *mut MPI_Comm) -> Completion {
        // SAFETY: from `Box::into_raw`; the library does not use it any more.
        let new = unsafe { Box::from_raw(new) };
        self.made(number, code, *new)
    }

    /// Splits a communicator.
    pub(crate) fn split(&mut self, command: &Command) -> Option<Started> {
        let (comm, mut request) = (self.comm(command)?, mpi::MPI_REQUEST_NULL);
        let (color, key) = (command.peer, command.tag);
        let step = Step::Meet(Split { comm, color, key });
        Some(
            match call!(self.mpi, MPI_Ibarrier(comm, &raw mut request)) {
                mpi::MPI_SUCCESS => Started::making(command, request, step),
                code => Started::failed(self.mpi.class(code)),
            },
        )
    }

    /// Goes on with the communicators that are being made; `false` where none has been made.
    pub(crate) fn progress_making(&mut self) -> bool {
        let before = self.making.len();
        let mut at = 0;
        while at < self.making.len() {
            let Some(end) = self.advance(at) else {
                at += 1;
                continue;
            };
            let slot = self.making.remove(at).slot;
            self.mapped.area().slots[slot as usize].finish(&end);
        }
        self.making.len() < before
    }

    /// Goes on with one of them; the end, once it has come.
    fn advance(&mut self, at: usize) -> Option<Completion> {
        let making = &mut self.making[at];
        let (mut done, request) = (0, &raw mut making.request);
        let status = std::ptr::null_mut();
        // A null request is done.
        let code = call!(self.mpi, MPI_Test(request, &raw mut done, status));
        if code == mpi::MPI_SUCCESS && done == 0 {
            return None;
        }
        let (number, step) = (making.number, making.step);
        match step {
            Step::Duplicate(new) => Some(self.duplicated(number, code, new)),
            _ if code != mpi::MPI_SUCCESS => Some(failed(self.mpi.class(code))),
            Step::Meet(split) => {
                making.step = Step::Turn(split);
                None
            }
            Step::Turn(split) => {
                let size = u32::try_from(self.size(split.comm)?).ok()?;
                if self.rank(split.comm)? == 0 && !self.job.take_turn(size) {
                    return None;
                }
                let making = &mut self.making[at];
                making.step = Step::Go(split);
                let request = &raw mut making.request;
                match call!(self.mpi, MPI_Ibarrier(split.comm, request)) {
                    mpi::MPI_SUCCESS => None,
                    code => Some(failed(self.mpi.class(code))),
                }
            }
            Step::Go(Split { comm, color, key }) => {
                let mut new = mpi::MPI_COMM_NULL;
                let code = call!(self.mpi, MPI_Comm_split(comm, color, key, &raw mut new));
                self.job.leave_turn();
                Some(self.made(number, code, new))
            }
        }
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

/// The end of a command that has failed with an error of this class.
fn failed(code: i32) -> Completion {
    Completion {
        code,
        ..Completion::default()
    }
}
