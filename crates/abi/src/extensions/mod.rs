// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that the standard does not have and that promise more than its own: the proposals of Raffenetti et al., "Why Is MPI So Slow?"
//! (SC'17). `mpi_rankpoint.h` declares them.
//!
//! [`send`] and [`receive`] are messages, [`window`] one-sided operations, [`predefined`] the communicators with constant handles, and
//! [`query`] tells programs what the library has. Each name is exported with the prefixes `MPIX_` and `PMPIX_`, as [`extension`] makes it.

// account: function-call

mod calls;
mod inlined;
mod predefined;
pub(crate) mod query;
mod receive;
mod requests;
mod send;
mod window;

/// Exports a function under both of its names; the second one is for tools that have replaced the first.
macro_rules! extension {
    ($(#[$doc:meta])* $name:ident $profiled:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $kind),*) -> i32 $body

        /// As the function of the other name, for tools that have replaced that.
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $profiled($($argument: $kind),*) -> i32 $body
    };
}
pub(crate) use extension;
