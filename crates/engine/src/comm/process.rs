// SPDX-License-Identifier: MIT OR Apache-2.0
//! This process: its place in the job, from start to finish (MPI-5.0, chapter 11).
//!
//! A [`Process`] lives until the program ends, because C programs hold handles that lead to it. Several can exist in one
//! program (tests attach more than one rank to a segment); the C library and the Rust API use the one of [`Process::start`].

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bootstrap::Member;
use fabric::board::phase;
use fabric::counters::COUNTERS;
use fabric::node::NodeHandle;
use fabric::transport::{Null, Transport};
use sys::sync::{AtomicU32, Mutex, Ordering};

use super::assign::{agree_on_rendezvous, assign, claim_board};
use super::forked::Forks;
use super::network::transport_between_nodes;
use super::shared_pages::FreePages;
use super::thread_level::{ThreadLevel, check_threads};
use super::vci_report::VciReport;
use super::{AttachedBuffer, endpoint};
use crate::comm::Comm;
use crate::comm::context::{self, Contexts};
use crate::errors::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::identity::{PeerIndex, VciIndex};
use crate::progress::{MakeTransport, Vci, Vcis};
use crate::settings::{Assigned, Settings, VirtualNodes};

/// One rank of a job.
pub struct Process {
    rank: u32,
    size: u32,
    /// The process that is rank 0 of MPI_COMM_WORLD.
    first: u32,
    /// `size` where the ranks of MPI_COMM_WORLD are the numbers of its processes, else 0.
    pub(crate) numbered_ranks: u32,
    /// Processes that the job has room for.
    capacity: u32,
    node: NodeHandle,
    vcis: Vcis,
    settings: Settings,
    thread_level: ThreadLevel,
    world: OnceLock<Arc<Comm>>,
    itself: OnceLock<Arc<Comm>>,
    pub(super) comms: Mutex<Comms>,
    bootstrap: OnceLock<Arc<Comm>>,
    departure: OnceLock<Arc<Comm>>,
    pub(crate) contexts: Contexts,
    /// Memory of freed communicators that this process gave them.
    pub(crate) spare_areas: super::SpareAreas,
    buffer: AttachedBuffer,
    next_added_code: AtomicU32,
    /// Partitioned sends made so far, which tell their messages apart.
    channels: AtomicU32,
    /// What `RANKPOINT_VCI_REPORT` asks for; `None` when it is not set.
    vci_report: Option<VciReport>,
    /// Of the node segment, given back by [`Self::release_shared`].
    pub(super) free_pages: Mutex<FreePages>,
    /// What connects this process with another launcher than ours, if one started it.
    pub(super) member: OnceLock<&'static Member>,
    pub(super) forks: Forks,
}

/// The communicators of a process.
#[derive(Default)]
pub(super) struct Comms {
    /// Those that are not freed; each knows its place in the list.
    pub(super) alive: Vec<Arc<Comm>>,
    /// Those that were freed while operations are pending on them.
    pub(super) freed: Vec<Arc<Comm>>,
}

impl Process {
    /// Joins the job that the launcher prepared, or makes one of one rank.
    ///
    /// # Errors
    /// When the environment names a job that cannot be joined, or belongs to a launcher that is not spoken.
    pub fn start(level: ThreadLevel) -> Result<(&'static Self, Vec<String>)> {
        let (settings, mut warnings) = Settings::from_environment();
        check_threads(level, &settings)?;
        let (assigned, member) = assign(&settings, &mut warnings)
            .map_err(|text| Error::new(ErrorClass::ERR_OTHER, text))?;
        let (is_null, network) = (settings.null_fabric, settings.network.clone());
        let contact_limit = Some(settings.contact_timeout_s)
            .filter(|&limit| limit > 0)
            .map(Duration::from_secs);
        let opened = OnceLock::new();
        let transport = move |node: &NodeHandle, me, vci: VciIndex| {
            if is_null {
                let job = node.job();
                let null = Null::new(job.ring_cells, job.ring_payload_bytes);
                return Ok(Transport::Null(null));
            }
            transport_between_nodes(node, me, vci, &network, contact_limit, &opened)
        };
        let process = Self::attach(assigned, settings, level, Box::new(transport))?;
        process.watch_forks()?;
        warnings.extend(process.try_trace_file());
        if let Some(member) = member {
            process.follow(member)?;
        }
        Ok((process, warnings))
    }

