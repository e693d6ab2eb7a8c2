// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of dynamic windows (MPI-5.0, section 12.2.4).
//!
//! A member publishes what it attached in a table that the other members read. Memory of the node segment, as MPI_Alloc_mem returns, is
//! reached by loads and stores, other memory by cross-memory attach. Which of them holds for all members, because the attaching member
//! decides.

use std::sync::PoisonError;

use fabric::regions::{self, Found, Region};

use super::heap;
use super::lend::Lent;
use super::target::{Path, Place};
use super::window::{Flavor, Window};
use crate::errors::{Error, ErrorClass, Result};
use crate::settings::RmaPath;

/// What this member attached.
#[derive(Debug, Default)]
pub(super) struct Attached {
    /// Sorted by address; those without bytes are not published, and neighbours as one.
    regions: Vec<Region>,
    /// Offset of the table in the node segment, and the number of regions that it has room for.
    table: Option<(u64, usize)>,
    /// Memory of the node segment that was taken to be attached.
    pub(super) lent: Vec<Lent>,
}

impl Attached {
    /// The regions with neighbours joined, because an operation may reach from one into the next.
    fn joined(&self) -> Vec<Region> {
        let mut joined: Vec<Region> = Vec::new();
        for region in self.regions.iter().filter(|region| region.bytes > 0) {
            match joined.last_mut() {
                Some(last) if is_continued(last, region) => last.bytes += region.bytes,
                _ => joined.push(*region),
            }
        }
        joined
    }
}

/// Whether a region begins where another one ends, in memory of the same kind.
const fn is_continued(region: &Region, next: &Region) -> bool {
    let is_next = region.address + region.bytes == next.address;
    let are_private = region.shared == 0 && next.shared == 0;
    let are_shared = region.shared != 0 && region.shared + region.bytes == next.shared;
    is_next && (are_private || are_shared)
}

/// Regions of a member's first table.
const FIRST_CAPACITY: usize = 64;

impl Window {
    fn check_dynamic(&self) -> Result<()> {
        if self.flavor() == Flavor::Dynamic {
            return Ok(());
        }
        let expected = "a window of MPI_Win_create_dynamic";
        let error = Error::argument(ErrorClass::ERR_RMA_FLAVOR, "win", self.name(), expected);
        Err(self.annotate(error))
    }

    #[cold]
    fn bad_region(&self, base: u64, expected: String) -> Error {
        let (class, value) = (ErrorClass::ERR_RMA_ATTACH, format!("{base:#x}"));
        self.annotate(Error::argument(class, "base", value, expected))
    }

    /// Lets the other members access memory of this process (MPI_Win_attach).
    ///
    /// # Errors
    /// MPI_ERR_RMA_FLAVOR, MPI_ERR_BASE for null, MPI_ERR_RMA_ATTACH when some of the memory is attached, MPI_ERR_NO_MEM.
    ///
    /// # Safety
    /// `bytes` bytes at `base` are memory of this process until they are detached, which members may access as MPI-5.0, section 12.7,
    /// permits.
    #[expect(unsafe_code, reason = "the memory is an address that the program gave")]
    pub unsafe fn attach(&self, base: *mut u8, bytes: usize) -> Result<()> {
        self.check_dynamic()?;
        if base.is_null() && bytes > 0 {
            let (class, expected) = (
                ErrorClass::ERR_BASE,
                format!("the address of {bytes} bytes"),
            );
            return Err(self.annotate(Error::argument(class, "base", "null", expected)));
        }
        let process = self.process();
        let is_shared = self.comm.shares_memory()
            && matches!(process.settings().rma_path, RmaPath::Best | RmaPath::Direct);
        let offset = process.node().offset_of(base, bytes).filter(|_| is_shared);
        let region = Region {
            address: base as u64,
            bytes: bytes as u64,
            shared: offset.map_or(0, |offset| 1 + offset),
        };
        let Some(end) = region.address.checked_add(region.bytes) else {
            return Err(self.bad_region(region.address, format!("the address of {bytes} bytes")));
        };
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let overlaps = |other: &&Region| {
            let other_end = other.address + other.bytes;
            region.bytes > 0 && other.bytes > 0 && region.address < other_end && other.address < end
        };
        if let Some(other) = attached.regions.iter().find(overlaps) {
            let expected = format!(
                "{bytes} bytes that are not attached: {} bytes at {:#x} are",
                other.bytes, other.address
            );
            return Err(self.bad_region(region.address, expected));
        }
        let place = attached
            .regions
            .partition_point(|other| other.address <= region.address);
        attached.regions.insert(place, region);
        self.publish(&mut attached).inspect_err(|_| {
            attached.regions.remove(place);
        })
    }

