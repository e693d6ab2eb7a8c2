// SPDX-License-Identifier: MIT OR Apache-2.0
//! The window object (MPI-5.0, section 12.2).

use std::sync::{Arc, OnceLock, PoisonError, Weak};

use fabric::window::Bell;
use sys::sync::{AtomicBool, AtomicU64, Mutex, Ordering};

use super::announce::Announcer;
use super::dynamic::Attached;
use super::epoch::Epochs;
use super::hints::WindowHints;
use super::message::Channel;
use super::polled::Helper;
use super::target::{Path, Place, Target};
use crate::attr::Attributes;
use crate::coll;
use crate::comm::{Comm, CutOff, Process};
use crate::completion;
use crate::device::{Device, GpuMemory};
use crate::errors::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::identity::Rank;
use crate::p2p::PROC_NULL;
use crate::request::Status;
use crate::task::{self, block_on};

/// How a window was made; the numbers are the ABI's (MPI_WIN_CREATE_FLAVOR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Flavor {
    /// Over the program's memory.
    Create = 311,
    /// Over memory that came with it.
    Allocate = 312,
    /// Without memory: processes attach it.
    Dynamic = 313,
    /// Over memory that members access by loads and stores.
    Shared = 314,
}

/// Memory of the node segment that belongs to a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub(super) address: *mut u8,
    pub(super) bytes: usize,
}

/// Values of the predefined attributes, to whose addresses C programs refer.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// MPI_WIN_SIZE.
    pub bytes: isize,
    /// MPI_WIN_DISP_UNIT, as far as an int holds it.
    pub unit: i32,
    /// MPI_WIN_CREATE_FLAVOR.
    pub flavor: i32,
    /// MPI_WIN_MODEL: MPI_WIN_UNIFIED.
    pub model: i32,
}

impl Values {
    pub(super) fn new(flavor: Flavor, bytes: u64, unit: i64) -> Self {
        Self {
            bytes: bytes as isize,
            unit: i32::try_from(unit).unwrap_or(i32::MAX),
            flavor: flavor as i32,
            model: UNIFIED,
        }
    }
}

/// The number of MPI_WIN_UNIFIED in the ABI.
const UNIFIED: i32 = 321;

/// A window. Shared by reference; freed through [`Window::free`].
pub struct Window {
    pub(super) epochs: Epochs,
    pub(super) targets: Box<[Target]>,
    /// Whether the ranks of the members are those of MPI_COMM_WORLD.
    pub(super) ranks_are_global: bool,
    /// Otherwise the rank here of each process of MPI_COMM_WORLD, or a negative number; filled in by the first call that names such a rank.
    pub(super) world_ranks: OnceLock<Box<[i32]>>,
    /// The window's own communicator.
    pub(super) comm: Arc<Comm>,
    /// Where operations on some target are messages, or its synchronisation.
    pub(super) channel: Option<Channel>,
    pub(super) announcer: Announcer,
    pub(super) helper: Helper,
    pub(super) flavor: Flavor,
    pub(super) base: *mut u8,
    /// The GPU in whose memory it is.
    pub(super) device: Option<Device>,
    /// That memory, if it came with the window.
    pub(super) on_gpu: Mutex<Option<GpuMemory>>,
    /// The board and the memory of this member, given back by `free`.
    pub(super) owned: Mutex<Vec<Owned>>,
    /// Of a dynamic window: the memory that this member attached.
    pub(super) attached: Mutex<Attached>,
    pub(super) is_freed: AtomicBool,
    /// Hints, as the program gave them.
    pub hints: WindowHints,
    pub(super) name: Mutex<String>,
    /// The C face's handle of this window; 0 if it has none.
    pub handle: AtomicU64,
    /// The C face's error handler of this window; 0 before it has one.
    pub error_handler: AtomicU64,
    /// Predefined attributes.
    pub values: Values,
    /// Cached attributes.
    pub attributes: Attributes,
}

// SAFETY: the addresses are those of memory whose use by threads the program orders (MPI-5.0, section 12.7); all else is Sync.
unsafe impl Sync for Window {}
// SAFETY: as for Sync.
unsafe impl Send for Window {}

