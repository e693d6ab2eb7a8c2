// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators (MPI-5.0, chapter 7).

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use engine::Result;
use engine::comm::{Comm, Spread};
use engine::create;
use engine::p2p::{ANY_SOURCE_RANK, ANY_TAG_VALUE};
use engine::progress::Vci;

use crate::errors::{ErrorMode, report};
use crate::threads::{OneThread, Threads};

/// A group of ranks with a context of its own: messages of different communicators never meet. Ranks count from 0.
///
/// It lives no longer than its [`Universe`](crate::Universe). `T` says whether other threads may use it.
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// let world = universe.world();
/// let half = world.split(world.rank() % 2, world.rank())?;
/// assert!(half.size() <= world.size());
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct Communicator<'u, T: Threads = OneThread> {
    comm: Arc<Comm>,
    owned: bool,
    hints: Hints,
    universe: PhantomData<(&'u (), T)>,
}

impl<T: Threads> Communicator<'_, T> {
    /// One of the communicators that are there from the start.
    pub(crate) fn borrowed(comm: &Arc<Comm>) -> Self {
        Self {
            comm: comm.clone(),
            owned: false,
            hints: Hints::default(),
            universe: PhantomData,
        }
    }

    /// One that is freed when it is dropped.
    pub(crate) fn owned(comm: Arc<Comm>) -> Self {
        Self {
            comm,
            owned: true,
            hints: Hints::default(),
            universe: PhantomData,
        }
    }

    pub(crate) fn with_hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }

    #[inline(always)]
    pub(crate) fn comm(&self) -> &Comm {
        &self.comm
    }

    pub(crate) const fn shared(&self) -> &Arc<Comm> {
        &self.comm
    }

    pub(crate) fn vci(&self) -> &'static Vci {
        self.comm.vci()
    }

    /// Runs a call on this communicator; its error says so.
    #[inline(always)]
    pub(crate) fn run<R>(
        &self,
        call: &'static str,
        action: impl FnOnce(&Self) -> Result<R>,
    ) -> Result<R> {
        action(self).map_err(|error| report(&self.comm, call, error))
    }

    /// This rank, 0 up to [`Self::size`].
    #[inline]
    pub fn rank(&self) -> usize {
        self.comm.rank() as usize
    }

    /// Number of ranks.
    #[inline]
    pub fn size(&self) -> usize {
        self.comm.size() as usize
    }

    /// A communicator of the same ranks with a context of its own (MPI_Comm_dup). Called by all ranks.
    ///
    /// # Errors
    /// When no context is free.
    pub fn duplicate(&self) -> Result<Self> {
        self.duplicate_with(self.hints)
    }

    /// As [`Self::duplicate`], with promises of what the program will not do there (MPI_Comm_dup_with_info).
    ///
    /// ```
    /// use rankpoint::{Hints, Source};
    ///
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let orderly = world.duplicate_with(Hints { no_any_source: true, ..Hints::default() })?;
    /// let error = orderly.recv_vec::<u8>(Source::Any, 0).unwrap_err();
    /// assert!(error.to_string().contains("no_any_source"));
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Self::duplicate`].
    pub fn duplicate_with(&self, hints: Hints) -> Result<Self> {
        self.run("Communicator::duplicate", |this| {
            let made = create::dup_spread(&this.comm, hints.spread(), "Communicator::duplicate")?;
            Ok(Self::owned(made).with_hints(hints))
        })
    }

    /// The hints of this communicator (MPI_Comm_get_info).
    pub const fn hints(&self) -> Hints {
        self.hints
    }

    /// Source and tag of a receive, if they keep the promises.
    #[inline(always)]
    pub(crate) fn wanted(&self, source: i32, tag: i32) -> Result<(i32, i32)> {
        if source < 0 || tag < 0 {
            self.hints.check(source, tag)?;
        }
        Ok((source, tag))
    }

    /// One communicator for each colour, its ranks ordered by `key` and then by their ranks here (MPI_Comm_split). Called by
    /// all ranks.
    ///
    /// # Errors
    /// When the colour or key exceeds 2^31 - 1, or no context is free.
    pub fn split(&self, color: usize, key: usize) -> Result<Self> {
        self.run("Communicator::split", |this| {
            let [color, key] = [number("color", color)?, number("key", key)?];
            match create::split(&this.comm, color, key, "Communicator::split")? {
                Some(comm) => Ok(Self::owned(comm)),
                None => Err(no_communicator()),
            }
        })
    }

    /// As [`Self::split`]; ranks that give no colour get no communicator.
    ///
    /// # Errors
    /// As for [`Self::split`].
    pub fn split_some(&self, color: Option<usize>, key: usize) -> Result<Option<Self>> {
        self.run("Communicator::split_some", |this| {
            let key = number("key", key)?;
            let color = match color {
                Some(color) => number("color", color)?,
                None => create::UNDEFINED,
            };
            let made = create::split(&this.comm, color, key, "Communicator::split_some")?;
            Ok(made.map(Self::owned))
        })
    }

    /// The ranks that share memory with this one, which are those of its node, ordered by `key` and then by their ranks here
    /// (MPI_Comm_split_type with MPI_COMM_TYPE_SHARED). Called by all ranks.
    ///
    /// # Errors
    /// When the key exceeds 2^31 - 1, or no context is free.
    pub fn split_shared(&self, key: usize) -> Result<Self> {
        self.run("Communicator::split_shared", |this| {
            let (node, _) = this.comm.node_index();
            this.split(node as usize, key)
        })
    }

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
        mode.set(&self.comm);
    }

    /// How calls on this communicator handle errors (MPI_Comm_get_errhandler).
    pub fn error_mode(&self) -> ErrorMode {
        ErrorMode::of(&self.comm)
    }

    /// The communicator's name, for reports.
    pub fn name(&self) -> String {
        self.comm.name()
    }

    /// Renames the communicator (MPI_Comm_set_name).
    pub fn set_name(&self, name: &str) {
        self.comm.set_name(name);
    }
}

/// Promises of what a program will not do on a communicator (MPI-5.0, section 7.4.4). They are kept: what breaks one is an
/// error. A duplicate has those of its original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Receives and probes name their source (mpi_assert_no_any_source): which message they get does not depend on time.
    pub no_any_source: bool,
    /// Receives and probes name their tag (mpi_assert_no_any_tag).
    pub no_any_tag: bool,
    /// Messages use several VCIs, which their tags name. Needs `no_any_tag`; the same at all ranks.
    pub tag_vcis: Option<TagVcis>,
}

/// How the tags of a communicator name the VCIs of its messages: threads whose numbers differ share nothing.
///
/// ```
/// use rankpoint::{Hints, TagVcis};
///
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// // Tags are app * 16 + sender * 4 + receiver.
/// let tag_vcis = Some(TagVcis { vcis: 4, bits: 2 });
/// let threads = world.duplicate_with(Hints { no_any_tag: true, tag_vcis, ..Hints::default() })?;
/// # drop(threads);
/// let error = world.duplicate_with(Hints { tag_vcis, ..Hints::default() }).unwrap_err();
/// assert!(error.to_string().contains("no_any_tag"));
/// # Ok::<(), rankpoint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagVcis {
    /// Number of VCIs, at most 64 and 2^`bits`.
    pub vcis: usize,
    /// Bits that hold the number of a thread: the lowest ones of a tag that of the receiver, the next ones that of the sender.
    pub bits: usize,
}

