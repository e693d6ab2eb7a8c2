// SPDX-License-Identifier: MIT OR Apache-2.0
//! What accesses cost in a folder: measured with a file that has no name, in about a millisecond.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use sys::file_ranges::{self, Hold};

use crate::fault::Fault;

/// Repetitions of a call; the fastest one counts, because everything else is disturbance.
const CALLS: usize = 40;
const TRANSFERS: usize = 6;

/// Bytes of a transfer whose bytes count.
const BYTES: usize = 256 << 10;

/// Costs, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// A system call that reads or writes, without its bytes.
    pub call_ps: u64,
    /// A byte out of the system's cache.
    pub read_ps: u64,
    /// A byte into the system's cache.
    pub write_ps: u64,
    /// Locking a range and releasing it.
    pub lock_ps: u64,
    /// A byte from memory to memory.
    pub copy_ps: u64,
}

impl Measured {
    /// All of them, in this order.
    pub const fn all(&self) -> [u64; 5] {
        [
            self.call_ps,
            self.read_ps,
            self.write_ps,
            self.lock_ps,
            self.copy_ps,
        ]
    }
}

/// Measures in a folder.
///
/// # Errors
/// Where the file system has no files without names, or no locks; those of the system.
pub fn measure(folder: &Path) -> Result<Measured, Fault> {
    let file = file_ranges::unnamed(folder)?;
    let (source, mut target) = (vec![1u8; BYTES], vec![0u8; BYTES]);
    let small = fastest(CALLS, || file.write_all_at(&source[..1], 0))?;
    let lock = fastest(CALLS, || {
        file_ranges::try_lock(&file, Hold::Exclusive, 0, 1)?;
        file_ranges::unlock(&file, 0, 1)
    })?;
    let write = fastest(TRANSFERS, || file.write_all_at(&source, 0))?;
    let read = fastest(TRANSFERS, || file.read_exact_at(&mut target, 0))?;
    let copy = fastest(TRANSFERS, || {
        target.copy_from_slice(std::hint::black_box(&source));
        std::hint::black_box(&mut target);
        Ok(())
    })?;
    let each = |whole: u64, call: u64| (whole.saturating_sub(call) / BYTES as u64).max(1);
    Ok(Measured {
        call_ps: small.max(1),
        read_ps: each(read, small),
        write_ps: each(write, small),
        lock_ps: lock.max(1),
        copy_ps: each(copy, 0),
    })
}

/// The time of the fastest of several calls, in picoseconds.
fn fastest(times: usize, mut call: impl FnMut() -> std::io::Result<()>) -> Result<u64, Fault> {
    let mut best = u64::MAX;
    for _ in 0..times {
        let start = Instant::now();
        call()?;
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        best = best.min(ns.saturating_mul(1000));
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_above_0_and_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("rankpoint-measure-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        if let Ok(found) = measure(&folder) {
            assert!(found.all().iter().all(|&ps| ps > 0), "{found:?}");
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
        assert!(measure(&folder).is_err());
    }
}
