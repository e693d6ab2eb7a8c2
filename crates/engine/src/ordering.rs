// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a process may know of what others have done, as far as `RANKPOINT_CHECK=rma` needs it.
//!
//! A comparison of accesses to memory by different processes asks whether one of them was over, for all that its process could tell,
//! when the other began. A collective in which each member waits for all others begins a new *phase* at all of them. In a phase a process
//! may learn of others by messages, of which the check does not know the way: it only knows that there was one.

use std::sync::{Arc, PoisonError, Weak};

use sys::sync::{AtomicU32, Mutex, MutexGuard, Ordering};

use crate::group::Group;

/// What a member of a group knows of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Collectives in which all members of the group waited for each other.
    pub(crate) phase: u32,
    /// Whether it may have learned of others by messages since the last one.
    pub(crate) has_learned: bool,
}

impl Known {
    const fn word(self) -> u32 {
        self.phase << 1 | self.has_learned as u32
    }

    const fn of(word: u32) -> Self {
        Self {
            phase: word >> 1,
            has_learned: word & 1 != 0,
        }
    }
}

/// What this process knows as a member of a group.
pub(crate) struct Watcher {
    group: Group,
    /// The number by which groups name the member.
    member: u32,
    known: AtomicU32,
}

impl Watcher {
    pub(crate) fn now(&self) -> Known {
        Known::of(self.known.load(Ordering::Relaxed))
    }

    fn learn(&self) {
        self.known.fetch_or(1, Ordering::Relaxed);
    }

    /// Two threads that meet others at once count one phase each, as those do.
    fn meet(&self) {
        let next = |word| {
            let phase = Known::of(word).phase + 1;
            let has_learned = false;
            Some(Known { phase, has_learned }.word())
        };
        // The closure always has a value.
        let _ = self
            .known
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
}

/// Those who watch what a process may know.
#[derive(Default)]
pub(crate) struct Watchers {
    all: Mutex<Vec<Weak<Watcher>>>,
}

impl Watchers {
    fn locked(&self) -> MutexGuard<'_, Vec<Weak<Watcher>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches for a member of a group, as long as the result lives.
    pub(crate) fn watch(&self, group: &Group, member: u32) -> Arc<Watcher> {
        let watcher = Arc::new(Watcher {
            group: group.clone(),
            member,
            known: AtomicU32::new(0),
        });
        let mut all = self.locked();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&watcher));
        watcher
    }

    /// Notes that the process may have learned what others have done.
    pub(crate) fn learn(&self) {
        self.learn_but_for(None);
    }

    /// The same for all but one, which knows by itself what the process has learned.
    pub(crate) fn learn_but_for(&self, one: Option<&Arc<Watcher>>) {
        for watcher in self.locked().iter().filter_map(Weak::upgrade) {
            if one.is_none_or(|one| !Arc::ptr_eq(one, &watcher)) {
                watcher.learn();
            }
        }
    }

    /// Notes that a member of a group and all others wait for each other. Other endpoints of the process only may learn of it.
    pub(crate) fn meet(&self, group: &Group, member: u32) {
        for watcher in self.locked().iter().filter_map(Weak::upgrade) {
            let all_are = watcher.group == *group || group.ranks_of(&watcher.group).is_ok();
            if all_are && watcher.member == member {
                watcher.meet();
            } else {
                watcher.learn();
            }
        }
    }

    /// Notes a collective call of a member of a group.
    pub(crate) fn call(&self, call: &str, group: &Group, member: u32) {
        if is_barrier(call) {
            self.meet(group, member);
        } else {
            self.learn();
        }
    }
}

/// Whether no member returns from a call, of C or of Rust, before all have called it.
fn is_barrier(call: &str) -> bool {
    let name = call.rsplit("::").next().unwrap_or(call);
    let name = name.strip_prefix("MPI_").unwrap_or(name);
    let name = name.strip_suffix("_c").unwrap_or(name);
    [
        "barrier",
        "allgather",
        "allgatherv",
        "allreduce",
        "alltoall",
        "alltoallv",
        "alltoallw",
        "reduce_scatter",
        "reduce_scatter_block",
    ]
    .iter()
    .any(|barrier| barrier.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(phase: u32, has_learned: bool) -> Known {
        Known { phase, has_learned }
    }

    #[test]
    fn only_barriers_of_all_members_begin_a_phase() {
        let watchers = Watchers::default();
        let [pair, all] = [vec![1, 4], vec![0, 4, 1]].map(|members: Vec<u32>| Group::new(members));
        let [of_pair, of_all] = [&pair, &all].map(|group| watchers.watch(group, 4));
        watchers.call("MPI_Barrier", &all, 4);
        assert_eq!(
            (of_pair.now(), of_all.now()),
            (known(1, false), known(1, false))
        );
        watchers.call("Communicator::allreduce", &pair, 4);
        assert_eq!(
            (of_pair.now(), of_all.now()),
            (known(2, false), known(1, true))
        );
        watchers.call("MPI_Bcast", &all, 4);
        assert_eq!(
            (of_pair.now(), of_all.now()),
            (known(2, true), known(1, true))
        );
        watchers.call("MPI_Alltoallv_c", &all, 4);
        assert_eq!(
            (of_pair.now(), of_all.now()),
            (known(3, false), known(2, false))
        );
        watchers.call("MPI_Barrier", &all, 1);
        assert_eq!(
            (of_pair.now(), of_all.now()),
            (known(3, true), known(2, true))
        );
        watchers.call("MPI_Barrier", &all, 4);
        watchers.learn_but_for(Some(&of_all));
        assert_eq!(
            (of_pair.now(), of_all.now()),
            (known(4, true), known(3, false))
        );
    }

    #[test]
    fn nobody_watches_for_a_group_that_is_gone() {
        let watchers = Watchers::default();
        let group = Group::new(vec![0, 1]);
        for _ in 0..10 {
            drop(watchers.watch(&group, 0));
        }
        assert_eq!(watchers.locked().len(), 1);
    }

    #[test]
    fn nonblocking_and_rooted_collectives_are_no_barriers() {
        for call in [
            "MPI_Ibarrier",
            "MPI_Bcast",
            "MPI_Reduce",
            "MPI_Scan",
            "MPI_Allreduce_init",
        ] {
            assert!(!is_barrier(call), "{call}");
        }
    }
}
