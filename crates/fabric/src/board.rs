// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structures that all processes of a node share and that the launcher reads.
//!
//! The node segment is one memory file:
//!
//! ```text
//! 0                 JobHeader                      one page
//! BOARDS_OFFSET     RankBoard x capacity           three pages each; those of other nodes' ranks and of absent ones stay untouched
//!                   RankLocation x capacity         only in a job of several nodes
//! heap_offset       everything else                bump-allocated: rings, request records, `MPI_Alloc_mem`
//! ```
//!
//! Writers: the launcher writes the header before it starts the ranks, and later only `clock_ms`,
//! `death`, and `added` with the locations of added processes.
//! Rank `r` alone writes board `r`, except `newest_ring` of its VCIs, which peers replace, and `asleep`, which peers clear to wake
//! it. All fields tolerate torn reads by an observer: a report may be stale, never unsafe. A crash between any
//! two steps leaves no lock held.

use sys::sync::{AtomicU32, AtomicU64, Ordering};

use crate::doorbell;
use crate::identity::{LinkIndex, MOST_VCIS, PeerIndex, VciIndex};

/// First word of a node segment; a change of layout changes it.
pub const MAGIC: u64 = 0x5250_4e4f_4445_0008;
/// Bytes of a page: header and boards are whole pages so that no two writers share a line.
pub const PAGE_BYTES: usize = 4096;
/// Bytes of a board.
pub const BOARD_BYTES: usize = 3 * PAGE_BYTES;
/// Where the rank boards start.
pub const BOARDS_OFFSET: u64 = PAGE_BYTES as u64;
/// Longest name of an MPI call on a board, in bytes.
pub const CALL_NAME_BYTES: usize = 48;
/// Communicators of one rank that reports can name.
pub const CONTEXT_NAMES: usize = 32;
/// Longest text about a communicator on a board, in bytes.
pub const CONTEXT_TEXT_BYTES: usize = 80;
/// Longest card of a rank, in bytes.
pub const CARD_BYTES: usize = 128;
/// Longest host name in a report, in bytes.
pub const HOST_BYTES: usize = 56;
/// Tag half of a match word of an operation that takes any tag (MPI_ANY_TAG as unsigned).
pub const ANY_TAG: u32 = u32::MAX;
/// Tag half of the match word of messages without a tag, which are received in their order of arrival; the context half is that of the
/// communicator's collectives, whose tags are below. As an MPI tag it is MPI_ANY_TAG, which a status without a tag has.
pub const IN_ORDER: u32 = u32::MAX - 1;
/// Environment variable through which the launcher tells a rank its place: `1:<segment fd>:<rank>:<size>`.
pub const JOB_VARIABLE: &str = "RANKPOINT_JOB";

/// Environment variable through which the launcher tells ranks that are bound which processors none of them is bound to: numbers with
/// commas between them. Threads that work beside a rank run there.
pub const SPARE_VARIABLE: &str = "RANKPOINT_LAUNCH_SPARE";

/// Where the locations of ranks begin in the segment of a job of several nodes: behind the boards.
pub(crate) const fn locations_of(capacity: u32) -> u64 {
    BOARDS_OFFSET + capacity as u64 * BOARD_BYTES as u64
}

/// Life of a rank as the launcher sees it, in [`RankBoard::phase`].
pub mod phase {
    /// The process runs but has not called MPI_Init.
    pub const STARTED: u32 = 0;
    /// Between MPI_Init and MPI_Finalize.
    pub const INITIALIZED: u32 = 1;
    /// After MPI_Finalize.
    pub const FINALIZED: u32 = 2;
    /// The rank called MPI_Abort; `abort_code` holds the code.
    pub const ABORTED: u32 = 3;
    /// Between MPI_Session_init and MPI_Session_finalize, before MPI_Init or after MPI_Finalize.
    pub const IN_SESSIONS: u32 = 4;

    /// Inside MPI_Init, or another call that starts MPI.
    pub const INITIALIZING: u32 = 5;

    /// Whether a rank in this phase uses MPI.
    pub const fn is_in_mpi(phase: u32) -> bool {
        matches!(phase, INITIALIZED | IN_SESSIONS)
    }
}

/// Activities of a rank, in [`RankBoard::activity`].
pub mod activity {
    /// Computing, or in a call that did not have to wait.
    pub const OUTSIDE: u32 = 0;
    /// Inside a waiting call, polling.
    pub const POLLING: u32 = 1;
    /// Inside a waiting call, asleep on its doorbell.
    pub const SLEEPING: u32 = 2;
}

