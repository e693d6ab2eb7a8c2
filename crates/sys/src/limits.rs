// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of this process (`ulimit`).

/// Bytes that a process may map, where that is limited (`ulimit -v`).
pub fn address_space_limit() -> Option<u64> {
    limit_of(libc::RLIMIT_AS)
}

/// Bytes that a file may have, where that is limited (`ulimit -f`); files in memory are no exception.
pub fn file_size_limit() -> Option<u64> {
    limit_of(libc::RLIMIT_FSIZE)
}

/// Descriptors that this process may have open, where that is limited (`ulimit -n`).
pub fn open_files_limit() -> Option<u64> {
    limit_of(libc::RLIMIT_NOFILE)
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
