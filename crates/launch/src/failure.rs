// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which end of a rank is the end of the job, and the sentence about it.

use fabric::board::phase;
use fabric::observe::BoardSnapshot;

use crate::outcome::{Exit, narrow};

/// How much a rank's end tells about what went wrong. When several ranks end at the same moment, the greatest is told.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Weight {
    /// It succeeded.
    None,
    /// It failed, but its job need not: it had finished with MPI, or never began.
    Status,
    /// It never called MPI_Init, and others wait for it.
    Absent,
    /// It ended between MPI_Init and MPI_Finalize.
    Unfinished,
    /// It called MPI_Abort.
    Aborted,
    /// It was killed.
    Killed,
}

impl Weight {
    /// Whether the job cannot go on.
    pub(crate) const fn ends_job(self) -> bool {
        !matches!(self, Self::None | Self::Status)
    }
}

/// A rank's end, judged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) weight: Weight,
    pub(crate) exit_code: u8,
    /// What the rank did, to follow "rank 3 (pid 7 on host)".
    pub(crate) text: String,
}

/// Judges the end of a rank. `others_in_mpi` says whether any rank is between MPI_Init and MPI_Finalize.
pub(crate) fn judge(exit: Exit, board: Option<&BoardSnapshot>, others_in_mpi: bool) -> Verdict {
    let phase = board.map_or(phase::STARTED, |board| board.phase);
    let verdict = |weight, exit_code, text: String| Verdict {
        weight,
        exit_code,
        text,
    };
    match (exit, board) {
        (_, Some(board)) if phase == phase::ABORTED => {
            let text = format!("aborted the job with code {}", board.abort_code);
            verdict(Weight::Aborted, narrow(board.abort_code), text)
        }
        (Exit::Signal { .. }, _) => verdict(Weight::Killed, exit.code(), exit.to_string()),
        (Exit::Status(status), _) if phase == phase::INITIALIZED => {
            let text = format!("{exit} without calling MPI_Finalize");
            verdict(Weight::Unfinished, narrow(status).max(1), text)
        }
        (Exit::Status(status), _) if phase == phase::STARTED && others_in_mpi => {
            let text = format!("{exit} without calling MPI_Init, while other ranks are in MPI");
            verdict(Weight::Absent, narrow(status).max(1), text)
        }
        (Exit::Status(0), _) => verdict(Weight::None, 0, exit.to_string()),
        (Exit::Status(status), _) => verdict(Weight::Status, narrow(status), exit.to_string()),
    }
}
