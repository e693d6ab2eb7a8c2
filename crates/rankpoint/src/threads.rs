// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads of a rank may use MPI.

use std::marker::PhantomData;

use engine::comm::ThreadLevel;

/// How many threads of a rank may use MPI: a marker that communicators carry.
pub trait Threads: private::Sealed {
    /// The level in MPI's words.
    #[doc(hidden)]
    const LEVEL: ThreadLevel;
}

/// One thread uses MPI: nothing that leads to it can be sent to another one.
#[derive(Clone, Copy, Debug)]
pub struct OneThread(PhantomData<*const ()>);

/// Any thread may use MPI at any time.
#[derive(Clone, Copy, Debug)]
pub struct AnyThread;

/// One thread at a time uses a communicator that can be sent to another thread: an [`Endpoint`](crate::Endpoint).
#[derive(Clone, Copy, Debug)]
pub struct OwnThread(PhantomData<std::cell::Cell<()>>);

impl Threads for OneThread {
    const LEVEL: ThreadLevel = ThreadLevel::Funneled;
}

impl Threads for AnyThread {
    const LEVEL: ThreadLevel = ThreadLevel::Multiple;
}

impl Threads for OwnThread {
    const LEVEL: ThreadLevel = ThreadLevel::Multiple;
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::OneThread {}
    impl Sealed for super::AnyThread {}
    impl Sealed for super::OwnThread {}
}
