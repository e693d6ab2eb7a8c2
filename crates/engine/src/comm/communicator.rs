// SPDX-License-Identifier: MIT OR Apache-2.0
//! A communicator: its members, its VCI, its context, and what belongs to it.

use std::cell::UnsafeCell;
use std::sync::{Arc, OnceLock};

use sys::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering};

use super::area_slot::AreaSlot;
use super::attached::AttachedBuffer;
use super::hints::Hints;
use super::node_map::NodeMap;
use super::process::Process;
use super::route::Route;
use super::spread::{Lanes, PartitionLanes};
use super::topology::Topology;
use super::{context, endpoint};
use crate::attr::Attributes;
use crate::errors::{Error, Result};
use crate::group::{Comparison, Group};
use crate::identity::{LinkIndex, Rank};
use crate::progress::Vci;
use crate::request::{Owner, RankMap};

/// Distance between the match words of a communicator's point-to-point and collective contexts.
pub(crate) const COLLECTIVE: u64 = 1 << 32;

/// A communicator. Shared by reference; freed through [`Comm::free`].
#[repr(C, align(64))]
pub struct Comm {
    /// The part that requests point to. First, so that its address is the communicator's.
    pub(crate) owner: Owner,
    /// This and the next two change once, when the members of a duplicate have agreed ([`Self::set_context`]). They are no atomics,
    /// which would cost the fast path instructions: completing the request of the duplicate orders the change.
    vci: UnsafeCell<&'static Vci>,
    /// Context id in the high half; [`context::PENDING`] until the members have agreed.
    match_base: UnsafeCell<u64>,
    pub(super) route: UnsafeCell<Route>,
    /// Ranks that can be addressed: of the group, or of the remote group of an intercommunicator.
    pub(crate) peers: u32,
    /// The same of sends that may go without a request: none where messages are traced.
    pub(crate) eager_peers: u32,
    rank: u32,
    /// This member, as groups name it ([`endpoint`]).
    member: u32,
    pub(crate) process: &'static Process,
    group: Group,
    pub(super) remote_group: Option<Group>,
    /// The intracommunicator of the local group of an intercommunicator.
    local: Option<Arc<Self>>,
    collectives: AtomicU32,
    /// The shared collective area of the members.
    pub(crate) area: AreaSlot,
    name: Mutex<String>,
    /// The C face's handle of this communicator; 0 if it has none.
    pub handle: AtomicU64,
    /// The C face's error handler of this communicator.
    pub error_handler: AtomicU64,
    /// The communicators of its pairs of VCIs, if its messages are spread over several.
    pub(super) lanes: OnceLock<Box<Lanes>>,
    /// The communicators of partitioned requests that are spread over several VCIs, by distance from the VCI of this one, from 1 on.
    pub(super) partition_lanes: OnceLock<PartitionLanes>,
    /// Hints: what the program promises not to do on it.
    pub hints: Hints,
    /// Cached attributes.
    pub attributes: Attributes,
    /// Buffer attached for buffered sends on this communicator.
    pub(crate) buffer: AttachedBuffer,
    /// Index of this communicator in the process's list, while it is not freed.
    pub(crate) list_index: AtomicUsize,
    /// Whether it has persistent collectives, whose requests belong to communicators of their own.
    pub(crate) has_plans: AtomicBool,
    topology: OnceLock<Topology>,
    /// The nodes of the members; `None` inside if there is only one.
    node_map: OnceLock<Option<Box<NodeMap>>>,
}

// SAFETY: the links that `route` leads to are touched only under the guard of the communicator's VCI; `vci`, `match_base` and `route`
// change once, before others use them (`set_context`); `owner` and everything else are Sync by themselves.
unsafe impl Sync for Comm {}
// SAFETY: as for Sync.
unsafe impl Send for Comm {}

impl Comm {
    /// An intracommunicator of a group in which this process, or this endpoint of it, is `member`.
    ///
    /// # Errors
    /// MPI_ERR_GROUP when it has processes and endpoints; when the system refuses memory for its VCI.
    pub(crate) fn new(
        process: &'static Process,
        member: u32,
        context: u32,
        group: Group,
    ) -> Result<Arc<Self>> {
        let vci = process.vci_for(member, context, group.members().iter().copied())?;
        Ok(Self::build(
            process, member, vci, context, group, None, "", true,
        ))
    }

