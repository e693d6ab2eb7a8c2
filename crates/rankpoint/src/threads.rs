// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads of a rank may use MPI.
#![expect(unsafe_code, reason = "what threads may share is a promise")]

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
pub struct OneThread(PhantomData<Bound<Init>>);

/// What [`Universe::init`](crate::Universe::init) makes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Init {}

/// Leads to the state of what was made by `I`, which threads share if that is for all of them.
#[doc(hidden)]
pub struct Bound<I>(PhantomData<*const I>);

/// Makes what any thread may use. Nothing that has a [`Bound`] does: the trait exists for the sentences of the compiler.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "one thread uses MPI in this program, and what leads to MPI stays with it",
    note = "`Universe::init_threaded` in place of `Universe::init` gives communicators that any thread may use"
)]
pub trait ForAllThreads: private::Sealed {}

// SAFETY: no type implements the trait, so no `Bound` is sent.
unsafe impl<I: ForAllThreads> Send for Bound<I> {}
// SAFETY: as for Send.
unsafe impl<I: ForAllThreads> Sync for Bound<I> {}

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
