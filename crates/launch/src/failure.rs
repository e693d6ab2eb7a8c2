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
    /// The rank's end, to follow "rank 3 (pid 7 on host)".
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
    if let Some(board) = board.filter(|board| board.phase == phase::ABORTED) {
        let text = format!("aborted the job with code {}", board.abort_code);
        return verdict(Weight::Aborted, narrow(board.abort_code), text);
    }
    let status = match exit {
        Exit::Signal { .. } => return verdict(Weight::Killed, exit.code(), exit.to_string()),
        Exit::Status(status) => status,
        // Only a rank that has called MPI_Finalize is known to have succeeded.
        Exit::Unknown => i32::from(phase != phase::FINALIZED),
    };
    match phase {
        phase::INITIALIZED => {
            let text = format!("{exit} without calling MPI_Finalize");
            verdict(Weight::Unfinished, narrow(status).max(1), text)
        }
        phase::STARTED if others_in_mpi => {
            let text = format!("{exit} without calling MPI_Init, while other ranks are in MPI");
            verdict(Weight::Absent, narrow(status).max(1), text)
        }
        _ if status == 0 => verdict(Weight::None, 0, exit.to_string()),
        _ => verdict(Weight::Status, narrow(status), exit.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_end_is_a_failure_unless_the_rank_had_finalized() {
        let verdict = judge(Exit::Unknown, None, false);
        assert_eq!((verdict.weight, verdict.exit_code), (Weight::Status, 1));
        let verdict = judge(Exit::Unknown, None, true);
        assert_eq!((verdict.weight, verdict.exit_code), (Weight::Absent, 1));
    }
}
