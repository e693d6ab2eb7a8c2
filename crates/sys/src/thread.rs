// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of a thread.

/// The number of the calling thread, as debuggers and `ps -L` show it. Another thread may get it when this one has ended.
pub fn number() -> u32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_numbers_of_two_threads_differ() {
        let here = super::number();
        assert_eq!(here, super::number());
        let there = std::thread::spawn(super::number).join().unwrap();
        assert_ne!(here, there);
    }
}
