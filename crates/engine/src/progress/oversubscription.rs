// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads of one rank that wait at once, and whether the rank has cores for them.
//!
//! A rank of several threads can outnumber its cores although the ranks do not. A thread that spins then takes the core from
//! one that has work, and a message that both ends copy through the ring needs both ends on a core for every chunk. Once so
//! many threads have waited for long at the same time, the rank behaves as where ranks outnumber cores: it soon
//! yields its core, and copies large messages by CMA in one go. A program that had such a moment will have others, so
//! the rank does not change back.
//!
//! The words guard nothing. `waiting` is counted by long waits, `outnumbered` only ever becomes 1.

// account: progress

use sys::sync::{AtomicU32, Ordering};

/// See the module.
pub(super) struct Oversubscription {
    /// Cores of the node for each of its ranks.
    cores: u32,
    /// Threads that wait for long now.
    waiting: AtomicU32,
    outnumbered: AtomicU32,
}

/// A thread that waits for long.
pub(super) struct Member<'a>(&'a Oversubscription);

impl Oversubscription {
    /// Nobody waits yet.
    pub(super) fn new(cores: u32, ranks: u32) -> Self {
        Self {
            cores: (cores / ranks.max(1)).max(1),
            waiting: AtomicU32::new(0),
            outnumbered: AtomicU32::new(0),
        }
    }

    /// A thread begins a long wait, until the result is dropped.
    pub(super) fn join(&self) -> Member<'_> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.cores {
            self.outnumbered.store(1, Ordering::Relaxed);
        }
        Member(self)
    }

    /// Whether more threads have waited at once than the rank has cores.
    pub(super) fn outnumbers_cores(&self) -> bool {
        self.outnumbered.load(Ordering::Relaxed) != 0
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "messages are addresses")]

    use fabric::counters::Counter;
    use sys::cores;

    use crate::comm::{Process, ThreadLevel};
    use crate::completion::wait;
    use crate::p2p::{Memory, Mode, irecv, isend};
    use crate::settings::Settings;
    use crate::testing::{on_ranks_at_level, on_ranks_with, shares_memory};

    /// Large enough to be described first.
    const LONGS: usize = 1 << 17;

    fn receive(process: &'static Process, longs: usize, tag: i32) {
        let mut data = vec![0i64; longs];
        let all = Memory::contiguous(data.as_mut_ptr().cast(), longs * 8);
        // SAFETY: the memory lives until the request is complete.
        let mut request = unsafe { irecv(process.world(), all, 0, tag) }.unwrap();
        wait(process.vci(), &mut request, "test").unwrap();
        assert!(data.iter().all(|&long| long == i64::from(tag)));
    }

    fn send(process: &'static Process, longs: usize, tag: i32) {
        let mut data = vec![i64::from(tag); longs];
        let all = Memory::contiguous(data.as_mut_ptr().cast(), longs * 8);
        // SAFETY: as above.
        let mut request = unsafe { isend(process.world(), all, 1, tag, Mode::Standard) }.unwrap();
        wait(process.vci(), &mut request, "test").unwrap();
    }

    /// CMA copies of rank 1 for one large message, after this number of its threads waited at once.
    fn cross_copies_after(waiting: u32) -> u64 {
        let receiver = std::sync::OnceLock::<&'static Process>::new();
        let (receiver, level) = (&receiver, ThreadLevel::Multiple);
        let copies = on_ranks_at_level(&Settings::default(), level, 2, |process| {
            if process.rank() == 0 {
                let peer = receiver.wait();
                while peer.vci().waiting.oversubscription.waiting() < waiting {
                    std::thread::yield_now();
                }
                (0..waiting).for_each(|tag| send(process, 1, tag as i32));
                send(process, LONGS, 77);
                return 0;
            }
            receiver.get_or_init(|| process);
            std::thread::scope(|threads| {
                for tag in 0..waiting {
                    threads.spawn(move || receive(process, 1, tag as i32));
                }
            });
            receive(process, LONGS, 77);
            process.vci().enter().counted(Counter::CrossCopies)
        });
        copies[1]
    }

    #[test]
    fn threads_that_outnumber_the_cores_read_large_messages_in_one_go() {
        if !shares_memory() {
            return;
        }
        let forced = Settings {
            cma: 2,
            ..Settings::default()
        };
        let possible = on_ranks_with(&forced, 2, |process| {
            if process.rank() == 0 {
                send(process, LONGS, 77);
            } else {
                receive(process, LONGS, 77);
            }
            process.vci().enter().counted(Counter::CrossCopies)
        })[1];
        let cores = cores::usable_cores();
        assert_eq!(cross_copies_after((cores / 2).max(1) + 1), possible);
        if cores >= 2 {
            assert_eq!(cross_copies_after(cores / 2), 0);
        }
    }
}
