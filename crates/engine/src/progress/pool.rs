// SPDX-License-Identifier: MIT OR Apache-2.0
//! The VCIs of a process.
//!
//! The first one exists from the start; the others are made when a communicator first needs them. How many there may be is told on
//! the rank's board before it communicates, so that the members of a new communicator agree on its VCI without asking.

// account: progress

use std::sync::{Arc, OnceLock};

use fabric::node::NodeHandle;
use fabric::transport::Transport;
use sys::sync::{AtomicU32, AtomicU64, Mutex, Ordering};

use super::background::Background;
use super::oversubscription::Oversubscription;
use super::vci::Vci;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{MOST_VCIS, PeerIndex, VciIndex};
use crate::overlap::Overlaps;
use crate::settings::{LockModel, Settings};

/// Makes the transport of a VCI.
pub(crate) type MakeTransport =
    dyn Fn(&NodeHandle, PeerIndex, VciIndex) -> Result<Transport> + Send + Sync;

/// The state that all VCIs of a process share.
pub(super) struct VciCommon {
    pub(super) settings: Settings,
    /// Whether several threads may be inside MPI at once.
    pub(super) threaded: bool,
    pub(super) oversubscription: Arc<Oversubscription>,
    pub(super) background: Arc<Background>,
    /// The calls that must not overlap, where that is checked.
    pub(super) overlaps: Option<Arc<Overlaps>>,
}

/// The VCIs of a process.
pub struct Vcis {
    first: Vci,
    others: Box<[OnceLock<Box<Vci>>]>,
    /// How many communicators of processes take round-robin.
    count: u32,
    /// The VCI of the endpoint that is made next.
    next_endpoint: AtomicU32,
    /// One bit for each VCI that exists.
    made: AtomicU64,
    making: Mutex<()>,
    node: NodeHandle,
    me: PeerIndex,
    shared: VciCommon,
    transport: Box<MakeTransport>,
}

impl Vcis {
    /// The VCIs of rank `me`: the first one, and room for others at MPI_THREAD_MULTIPLE (`is_multiple`).
    ///
    /// # Errors
    /// When the system refuses memory.
    pub(crate) fn new(
        node: &NodeHandle,
        me: PeerIndex,
        settings: &Settings,
        is_multiple: bool,
        transport: Box<MakeTransport>,
    ) -> Result<Self> {
        let job = node.job();
        let wants_thread = settings.progress_thread != 0;
        let shared = VciCommon {
            settings: settings.clone(),
            threaded: is_multiple || wants_thread,
            oversubscription: Arc::new(Oversubscription::new(job.cores, job.local_ranks)),
            background: Arc::new(Background::new(wants_thread, settings.spare.clone())),
            overlaps: Overlaps::new(is_multiple && settings.check.threads, settings.check.rma)
                .map(Arc::new),
        };
        let count = count_of(settings, is_multiple, job.cores);
        let board = node.board(me);
        // Relaxed: members read it for a communicator whose making has told them that this rank is initialized.
        board.vci_count.store(count, Ordering::Relaxed);
        board.vci_rows.store(count, Ordering::Relaxed);
        let first = transport(node, me, VciIndex::FIRST)?;
        Ok(Self {
            first: Vci::new(node, me, VciIndex::FIRST, &shared, first)?,
            count,
            others: (1..MOST_VCIS).map(|_| OnceLock::new()).collect(),
            next_endpoint: AtomicU32::new(count),
            made: AtomicU64::new(1),
            making: Mutex::new(()),
            node: node.clone(),
            me,
            shared,
            transport,
        })
    }

    /// Lets the VCIs know each other. Called once, before any of them is used.
    pub(crate) fn connect(&'static self) {
        // A second call would set the same.
        let _ = self.first.all.set(self);
    }

    /// The VCI of everything that asks for no other.
    #[inline(always)]
    pub(crate) const fn first(&self) -> &Vci {
        &self.first
    }

    /// Whether the ranks of the node share memory.
    pub(crate) const fn share_memory(&self) -> bool {
        self.first.waiting.shares_memory()
    }

    /// How many communicators of processes take round-robin.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The first of `count` VCIs, taken round-robin, for the endpoints of a communicator.
    pub(crate) fn take_for_endpoints(&self, count: u32) -> VciIndex {
        let board = self.node.board(self.me);
        board.vci_rows.store(MOST_VCIS as u32, Ordering::Relaxed);
        VciIndex::of_bits(self.next_endpoint.fetch_add(count, Ordering::Relaxed))
    }

    /// Whether there is another one than the first.
    #[inline(always)]
    pub(super) fn are_several(&self) -> bool {
        self.made.load(Ordering::Relaxed) != 1
    }

    /// The VCI with an index, if it exists.
    pub(crate) fn get(&self, index: VciIndex) -> Option<&Vci> {
        match usize::from(index.get()).checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other)?.get().map(|vci| &**vci),
        }
    }

    /// Those that exist.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Vci> {
        let others = self.others.iter().filter_map(OnceLock::get);
        std::iter::once(&self.first).chain(others.map(|vci| &**vci))
    }

    /// The VCI with an index, made if it does not exist.
    ///
    /// # Errors
    /// When the system refuses memory.
    pub(crate) fn obtain(&'static self, index: VciIndex) -> Result<&'static Vci> {
        if let Some(vci) = self.get(index) {
            return Ok(vci);
        }
        let _making = self.making.lock();
        let other = usize::from(index.get()).checked_sub(1);
        let Some(cell) = other.and_then(|other| self.others.get(other)) else {
            let text = format!("there is no VCI {}", index.get());
            return Err(Error::new(ErrorClass::ERR_INTERN, text));
        };
        if let Some(vci) = cell.get() {
            return Ok(vci);
        }
        let transport = (self.transport)(&self.node, self.me, index)?;
        let vci = Vci::new(&self.node, self.me, index, &self.shared, transport)?;
        // Nobody else has set either: `making` is held.
        let _ = vci.all.set(self);
        let vci = cell.get_or_init(|| Box::new(vci));
        // A thread that sees the bit finds the VCI by its cell, which orders what it reads.
        self.made.fetch_or(1 << index.get(), Ordering::Relaxed);
        Ok(vci)
    }
}

/// How many VCIs a process may have.
fn count_of(settings: &Settings, is_multiple: bool, cores: u32) -> u32 {
    let most = MOST_VCIS as u32;
    if !is_multiple || settings.locks == LockModel::Global {
        return 1;
    }
    match u32::try_from(settings.vcis).unwrap_or(most) {
        0 => cores.clamp(1, most),
        wanted => wanted.min(most),
    }
}