/// Kind of a request record, in [`RequestRecord::kind`]. The engine may use further kinds; an observer skips those.
pub mod kind {
    /// The record is unused.
    pub const FREE: u8 = 0;
    /// A receive waits for its message.
    pub const RECEIVE_POSTED: u8 = 1;
    /// A receive has matched and its data are on the way.
    pub const RECEIVE_ACTIVE: u8 = 2;
    /// A send waits in order behind a full ring.
    pub const SEND_QUEUED: u8 = 3;
    /// A rendezvous or synchronous send waits for its receiver.
    pub const SEND_ACTIVE: u8 = 4;
    /// A message that arrived before its receive.
    pub const UNEXPECTED: u8 = 5;
    /// Complete, but its owner has not asked yet.
    pub const COMPLETE: u8 = 6;
    /// A persistent operation that is not started.
    pub const INACTIVE: u8 = 7;
    /// Something that is neither a send nor a receive nor a collective (generalized request).
    pub const OTHER: u8 = 8;
    /// A long wait for a member of a communicator in a collective through shared memory.
    pub const ROUND: u8 = 9;
    /// A long wait for a message that is probed for.
    pub const PROBE: u8 = 10;
    /// A partitioned send that is active. Its messages have records of their own ([`super::PARTITIONED`]).
    pub const PARTITIONED_SEND: u8 = 11;
    /// A partitioned receive that is active.
    pub const PARTITIONED_RECEIVE: u8 = 12;
    /// A receive waits for its message, and its sender may write the data into its memory.
    pub const RECEIVE_OFFERED: u8 = 13;
    /// A nonblocking or persistent collective that is in progress. The tag half of the match word is the number of its call
    /// ([`CallName::number`](crate::call::CallName::number)), the peer a member whose data it lacks, if one is known.
    pub const COLLECTIVE: u8 = 14;
}

/// Set in the match words of the messages that partitioned communication consists of. Context ids leave this bit, so no receive or
/// probe of a program accepts such a message.
pub const PARTITIONED: u64 = 1 << 63;

/// The job as all its processes on this node see it. One page at offset 0.
///
/// The fields that are not atomic are written when the segment is created and read once, by
/// [`Segment::attach`](crate::segment::Segment::attach), which keeps a checked copy of them.
#[repr(C, align(4096))]
pub struct JobHeader {
    /// [`MAGIC`].
    pub(crate) magic: u64,
    /// Ranks on this node when the job starts.
    pub(crate) local_ranks: u32,
    /// Ranks of the job when it starts.
    pub(crate) job_ranks: u32,
    /// Process id of the launcher; 0 for a singleton.
    pub(crate) launcher_pid: u32,
    /// Processor cores that the ranks may use on this node.
    pub(crate) cores: u32,
    /// Bytes of the memory file (sparse: untouched pages cost nothing).
    pub(crate) segment_bytes: u64,
    /// What all ranks of the node have to set alike, as the first of them that began has it ([`Self::agree`]).
    pub(crate) agreed: AtomicU64,
    /// Offset of the first heap byte.
    pub(crate) heap_offset: u64,
    /// Identity of the job, random.
    pub(crate) job_id: u64,
    /// Cells of a ring (power of two).
    pub(crate) ring_cells: u32,
    /// Bytes of a ring's payload area (power of two).
    pub(crate) ring_payload_bytes: u32,
    /// 1 when a sender must fence between publishing a cell and reading `asleep` (no membarrier on this kernel).
    pub sender_fences: AtomicU32,
    /// Threads of all ranks that sleep on their doorbells or are about to.
    pub sleepers: AtomicU32,
    _line: [u64; 7],
    /// First free heap byte. Own cache line: every allocation writes it.
    pub heap_top: AtomicU64,
    _line_top: [u64; 7],
    /// Milliseconds since the job started, advanced by the launcher a few times a second; request records are
    /// stamped with it so that an age costs one load.
    pub clock_ms: AtomicU64,
    /// 0, or 1 + the rank whose death ends the job.
    pub death: AtomicU32,
    /// Ranks of this node that have published their cards.
    pub cards_published: AtomicU32,
    /// 1 when the cards of all ranks of the job are here.
    pub cards_ready: AtomicU32,
    /// Index of this node in the job.
    pub(crate) node: u32,
    /// What proves to other nodes that a process belongs to the job: random, the same on all nodes.
    pub(crate) secret: [AtomicU64; 2],
    /// Processes that the job has room for, and so boards.
    pub(crate) capacity: u32,
    /// Processes that the launcher has added since the start.
    pub(crate) added: AtomicU32,
    _tail: [u32; 4],
}

