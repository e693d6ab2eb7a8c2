// SPDX-License-Identifier: MIT OR Apache-2.0
//! The forms of operations with little data: blocking, nonblocking, and planned for persistent requests.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use super::Span;
use super::rounds::{alltoall, barrier, bcast, gather, prefix, reduce, reduce_scatter, scatter};
use crate::coll::area::drive::{Blocking, Nonblocking};
use crate::coll::area::persistent::{Describing, PlannedStart};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;
use crate::task::Begun;

/// Generates the forms of all operations.
macro_rules! forms {
    ($($name:ident($($argument:ident: $kind:ty),* $(; $op:ident $(, $more:ident: $sort:ty)*)?);)*) => {
        /// The blocking forms, outlined, for callers with few registers to spare.
        pub mod now {
            use super::{Comm, Reduction, Result, Span};

            $(
                #[doc = concat!("`", stringify!($name), "` to its end.")]
                ///
                /// # Safety
                /// The send buffer is readable and the receive buffer writable until the function returns.
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

            /// No rank leaves before all ranks have entered.
            pub fn barrier(call: &'static str, comm: &Comm) -> Option<Result<()>> {
                super::here::barrier(call, comm)
            }
        }

        /// The blocking forms, inlined into the caller.
        pub mod here {
            use super::{Comm, Reduction, Result, Span, Blocking};

            $(
                #[doc = concat!("`", stringify!($name), "` to its end.")]
                ///
                /// # Safety
                /// The send buffer is readable and the receive buffer writable until the function returns.
                #[inline(always)]
                pub unsafe fn $name(
                    call: &'static str,
                    comm: &Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<()>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::$name(Blocking(call), comm, $($argument,)* $($op, $($more,)*)?)
                    }
                }
            )*

            /// No rank leaves before all ranks have entered.
            #[inline(always)]
            pub fn barrier(call: &'static str, comm: &Comm) -> Option<Result<()>> {
                super::barrier(Blocking(call), comm)
            }
        }

        /// The nonblocking forms: the result is the rest of the operation, if there is one.
        pub mod at_once {
            use super::{Nonblocking, Begun, Comm, Reduction, Result, Span};

            $(
                #[doc = concat!("`", stringify!($name), "` started.")]
                ///
                /// # Safety
                /// The send buffer is readable and the receive buffer writable until the operation is complete.
                #[inline(always)]
                pub unsafe fn $name<'a>(
                    comm: &'a Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<Begun<'a>>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::$name(Nonblocking, comm, $($argument,)* $($op, $($more,)*)?)
                    }
                }
            )*

            /// No rank leaves before all ranks have entered.
            #[inline(always)]
            pub fn barrier(comm: &Comm) -> Option<Result<Begun<'_>>> {
                super::barrier(Nonblocking, comm)
            }
        }

        /// The plans of persistent forms ([`crate::coll::fast_plan`]).
        pub mod planned {
            use super::{Comm, PlannedStart, Describing, Reduction, Result, Span};

            $(
                #[doc = concat!("`", stringify!($name), "`, planned.")]
                ///
                /// # Safety
                /// The send buffer is readable, the receive buffer writable, and the reduction does not move, as long as the description
                /// is used.
                pub unsafe fn $name(
                    comm: &Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<PlannedStart>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::$name(Describing, comm, $($argument,)* $($op, $($more,)*)?)
                    }
                }
            )*

            /// No rank leaves before all ranks have entered.
            pub fn barrier(comm: &Comm) -> Option<Result<PlannedStart>> {
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
