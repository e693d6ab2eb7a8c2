// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of errors (MPI-5.0, section 9.3): calls return them, or they end the job.

use std::sync::atomic::Ordering;

use engine::Error;
use engine::comm::Comm;

use crate::Communicator;
use crate::universe::Threads;

/// What becomes of an error of a call on a communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorMode {
    /// The call returns it (MPI_ERRORS_RETURN).
    #[default]
    Return,
    /// It is printed, and ends the job with its class as the exit status (MPI_ERRORS_ARE_FATAL): for programs that would do
    /// the same, and for finding the rank that failed first.
    Abort,
}

/// How the mode is kept in a communicator.
const ABORT: u64 = 1;

impl<T: Threads> Communicator<'_, T> {
    /// Says what becomes of errors of calls on this communicator, and on those that are made of it afterwards
    /// (MPI_Comm_set_errhandler).
    ///
    /// ```
    /// use rankpoint::ErrorMode;
    ///
    /// # let universe = rankpoint::Universe::init()?;
    /// let world = universe.world();
    /// world.set_error_mode(ErrorMode::Abort);
    /// assert_eq!(world.duplicate()?.error_mode(), ErrorMode::Abort);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    pub fn set_error_mode(&self, mode: ErrorMode) {
        let code = match mode {
            ErrorMode::Return => 0,
            ErrorMode::Abort => ABORT,
        };
        self.comm().error_handler.store(code, Ordering::Relaxed);
    }

    /// What becomes of errors of calls on this communicator (MPI_Comm_get_errhandler).
    pub fn error_mode(&self) -> ErrorMode {
        mode(self.comm())
    }
}

fn mode(comm: &Comm) -> ErrorMode {
    match comm.error_handler.load(Ordering::Relaxed) {
        ABORT => ErrorMode::Abort,
        _ => ErrorMode::Return,
    }
}

/// The error of a call on a communicator, which says so; unless it ends the job.
#[cold]
#[inline(never)]
pub(crate) fn report(comm: &Comm, call: &'static str, error: Error) -> Error {
    let error = comm.annotate(error.in_call(call));
    match mode(comm) {
        ErrorMode::Return => error,
        ErrorMode::Abort => end_job(comm, &error),
    }
}

#[expect(
    clippy::print_stderr,
    clippy::exit,
    reason = "nobody gets the error returned: the program asked for the end"
)]
fn end_job(comm: &Comm, error: &Error) -> ! {
    eprintln!("Rankpoint: {error}; ending the job");
    let code = error.class().0.max(1);
    comm.process().announce_abort(code);
    std::process::exit(code)
}