    /// Ends the access to memory that was attached (MPI_Win_detach).
    ///
    /// # Errors
    /// MPI_ERR_RMA_FLAVOR, MPI_ERR_RMA_ATTACH when no attached memory starts there.
    pub fn detach(&self, base: *const u8) -> Result<()> {
        self.check_dynamic()?;
        let address = base as u64;
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let found = attached
            .regions
            .iter()
            .position(|region| region.address == address);
        let Some(place) = found else {
            let expected = format!(
                "the start of one of the {} ranges that are attached",
                attached.regions.len()
            );
            return Err(self.bad_region(address, expected));
        };
        attached.regions.remove(place);
        self.publish(&mut attached)
    }

    /// Shows the other members what is attached.
    fn publish(&self, attached: &mut Attached) -> Result<()> {
        let Some(view) = &self.own().view else {
            return Ok(());
        };
        let joined = attached.joined();
        let table = match attached.table {
            Some((table, capacity)) if joined.len() <= capacity => table,
            _ => self.longer_table(attached, joined.len())?,
        };
        regions::publish(self.process().node(), view.board(), table, &joined);
        Ok(())
    }

    /// Takes memory for a table; that of the old one is given back with the window.
    fn longer_table(&self, attached: &mut Attached, regions: usize) -> Result<u64> {
        let capacity = (2 * regions).max(FIRST_CAPACITY);
        let process = self.process();
        let memory = heap::take(process, regions::table_bytes(capacity) as usize)
            .map_err(|error| self.annotate(error))?;
        let table = process
            .node()
            .offset_of(memory.address, memory.bytes)
            .unwrap_or(0);
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.push(memory);
        attached.table = Some((table, capacity));
        Ok(table)
    }

    /// The address of bytes that this member attached.
    ///
    /// # Errors
    /// MPI_ERR_RMA_RANGE.
    pub(super) fn attached_bytes(&self, address: u64, bytes: u64) -> Result<*mut u8> {
        let attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |region: &&Region| {
            let distance = address.checked_sub(region.address);
            let end = distance.and_then(|distance| distance.checked_add(bytes));
            end.is_some_and(|end| end <= region.bytes)
        };
        if bytes == 0 || attached.joined().iter().any(|region| holds(&region)) {
            return Ok(address as *mut u8);
        }
        let text = format!("{bytes} bytes at {address:#x} are not attached (MPI_Win_attach)");
        Err(Error::new(ErrorClass::ERR_RMA_RANGE, text))
    }

    /// The place of elements in memory that their target attached, of which the first byte lies at `first` behind the base address.
    pub(super) fn place_attached<'a>(
        &'a self,
        place: Place<'a>,
        first: i64,
        bytes: usize,
    ) -> Result<Place<'a>> {
        let Some(view) = place.target.view.as_ref() else {
            return Ok(place);
        };
        if place.path == Path::Message {
            return Ok(place);
        }
        let node = self.process().node();
        let base = place.base as u64;
        let address = base.wrapping_add_signed(first);
        let search = || regions::find(node, view.board(), address, bytes as u64);
        let mut found = search();
        if found == Found::Changing {
            let vci = self.comm.vci();
            vci.wait_until("an operation on a window", |_| {
                found = search();
                found != Found::Changing
            })?;
        }
        let Found::Region(region) = found else {
            let value = format!("{base:#x}");
            let expected = format!(
                "{bytes} bytes from {address:#x} on that rank {} attached (MPI_Win_attach)",
                place.rank
            );
            let class = ErrorClass::ERR_RMA_RANGE;
            return Err(self.annotate(Error::argument(class, "target_disp", value, expected)));
        };
        if region.shared == 0 {
            let path = Path::Attach;
            return Ok(Place { path, ..place });
        }
        let start = node.address(region.shared - 1, region.bytes);
        let start = start.ok_or_else(|| {
            let text = format!("memory that rank {} attached cannot be mapped", place.rank);
            self.annotate(Error::new(ErrorClass::ERR_RMA_RANGE, text))
        })?;
        let distance = base.wrapping_sub(region.address) as usize;
        Ok(Place {
            path: Path::Direct,
            base: start.as_ptr().wrapping_add(distance),
            ..place
        })
    }
}
