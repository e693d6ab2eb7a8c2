// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores: how many there are, which of them a thread may use, and giving them away.

use std::mem::MaybeUninit;
use std::time::Duration;

/// Processors that are counted with: as many as kernels can be built for.
pub const MOST_PROCESSORS: usize = 8192;

/// Cores that this process may run on.
pub fn usable_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// Processors that the calling thread may run on, in ascending order; none if the system does not tell.
pub fn usable_processors() -> Vec<u32> {
    // The kernel refuses a mask that is shorter than its own.
    let mut words = vec![0u64; MOST_PROCESSORS / u64::BITS as usize];
    // SAFETY: the mask is writable for the size that is said; 0 is the calling thread.
    let filled =
        unsafe { libc::sched_getaffinity(0, size_of_val(&words[..]), words.as_mut_ptr().cast()) };
    if filled != 0 {
        return Vec::new();
    }
    let bits = u64::BITS as usize;
    let is_set = |processor: &usize| words[processor / bits] >> (processor % bits) & 1 != 0;
    (0..MOST_PROCESSORS)
        .filter(is_set)
        .map(|processor| processor as u32)
        .collect()
}

/// Has the calling thread run on these processors only; false if the system refuses, and then nothing has changed.
pub fn run_on(processors: &[u32]) -> bool {
    let most = libc::CPU_SETSIZE as usize;
    // SAFETY: all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    for processor in processors.iter().map(|&processor| processor as usize) {
        if processor < most {
            // SAFETY: the set has room for `most` processors.
            unsafe { libc::CPU_SET(processor, &mut set) };
        }
    }
    // SAFETY: the set is readable for the size that is said; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0 }
}

/// Lets another runnable thread have the core.
pub fn yield_core() {
    // SAFETY: no arguments, no memory.
    let _ = unsafe { libc::sched_yield() };
}

/// The processor that the calling thread runs on, if the system tells.
pub fn current_processor() -> Option<u32> {
    // SAFETY: no arguments, no memory.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Times that threads of this process have lost or left their cores to others since it began; 0 if the system does not tell.
pub fn context_switches() -> u64 {
    // SAFETY: all zeros is a value of this type.
    let mut usage: libc::rusage = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: writes one structure that lives through the call.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } != 0;
    if failed {
        return 0;
    }
    (usage.ru_nvcsw + usage.ru_nivcsw).cast_unsigned()
}

/// Time that a process's threads have spent on processors, if it can be asked.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // In the call, 0 means the calling thread.
    let pid = libc::pid_t::try_from(pid).ok().filter(|&pid| pid > 0)?;
    // SAFETY: `clock` is writable and lives through the call, which gives an error and no signal.
    let failed = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } != 0;
    // SAFETY: as above; a clock whose process has ended is an error.
    if failed || unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).ok()?);
    Some(seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).ok()?))
}
