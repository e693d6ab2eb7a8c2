// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeping on a word of shared memory: the kernel's, or a model of it.
//!
//! The model keeps what the kernel promises: a sleeper is woken by every wake-up that comes after it looked at the word, and
//! looks at the word as it is, not as it was. It never wakes for another reason and knows no time limit, so that a lost
//! wake-up is a deadlock, which the model checker reports.

#[cfg(not(loom))]
use std::time::Duration;

#[cfg(not(loom))]
use crate::sync::AtomicU32;

/// Sleeps while `*word == expected`, at most `timeout`; returns early for any reason the kernel sees fit.
#[cfg(not(loom))]
pub fn wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
    };
    let address: *const AtomicU32 = word;
    let null = std::ptr::null::<u32>();
    // SAFETY: `address` is a live, aligned u32 (a reference), `time` outlives the call. Every result means "look again".
    let _ = unsafe {
        libc::syscall(
            libc::SYS_futex,
            address,
            libc::FUTEX_WAIT,
            expected,
            &raw const time,
            null,
            0,
        )
    };
}

/// Wakes all that sleep on `word`, in any process.
#[cfg(not(loom))]
pub fn wake_all(word: &AtomicU32) {
    let address: *const AtomicU32 = word;
    let null = std::ptr::null::<u32>();
    // SAFETY: `address` is a live, aligned u32 (a reference); the kernel only uses it as a key.
    let _ = unsafe {
        libc::syscall(
            libc::SYS_futex,
            address,
            libc::FUTEX_WAKE,
            i32::MAX,
            null,
            null,
            0,
        )
    };
}

#[cfg(loom)]
pub use model::{wait, wake_all};

#[cfg(loom)]
mod model {
    use std::sync::Mutex;
    use std::time::Duration;

    use loom::thread::Thread;

    use crate::sync::{AtomicU32, Ordering, fence};

    /// The threads that sleep, or are about to, and their words. Not the model checker's lock: it is never held where threads may change.
    static SLEEPERS: Mutex<Vec<(usize, Thread)>> = Mutex::new(Vec::new());

    fn key(word: &AtomicU32) -> usize {
        std::ptr::from_ref(word) as usize
    }

    /// Sleeps while `*word == expected`.
    pub fn wait(word: &AtomicU32, expected: u32, _timeout: Duration) {
        let me = loom::thread::current();
        let id = me.id();
        SLEEPERS.lock().unwrap().push((key(word), me));
        // SeqCst: the kernel's lock orders this look after the store of a waker that found nobody.
        // PAIRS: model.futex
        fence(Ordering::SeqCst);
        if word.load(Ordering::Relaxed) == expected {
            loom::thread::park();
        }
        SLEEPERS
            .lock()
            .unwrap()
            .retain(|sleeper| sleeper.1.id() != id);
    }

    /// Wakes all that sleep on `word`.
    pub fn wake_all(word: &AtomicU32) {
        // SeqCst: as in `wait`.
        // PAIRS: model.futex
        fence(Ordering::SeqCst);
        let woken: Vec<Thread> = SLEEPERS
            .lock()
            .unwrap()
            .extract_if(.., |sleeper| sleeper.0 == key(word))
            .map(|sleeper| sleeper.1)
            .collect();
        for thread in woken {
            thread.unpark();
        }
    }
}
