// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parents, groups, threads and states of processes, by `/proc`. Where it is not mounted nothing is known.

use std::fs;

use serde::{Deserialize, Serialize};

/// Ancestors of a process that are looked at.
const MOST_ANCESTORS: usize = 64;

/// Why a process does not run though it could.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Halt {
    /// A signal stopped it.
    Signal,
    /// A debugger did.
    Debugger,
}

impl Halt {
    /// The state of such a process.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Signal => "stopped",
            Self::Debugger => "stopped by a debugger",
        }
    }
}

/// State and relations of a process, or of one thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Status {
    /// The kernel's letter for its state.
    state: u8,
    parent: u32,
    group: i32,
}

impl Status {
    /// Why it does not run though it could; `None` while nothing keeps it.
    pub(crate) const fn stopped(self) -> Option<Halt> {
        match self.state {
            b'T' => Some(Halt::Signal),
            b't' => Some(Halt::Debugger),
            _ => None,
        }
    }

    fn parse(stat: &str) -> Option<Self> {
        // The name, in parentheses, may contain anything.
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut words = rest.split_ascii_whitespace();
        Some(Self {
            state: *words.next()?.as_bytes().first()?,
            parent: words.next()?.parse().ok()?,
            group: words.next()?.parse().ok()?,
        })
    }
}

/// The status of a process.
pub(crate) fn status(pid: u32) -> Option<Status> {
    Status::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether `pid` is the process `ancestor`, or one that it or its children have started.
pub(crate) fn descends(pid: u32, ancestor: u32) -> bool {
    let line = std::iter::successors(Some(pid), |&pid| status(pid).map(|status| status.parent));
    line.take(MOST_ANCESTORS).any(|pid| pid == ancestor)
}

/// The processes of a group, without its leader.
pub(crate) fn members(group: i32) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(move |&pid| {
        pid != group && status(pid.cast_unsigned()).is_some_and(|status| status.group == group)
    })
}

/// Whether a process leads a process group.
pub(crate) fn leads_a_group(pid: u32) -> bool {
    status(pid).is_some_and(|status| status.group == pid.cast_signed())
}

/// Whether a process or one that it has started runs or could run.
pub(crate) fn is_runnable(pid: u32) -> bool {
    family(pid).into_iter().any(|pid| {
        threads(pid).into_iter().any(|thread| {
            let stat = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat"));
            let status = stat.ok().and_then(|stat| Status::parse(&stat));
            status.is_some_and(|status| status.state == b'R')
        })
    })
}

/// A process and all that descend from it.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut next = 0;
    while let Some(&pid) = all.get(next) {
        next += 1;
        for thread in threads(pid) {
            let children = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children"));
            let text = children.unwrap_or_default();
            all.extend(
                text.split_ascii_whitespace()
                    .filter_map(|word| word.parse::<u32>().ok()),
            );
        }
    }
    all
}

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let name = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.flatten().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_runnable_and_its_own_family() {
        let me = std::process::id();
        assert!(is_runnable(me));
        assert!(family(me).contains(&me));
        assert!(!is_runnable(u32::MAX));
    }

    #[test]
    fn this_process_descends_from_its_parent_and_is_in_its_group() {
        let me = std::process::id();
        let parent = std::os::unix::process::parent_id();
        assert!(descends(me, me) && descends(me, parent));
        assert!(!descends(parent, me) && !descends(u32::MAX, me));
        let group = status(me).unwrap().group;
        let me = me.cast_signed();
        assert!(me == group || members(group).any(|pid| pid == me));
    }

    #[test]
    fn status_is_read_behind_any_name() {
        let status = Status::parse("7 (a) R (b) t 5 6 6 0 -1").unwrap();
        assert_eq!((status.parent, status.group), (5, 6));
        assert_eq!(status.stopped(), Some(Halt::Debugger));
        assert_eq!(Status::parse("7 (a)"), None);
    }
}
