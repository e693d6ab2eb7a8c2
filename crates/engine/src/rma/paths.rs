// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of two paths puts and gets of private memory take: asking a target that polls, or the system call. Cores that are far apart make
//! the first one slow, and kernels the second, so operations of more than a few lines are timed now and then.

use std::array;

use sys::clock;
use sys::sync::{AtomicU32, Ordering};

use fabric::window::CELL_BYTES;

/// Operations of up to so many bytes ask always: no system call is as short.
const SHORT_BYTES: usize = 512;
/// Classes of lengths, each up to twice as long as the one before.
const CLASSES: usize = (CELL_BYTES / SHORT_BYTES).ilog2() as usize;
/// Of so many operations of a class one on either path is timed.
const ROUND: u32 = 64;

/// A path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathTaken {
    Asked,
    Attached,
}

/// Times of one class.
#[derive(Default)]
struct Times {
    operations: AtomicU32,
    /// Ticks of either path; 0 before the first.
    ticks: [AtomicU32; 2],
}

/// Times of the two paths to a target.
pub(super) struct Paths {
    classes: [Times; CLASSES],
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            classes: array::from_fn(|_| Times::default()),
        }
    }
}

/// The path of an operation, and what to note when it ends.
pub(super) struct Chosen<'a> {
    pub(super) path: PathTaken,
    /// Where its time is noted, and when it began.
    timed: Option<(&'a Times, u64)>,
}

impl Paths {
    fn class(&self, bytes: usize) -> Option<&Times> {
        let class = (bytes.saturating_sub(1) / SHORT_BYTES).checked_ilog2()?;
        self.classes.get(class as usize)
    }

    /// The path of the next operation of so many bytes.
    #[inline]
    pub(super) fn choose(&self, bytes: usize) -> Chosen<'_> {
        match self.class(bytes) {
            Some(times) => times.choose(),
            None => Chosen {
                path: match bytes <= SHORT_BYTES {
                    true => PathTaken::Asked,
                    false => PathTaken::Attached,
                },
                timed: None,
            },
        }
    }
}

impl Times {
    fn choose(&self) -> Chosen<'_> {
        // Threads that race here time one operation more or less.
        let operation = self.operations.load(Ordering::Relaxed);
        self.operations
            .store(operation.wrapping_add(1), Ordering::Relaxed);
        let trial = match operation {
            0..4 => Some(operation % 2),
            _ => Some(operation % ROUND).filter(|number| *number < 2),
        };
        let [asked, attached] = [0, 1].map(|path: usize| self.ticks[path].load(Ordering::Relaxed));
        let path = match trial {
            Some(0) => PathTaken::Asked,
            Some(_) => PathTaken::Attached,
            // A target that never answered has no time.
            None if asked != 0 && asked <= attached => PathTaken::Asked,
            None => PathTaken::Attached,
        };
        Chosen {
            path,
            timed: trial.map(|_| (self, clock::ticks())),
        }
    }

    /// Notes the time of an operation. One that was interrupted counts for little.
    fn note(&self, path: PathTaken, ticks: u64) {
        let known = &self.ticks[path as usize];
        let before = known.load(Ordering::Relaxed);
        let now = u32::try_from(ticks).unwrap_or(u32::MAX).max(1);
        let next = match before {
            0 => now,
            _ if now <= before => now,
            _ => before + (now - before).min(before / 2 + 1) / 4,
        };
        known.store(next, Ordering::Relaxed);
    }
}

impl Chosen<'_> {
    /// The operation has ended, on this path.
    #[inline]
    pub(super) fn end(self, path: PathTaken) {
        if let Some((times, start)) = self.timed
            && path == self.path
        {
            times.note(path, clock::ticks().wrapping_sub(start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths of so many operations of some bytes whose times are given.
    fn taken(paths: &Paths, bytes: usize, count: u32, ticks: [u64; 2]) -> [u32; 2] {
        let mut taken = [0; 2];
        for _ in 0..count {
            let chosen = paths.choose(bytes);
            taken[chosen.path as usize] += 1;
            if let Some((times, _)) = chosen.timed {
                times.note(chosen.path, ticks[chosen.path as usize]);
            }
        }
        taken
    }

    #[test]
    fn the_faster_path_is_taken_but_for_trials() {
        let paths = Paths::default();
        for (bytes, ticks, slower) in [(8192, [2000, 900], 0), (1024, [700, 900], 1)] {
            let taken = taken(&paths, bytes, 64 * 10, ticks);
            assert_eq!(taken[slower], 2 + 9, "{bytes} bytes: {taken:?}");
        }
    }

    #[test]
    fn a_path_that_gets_faster_is_found() {
        let paths = Paths::default();
        taken(&paths, 4096, 640, [2000, 900]);
        let later = taken(&paths, 4096, 640, [500, 900]);
        assert!(later[0] > 500, "{later:?}");
        let again = taken(&paths, 4096, 64 * 100, [3000, 900]);
        assert!(again[1] > 64 * 80, "{again:?}");
    }

    #[test]
    fn short_operations_ask_and_long_ones_do_not() {
        let paths = Paths::default();
        for (bytes, path) in [
            (0, PathTaken::Asked),
            (SHORT_BYTES, PathTaken::Asked),
            (CELL_BYTES + 1, PathTaken::Attached),
        ] {
            for _ in 0..100 {
                assert_eq!(paths.choose(bytes).path, path);
            }
        }
        assert!(paths.class(SHORT_BYTES + 1).is_some() && paths.class(CELL_BYTES).is_some());
        assert!(paths.class(CELL_BYTES + 1).is_none());
    }
}
