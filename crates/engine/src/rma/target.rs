// SPDX-License-Identifier: MIT OR Apache-2.0
//! The members of a window as targets, and the part of a target's memory that an operation names.

use layout::Layout;
use sys::sync::{AtomicU8, AtomicU32};

use fabric::window::WindowView;

use super::granule::Granule;
use super::paths::Paths;
use super::polled::Willingness;
use super::window::{Flavor, Window};
use crate::datatype::Datatype;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::LinkIndex;
use crate::p2p::{PROC_NULL, Promises};

/// How the memory of a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// It is node-shared memory, which this process maps: loads and stores.
    Direct,
    /// It is private memory of a process of this node: cross-memory attach.
    Attach,
    /// Messages to the target's service.
    Message,
}

/// A member of a window as a target.
pub struct Target {
    /// What this member may do there now: see [`super::epoch`].
    pub(super) access: AtomicU8,
    pub(super) path: Path,
    /// The ticket of the lock that this member holds there.
    pub(super) ticket: AtomicU32,
    /// Displacement unit in bytes.
    pub(super) unit: u64,
    /// Size of the window there in bytes.
    pub(super) bytes: u64,
    /// The same for [`Path::Direct`], else 0.
    pub(super) direct_bytes: u64,
    /// First byte of the window: in this process ([`Path::Direct`]), or in the target's. Null for a dynamic window.
    pub(super) base: *mut u8,
    /// Address of the first byte in the target's process; 0 for a dynamic window, whose displacements are addresses.
    pub(super) home: u64,
    /// The same in this process, whatever the path; null if this process does not map it.
    pub(super) mapped: *mut u8,
    /// How its memory is accessed.
    pub(super) granule: Granule,
    /// Process id, for [`Path::Attach`].
    pub(super) pid: u32,
    /// Peer of the window's communicator: world rank and VCI.
    pub(super) peer: LinkIndex,
    /// Its board, unless members share no memory.
    pub(super) view: Option<WindowView>,
    /// Exposure epochs of the target that this member has used up.
    pub(super) posts_seen: AtomicU32,
    /// Elements of long accumulates that this member combined there by atomic instructions.
    pub(super) words_combined: AtomicU32,
    /// Whether it executes what others post to it.
    pub(super) willingness: Willingness,
    /// Times of asking it, and of system calls instead.
    pub(super) paths: Paths,
}

/// The elements that an operation names at a target.
#[derive(Clone, Copy)]
pub struct Remote<'a> {
    /// Rank of the target, or MPI_PROC_NULL.
    pub rank: i32,
    /// Displacement, in displacement units of the target.
    pub disp: i64,
    /// Bytes of a unit of the displacement, where that is not the target's.
    pub unit: Option<u64>,
    /// Number of elements.
    pub count: usize,
    /// Their type.
    pub datatype: &'a Datatype,
}

/// A [`Remote`] that lies inside the window of its target.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) rank: u32,
    pub(super) target: &'a Target,
    /// How the elements are reached: that of the target, or of the memory attached to a dynamic window.
    pub(super) path: Path,
    /// Base address of the elements: as [`Target::base`]. Their lower bound need not be 0.
    pub(super) base: *mut u8,
    pub(super) count: usize,
    pub(super) layout: &'a Layout,
    /// Packed length in bytes.
    pub(super) bytes: usize,
}

impl<'a> Place<'a> {
    /// The address of the data if they are one run of bytes.
    #[inline(always)]
    pub(super) fn run(&self) -> Option<*mut u8> {
        let start = self.layout.contiguous_start(self.count)?;
        Some(self.base.wrapping_offset(start as isize))
    }
}