    /// An intracommunicator on the first VCI, which every process has.
    pub(crate) fn new_on_first(
        process: &'static Process,
        context: u32,
        group: Group,
        name: &str,
    ) -> Arc<Self> {
        let (member, vci) = (process.index().get(), process.vci());
        Self::build(process, member, vci, context, group, None, name, true)
    }

    /// The same for the library's own use: no list of communicators has it.
    pub(crate) fn new_unlisted(process: &'static Process, context: u32, group: Group) -> Arc<Self> {
        let (member, vci) = (process.index().get(), process.vci());
        Self::build(process, member, vci, context, group, None, "", false)
    }

    /// An intercommunicator from the group of `local`, which becomes its own, to `remote`.
    ///
    /// # Errors
    /// When the system refuses memory for its VCI.
    pub(crate) fn new_inter(local: Arc<Self>, context: u32, remote: Group) -> Result<Arc<Self>> {
        let (process, member) = (local.process, local.member);
        let group = local.group.clone();
        let members = group.members().iter().chain(remote.members());
        let vci = process.vci_for(member, context, members.copied())?;
        let remote = Some((remote, local));
        Ok(Self::build(
            process, member, vci, context, group, remote, "", true,
        ))
    }

    fn build(
        process: &'static Process,
        member: u32,
        vci: &'static Vci,
        context: u32,
        group: Group,
        remote: Option<(Group, Arc<Self>)>,
        name: &str,
        owns_context: bool,
    ) -> Arc<Self> {
        let (remote_group, local) = remote.unzip();
        let area = AreaSlot::new(process, group.size(), remote_group.is_none());
        let addressed = remote_group.as_ref().unwrap_or(&group);
        let map = endpoint::rank_map(process, member, vci, addressed.members());
        let has_world_ranks = remote_group.is_none() && member < process.capacity();
        let world = world_ranks(process, addressed, has_world_ranks);
        let comm = Arc::new(Self {
            vci: UnsafeCell::new(vci),
            route: UnsafeCell::new(Route::new(vci, &map, addressed.size(), world)),
            match_base: UnsafeCell::new(u64::from(context) << 32),
            peers: addressed.size(),
            eager_peers: if vci.traces() { 0 } else { addressed.size() },
            rank: group.rank_of(member).unwrap_or(0),
            member,
            owner: Owner::new(map, addressed.size()),
            process,
            group,
            remote_group,
            local,
            collectives: AtomicU32::new(0),
            area,
            name: Mutex::new(name.to_owned()),
            handle: AtomicU64::new(0),
            error_handler: AtomicU64::new(0),
            lanes: OnceLock::new(),
            partition_lanes: OnceLock::new(),
            hints: Hints::default(),
            attributes: Attributes::default(),
            buffer: AttachedBuffer::default(),
            list_index: AtomicUsize::new(0),
            has_plans: AtomicBool::new(false),
            topology: OnceLock::new(),
            node_map: OnceLock::new(),
        });
        if owns_context {
            process.register(&comm);
        }
        comm
    }

    /// The nodes of the members; `None` if there is only one.
    pub(crate) fn node_map(&self) -> Option<&NodeMap> {
        if self.process.is_on_one_node() {
            return None;
        }
        let make = || NodeMap::new(self).map(Box::new);
        self.node_map.get_or_init(make).as_deref()
    }

    /// The index of this rank's node among the nodes of the members, and the number of nodes.
    pub fn node_index(&self) -> (u32, u32) {
        self.node_map()
            .map_or((0, 1), |node| (node.index, node.count()))
    }

    /// The same if it is known already.
    pub(crate) fn known_node_map(&self) -> Option<&NodeMap> {
        self.node_map.get()?.as_deref()
    }

    /// A communicator of some members, with the same context: they exchange messages with tags on which all members agree.
    pub(super) fn part(&self, group: Group) -> Arc<Self> {
        let (process, member, vci) = (self.process, self.member, self.vci());
        let context = self.context();
        Self::build(process, member, vci, context, group, None, "", false)
    }

