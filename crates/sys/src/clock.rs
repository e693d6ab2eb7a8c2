// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cheap clock, and one that all processes of a node share.

// account: caller

/// A clock that costs a few nanoseconds to read, in units of its own that are the same on all cores of a node.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has this counter.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let since = START.get_or_init(std::time::Instant::now).elapsed();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Nanoseconds of the node's monotonic clock: the same for all processes, so that they can agree on a moment.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable and lives through the call; Linux always has this clock.
    let _ = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let (seconds, ns) = (time.tv_sec.cast_unsigned(), time.tv_nsec.cast_unsigned());
    seconds * 1_000_000_000 + ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_goes_back() {
        let first = monotonic_ns();
        assert!(first > 0 && (0..1000).all(|_| monotonic_ns() >= first));
    }
}
