// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processes of the ranks on this node, from their start to their end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use fabric::board::phase;
use fabric::observe::{BoardSnapshot, NodeFile};
use sys::signals;
use sys::spawn::Guard;

use crate::input::InputPump;
use crate::outcome::Exit;
use crate::{kill, processes};

/// Ranks that all run.
pub(crate) struct Started {
    pub(crate) node: NodeFile,
    pub(crate) ranks: Vec<RankProcess>,
    pub(crate) input: Option<InputPump>,
    /// Last, for dropping it kills the group.
    pub(crate) guard: Guard,
}

/// One rank's process.
pub(crate) struct RankProcess {
    /// Its rank in MPI_COMM_WORLD.
    pub(crate) rank: u32,
    pub(crate) pid: u32,
    /// Readable when the process has ended. Kernels before 5.3 and some sandboxes have no such descriptor.
    pub(crate) life: Option<OwnedFd>,
    pub(crate) child: Child,
    pub(crate) exit: Option<Exit>,
}

impl RankProcess {
    /// The process that calls MPI, if its board names this rank's process or one that descends from it: ranks may be started
    /// by scripts. A board is the rank's to write, so a process that it names is not believed to be the rank's.
    pub(crate) fn mpi_process(&self, board: &BoardSnapshot) -> Option<u32> {
        let is_own = self.exit.is_none() && processes::descends(board.pid, self.pid);
        is_own.then_some(board.pid)
    }
}

impl Started {
    /// Ends and reaps what was started of a job that cannot be started whole.
    pub(crate) fn abandon(mut self) {
        drop(self.guard);
        for rank in &mut self.ranks {
            // Killed with the guard's group; nothing is known about it that anybody wants.
            let _ = rank.child.wait();
        }
    }

    /// Reaps the rank with this index on the node, if its process has ended: how.
    pub(crate) fn reap(&mut self, index: usize) -> Option<Exit> {
        let rank = &mut self.ranks[index];
        let exit = match rank.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => exit_of(status),
            // Somebody else has reaped it. It must not be asked for again and again.
            Err(_) => Exit::Unknown,
        };
        rank.exit = Some(exit);
        Some(exit)
    }

    /// The board of the rank with this index on the node.
    pub(crate) fn board(&self, index: usize) -> Option<BoardSnapshot> {
        self.node.board(self.ranks[index].rank).ok()
    }

    /// Whether any rank that still runs is between MPI_Init and MPI_Finalize.
    pub(crate) fn is_any_in_mpi(&self) -> bool {
        let ranks = self.ranks.iter().enumerate();
        let alive = ranks.filter(|(_, rank)| rank.exit.is_none());
        alive
            .map(|(index, _)| self.board(index))
            .any(|board| board.is_some_and(|board| phase::is_in_mpi(board.phase)))
    }

    /// Sends a signal to all processes of the ranks.
    ///
    /// # Errors
    /// When a rank cannot be signalled.
    pub(crate) fn signal(&self, signal: i32) -> io::Result<()> {
        let alive = || self.ranks.iter().filter(|rank| rank.exit.is_none());
        for rank in alive() {
            kill::signal_own_group(rank.child.id(), signal);
        }
        let alive = alive().map(|rank| rank.life.as_ref().map(AsFd::as_fd));
        kill::signal_job(&self.guard, alive, signal)
    }

    /// Kills all processes of the ranks, and reaps the ranks.
    pub(crate) fn end(&mut self) {
        if self.signal(signals::SIGKILL).is_ok() {
            for rank in &mut self.ranks {
                if rank.exit.is_none() {
                    let _ = rank.child.wait();
                }
            }
        }
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match status.signal() {
        Some(number) => Exit::Signal {
            number,
            core_dumped: status.core_dumped(),
        },
        None => Exit::Status(status.code().unwrap_or(0)),
    }
}