    /// This process is a rank of another launcher's job.
    fn follow(&'static self, member: &'static Member) -> Result<()> {
        self.member.get_or_init(|| member);
        let fetch = |rank| member.fetch_cards(self.node.segment(), rank);
        self.node.fetch_cards_by(Box::new(fetch));
        let exchanged = member.exchange_cards(self.node.segment());
        exchanged.map_err(|text| Error::new(ErrorClass::ERR_OTHER, text))
    }

    fn attach(
        assigned: Assigned,
        mut settings: Settings,
        level: ThreadLevel,
        transport: Box<MakeTransport>,
    ) -> Result<&'static Self> {
        if settings.check.collectives {
            crate::datatype::start_signing();
        }
        if settings.check.types {
            crate::datatype::start_checking();
        }
        let first = assigned.first;
        let node = NodeHandle::attach(assigned.file)?;
        let me = claim_board(&node, first, assigned.rank, assigned.size)?;
        let capacity = node.job().capacity;
        agree_on_rendezvous(&node, me, &settings)?;
        let is_multiple = level == ThreadLevel::Multiple;
        let vcis = Vcis::new(&node, me, &settings, is_multiple, transport)?;
        if !vcis.share_memory() {
            settings.shared_collectives = 0;
        }
        let vci_report = VciReport::wanted(&settings);
        let process: &'static Self = Box::leak(Box::new(Self {
            rank: assigned.rank,
            size: assigned.size,
            first,
            numbered_ranks: if first == 0 { assigned.size } else { 0 },
            capacity,
            node,
            vcis,
            settings,
            thread_level: level,
            world: OnceLock::new(),
            itself: OnceLock::new(),
            comms: Mutex::default(),
            bootstrap: OnceLock::new(),
            departure: OnceLock::new(),
            contexts: Contexts::new(me.get(), capacity),
            spare_areas: super::SpareAreas::default(),
            buffer: AttachedBuffer::default(),
            next_added_code: AtomicU32::new(0),
            channels: AtomicU32::new(0),
            vci_report,
            free_pages: Mutex::default(),
            member: OnceLock::new(),
            forks: Forks::new(),
        }));
        process.vcis.connect();
        let everyone = Group::new((first..first + assigned.size).collect::<Vec<_>>());
        process.world.get_or_init(|| {
            Comm::new_on_first(process, context::WORLD, everyone, "MPI_COMM_WORLD")
        });
        let only_me = Group::new([me.get()]);
        process
            .itself
            .get_or_init(|| Comm::new_on_first(process, context::ITSELF, only_me, "MPI_COMM_SELF"));
        process.resume()?;
        Ok(process)
    }

    /// A rank of a job whose ranks are threads of a test, on shared memory or on a port of a simulated network.
    #[cfg(test)]
    pub(crate) fn attach_in_test(
        assigned: Assigned,
        settings: Settings,
        level: ThreadLevel,
        port: Option<fabric::sim::Port>,
    ) -> &'static Self {
        let net = port.as_ref().map(|port| port.net().clone());
        let (port, network) = (Mutex::new(port), settings.network.clone());
        let opened = OnceLock::new();
        let transport = move |node: &NodeHandle, me: PeerIndex, vci| match &net {
            Some(net) => {
                let first = port.lock().unwrap().take();
                let port = first.map_or_else(|| net.port_of_vci(me.get(), vci), Ok);
                Ok(Transport::sim(port.unwrap()))
            }
            None => transport_between_nodes(node, me, vci, &network, None, &opened),
        };
        Self::attach(assigned, settings, level, Box::new(transport)).unwrap()
    }

    /// This process's rank in MPI_COMM_WORLD.
    pub const fn rank(&self) -> u32 {
        self.rank
    }

    /// This process.
    pub(crate) const fn index(&self) -> PeerIndex {
        PeerIndex::new(self.first + self.rank)
    }

    /// Size of MPI_COMM_WORLD.
    // account: caller
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Processes that the job has room for, so that none has a larger number; larger members of groups are endpoints.
    // account: caller
    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The processes of MPI_COMM_WORLD, by their numbers in the job.
    pub(crate) const fn world_processes(&self) -> Range<u32> {
        self.first..self.first + self.size
    }

    /// The VCI of everything that asks for no other.
    #[inline(always)]
    pub const fn vci(&'static self) -> &'static Vci {
        self.vcis.first()
    }

    /// All VCIs of this process.
    pub const fn vcis(&'static self) -> &'static Vcis {
        &self.vcis
    }

    /// The VCI of a new communicator with a context id and these members, of which this process is `me`: that of its endpoint, or
    /// the numbers of communicators take as many VCIs as every member has round-robin. All members come to the same.
    ///
    /// # Errors
    /// MPI_ERR_GROUP when processes and endpoints are mixed; when the system refuses memory for a VCI.
    pub(crate) fn vci_for(
        &'static self,
        me: u32,
        context: u32,
        members: impl Iterator<Item = u32> + Clone,
    ) -> Result<&'static Vci> {
        if let Some(vci) = endpoint::vci_of(self, me, members.clone())? {
            return self.vcis.obtain(vci);
        }
        let mut count = self.vcis.count();
        if count == 1 || context == context::PENDING {
            return Ok(self.vci());
        }
        for member in members {
            count = count.min(self.vcis_of(PeerIndex::new(member))?);
            if count <= 1 {
                return Ok(self.vci());
            }
        }
        let index = self.contexts.ordinal(context) % count;
        self.vcis.obtain(VciIndex::new(index).unwrap_or_default())
    }

    /// How many VCIs communicators take round-robin at a process that is initialized.
    fn vcis_of(&'static self, process: PeerIndex) -> Result<u32> {
        let known = &self.node.board(process).vci_count;
        // Relaxed: a member of a new communicator is initialized, and the messages that made the communicator came after this word.
        match known.load(Ordering::Relaxed) {
            // No process of another node writes here.
            0 if !self.node.is_here(process) => {
                let told = self.vci().enter().transport.vcis_of(process);
                let told =
                    told.map_err(|error| Error::new(ErrorClass::ERR_OTHER, error.to_string()))?;
                known.store(told, Ordering::Relaxed);
                Ok(told)
            }
            count => Ok(count),
        }
    }

    /// Sets the function that tells whether the process can hold another communicator: calls that make one fail at all ranks alike.
    pub fn limit_communicators(&self, has_room: fn() -> bool) {
        self.contexts.limit(has_room);
    }

    /// The settings in force.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The thread level in force.
    pub const fn thread_level(&self) -> ThreadLevel {
        self.thread_level
    }

    /// Whether several threads may be inside MPI at once: the program's, or one that makes progress.
    pub fn is_threaded(&self) -> bool {
        self.thread_level == ThreadLevel::Multiple || self.settings().progress_thread != 0
    }

    /// The node segment.
    pub fn node(&self) -> &NodeHandle {
        &self.node
    }

    /// The process of a member of a group, which is a process or an endpoint.
    pub(crate) const fn process_of(&self, member: u32) -> PeerIndex {
        PeerIndex::new(member % self.capacity)
    }

    /// The node of a member of a group, as collectives see it.
    pub fn node_of(&self, member: u32) -> u32 {
        match &self.settings.virtual_nodes {
            VirtualNodes::One => self.node.node_of(self.process_of(member)),
            // Virtual nodes are parts of real ones, whose members share memory.
            nodes => {
                let process = self.process_of(member);
                let part = nodes.node_of(process.get(), self.size);
                self.node.node_of(process) * self.capacity + part
            }
        }
    }

    /// Whether a member of a group shares memory with this process.
    pub fn is_here(&self, member: u32) -> bool {
        self.node.is_here(self.process_of(member))
    }

    /// Whether all ranks of the job are on one node, as collectives see it.
    pub(crate) fn is_on_one_node(&self) -> bool {
        self.settings.virtual_nodes == VirtualNodes::One && !self.node.has_other_nodes()
    }

    /// The buffer attached for buffered sends.
    pub const fn buffer(&self) -> &AttachedBuffer {
        &self.buffer
    }

    /// MPI_COMM_WORLD.
    pub fn world(&'static self) -> &'static Arc<Comm> {
        self.world.get_or_init(|| {
            Comm::new_on_first(
                self,
                context::WORLD,
                Group::new([self.index().get()]),
                "MPI_COMM_WORLD",
            )
        })
    }

    /// MPI_COMM_SELF.
    pub fn itself(&'static self) -> &'static Arc<Comm> {
        self.itself.get_or_init(|| {
            Comm::new_on_first(
                self,
                context::ITSELF,
                Group::new([self.index().get()]),
                "MPI_COMM_SELF",
            )
        })
    }

    fn with_comms<R>(&self, action: impl FnOnce(&mut Comms) -> R) -> R {
        match self.comms.lock() {
            Ok(mut comms) => action(&mut comms),
            Err(poisoned) => action(&mut poisoned.into_inner()),
        }
    }

    pub(crate) fn register(&self, comm: &Arc<Comm>) {
        self.with_comms(|comms| {
            comm.list_index.store(comms.alive.len(), Ordering::Relaxed);
            comms.alive.push(comm.clone());
        });
    }

    /// A communicator is freed: it goes when nothing is pending on it.
    pub(crate) fn release(&self, comm: &Comm) {
        self.with_comms(|comms| {
            let index = comm.list_index.load(Ordering::Relaxed);
            let found = comms.alive.get(index);
            if found.is_some_and(|found| std::ptr::eq(&raw const **found, comm)) {
                let freed = comms.alive.swap_remove(index);
                if let Some(moved) = comms.alive.get(index) {
                    moved.list_index.store(index, Ordering::Relaxed);
                }
                if let Some(report) = &self.vci_report {
                    report.note_freed(&freed);
                }
                comms.freed.push(freed);
            }
        });
    }

    /// The C face's error handlers of all communicators, also of those that were freed while operations are pending on them.
    pub fn error_handlers(&self) -> Vec<u64> {
        let handler = |comm: &Arc<Comm>| comm.error_handler.load(Ordering::Relaxed);
        self.with_comms(|comms| {
            let all = comms.alive.iter().chain(&comms.freed);
            all.map(handler).collect()
        })
    }

    /// Number of communicators that are not freed.
    #[cfg(test)]
    pub(crate) fn alive(&self) -> usize {
        self.with_comms(|comms| comms.alive.len())
    }

    /// Drops freed communicators on which nothing is pending, and reuses their context ids.
    pub(crate) fn purge(&self) {
        if self.is_forked_child() {
            return;
        }
        let gone: Vec<_> = self.with_comms(|comms| {
            let freed = &mut comms.freed;
            freed.extract_if(.., |comm| comm.is_idle()).collect()
        });
        for comm in gone {
            comm.area.retire(&comm);
            if let Some(node) = comm.known_node_map() {
                node.comm.area.retire(&node.comm);
            }
            self.node.board(self.index()).forget_context(comm.context());
            if endpoint::is_first_here(&comm) {
                self.contexts.give_back(comm.context());
            }
        }
    }

    /// What reports call a communicator.
    pub(crate) fn tell_of(&self, comm: &Comm, text: &str, is_name: bool) {
        let board = self.node.board(self.index());
        board.describe_context(comm.context(), text, is_name);
        if let Some(report) = self.vci_report.as_ref().filter(|_| !is_name) {
            report.note_origin(comm, text);
        }
    }

    /// The same, as it was told.
    pub(crate) fn told_of(&self, comm: &Comm) -> Option<String> {
        let board = self.node.board(self.index());
        board.context_text(comm.context())
    }

    /// The communicator in which processes agree that share no other one: of all that the job has room for.
    pub(crate) fn bootstrap(&'static self) -> &'static Arc<Comm> {
        self.bootstrap.get_or_init(|| {
            let everyone = Group::new((0..self.capacity).collect::<Vec<_>>());
            Comm::new_on_first(self, context::BOOTSTRAP, everyone, "")
        })
    }

    /// The communicator in which the ranks of MPI_COMM_WORLD wait for each other in MPI_Finalize. With the program's own, a rank that
    /// has left out a collective would take part in it by MPI_Finalize.
    pub(crate) fn departure(&'static self) -> &'static Arc<Comm> {
        self.departure.get_or_init(|| {
            let group = self.world().group().clone();
            let comm = Comm::new_unlisted(self, context::DEPARTURE, group);
            // Its first collective counts as the second one, which has a shared area: the others wait for rank 0 without a message.
            comm.next_collective();
            comm
        })
    }

    /// Numbers for user-defined error classes, codes and attribute keys.
    pub fn next_number(&self) -> u32 {
        self.next_added_code.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of a new partitioned send, below `count`, a power of two.
    pub(crate) fn next_channel(&self, count: u32) -> u32 {
        self.channels.fetch_add(1, Ordering::Relaxed) & (count - 1)
    }

    /// What the rank has counted so far: the name of each counter, and its value.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
        for vci in self.vcis.iter() {
            vci.enter().publish_counts();
        }
        let values = self.node.board(self.index()).counters.iter();
        let values = values.map(|value| value.load(Ordering::Relaxed));
        COUNTERS.iter().map(|row| row.name).zip(values)
    }

    /// Waits until the receivers of all sends have their data, also of sends that the program has freed, or that were buffered.
    ///
    /// # Errors
    /// When a peer broke the protocol.
    pub fn complete_sends(&self, call: &'static str) -> Result<()> {
        for vci in self.vcis.iter() {
            // Sends that wait for room are not announced yet.
            vci.wait_until(call, |state| state.offered == 0 && state.is_drained())?;
        }
        Ok(())
    }

    /// Pushes out everything that still waits; this process may end, or go on with [`Self::resume`].
    ///
    /// # Errors
    /// When a peer broke the protocol.
    pub fn rest(&'static self, call: &'static str) -> Result<()> {
        for vci in self.vcis.iter() {
            vci.wait_until(call, |state| state.is_drained())?;
        }
        self.vci().stop_background();
        for vci in self.vcis.iter() {
            // Nothing is left in the network when the process ends.
            vci.wait_until(call, |state| state.transport.is_finished())?;
            vci.enter().publish_counts();
        }
        self.node
            .board(self.index())
            .phase
            .store(phase::FINALIZED, Ordering::Relaxed);
        match &self.vci_report {
            Some(report) => report.write(self, &self.with_comms(|comms| comms.alive.clone())),
            None => Ok(()),
        }
    }

    /// Goes on after [`Self::rest`].
    ///
    /// # Errors
    /// When a progress thread is wanted and cannot be started.
    pub fn resume(&'static self) -> Result<()> {
        self.node
            .board(self.index())
            .phase
            .store(phase::INITIALIZED, Ordering::Relaxed);
        self.vci().start_background()
    }

    /// Only sessions use MPI from now on, until [`Self::resume`]: the launcher names them when the rank ends.
    pub fn note_sessions(&self) {
        let board = self.node.board(self.index());
        board.phase.store(phase::IN_SESSIONS, Ordering::Relaxed);
    }

    /// Tells another launcher than ours, if one started this process, that it may end now.
    ///
    /// # Errors
    /// When the launcher does not answer.
    pub fn take_leave(&self) -> Result<()> {
        let left = self.member.get().map_or(Ok(()), |member| member.finish());
        left.map_err(|text| Error::new(ErrorClass::ERR_OTHER, text))
    }

    /// The number of this process's program among those of the job (MPI_APPNUM), where a launcher tells it.
    pub fn app_number(&self) -> Option<i32> {
        self.member.get()?.app_number()
    }

    /// How many processes the job may have (MPI_UNIVERSE_SIZE).
    pub fn universe_size(&self) -> u32 {
        let told = self.member.get().and_then(|member| member.universe_size());
        told.unwrap_or(self.size).max(self.size)
    }
}
