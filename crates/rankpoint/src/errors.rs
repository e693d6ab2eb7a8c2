// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error modes (MPI-5.0, section 9.3): calls return errors, or errors end the job.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::Error;
use engine::comm::Comm;

/// How calls on a communicator handle errors.
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

impl ErrorMode {
    /// As for calls on a communicator.
    pub(crate) fn of(comm: &Comm) -> Self {
        match comm.error_handler.load(Ordering::Relaxed) {
            ABORT => Self::Abort,
            _ => Self::Return,
        }
    }

    /// Makes it that of calls on a communicator.
    pub(crate) fn set(self, comm: &Comm) {
        let code = match self {
            Self::Return => 0,
            Self::Abort => ABORT,
        };
        comm.error_handler.store(code, Ordering::Relaxed);
    }
}

/// The error of a call on a communicator, which says so; unless it ends the job.
#[cold]
#[inline(never)]
pub(crate) fn report(comm: &Comm, call: &'static str, error: Error) -> Error {
    let process = comm.process();
    let error = match process.is_forked_child() {
        // What the engine finds missing there has no other reason.
        true => process.forked_child().in_call(call),
        false => comm.annotate(error.in_call(call)),
    };
    match ErrorMode::of(comm) {
        ErrorMode::Return => {
            if let Ok(mut last) = LAST.lock() {
                *last = Some(error.to_string());
            }
            error
        }
        ErrorMode::Abort => end_job(comm, &error),
    }
}

#[expect(
    clippy::print_stderr,
    reason = "nobody gets the error returned: the program asked for the end"
)]
fn end_job(comm: &Comm, error: &Error) -> ! {
    let what = match comm.process().is_forked_child() {
        true => "this process",
        false => "the job",
    };
    eprintln!("Rankpoint: {error}; ending {what}");
    comm.process().end_after_error(error.class().0.max(1))
}

/// The text of the last error that a call on a communicator returned.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// How long a rank waits for the others at its end before it prints [`LAST`].
const QUIET: Duration = Duration::from_secs(1);

/// The end of a rank. A program that returns an error from `main` prints it after that, and the others may wait for ever for what the
/// failed rank has not sent: so a wait of some time prints the last error.
pub(crate) struct Leaving(Option<(Sender<()>, JoinHandle<()>)>);

impl Leaving {
    /// The rank begins to wait, until the result is dropped.
    pub(crate) fn begin(rank: u32) -> Self {
        let last = LAST.lock().ok().and_then(|last| last.clone());
        let watch = |text: String| {
            let (done, ends) = mpsc::channel();
            let watch = move || {
                if ends.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                    print_last(rank, &text);
                }
            };
            let name = "rankpoint-leave".to_owned();
            let thread = std::thread::Builder::new().name(name).spawn(watch).ok()?;
            Some((done, thread))
        };
        Self(last.and_then(watch))
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            // The thread has ended if it does not listen.
            let _ = done.send(());
            let _ = thread.join();
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the program gets the error out only when the others have come"
)]
fn print_last(rank: u32, text: &str) {
    eprintln!(
        "Rankpoint: rank {rank} waits for the others in MPI_Finalize; the last error that a call returned to it: {text}"
    );
}