    /// A communicator of all members, with the same context, on another VCI and with another map to its peers.
    pub(super) fn new_lane(&self, vci: &'static Vci, map: RankMap) -> Arc<Self> {
        let (process, member, context) = (self.process, self.member, self.context());
        let remote = self.remote_group.clone().zip(self.local.clone());
        let group = self.group.clone();
        let mut lane = Self::build(process, member, vci, context, group, remote, "", false);
        if let Some(lane) = Arc::get_mut(&mut lane) {
            lane.route = UnsafeCell::new(Route::new(vci, &map, self.peers, 0));
            lane.owner = Owner::new(map, self.peers);
            // Reports and error handlers name the communicator itself.
            lane.name = Mutex::new(self.name());
            lane.handle = AtomicU64::new(self.handle.load(Ordering::Relaxed));
            lane.inherit_hints(self);
        }
        lane
    }

    /// This process, or this endpoint of it, as groups name it.
    pub(crate) const fn member(&self) -> u32 {
        self.member
    }

    /// Whether the members are endpoints.
    // account: rank-translation
    pub const fn has_endpoints(&self) -> bool {
        self.member >= self.process.capacity()
    }

    /// Whether members can be named by their ranks in MPI_COMM_WORLD: not in two groups, and not endpoints.
    // account: rank-translation
    pub(crate) fn has_world_ranks(&self) -> bool {
        self.remote_group.is_none() && !self.has_endpoints()
    }

    /// A member that can be addressed, as groups name it.
    pub(crate) fn addressed_member(&self, rank: u32) -> u32 {
        let addressed = self.remote_group.as_ref().unwrap_or(&self.group);
        addressed.members()[rank as usize]
    }

    /// This process's rank.
    #[inline]
    pub const fn rank(&self) -> i32 {
        self.rank as i32
    }

    /// Number of processes of the (local) group.
    pub fn size(&self) -> i32 {
        self.group.size() as i32
    }

    /// Number of processes of the remote group; `None` for an intracommunicator.
    pub fn remote_size(&self) -> Option<i32> {
        self.remote_group.as_ref().map(|group| group.size() as i32)
    }

    /// Number of ranks that can be addressed: of the group, or of the remote group of an intercommunicator.
    #[inline(always)]
    pub const fn partners(&self) -> u32 {
        self.peers
    }

    /// The (local) group.
    pub const fn group(&self) -> &Group {
        &self.group
    }

    /// The remote group of an intercommunicator.
    pub const fn remote_group(&self) -> Option<&Group> {
        self.remote_group.as_ref()
    }

    /// The intracommunicator of the local group of an intercommunicator, for the library's own agreements.
    pub(crate) const fn local(&self) -> Option<&Arc<Self>> {
        self.local.as_ref()
    }

    /// Takes over the error handler of the communicator that this one is made of.
    pub(crate) fn inherit_error_handler(&self, parent: &Self) {
        let handler = parent.error_handler.load(Ordering::Relaxed);
        self.error_handler.store(handler, Ordering::Relaxed);
    }

    /// How this communicator compares with another (MPI_Comm_compare).
    pub fn compare(&self, other: &Self) -> Comparison {
        if std::ptr::eq(self, other) {
            return Comparison::Identical;
        }
        let groups = self.group.compare(&other.group);
        let remotes = match (&self.remote_group, &other.remote_group) {
            (None, None) => Comparison::Identical,
            (Some(mine), Some(theirs)) => mine.compare(theirs),
            _ => Comparison::Unequal,
        };
        match (groups, remotes) {
            (Comparison::Unequal, _) | (_, Comparison::Unequal) => Comparison::Unequal,
            (Comparison::Identical, Comparison::Identical) => Comparison::Congruent,
            _ => Comparison::Similar,
        }
    }