impl Window {
    /// The place that an operation names; `None` for MPI_PROC_NULL.
    ///
    /// # Errors
    /// MPI_ERR_RANK, MPI_ERR_DISP, MPI_ERR_RMA_RANGE, MPI_ERR_RMA_SYNC.
    #[inline(always)]
    pub(super) fn place<'a>(&'a self, remote: &Remote<'a>) -> Result<Option<Place<'a>>> {
        let Some(target) = self.targets.get(remote.rank as usize) else {
            return self.no_target(remote.rank).map(|()| None);
        };
        if target.mark() | self.epochs.open_to_all() == 0 {
            self.open(remote.rank as u32)?;
        }
        let layout = remote.datatype.layout();
        let bytes = layout.size().wrapping_mul(remote.count);
        let unit = remote.unit.unwrap_or(target.unit);
        let start = (remote.disp as u64).wrapping_mul(unit);
        let is_simple = layout.is_contiguous() && layout.lower_bound() == 0;
        // Beyond this, products may not fit.
        let is_small = (remote.count as u64 | remote.disp as u64 | layout.size() as u64) < 1 << 31;
        let fits = start.wrapping_add(bytes as u64) <= target.bytes;
        let place = Place {
            rank: remote.rank as u32,
            target,
            path: target.path,
            base: target.base.wrapping_add(start as usize),
            count: remote.count,
            layout,
            bytes,
        };
        if !(is_simple && is_small && fits) {
            return self.check_range(remote, place).map(Some);
        }
        Ok(Some(place))
    }

    /// The displacement in bytes of an address in the process of a target; 0 of a target that is none.
    pub fn displacement_of(&self, rank: i32, address: u64) -> i64 {
        let target = self.targets.get(rank as u32 as usize);
        target.map_or(0, |target| address.wrapping_sub(target.home).cast_signed())
    }

    /// The member that a call with promises names, or MPI_PROC_NULL.
    ///
    /// # Errors
    /// As for [`Comm::named`](crate::comm::Comm::named).
    pub fn named_target<P: Promises>(&self, rank: i32) -> Result<i32> {
        if P::GLOBAL && !self.ranks_are_global {
            self.learn_world_ranks();
        }
        self.comm.named::<P>("target_rank", rank)
    }

    /// Refuses a rank that is no member.
    #[cold]
    #[inline(never)]
    fn no_target(&self, rank: i32) -> Result<()> {
        if rank == PROC_NULL {
            return Ok(());
        }
        let expected = format!("0..{} or MPI_PROC_NULL", self.targets.len() - 1);
        let error = Error::argument(ErrorClass::ERR_RANK, "target_rank", rank, expected);
        Err(self.annotate(error))
    }

    /// The place, if its elements lie inside the window.
    #[cold]
    #[inline(never)]
    fn check_range<'a>(&'a self, remote: &Remote<'a>, place: Place<'a>) -> Result<Place<'a>> {
        let target = place.target;
        let refuse = |class, argument, value: String, expected: String| {
            Err(self.annotate(Error::argument(class, argument, value, expected)))
        };
        if remote.disp < 0 && self.flavor() != Flavor::Dynamic {
            let (value, expected) = (remote.disp.to_string(), "0 or more".to_owned());
            return refuse(ErrorClass::ERR_DISP, "target_disp", value, expected);
        }
        let Some((first, bytes)) = remote.datatype.layout().span(remote.count) else {
            let expected = "elements that fit into the address space".to_owned();
            let value = remote.count.to_string();
            return refuse(ErrorClass::ERR_COUNT, "target_count", value, expected);
        };
        if bytes == 0 {
            return Ok(place);
        }
        if self.flavor() == Flavor::Dynamic {
            return self.place_attached(place, first, bytes);
        }
        let unit = remote.unit.unwrap_or(target.unit);
        let start = i128::from(remote.disp) * i128::from(unit) + i128::from(first);
        let end = start + bytes as i128;
        if start < 0 || end > i128::from(target.bytes) {
            let value = format!("{} (displacement unit {unit})", remote.disp);
            let expected = format!(
                "a place within the {} bytes of the window of rank {}: {} elements of {} there are bytes {start}..{end}",
                target.bytes,
                remote.rank,
                remote.count,
                remote.datatype.describe()
            );
            return refuse(ErrorClass::ERR_RMA_RANGE, "target_disp", value, expected);
        }
        Ok(place)
    }
}