impl Window {
    /// Shares a new window. Children that the program forks cannot use it.
    pub(super) fn share(self) -> Arc<Self> {
        let shared = Arc::new(self);
        let watched: Weak<dyn CutOff> = Arc::<Self>::downgrade(&shared);
        shared.process().cut_off_in_children(watched);
        shared
    }

    /// The communicator of the members, which only the window uses.
    pub const fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// Fills in the ranks here of all processes of MPI_COMM_WORLD, for the fast stages of calls that name such ranks.
    #[cold]
    #[inline(never)]
    pub(super) fn learn_world_ranks(&self) {
        let rank_of = |world_rank| self.comm.rank_of_world(world_rank as i32);
        self.world_ranks.get_or_init(|| {
            (0..self.process().numbered_ranks)
                .map(|world_rank| rank_of(world_rank).map_or(-1, Rank::to_mpi))
                .collect()
        });
    }

    /// The process of this member.
    pub fn process(&self) -> &'static Process {
        self.comm.process()
    }

    /// The members.
    pub fn group(&self) -> &Group {
        self.comm.group()
    }

    /// How it was made.
    pub const fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// First byte of this member's memory; null for a dynamic window (MPI_WIN_BASE).
    pub const fn base(&self) -> *mut u8 {
        self.base
    }

    /// Size of this member's memory in bytes (MPI_WIN_SIZE).
    pub fn bytes(&self) -> u64 {
        self.own().bytes
    }

    /// Displacement unit of this member in bytes (MPI_WIN_DISP_UNIT).
    pub fn disp_unit(&self) -> u64 {
        self.own().unit
    }

    /// This member as a target.
    pub(super) fn own(&self) -> &Target {
        &self.targets[self.comm.rank() as usize]
    }

    /// The channel, if a member is reached by messages.
    pub(super) fn channel_to(&self, rank: u32) -> Option<&Channel> {
        let is_by_message = self.targets[rank as usize].path == Path::Message;
        self.channel.as_ref().filter(|_| is_by_message)
    }

    /// The channel, if the elements at a target are reached by messages.
    pub(super) fn channel_for(&self, place: &Place<'_>) -> Option<&Channel> {
        let is_by_message = place.path == Path::Message;
        self.channel.as_ref().filter(|_| is_by_message)
    }

    /// The channel, if other members reach this one by messages.
    pub(super) fn own_channel(&self) -> Option<&Channel> {
        self.channel_to(self.comm.rank() as u32)
    }

    /// Where this member sleeps.
    pub(super) fn bell(&self) -> Bell {
        Bell::new(self.process().index(), self.comm.vci().index())
    }

    /// The doorbell of a member.
    pub(super) fn bell_of(&self, rank: u32) -> Bell {
        let (peer, peers) = (self.targets[rank as usize].peer, self.comm.vci().peers());
        Bell::new(peers.process(peer), peers.vci(peer))
    }

    /// Size, displacement unit and address of the memory of a member, or for MPI_PROC_NULL of the first one that has any
    /// (MPI_Win_shared_query).
    ///
    /// # Errors
    /// MPI_ERR_RMA_FLAVOR, MPI_ERR_RANK.
    pub fn shared_query(&self, rank: i32) -> Result<(u64, u64, *mut u8)> {
        let target = if rank == PROC_NULL {
            let mut with_memory = self.targets.iter().filter(|target| target.bytes > 0);
            with_memory.next().unwrap_or(&self.targets[0])
        } else {
            let found = usize::try_from(rank).ok();
            found
                .and_then(|rank| self.targets.get(rank))
                .ok_or_else(|| {
                    let expected = format!("0..{} or MPI_PROC_NULL", self.targets.len() - 1);
                    self.annotate(Error::argument(
                        ErrorClass::ERR_RANK,
                        "rank",
                        rank,
                        expected,
                    ))
                })?
        };
        if self.flavor == Flavor::Dynamic {
            let expected = "a window that was made over memory";
            let value = "a dynamic window";
            let error = Error::argument(ErrorClass::ERR_RMA_FLAVOR, "win", value, expected);
            return Err(self.annotate(error));
        }
        // Memory that this process does not map is as if it were not there (MPI-5.0, section 12.2.3).
        let bytes = if target.mapped.is_null() {
            0
        } else {
            target.bytes
        };
        Ok((bytes, target.unit, target.mapped))
    }

    /// The name given by MPI_Win_set_name.
    pub fn name(&self) -> String {
        self.name
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Renames the window.
    pub fn set_name(&self, name: &str) {
        name.clone_into(&mut self.name.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Adds the window to an error's text.
    #[cold]
    pub fn annotate(&self, error: Error) -> Error {
        let name = match self.name() {
            name if name.is_empty() => "an unnamed window".to_owned(),
            name => format!("window {name}"),
        };
        error.on(format!(
            "{name}, rank {} of {}",
            self.comm.rank(),
            self.comm.size()
        ))
    }

    /// Frees the window when all members have done with it (MPI_Win_free).
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC when an epoch is open, also one of fences in which this member started operations; those of the messages.
    pub fn free(&self, call: &'static str) -> Result<()> {
        self.check_may_free()?;
        let flushed = match &self.channel {
            Some(channel) => channel.end_before_fence(self, 0, call),
            None => Ok(()),
        };
        let vci = self.comm.vci();
        block_on(vci, call, coll::barrier(self.comm.clone()))?;
        self.stop_other_services(call)?;
        block_on(vci, call, self.stop_tasks())?;
        self.note_barrier();
        self.end();
        flushed
    }

    /// Waits until no member uses the window any more.
    async fn done_by_all(&self) -> Result<()> {
        coll::barrier(self.comm.clone()).await?;
        self.stop_tasks().await
    }

    async fn stop_tasks(&self) -> Result<()> {
        self.stop_helping().await?;
        match &self.channel {
            Some(channel) => channel.stop().await,
            None => Ok(()),
        }
    }

    /// Ends the services on other VCIs than the window's, each on its VCI; [`Self::stop_tasks`] finds nothing left to do there.
    fn stop_other_services(&self, call: &'static str) -> Result<()> {
        match &self.channel {
            Some(channel) => channel.stop_others(call),
            None => Ok(()),
        }
    }

    /// Undoes what a member made of a window that other members could not make; the communicator stays.
    ///
    /// # Errors
    /// Those of the messages.
    pub(super) fn withdraw(&self, call: &'static str) -> Result<()> {
        self.is_freed.store(true, Ordering::Relaxed);
        let others = self.stop_other_services(call);
        let outcome = block_on(self.comm.vci(), call, self.stop_tasks());
        self.give_back_memory();
        others.and(outcome)
    }

    fn give_back_memory(&self) {
        drop(
            self.on_gpu
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let owned = std::mem::take(&mut *self.owned.lock().unwrap_or_else(PoisonError::into_inner));
        super::heap::give_back(self.process(), owned);
    }

    /// Gives back what the window has: no member uses it any more.
    fn end(&self) {
        self.is_freed.store(true, Ordering::Relaxed);
        self.comm.free();
        self.give_back_memory();
    }
}

/// Frees a window when all members have let go of it, without waiting for them. Nothing happens if it is freed already.
pub fn let_go(window: &Arc<Window>) {
    let_go_then(window, || {});
}

/// As [`let_go`]; `then` is called when all members have let go of it.
pub(crate) fn let_go_then(window: &Arc<Window>, then: impl FnOnce() + Send + 'static) {
    if window.is_freed.swap(true, Ordering::Relaxed) {
        return;
    }
    let (comm, kept) = (&window.comm, window.clone());
    let ending = task::spawn(comm, async move {
        kept.done_by_all().await?;
        kept.end();
        then();
        Ok(Status::EMPTY)
    });
    if let Ok(mut request) = ending {
        // A live request can be let go of.
        let _ = completion::let_go(comm.vci(), &mut request);
    }
}
