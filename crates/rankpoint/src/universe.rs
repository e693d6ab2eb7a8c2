// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rank's membership in its job, from start to end.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Mutex;

use engine::comm::{Comm, Process};
use engine::create;
use engine::{Error, ErrorClass, Result};

use crate::errors::Leaving;
use crate::threads::{AnyThread, OneThread, Threads};
use crate::{Communicator, Group};

/// Whether a universe was made in this process.
static MADE: Mutex<bool> = Mutex::new(false);

/// This process as a rank of its job (MPI-5.0, section 11.2). Dropping it ends the membership, after everything that was
/// sent is out and all ranks have come as far.
///
/// It is made once in a process. A child that a rank makes with `fork` is not an MPI process: its calls fail, and nothing happens when
/// its copy of the universe is dropped. A rank that panics does not wait for the others when its universe is dropped; its end
/// ends the job.
///
/// ```
/// let universe = rankpoint::Universe::init()?;
/// println!("rank {} of {}", universe.world().rank(), universe.world().size());
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct Universe<T: Threads = OneThread> {
    process: &'static Process,
    threads: PhantomData<T>,
}

impl Universe<OneThread> {
    /// Joins the job that `mpiexec` prepared, or makes one of one rank. One thread uses MPI.
    ///
    /// # Errors
    /// When it was called before in this process, or the job cannot be joined.
    pub fn init() -> Result<Self> {
        start()
    }
}

impl Universe<AnyThread> {
    /// As [`Universe::init`], but any thread may use MPI at any time.
    ///
    /// ```
    /// let universe = rankpoint::Universe::init_threaded()?;
    /// let world = universe.world();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| world.rank());
    /// });
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Universe::init`].
    pub fn init_threaded() -> Result<Self> {
        start()
    }
}

fn start<T: Threads>() -> Result<Universe<T>> {
    let mut made = match MADE.lock() {
        Ok(made) => made,
        Err(poisoned) => poisoned.into_inner(),
    };
    if std::mem::replace(&mut *made, true) {
        return Err(Error::new(
            ErrorClass::ERR_OTHER,
            "this process has joined its job already; there is one Universe in a process",
        )
        .in_call("Universe::init"));
    }
    let (process, warnings) = Process::start(T::LEVEL)?;
    for warning in warnings {
        warn(process, &warning);
    }
    Ok(Universe {
        process,
        threads: PhantomData,
    })
}

fn warn(process: &Process, text: &str) {
    if process.rank() == 0 {
        tell(text);
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a setting with a wrong name must not go unnoticed, and there is nobody to return it to"
)]
fn tell(text: &str) {
    eprintln!("Rankpoint: {text}");
}

impl<T: Threads> Universe<T> {
    /// The communicator of all ranks of the job (MPI_COMM_WORLD).
    pub fn world(&self) -> Communicator<'_, T> {
        Communicator::borrowed(self.process.world())
    }

    /// The communicator of this rank alone (MPI_COMM_SELF).
    pub fn itself(&self) -> Communicator<'_, T> {
        Communicator::borrowed(self.process.itself())
    }

    /// A communicator of a group's members, which need not share a communicator, and which alone call it; others that do get `None`
    /// (MPI_Comm_create_from_group). The text tells calls apart that are made at the same time.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// let first = universe.world().group().include(&[0])?;
    /// if universe.world().rank() == 0 {
    ///     let comm = universe.communicator_of(&first, "the first alone")?;
    ///     assert_eq!(comm.map(|comm| comm.size()), Some(1));
    /// }
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no context is free.
    pub fn communicator_of(
        &self,
        group: &Group,
        text: &str,
    ) -> Result<Option<Communicator<'_, T>>> {
        let call = "Universe::communicator_of";
        let made = create::create_from_group(self.process, group.members(), text, call)
            .map_err(|error| error.in_call(call))?;
        Ok(made.map(Communicator::owned))
    }

    /// Attaches memory for buffered sends: as much as they need (MPI_Buffer_attach with MPI_BUFFER_AUTOMATIC).
    ///
    /// # Errors
    /// When a buffer is attached already.
    pub fn attach_buffer(&self) -> Result<()> {
        self.process.buffer().attach(0, None)
    }

    /// Ends the whole job at once; every rank's exit status is `code` (MPI_Abort). A child that a rank has forked can do so, too.
    pub fn abort(&self, code: i32) -> ! {
        self.process.abort(code)
    }
}

impl<T: Threads> Drop for Universe<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others may wait for what this rank will never send: its end without a goodbye tells the launcher.
            return;
        }
        if self.process.is_forked_child() {
            // The membership is that of the rank which has forked.
            return;
        }
        for comm in [self.process.itself(), self.process.world()] {
            comm.attributes.clear_all();
        }
        let leaving = Leaving::begin(self.process.rank());
        let finished = engine::coll::finish(self.process);
        drop(leaving);
        if let Some(text) = self.process.write_trace() {
            tell(&text);
        }
        if let Err(error) = finished.and_then(|()| self.process.take_leave()) {
            warn(self.process, &error.to_string());
        }
    }
}

impl<T: Threads> fmt::Debug for Universe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let world: &Comm = self.process.world();
        write!(f, "Universe(rank {} of {})", world.rank(), world.size())
    }
}
