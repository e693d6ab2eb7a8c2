// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which end of a rank is the end of the job, and the sentence about it.

use fabric::board::phase;
use fabric::observe::BoardSnapshot;
use serde::{Deserialize, Serialize};

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
    /// It ended in MPI_Init, or between that and MPI_Finalize.
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

/// The end of a sentence about a failure, when so many other ranks still run.
pub(crate) fn ending(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => "; ending the other rank".to_owned(),
        others => format!("; ending the other {others} ranks"),
    }
}

/// How far a rank has come with MPI.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct MpiState {
    /// One of [`phase`].
    pub(crate) phase: u32,
    /// The code of MPI_Abort.
    pub(crate) abort_code: i32,
}

impl MpiState {
    /// Before MPI_Init.
    pub(crate) const STARTED: Self = Self {
        phase: phase::STARTED,
        abort_code: 0,
    };
}

impl From<&BoardSnapshot> for MpiState {
    fn from(board: &BoardSnapshot) -> Self {
        Self {
            phase: board.phase,
            abort_code: board.abort_code,
        }
    }
}

/// The ends of a job's ranks so far, as far as they matter for the end of the job.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Ranks that ended without having called MPI_Init.
    absent: Vec<(usize, Exit)>,
    /// First rank that failed without ending the job.
    pub(crate) first_failure: Option<(usize, Verdict)>,
}

impl Ends {
    /// Judges the ends of ranks that ended together; returns the rank whose end is the end of the job. `in_mpi` says whether
    /// any rank is between MPI_Init and MPI_Finalize.
    pub(crate) fn judge(
        &mut self,
        ended: &[(usize, Exit, MpiState)],
        in_mpi: bool,
    ) -> Option<(usize, Verdict)> {
        let mut worst: Option<(usize, Verdict)> = None;
        for &(rank, exit, state) in ended {
            let verdict = judge(exit, state, in_mpi);
            let is_known = self.absent.iter().any(|&(absent, _)| absent == rank);
            if state.phase == phase::STARTED && !is_known {
                self.absent.push((rank, exit));
            }
            if verdict.weight == Weight::Status && self.first_failure.is_none() {
                self.first_failure = Some((rank, verdict.clone()));
            }
            if worst
                .as_ref()
                .is_none_or(|(_, worst)| verdict.weight > worst.weight)
            {
                worst = Some((rank, verdict));
            }
        }
        worst.filter(|(_, verdict)| verdict.weight.ends_job())
    }

    /// Whether ranks have ended that others may wait for in MPI.
    pub(crate) fn has_absent(&self) -> bool {
        !self.absent.is_empty()
    }

    /// Judges ranks that ended before MPI_Init, now that a rank is in MPI.
    pub(crate) fn judge_absent(&mut self) -> Option<(usize, Verdict)> {
        let absent = self.absent.iter();
        let ended: Vec<_> = absent
            .map(|&(rank, exit)| (rank, exit, MpiState::STARTED))
            .collect();
        self.judge(&ended, true)
    }
}

/// Judges the end of a rank. `others_in_mpi` says whether any rank is between MPI_Init and MPI_Finalize.
fn judge(exit: Exit, state: MpiState, others_in_mpi: bool) -> Verdict {
    let phase = state.phase;
    let verdict = |weight, exit_code, text: String| Verdict {
        weight,
        exit_code,
        text,
    };
    if phase == phase::ABORTED {
        let text = format!("aborted the job with code {}", state.abort_code);
        return verdict(Weight::Aborted, narrow(state.abort_code), text);
    }
    let place = match phase {
        phase::INITIALIZING => " in MPI_Init",
        _ => "",
    };
    let status = match exit {
        Exit::Signal { .. } => {
            return verdict(Weight::Killed, exit.code(), format!("{exit}{place}"));
        }
        Exit::Status(status) => status,
        // Only a rank that has called MPI_Finalize is known to have succeeded.
        Exit::Unknown => i32::from(phase != phase::FINALIZED),
    };
    match phase {
        phase::INITIALIZING => {
            let text = format!("{exit}{place}");
            verdict(Weight::Unfinished, narrow(status).max(1), text)
        }
        phase::INITIALIZED | phase::IN_SESSIONS => {
            let left_out = match phase {
                phase::IN_SESSIONS => "MPI_Session_finalize",
                _ => "MPI_Finalize",
            };
            let text = format!("{exit} without calling {left_out}");
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
        let verdict = judge(Exit::Unknown, MpiState::STARTED, false);
        assert_eq!((verdict.weight, verdict.exit_code), (Weight::Status, 1));
        let verdict = judge(Exit::Unknown, MpiState::STARTED, true);
        assert_eq!((verdict.weight, verdict.exit_code), (Weight::Absent, 1));
    }
}