/// One rank of a job of several nodes. The launcher writes `node` and `host` before it starts ranks; the card is written by the
/// rank itself on its own node, and by the launcher on the others.
#[repr(C)]
pub struct RankLocation {
    /// Index of the rank's node.
    pub node: AtomicU32,
    /// Bytes of the card; 0 until it is there.
    pub card_len: AtomicU32,
    /// How the rank is reached over the network, as its transport describes it.
    pub card: [AtomicU64; CARD_BYTES / 8],
    /// In the location of rank `n`: the host name of node `n`, padded with zeros.
    pub host: [AtomicU64; HOST_BYTES / 8],
}

/// One VCI of a rank as others see it: two cache lines, because senders read the first one and the rank polls the second.
/// All-zero is a VCI that nobody uses.
#[repr(C, align(128))]
pub struct VciBoard {
    /// The doorbell: 0, or [`SLEEPS`](crate::doorbell::SLEEPS) while a thread sleeps on it or is about to. Futex word.
    /// A sender that finds another value stores 0 and wakes ([`RankBoard::ring`]).
    pub asleep: AtomicU32,
    /// 1 + the processor that the rank was on when it last waited among more ranks than cores; 0 until then. In the line of the
    /// doorbell, which others look at anyway and which changes as seldom.
    pub processor: AtomicU32,
    _line_asleep: [u32; 14],
    /// Offset of the ring towards this VCI that was made last; 0 while there is none
    /// ([`directory`](crate::directory)).
    pub newest_ring: AtomicU64,
    /// Offset of the first request record in the file that `requests_file` names; 0 until the slab exists.
    pub requests_offset: AtomicU64,
    /// Distance between two request records in bytes.
    pub request_stride: AtomicU32,
    /// Records in use so far (high-water mark); observers read only these.
    pub requests_len: AtomicU32,
    /// 0 when the request records lie in the node segment, else 1 + the rank's descriptor of the file that holds them.
    pub requests_file: AtomicU32,
    _tail: [u32; 9],
}

/// One rank as others see it. Three pages each, of which only what is touched exists.
#[repr(C, align(4096))]
pub struct RankBoard {
    /// Process id; 0 until the rank attached.
    pub pid: AtomicU32,
    /// One of [`phase`].
    pub phase: AtomicU32,
    /// One of [`activity`].
    pub activity: AtomicU32,
    /// Exit code that MPI_Abort was called with.
    pub abort_code: AtomicU32,
    /// `clock_ms` when the present wait began.
    pub wait_since_ms: AtomicU64,
    /// Length of `call`.
    pub call_len: AtomicU32,
    /// VCIs that communicators of this rank take round-robin, once it is initialized; 1 below MPI_THREAD_MULTIPLE.
    pub vci_count: AtomicU32,
    /// Name of the MPI call that waits, ASCII.
    pub call: [AtomicU64; CALL_NAME_BYTES / 8],
    /// Written by the launcher: 1 while other programs than ranks of the job take much of the time of this rank's core.
    pub external_load: AtomicU32,
    /// The first of [`Self::vcis`] that observers read.
    pub vci_rows: AtomicU32,
    _line_load: [u32; 10],
    /// Counters for `mpiexec --stats`, in the order of the engine's counter table.
    pub counters: [AtomicU64; 64],
    /// Texts for this rank's communicators in reports.
    pub contexts: [ContextText; CONTEXT_NAMES],
    _page: [u64; 48],
    /// Its VCIs.
    pub vcis: [VciBoard; MOST_VCIS],
}

/// The text for a communicator in reports. Written when the communicator is made, renamed or freed.
#[repr(C)]
pub struct ContextText {
    /// 0 when unused, else 1 + the context id of point-to-point, with [`NAMED`] if the program has named it.
    pub word: AtomicU64,
    /// Bytes of `text`.
    pub len: AtomicU64,
    /// UTF-8, cut where it is too long.
    pub text: [AtomicU64; CONTEXT_TEXT_BYTES / 8],
}

/// In [`ContextText::word`]: the text is a name.
pub const NAMED: u64 = 1 << 40;

impl JobHeader {
    /// Compares what a rank has set with what the first rank of the node has that asked.
    ///
    /// # Errors
    /// The other rank, and its value, where that differs.
    // TIER: setup
    pub fn agree(&self, rank: PeerIndex, value: u32) -> Result<(), (PeerIndex, u32)> {
        let word = u64::from(rank.get() + 1) << 32 | u64::from(value);
        // Relaxed: the word is all that is told.
        let held = self
            .agreed
            .compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed);
        match held {
            Err(first) if first as u32 != value => {
                let other = ((first >> 32) as u32).wrapping_sub(1);
                Err((PeerIndex::new(other), first as u32))
            }
            _ => Ok(()),
        }
    }
}

