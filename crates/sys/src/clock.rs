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

/// Nanoseconds of the system's monotonic clock, which all processes of a host share (CLOCK_MONOTONIC).
#[must_use]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970 (CLOCK_REALTIME).
#[must_use]
pub fn calendar_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable; both clocks exist everywhere, and of one that did not the time would be 0.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_goes_on_and_the_calendar_is_later_than_this_was_written() {
        let first = monotonic_ns();
        let begin = std::time::Instant::now();
        while begin.elapsed().is_zero() {}
        assert!(monotonic_ns() > first);
        assert!(calendar_ns() > 1_700_000_000_000_000_000);
    }
}
