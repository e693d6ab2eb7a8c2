// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shared area of a communicator as one member sees it: attached with the second collective, kept for another communicator
//! when its own is gone.
#![expect(
    unsafe_code,
    reason = "addresses of areas are kept without their types"
)]

use std::cell::UnsafeCell;
use std::sync::Arc;

use algorithms::shared::buffer_bytes;
use fabric::area::{Row, SharedArea, Slot, Tracker, WIDE_BYTES};
use fabric::board::{JobHeader, VciBoard};
use fabric::doorbell;
use sys::sync::{AtomicUsize, Mutex, Ordering};

use crate::coll::area::purpose::{Purpose, fast_limits};
use crate::coll::primitives::Collective;
use crate::comm::{AttachedArea, Comm, Process};
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::Rank;

/// The first collective of a communicator, counted from 0, that may use an area; the first one that can makes it.
/// Communicators that are used once do without.
pub(super) const FIRST: u32 = 1;

/// The area of a communicator, and one member's state of it.
pub(in crate::coll) struct Shared {
    pub(super) area: SharedArea,
    /// Touched under the guard of the communicator's VCI only.
    pub(super) tracker: UnsafeCell<Tracker>,
    /// Errors of operations in progress, by their first rounds; and the number of these errors.
    pub(super) failures: Mutex<Vec<(u64, Error)>>,
    pub(super) failed: AtomicUsize,
    /// For each purpose, operations of fewer bytes than this use the fast path.
    pub(super) short: [usize; Purpose::ALL.len() + 1],
    /// This member.
    pub(super) me: u32,
    /// The board of each member: whether it sleeps on the communicator's VCI, and on which core it runs.
    pub(super) boards: Box<[&'static VciBoard]>,
    pub(super) job: &'static JobHeader,
}

// SAFETY: `tracker` is touched under the guard only; `SharedArea` is Sync.
unsafe impl Sync for Shared {}
// SAFETY: as for Sync.
unsafe impl Send for Shared {}

impl Shared {
    pub(super) fn attach(comm: &Comm, offset: u64, members: u32) -> Option<Self> {
        let process = comm.process;
        let node = process.node();
        Some(Self {
            area: at(process, offset, members)?,
            tracker: UnsafeCell::new(Tracker::new()),
            failures: Mutex::default(),
            failed: AtomicUsize::new(0),
            short: fast_limits(process, members),
            me: comm.rank() as u32,
            boards: (0..members)
                .map(|member| {
                    let (peers, peer) = (comm.vci().peers(), comm.peer(Rank::new(member)));
                    node.vci_board(peers.process(peer), peers.vci(peer))
                })
                .collect(),
            job: node.header(),
        })
    }
}

impl AttachedArea for Shared {
    /// The first rank keeps the memory for another communicator.
    fn retire(&self, comm: &Comm) {
        self.area.retire(comm.rank() as u32);
        let members = self.area.members();
        let bytes = SharedArea::bytes(members, self.area.buffer_bytes());
        let offset = comm
            .process
            .node()
            .offset_of(self.area.base(), bytes as usize);
        if comm.rank() == 0
            && let (Some(offset), Ok(mut spare)) = (offset, comm.process.spare_areas.lock())
        {
            spare.push((members, offset));
        }
    }
}

/// The area of a communicator, if its members have one.
#[inline(always)]
pub(super) fn shared_of(comm: &Comm) -> Option<&Shared> {
    // SAFETY: null, or the area that the communicator owns (`found`).
    unsafe {
        comm.area
            .address
            // PAIRS: area.attached. The area is complete when its address is seen.
            .load(Ordering::Acquire)
            .cast::<Shared>()
            .as_ref()
    }
}

/// The same where it may be used without the VCI's lock.
#[inline(always)]
pub(super) fn unlocked_of(comm: &Comm) -> Option<&Shared> {
    // SAFETY: as above.
    unsafe {
        comm.area
            .unlocked
            .load(Ordering::Relaxed)
            .cast::<Shared>()
            .as_ref()
    }
}

/// Agrees on the area of a communicator. With that of MPI_COMM_WORLD comes the one of MPI_Finalize: a rank that finalizes early then sends
/// no messages, which would wait at the others and slow their receives down.
pub(super) async fn found(coll: &mut Collective) {
    let process = coll.comm.process;
    // After MPI_Finalize, a session may let the world go on: then MPI_Finalize has its area.
    let brings_departure = Arc::ptr_eq(process.world(), &coll.comm)
        && process.departure().area.attached.get().is_none();
    let mut words = [0; 2];
    if coll.rank == 0 {
        words[0] = make(process, coll.size);
        if brings_departure {
            words[1] = make(process, coll.size);
        }
    }
    coll.bcast_words(&mut words, 0).await;
    if brings_departure {
        attach_to(process.departure(), words[1], coll.size);
    }
    attach_to(&coll.comm, words[0], coll.size);
    // Operations that wait for the area poll again.
    coll.comm.vci().enter().events += 1;
}

/// Gives a communicator its area, or none if there is none at this offset.
fn attach_to(comm: &Comm, offset: u64, members: u32) {
    let shared = Shared::attach(comm, offset, members).map(Box::new);
    let address = shared
        .as_deref()
        .map_or(std::ptr::null(), std::ptr::from_ref)
        .cast_mut()
        .cast();
    let slot = &comm.area;
    // This operation alone sets both.
    // The address comes first: operations that find something attached use it.
    // PAIRS: area.attached
    slot.address.store(address, Ordering::Release);
    let _ = slot
        .attached
        .set(shared.map(|shared| -> Box<dyn AttachedArea> { shared }));
    if !comm.vci().is_threaded() {
        slot.unlocked.store(address, Ordering::Relaxed);
    }
}

/// Memory for an area of so many members that all former members have retired from.
fn used(process: &Process, members: u32) -> Option<u64> {
    let mut spare = process.spare_areas.lock().ok()?;
    for index in 0..spare.len() {
        let (former, offset) = spare[index];
        let area = (former == members).then(|| at(process, offset, members));
        if let Some(area) = area.flatten().filter(SharedArea::is_deserted) {
            spare.swap_remove(index);
            area.reset();
            return Some(offset);
        }
    }
    None
}

/// The area at an offset of the node segment.
fn at(process: &Process, offset: u64, members: u32) -> Option<SharedArea> {
    let buffer_bytes = buffer_bytes(members);
    let base = process
        .node()
        .address(offset, SharedArea::bytes(members, buffer_bytes))
        .filter(|_| offset != 0)?;
    // SAFETY: the first member took the range for this area, fresh or reset (`make`); the segment stays mapped.
    Some(unsafe { SharedArea::at(base, members, buffer_bytes) })
}

/// The offset of an area for so many members in the node segment; 0 if there is no room.
fn make(process: &Process, members: u32) -> u64 {
    let bytes = SharedArea::bytes(members, buffer_bytes(members));
    used(process, members)
        .or_else(|| process.node().allocate_spare(bytes).ok())
        .unwrap_or(0)
}

impl Shared {
    #[inline(always)]
    pub(in crate::coll) fn senders_fence(&self) -> bool {
        self.job.sender_fences.load(Ordering::Relaxed) != 0
    }