impl Hints {
    /// What the engine is told of `tag_vcis`.
    fn spread(self) -> Result<Option<Spread>> {
        Spread::read(|key| match (key, self.tag_vcis?) {
            ("rankpoint_num_vcis", tags) => Some(tags.vcis.to_string()),
            ("rankpoint_num_tag_bits_for_vci", tags) => Some(tags.bits.to_string()),
            ("mpi_assert_no_any_tag", _) => Some(self.no_any_tag.to_string()),
            _ => None,
        })
    }

    #[cold]
    fn check(self, source: i32, tag: i32) -> Result<()> {
        let (source, tag) = (source == ANY_SOURCE_RANK, tag == ANY_TAG_VALUE);
        let (argument, hint) = match self {
            Self { no_any_source, .. } if no_any_source && source => ("source", "no_any_source"),
            Self { no_any_tag, .. } if no_any_tag && tag => ("tag", "no_any_tag"),
            _ => return Ok(()),
        };
        let expected = format!("a value: the communicator has the hint {hint}");
        let class = engine::ErrorClass::ERR_ARG;
        Err(engine::Error::argument(class, argument, "Any", expected))
    }
}

#[cold]
fn no_communicator() -> engine::Error {
    engine::Error::new(
        engine::ErrorClass::ERR_INTERN,
        "a rank that gave a colour got no communicator",
    )
}

pub(crate) fn number(argument: &'static str, value: usize) -> Result<i32> {
    i32::try_from(value).map_err(|_| {
        engine::Error::argument(
            engine::ErrorClass::ERR_ARG,
            argument,
            value,
            "at most 2147483647",
        )
    })
}

impl<T: Threads> Drop for Communicator<'_, T> {
    fn drop(&mut self) {
        if self.owned {
            self.comm.attributes.clear_all();
            self.comm.free();
        }
    }
}

impl<T: Threads> fmt::Debug for Communicator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Communicator({:?}, rank {} of {})",
            self.name(),
            self.rank(),
            self.size()
        )
    }
}
