// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that ranks started and that left the job's process group: daemons. They become the launcher's children when
//! their parent ends, and end with the job.

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

/// Makes every orphan of the job this process's child.
pub(crate) struct Orphans {
    /// Children that were there before the job: a shell that turned into the launcher leaves some.
    before: Vec<Pid>,
}

impl Orphans {
    /// `None` where the kernel does not tell who a process's children are.
    pub(crate) fn adopt() -> Option<Self> {
        let before = children()?;
        rustix::process::set_child_subreaper(Some(getpid())).ok()?;
        Some(Self { before })
    }

    /// Kills and reaps all orphans, theirs too.
    pub(crate) fn end(self) {
        loop {
            let orphans = children().unwrap_or_default();
            let mut orphans = orphans
                .into_iter()
                .filter(|pid| !self.before.contains(pid))
                .peekable();
            if orphans.peek().is_none() {
                return;
            }
            for orphan in orphans {
                // It is our unreaped child, so the number is still its own; a failure means it has ended already.
                let _ = kill_process(orphan, Signal::KILL);
                let _ = waitpid(Some(orphan), WaitOptions::empty());
            }
        }
    }
}

fn children() -> Option<Vec<Pid>> {
    let pid = getpid().as_raw_nonzero();
    let text = std::fs::read_to_string(format!("/proc/self/task/{pid}/children")).ok()?;
    let pids = text.split_whitespace().filter_map(|word| word.parse().ok());
    Some(pids.filter_map(Pid::from_raw).collect())
}