    /// Whether anybody may have to be woken.
    #[inline(always)]
    pub(super) fn any_asleep(&self) -> bool {
        doorbell::any_asleep(&self.job.sleepers, self.senders_fence())
    }

    /// Notes that a member does something else in an operation than this one, by what both say.
    #[cold]
    #[inline(never)]
    pub(super) fn note_mismatch(&self, first: u64, own: u64, member: u32, word: u64) {
        let bytes = |word: u64| word & ((1 << 56) - 1);
        let (mine, theirs) = (Purpose::of(own), Purpose::of(word));
        let (class, text) = if mine == theirs {
            let text = format!(
                "rank {member} takes part with {} bytes, this rank with {}",
                bytes(word),
                bytes(own)
            );
            (ErrorClass::ERR_TRUNCATE, text)
        } else {
            let which = theirs.map_or(String::new(), |theirs| format!(" ({theirs:?})"));
            let text = format!("rank {member} is in another collective{which} than this rank");
            (ErrorClass::ERR_OTHER, text)
        };
        if let Ok(mut failures) = self.failures.lock() {
            // The first one is told.
            if failures.iter().all(|(noted, _)| *noted != first) {
                failures.push((first, Error::new(class, text)));
                self.failed.store(failures.len(), Ordering::Relaxed);
            }
        }
    }

    /// How the operation went whose first round this was.
    #[inline(always)]
    pub(super) fn outcome(&self, first: u64) -> Result<()> {
        if self.failed.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        self.failure(first)
    }

    #[cold]
    fn failure(&self, first: u64) -> Result<()> {
        let Ok(mut failures) = self.failures.lock() else {
            return Ok(());
        };
        let mine = failures.iter().position(|(noted, _)| *noted == first);
        let outcome = mine.map_or(Ok(()), |index| Err(failures.swap_remove(index).1));
        self.failed.store(failures.len(), Ordering::Relaxed);
        outcome
    }
}

/// Wakes a member that sleeps on the communicator's VCI, or covers it; false when it has woken by itself.
#[cold]
#[inline(never)]
pub(super) fn wake_member(comm: &Comm, member: u32) -> bool {
    let (peers, peer) = (comm.vci().peers(), comm.peer(Rank::new(member)));
    let board = comm.process.node().board(peers.process(peer));
    board.ring(peers.vci(peer), false)
}

impl Shared {
    /// The slots of data that are too long for a line: the address of the first member's, and the distance to the next one's.
    pub(super) fn long_slots(&self, round: u64, bytes: usize, long: Slot) -> (*mut u8, usize) {
        let area = &self.area;
        if bytes <= WIDE_BYTES {
            return (area.wide(round, 0).as_ptr(), Row::WIDE_STRIDE);
        }
        let (first, room) = match long {
            Slot::Buffer => (area.buffer(round, 0), area.buffer_bytes()),
            _ => (area.part(round, 0), area.part_bytes()),
        };
        assert!(bytes <= room);
        (first.as_ptr(), area.buffer_bytes())
    }

    /// The kind of slot that `bytes` bytes need.
    pub(super) fn slot_for(&self, bytes: usize, whole_before: u64) -> Slot {
        match bytes {
            _ if bytes <= WIDE_BYTES => Slot::Line,
            _ if bytes <= self.area.part_bytes() => Slot::Part { whole_before },
            _ => Slot::Buffer,
        }
    }
}