    /// The virtual topology, if there is one.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.get()
    }

    /// Gives a new communicator its topology; the first one stays.
    pub(crate) fn set_topology(&self, topology: Topology) {
        // A communicator gets one topology, from its constructor.
        let _ = self.topology.set(topology);
    }

    /// The process this communicator belongs to.
    pub const fn process(&self) -> &'static Process {
        self.process
    }

    /// The buffer attached to this communicator for buffered sends.
    pub const fn send_buffer(&self) -> &AttachedBuffer {
        &self.buffer
    }

    /// The match word of point-to-point messages without their tag.
    // account: match-bits
    // TIER: short
    #[inline(always)]
    pub(crate) fn match_base(&self) -> u64 {
        // SAFETY: written once, before any code but the task that makes the communicator may use it (set_context).
        unsafe { *self.match_base.get() }
    }

    /// The context id of point-to-point messages.
    pub fn context(&self) -> u32 {
        (self.match_base() >> 32) as u32
    }

    /// The VCI of all operations on this communicator.
    // account: communicator
    // TIER: short
    #[inline(always)]
    pub fn vci(&self) -> &'static Vci {
        // SAFETY: as for `match_base`.
        unsafe { *self.vci.get() }
    }

    /// The route to peers of a linear rank map.
    // account: caller
    // TIER: short
    #[inline(always)]
    pub(crate) fn route(&self) -> &Route {
        // SAFETY: as for `match_base`.
        unsafe { &*self.route.get() }
    }

    /// Sets what the members have agreed on.
    ///
    /// # Errors
    /// When the system refuses memory for the communicator's VCI.
    ///
    /// # Safety
    /// Nobody uses the communicator yet: the request that tells the program of its end is not complete.
    pub(crate) unsafe fn set_context(&self, context: u32) -> Result<()> {
        let remote = self.remote_group.iter().flat_map(Group::members);
        let members = self.group.members().iter().chain(remote);
        let (process, member) = (self.process, self.member);
        let vci = process.vci_for(member, context, members.copied())?;
        // SAFETY: the caller's promise.
        unsafe {
            *self.match_base.get() = u64::from(context) << 32;
            *self.vci.get() = vci;
            let world = world_ranks(process, &self.group, self.has_world_ranks());
            *self.route.get() = Route::new(vci, self.owner.map(), self.peers, world);
            if let Some(lanes) = self.lanes.get() {
                (*self.route.get()).lead_to(lanes.table());
            }
        }
        Ok(())
    }

    /// The name given by MPI_Comm_set_name.
    pub fn name(&self) -> String {
        self.name.lock().map_or_else(
            |poisoned| poisoned.into_inner().clone(),
            |name| name.clone(),
        )
    }

    /// Renames the communicator.
    pub fn set_name(&self, name: &str) {
        match self.name.lock() {
            Ok(mut guard) => name.clone_into(&mut guard),
            Err(poisoned) => name.clone_into(&mut poisoned.into_inner()),
        }
        if self.context() != context::PENDING {
            self.process.tell_of(self, name, true);
        }
    }

    /// Sets the text for this new communicator in reports: its name, or the call that made it from another one.
    pub(crate) fn tell_origin(&self, call: &str, parent: &Self) {
        let name = self.name();
        if !name.is_empty() {
            return self.process.tell_of(self, &name, true);
        }
        let call = call.strip_prefix("MPI_Comm_").unwrap_or(call);
        let parent = match parent.name() {
            name if name.is_empty() => format!("context {}", parent.context()),
            name => name,
        };
        let ranks = match (self.remote_size(), self.size()) {
            (Some(remote), own) => format!("{own} + {remote} ranks"),
            (None, 1) => "1 rank".to_owned(),
            (None, own) => format!("{own} ranks"),
        };
        let text = format!("{call} of {parent}, {ranks}");
        self.process.tell_of(self, &text, false);
    }

    /// The peer with a rank, which is below the number of peers.
    // account: caller
    // TIER: short
    #[inline(always)]
    pub(crate) fn peer(&self, rank: Rank) -> LinkIndex {
        self.owner.peer(rank)
    }

    /// The rank of a peer as programs see it; -1 if it is none that can be addressed.
    #[inline]
    pub(crate) fn rank_of_peer(&self, peer: LinkIndex) -> i32 {
        self.owner.rank_of_peer(peer)
    }

    /// The part that a new request points to; counts the request.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    // account: request
    #[inline(always)]
    pub(crate) unsafe fn hold_operation(&self) -> &Owner {
        // SAFETY: the caller's promise.
        unsafe { self.owner.hold() };
        &self.owner
    }

    /// The communicator of a request.
    ///
    /// # Safety
    /// `owner` came from [`Self::hold_operation`], and the operation has not been released.
    #[inline(always)]
    pub(crate) const unsafe fn of_owner<'a>(owner: *const Owner) -> &'a Self {
        // SAFETY: every owner is a communicator's field, and the communicator lives while it counts operations (caller).
        unsafe {
            &*owner
                .byte_sub(std::mem::offset_of!(Self, owner))
                .cast::<Self>()
        }
    }

    /// As [`Self::of_owner`], for a request that may belong to no communicator.
    ///
    /// # Safety
    /// As for [`Self::of_owner`], if `owner` is not null.
    pub(crate) unsafe fn of_owner_if_any<'a>(owner: *const Owner) -> Option<&'a Self> {
        // SAFETY: passed on.
        (!owner.is_null()).then(|| unsafe { Self::of_owner(owner) })
    }

    /// A tag for the next collective operation; all members draw the same sequence.
    pub(crate) fn next_collective(&self) -> u32 {
        self.draw(&self.collectives) & 0x7fff_ffff
    }

    /// As [`Self::next_collective`] without threads, for operations that need no tag.
    #[inline(always)]
    pub(crate) fn count_collective(&self) {
        let drawn = self.collectives.load(Ordering::Relaxed);
        self.collectives
            .store(drawn.wrapping_add(1), Ordering::Relaxed);
    }

    /// Increments the number of collectives and returns its old value. Collectives of a communicator are called one after the other,
    /// so a load and a store suffice without threads.
    #[inline]
    fn draw(&self, counter: &AtomicU32) -> u32 {
        if self.vci().is_threaded() {
            return counter.fetch_add(1, Ordering::Relaxed);
        }
        let drawn = counter.load(Ordering::Relaxed);
        counter.store(drawn.wrapping_add(1), Ordering::Relaxed);
        drawn
    }

    /// Whether the program has requests on it, which can fail after it was freed.
    pub fn has_requests(&self) -> bool {
        self.has_plans.load(Ordering::Relaxed) || !self.is_idle()
    }

    /// Whether no request belongs to this communicator.
    pub(crate) fn is_idle(&self) -> bool {
        let guard = self.vci().enter();
        // SAFETY: under the guard.
        let is_idle = unsafe { self.owner.is_idle() };
        drop(guard);
        is_idle && self.all_lanes().all(|lane| lane.is_idle())
    }

    /// Waits until no request belongs to this communicator, also none that the program has freed (MPI_Comm_disconnect).
    ///
    /// # Errors
    /// When a peer broke the protocol.
    pub fn complete_all(&self, call: &'static str) -> Result<()> {
        let vci = self.vci();
        let outcome = loop {
            let seen = vci.enter().events;
            if self.is_idle() {
                break Ok(());
            }
            if let Err(error) = vci.wait_until(call, |state| state.events != seen) {
                break Err(error);
            }
        };
        vci.end_shown();
        outcome
    }

    /// Marks the communicator freed (MPI_Comm_free); its memory goes when its pending operations are complete.
    pub fn free(&self) {
        for comm in [Some(self), self.local.as_deref()].into_iter().flatten() {
            self.process.release(comm);
        }
        self.process.purge();
    }

    /// Name, or how it was made, and rank, for error texts.
    #[cold]
    pub fn describe(&self) -> String {
        let (name, rank) = (self.name(), self.rank);
        if !name.is_empty() {
            return format!("communicator {name}, rank {rank}");
        }
        match self.process.told_of(self) {
            Some(origin) => format!("an unnamed communicator, {origin}; rank {rank}"),
            None => format!("an unnamed communicator, rank {rank}"),
        }
    }

    /// Adds the communicator to an error's text.
    #[cold]
    pub fn annotate(&self, error: Error) -> Error {
        error.on(self.describe())
    }
}

/// The processes that calls may name by their ranks in MPI_COMM_WORLD without the group: all, if all are members or arguments
/// are trusted. In a world of added processes, ranks are not the numbers of links.
fn world_ranks(process: &Process, group: &Group, has_world_ranks: bool) -> u32 {
    let world = process.world_processes();
    let is_world = || {
        let mut members = group.members().iter();
        group.size() == process.size() && members.all(|member| world.contains(member))
    };
    let is_known = cfg!(feature = "unchecked") || is_world();
    if has_world_ranks && is_known && world.start == 0 {
        process.size()
    } else {
        0
    }
}