impl RankBoard {
    /// Notes what reports call a communicator. When there are too many, names that the program gave replace other texts, and what
    /// finds no free entry has none.
    // TIER: setup
    pub fn describe_context(&self, context: u32, text: &str, is_name: bool) {
        let word = u64::from(context) + 1 + if is_name { NAMED } else { 0 };
        let entry = self.context_entry(|held| held & !NAMED == word & !NAMED);
        let free = || self.context_entry(|held| held == 0);
        let lesser = || {
            self.context_entry(|held| held & NAMED == 0)
                .filter(|_| is_name)
        };
        let Some(entry) = entry.or_else(free).or_else(lesser) else {
            return;
        };
        // Threads that make communicators at once may take the same entry: one of them has no text then.
        entry.word.store(word, Ordering::Relaxed);
        let cut = text.floor_char_boundary(CONTEXT_TEXT_BYTES);
        for (to, bytes) in entry.text.iter().zip(text.as_bytes()[..cut].chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            to.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
        entry.len.store(cut as u64, Ordering::Relaxed);
    }

    /// The text for a communicator in reports, if there is one.
    // TIER: setup
    pub fn context_text(&self, context: u32) -> Option<String> {
        let entry = self.context_entry(|held| held & !NAMED == u64::from(context) + 1)?;
        let words = entry.text.iter().map(|word| word.load(Ordering::Relaxed));
        let mut bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        bytes.truncate(entry.len.load(Ordering::Relaxed) as usize);
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A communicator is gone.
    // TIER: setup
    pub fn forget_context(&self, context: u32) {
        let entry = self.context_entry(|held| held & !NAMED == u64::from(context) + 1);
        if let Some(entry) = entry {
            entry.word.store(0, Ordering::Relaxed);
        }
    }

    fn context_entry(&self, fits: impl Fn(u64) -> bool) -> Option<&ContextText> {
        self.contexts
            .iter()
            .find(|entry| fits(entry.word.load(Ordering::Relaxed)))
    }

    /// The part of a VCI that other ranks see.
    #[inline(always)]
    pub fn vci(&self, vci: VciIndex) -> &VciBoard {
        &self.vcis[usize::from(vci.get())]
    }

    /// Wakes who sleeps on the doorbell of a VCI, or looks after that VCI while it sleeps on another one; called after
    /// publishing. True when somebody was asleep.
    ///
    /// # Panics
    /// When there is no such VCI.
    // TIER: short
    #[inline(always)]
    pub fn ring(&self, vci: VciIndex, sender_fences: bool) -> bool {
        let found = doorbell::ring(&self.vci(vci).asleep, sender_fences);
        found != 0 && self.ring_also(found)
    }

    /// Wakes the thread that covers the VCI on whose doorbell `found` was.
    #[cold]
    fn ring_also(&self, found: u32) -> bool {
        match doorbell::covering(found).and_then(|vci| self.vcis.get(usize::from(vci))) {
            Some(covering) => doorbell::ring(&covering.asleep, false) != 0,
            None => true,
        }
    }
}

impl VciBoard {
    /// Whether the rank would run on this core, for all that is known, if the asking rank gave it away; `here` is what its own board says.
    #[inline]
    pub fn may_want_core(&self, here: u32) -> bool {
        let there = self.processor.load(Ordering::Relaxed);
        there == here || there == 0
    }
}

/// One pending operation or unexpected message: the first bytes of each entry in a rank's operation slab.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct RequestRecord {
    /// Context id in the high half, tag (or [`ANY_TAG`]) in the low half.
    pub match_word: u64,
    /// Bytes of the message, or of the receive buffer.
    pub bytes: u64,
    /// The link to the other side, or [`LinkIndex::ANY`].
    pub peer: LinkIndex,
    /// For the engine: a link to another record.
    pub next: u32,
    /// Low half of `clock_ms` when it was recorded.
    pub stamp_ms: u32,
    /// One of [`kind`].
    pub kind: u8,
    /// For the engine.
    pub role: u8,
    /// For the engine.
    pub flags: u16,
}

#[cfg(not(loom))]
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<JobHeader>() == PAGE_BYTES);
    assert!(offset_of!(JobHeader, heap_top) == 128);
    assert!(offset_of!(JobHeader, clock_ms) == 192);
    assert!(size_of::<RankLocation>() == 192);
    assert!(size_of::<RankBoard>() == BOARD_BYTES);
    assert!(offset_of!(RankBoard, vcis) == PAGE_BYTES);
    assert!(offset_of!(RankBoard, counters) == 128);
    assert!(size_of::<VciBoard>() == 128);
    assert!(offset_of!(VciBoard, newest_ring) == 64);
    assert!(size_of::<ContextText>() == 96);
    assert!(size_of::<RequestRecord>() == 32);
};
