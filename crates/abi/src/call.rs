// SPDX-License-Identifier: MIT OR Apache-2.0
//! What distinguishes calls whose bodies are the same: their name, and what they promise.

use std::marker::PhantomData;

use engine::p2p::Promises;

use crate::naming::Wide;

/// A call of MPI, or of `mpi_rankpoint.h`.
pub(crate) trait Call: Promises {
    /// Its name in errors and reports.
    const NAME: &'static str;
    /// Whether a one-sided call names its target by an address in the target's process instead of a displacement.
    const AT_ADDRESS: bool = false;
}

/// The `int` and the large-count form of a call of MPI, which promise nothing.
macro_rules! ordinary {
    ($($name:ident $text:literal;)*) => {
        $(
            #[doc = concat!($text, ", with counts of a type.")]
            pub(crate) struct $name<C>(PhantomData<C>);

            impl<C> Promises for $name<C> {}

            impl<C: Wide> Call for $name<C> {
                const NAME: &'static str = if C::WIDE { concat!($text, "_c") } else { $text };
            }
        )*
    };
}

ordinary! {
    Send "MPI_Send";
    Isend "MPI_Isend";
    Irecv "MPI_Irecv";
    Put "MPI_Put";
    Get "MPI_Get";
    Accumulate "MPI_Accumulate";
    CompareAndSwap "MPI_Compare_and_swap";
}
