// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that ranks started and that left the job's process group: daemons. They become the launcher's children when
//! their parent ends, and end with the job.

use rustix::process::{Pid, WaitOptions, getpid, waitpid};

use crate::kill::kill_child;

/// Makes every orphan of the job this process's child.
pub(crate) struct Orphans {
    /// Children that were there before the job: a shell that turned into the launcher leaves some.
    before: Vec<Pid>,
}

impl Orphans {
    /// `None` where the kernel does not list a process's children.
    pub(crate) fn adopt() -> Option<Self> {
        let before = children()?;
        rustix::process::set_child_subreaper(Some(getpid())).ok()?;
        Some(Self { before })
    }

    /// Kills and reaps all orphans, theirs too.
    pub(crate) fn end(mut self) {
        loop {
            let mut orphans = children().unwrap_or_default();
            orphans.retain(|pid| !self.before.contains(pid));
            if orphans.is_empty() {
                return;
            }
            for orphan in orphans {
                // The orphan is an unreaped child, so no other process has its number.
                let waiting = match kill_child(orphan) {
                    true => WaitOptions::empty(),
                    false => WaitOptions::NOHANG,
                };
                if !matches!(waitpid(Some(orphan), waiting), Ok(Some(_))) {
                    // Forbidden to kill or to reap: it stays behind.
                    self.before.push(orphan);
                }
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
