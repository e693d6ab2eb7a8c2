// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of dynamic windows (MPI-5.0, section 12.2.4).
//!
//! A member publishes what it attached in a table that the other members read. Memory of the node segment, as MPI_Alloc_mem returns, is
//! reached by loads and stores, other memory by cross-memory attach. Which of them holds for all members, because the attaching member
//! decides. The memory of a GPU is reached by messages, because only its own process can be sure to reach it.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use fabric::regions::{self, Found, Region, Regions};

use super::heap;
use super::lend::Lent;
use super::target::{Path, Place};
use super::window::{Flavor, Window};
use crate::device::{self, Device};
use crate::errors::{Error, ErrorClass, Result};
use crate::settings::RmaPath;

/// The address of bytes in this process, and the GPU in whose memory they are.
pub(super) type Bytes = (*mut u8, Option<Device>);

/// What this member attached.
#[derive(Debug, Default)]
pub(super) struct Attached {
    /// By address, and those with one address, of which one at most has bytes, in the order of their calls.
    regions: BTreeMap<(u64, u64), Region>,
    /// Calls of MPI_Win_attach so far.
    calls: u64,
    /// Those with bytes, as they are published.
    joined: Regions,
    /// The ends of those in the memory of GPUs, by address.
    on_devices: BTreeMap<u64, (u64, Device)>,
    /// Offset of the table in the node segment, and the number of blocks that it has room for.
    table: Option<(u64, usize)>,
    /// Memory of the node segment that was taken to be attached.
    pub(super) lent: Vec<Lent>,
}

impl Attached {
    /// A region that has bytes in common with memory that ends at `end`.
    fn overlapping(&self, address: u64, end: u64) -> Option<&Region> {
        // Of the regions with bytes that start before the end, only the last can reach beyond the start; joined ones reach as far.
        self.joined
            .last_before(end)
            .filter(|it| it.end() > address)?;
        let before_end = self.regions.range(..(end, 0)).rev();
        before_end
            .map(|(_, region)| region)
            .find(|region| region.bytes > 0)
    }

    /// The region that was attached first of those at an address.
    fn at(&self, address: u64) -> Option<((u64, u64), Region)> {
        let mut here = self.regions.range((address, 0)..=(address, u64::MAX));
        here.next().map(|(&key, &region)| (key, region))
    }

    /// The GPU in whose memory an address is that was attached.
    fn device_at(&self, address: u64) -> Option<Device> {
        let (_, (end, device)) = self.on_devices.range(..=address).next_back()?;
        (address < *end).then_some(*device)
    }
}

/// Blocks of a member's first table.
const FIRST_CAPACITY: usize = 4;

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
    /// MPI_ERR_RMA_FLAVOR, MPI_ERR_BASE for null, MPI_ERR_RMA_ATTACH when some of the memory is attached, MPI_ERR_NO_MEM; MPI_ERR_BUFFER
    /// when it begins in the memory of a GPU and ends elsewhere.
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
        let device = device::device_of_bytes("base", base, bytes);
        let device = device.map_err(|error| self.annotate(error))?;
        let offset = process.node().offset_of(base, bytes).filter(|_| is_shared);
        let region = Region {
            address: base as u64,
            bytes: bytes as u64,
            shared: match device {
                Some(_) => Region::DEVICE,
                None => offset.map_or(0, |offset| 1 + offset),
            },
        };
        let Some(end) = region.address.checked_add(region.bytes) else {
            return Err(self.bad_region(region.address, format!("the address of {bytes} bytes")));
        };
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let other = attached.overlapping(region.address, end);
        if let Some(other) = other.filter(|_| bytes > 0) {
            let expected = format!(
                "{bytes} bytes that are not attached: {} bytes at {:#x} are",
                other.bytes, other.address
            );
            return Err(self.bad_region(region.address, expected));
        }
        self.make_room(&mut attached)?;
        let key = (region.address, attached.calls);
        attached.calls += 1;
        attached.regions.insert(key, region);
        if bytes > 0 {
            attached.joined.add(region);
        }
        if let Some(device) = device {
            attached.on_devices.insert(region.address, (end, device));
        }
        self.publish(&mut attached);
        Ok(())
    }

    /// Ends the access to memory that was attached (MPI_Win_detach).
    ///
    /// # Errors
    /// MPI_ERR_RMA_FLAVOR, MPI_ERR_RMA_ATTACH when no attached memory starts there.
    pub fn detach(&self, base: *const u8) -> Result<()> {
        self.check_dynamic()?;
        let address = base as u64;
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((key, region)) = attached.at(address) else {
            let expected = format!(
                "the start of one of the {} ranges that are attached",
                attached.regions.len()
            );
            return Err(self.bad_region(address, expected));
        };
        self.make_room(&mut attached)?;
        attached.regions.remove(&key);
        if region.bytes > 0 {
            attached.joined.cut(&region);
            attached.on_devices.remove(&region.address);
        }
        self.publish(&mut attached);
        Ok(())
    }

    /// Shows the other members what has changed, in a table with room for it ([`Self::make_room`]).
    fn publish(&self, attached: &mut Attached) {
        let (Some(view), Some(table)) = (&self.own().view, attached.table) else {
            return attached.joined.forget_changes();
        };
        let node = self.process().node();
        regions::publish(node, view.board(), table, &mut attached.joined);
    }

    /// Takes memory for a table that holds what will be attached, if other members read it; that of the old one is given back with the
    /// window.
    fn make_room(&self, attached: &mut Attached) -> Result<()> {
        let needed = attached.joined.needed_blocks();
        let has_room = attached
            .table
            .is_some_and(|(_, capacity)| needed <= capacity);
        if has_room || self.own().view.is_none() {
            return Ok(());
        }
        let capacity = (2 * needed).max(FIRST_CAPACITY);
        let process = self.process();
        let bytes = regions::table_bytes(capacity).unwrap_or(usize::MAX);
        let memory = heap::take(process, bytes).map_err(|error| self.annotate(error))?;
        let table = process
            .node()
            .offset_of(memory.address, memory.bytes)
            .unwrap_or(0);
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.push(memory);
        attached.table = Some((table, capacity));
        attached.joined.change_all();
        Ok(())
    }

    /// The address of bytes that this member attached, and the GPU in whose memory they begin.
    ///
    /// # Errors
    /// MPI_ERR_RMA_RANGE.
    pub(super) fn attached_bytes(&self, address: u64, bytes: u64) -> Result<Bytes> {
        let attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let end = address.checked_add(bytes);
        let region = attached.joined.last_before(address.saturating_add(1));
        let holds = |region: Region| end.is_some_and(|end| end <= region.end());
        if bytes == 0 || region.is_some_and(holds) {
            return Ok((address as *mut u8, attached.device_at(address)));
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
        let path = match region.shared {
            0 => Path::Attach,
            Region::DEVICE => Path::Message,
            _ => Path::Direct,
        };
        if path != Path::Direct {
            return Ok(Place { path, ..place });
        }
        let start = node.address(region.shared - 1, region.bytes);
        let start = start.ok_or_else(|| {
            let text = format!("memory that rank {} attached cannot be mapped", place.rank);
            self.annotate(Error::new(ErrorClass::ERR_RMA_RANGE, text))
        })?;
        let distance = base.wrapping_sub(region.address) as usize;
        Ok(Place {
            path,
            base: start.as_ptr().wrapping_add(distance),
            ..place
        })
    }
}
