// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of this process (`ulimit`).

use std::io;

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

/// The error of a call that needs memory or a descriptor, with the limit of this process that may be its cause.
// TIER: setup
#[cold]
pub fn explained(error: io::Error) -> io::Error {
    let cause = match error.raw_os_error() {
        Some(libc::EMFILE) => text_of('n', open_files_limit(), "descriptors"),
        Some(libc::ENOMEM) => text_of('v', address_space_limit(), "bytes"),
        Some(libc::EFBIG) => text_of('f', file_size_limit(), "bytes"),
        _ => None,
    };
    match cause {
        Some(cause) => io::Error::new(error.kind(), format!("{error}: {cause}")),
        None => error,
    }
}

/// The end of a report that there is no more memory; empty where no limit of this process is to blame.
// TIER: setup
#[cold]
pub fn of_memory() -> String {
    following([text_of('v', address_space_limit(), "bytes")])
}

/// The same of memory that ranks share, which is a file.
// TIER: setup
#[cold]
pub fn of_shared_memory() -> String {
    following([
        text_of('v', address_space_limit(), "bytes"),
        text_of('f', file_size_limit(), "bytes"),
    ])
}

/// The limit that forbids a file of so many bytes, if one does.
// TIER: setup
#[cold]
pub fn of_file(bytes: u64) -> Option<String> {
    let limit = file_size_limit().filter(|&limit| limit < bytes);
    text_of('f', limit, "bytes")
}

fn following<const N: usize>(texts: [Option<String>; N]) -> String {
    let texts = texts.into_iter().flatten();
    texts.map(|text| format!("; {text}")).collect()
}

fn text_of(flag: char, limit: Option<u64>, unit: &str) -> Option<String> {
    limit.map(|limit| format!("ulimit -{flag} allows {limit} {unit}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_limit_that_explains_them() {
        // Every system limits descriptors.
        let limit = open_files_limit().unwrap();
        let error = explained(io::Error::from_raw_os_error(libc::EMFILE));
        let end = format!(": ulimit -n allows {limit} descriptors");
        assert!(error.to_string().ends_with(&end), "{error}");
        let other = explained(io::Error::from_raw_os_error(libc::EACCES));
        assert_eq!(other.raw_os_error(), Some(libc::EACCES));
    }

    #[test]
    fn reports_of_full_memory_name_limits_that_exist_only() {
        assert_eq!(of_memory().is_empty(), address_space_limit().is_none());
        let is_limited = address_space_limit().or(file_size_limit()).is_some();
        assert_eq!(of_shared_memory().is_empty(), !is_limited);
        assert_eq!(of_file(0), None);
    }
}
