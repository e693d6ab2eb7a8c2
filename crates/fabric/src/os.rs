// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system calls of this crate: a thin, typed face over the few that the shared-memory fabric needs.
//!
//! Each function wraps one call, checks its result, and states in its `SAFETY` line why the arguments are valid.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::time::Duration;

/// Processors that are counted with: as many as kernels can be built for.
pub const MOST_PROCESSORS: usize = 8192;

/// A new anonymous memory file of so many bytes that is closed on exec.
pub fn memory_file(name: &CStr, bytes: u64) -> io::Result<OwnedFd> {
    // A file that is too long does not only fail: the kernel sends SIGXFSZ.
    if let Some(limit) = file_size_limit().filter(|&limit| limit < bytes) {
        return Err(io::Error::other(format!(
            "a file of {bytes} bytes in memory is needed, but ulimit -f allows {limit}"
        )));
    }
    // SAFETY: `name` is NUL-terminated by its type; the call takes no other pointer.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above returned this descriptor to us alone.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.set_len(bytes)?;
    Ok(file.into())
}

/// Eight random bytes.
pub fn random_word() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    // SAFETY: `bytes` is writable for its length; so few bytes come whole or not at all.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if count < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::from_ne_bytes(bytes))
}

/// Takes ownership of a descriptor that this process inherited, after checking that it is open.
pub fn inherited_file(fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only asks for flags; a closed descriptor gives EBADF.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above; programs started by this one must not inherit the segment.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open (checked above) and the launcher left it to this process for this purpose.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Maps `bytes` of a file shared, readable and writable, without reserving memory.
pub fn map_shared(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<NonNull<u8>> {
    map(bytes, libc::MAP_SHARED, fd.as_raw_fd())
}

/// Reserves `bytes` of zeroed private memory; pages cost nothing until they are touched.
pub fn map_private(bytes: usize) -> io::Result<NonNull<u8>> {
    map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
}

fn map(bytes: usize, flags: i32, fd: i32) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice disturbs no existing memory.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            protection,
            flags | libc::MAP_NORESERVE,
            fd,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        let mebibytes = bytes.div_ceil(1 << 20);
        let text = format!(
            "cannot map {mebibytes} MiB of address space, little of which becomes memory: {error} (ulimit -v limits it)"
        );
        return Err(io::Error::new(error.kind(), text));
    }
    NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mmap returned a null address"))
}

/// Undoes [`map_shared`] or [`map_private`].
///
/// # Safety
/// `base` and `bytes` come from one of them, and nothing refers to the memory any more.
pub unsafe fn unmap(base: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise. The result can only tell of bad arguments, which the promise excludes.
    let _ = unsafe { libc::munmap(base.as_ptr().cast(), bytes) };
}

/// Gives the pages of a shared mapping back to the system; they read as zero afterwards.
///
/// # Safety
/// The range is page-aligned, inside one shared mapping of a memory file, and nobody needs its contents.
pub unsafe fn discard_shared(base: NonNull<u8>, bytes: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    let rc = unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_REMOVE) };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Bytes of physical memory of this machine.
pub fn physical_memory_bytes() -> u64 {
    // SAFETY: sysconf takes a number and returns one.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    // SAFETY: as above.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(page).unwrap_or(4096)
}

/// Bytes that a process may map, where that is limited (`ulimit -v`).
pub fn address_space_limit() -> Option<u64> {
    limit_of(libc::RLIMIT_AS)
}

/// Bytes that a file may have, where that is limited (`ulimit -f`); files in memory are no exception.
pub fn file_size_limit() -> Option<u64> {
    limit_of(libc::RLIMIT_FSIZE)
}

fn limit_of(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: `limit` is writable and lives through the call; where the call fails it stays without a limit.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

pub use crate::futex::{futex_wait, futex_wake_all};

/// Bytes of the largest cache that this processor reaches, if the system tells.
pub fn cache_bytes() -> Option<usize> {
    cache_by_kernel().or_else(|| {
        #[cfg(target_env = "gnu")]
        // SAFETY: sysconf takes a number and returns one.
        let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
        #[cfg(not(target_env = "gnu"))]
        let bytes = 0;
        usize::try_from(bytes).ok().filter(|&bytes| bytes > 0)
    })
}

/// What the kernel tells; the C library counts the caches of all groups of cores of some processors as one.
fn cache_by_kernel() -> Option<usize> {
    let size = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok()?;
    let kib: usize = size.trim().strip_suffix('K')?.parse().ok()?;
    kib.checked_mul(1 << 10).filter(|&bytes| bytes > 0)
}

const MEMBARRIER_GLOBAL_EXPEDITED: i32 = 1 << 1;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;

/// Registers this process as one whose threads [`barrier_everywhere`] reaches. False where the kernel cannot.
pub fn register_for_barriers() -> bool {
    // SAFETY: the call takes numbers only.
    unsafe {
        libc::syscall(
            libc::SYS_membarrier,
            MEMBARRIER_REGISTER_GLOBAL_EXPEDITED,
            0,
            0,
        ) == 0
    }
}

/// Makes every running thread of every registered process pass a full memory barrier. False where the kernel cannot.
pub fn barrier_everywhere() -> bool {
    // SAFETY: the call takes numbers only.
    unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_GLOBAL_EXPEDITED, 0, 0) == 0 }
}

/// Time that a process's threads have spent on processors, if it can be asked.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // To the call 0 means whoever asks.
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

/// What who polls a word that another core is about to write does between two looks, while it has its core to itself: nothing, for about
/// ten nanoseconds. Looks right after each other make the line come later (8 bytes, half a round trip: 78 -> 59 ns), for a reason that was not found
/// out; the processor's own hint for loops ([`spin_loop`](std::hint::spin_loop)) takes 25 ns or more, which is too coarse for messages that
/// take as long (16 bytes: 77 ns with it, 72 so).
#[inline(always)]
pub fn between_looks() {
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    for _ in 0..3 {
        // SAFETY: every x86-64 processor has it; it waits until what comes before is done.
        unsafe { std::arch::x86_64::_mm_lfence() };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(loom))))]
    crate::sync::spin_loop();
}

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

/// Starts something while this thread, and so each thread that it starts, takes no signals: those are for the program's own threads.
pub fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are writable; the first is filled before it is read, and so is the second if the call succeeds.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = start();
    if blocked {
        // SAFETY: filled by the call above. The result can only tell of bad arguments.
        let _ = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut())
        };
    }
    result
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn address_space_that_nobody_has_is_told_by_its_size() {
        let text = map_private(1 << 62).unwrap_err().to_string();
        assert!(text.contains("cannot map 4398046511104 MiB"), "{text}");
    }
}
