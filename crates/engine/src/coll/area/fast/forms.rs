// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operations of little data by how they end: waited for, started, or described for a plan.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use super::{
    Comm, Reduction, Result, Span, alltoall, barrier, bcast, gather, prefix, reduce,
    reduce_scatter, scatter,
};
use crate::coll::area::drive::{AtOnce, Waiting};
use crate::coll::area::persistent::{Described, Describing};
use crate::task::Begun;

/// Writes both forms of the operations: to their ends, and with what is left as the result.
macro_rules! forms {
    ($($name:ident($($argument:ident: $kind:ty),* $(; $op:ident $(, $more:ident: $sort:ty)*)?);)*) => {
        /// The blocking forms, each a function of its own: whoever calls them has much else to do, and few registers to spare.
        pub mod now {
            use super::{Comm, Reduction, Result, Span};

            $(
                #[doc = concat!("`", stringify!($name), "` to its end.")]
                ///
                /// # Safety
                /// What is sent is readable, what is received is writable, until it returns.
                pub unsafe fn $name(
                    call: &'static str,
                    comm: &Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<()>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::here::$name(call, comm, $($argument,)* $($op, $($more,)*)?)
                    }
                }
            )*

            /// Nobody leaves before everybody entered.
            pub fn barrier(call: &'static str, comm: &Comm) -> Option<Result<()>> {
                super::here::barrier(call, comm)
            }
        }

        /// The same in the function that calls it.
        pub mod here {
            use super::{Comm, Reduction, Result, Span, Waiting};

            $(
                #[doc = concat!("`", stringify!($name), "` to its end.")]
                ///
                /// # Safety
                /// What is sent is readable, what is received is writable, until it returns.
                #[inline(always)]
                pub unsafe fn $name(
                    call: &'static str,
                    comm: &Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<()>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::$name(Waiting(call), comm, $($argument,)* $($op, $($more,)*)?)
                    }
                }
            )*

            /// Nobody leaves before everybody entered.
            #[inline(always)]
            pub fn barrier(call: &'static str, comm: &Comm) -> Option<Result<()>> {
                super::barrier(Waiting(call), comm)
            }
        }

        /// The forms that do not wait: what is left to do is the result, if anything is.
        pub mod at_once {
            use super::{AtOnce, Begun, Comm, Reduction, Result, Span};

            $(
                #[doc = concat!("`", stringify!($name), "` started.")]
                ///
                /// # Safety
                /// What is sent is readable, what is received is writable, until the rest is done.
                #[inline(always)]
                pub unsafe fn $name<'a>(
                    comm: &'a Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<Begun<'a>>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::$name(AtOnce, comm, $($argument,)* $($op, $($more,)*)?)
                    }
                }
            )*

            /// Nobody leaves before everybody entered.
            #[inline(always)]
            pub fn barrier(comm: &Comm) -> Option<Result<Begun<'_>>> {
                super::barrier(AtOnce, comm)
            }
        }

        /// What a persistent form does at each start ([`crate::coll::fast_plan`]).
        pub mod described {
            use super::{Comm, Described, Describing, Reduction, Result, Span};

            $(
                #[doc = concat!("`", stringify!($name), "` described.")]
                ///
                /// # Safety
                /// What is sent is readable, what is received is writable, and the reduction stays where it is, as long as the description
                /// is used.
                pub unsafe fn $name(
                    comm: &Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<Described>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::$name(Describing, comm, $($argument,)* $($op, $($more,)*)?)
                    }
                }
            )*

            /// Nobody leaves before everybody entered.
            pub fn barrier(comm: &Comm) -> Option<Result<Described>> {
                super::barrier(Describing, comm)
            }
        }
    };
}

forms! {
    bcast(memory: Span, root: u32);
    reduce(send: Span, receive: Option<Span>, count: usize; op, root: Option<u32>);
    gather(send: Option<Span>, receive: Option<Span>, root: Option<u32>);
    alltoall(send: Span, receive: Span);
    scatter(send: Option<Span>, receive: Option<Span>, root: u32);
    prefix(send: Span, receive: Span, count: usize; op, inclusive: bool);
    reduce_scatter(send: Span, receive: Span, count: usize; op);
}
