// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that kernels reach: that of the device, at whose address the processor faults and which the double reaches at another
//! one, and memory of the host that the driver has allocated, pinned or managed.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::run::Memory;

/// All allocations, by address.
#[derive(Debug, Default)]
pub(crate) struct DeviceMemory {
    blocks: BTreeMap<u64, Block>,
    /// What kernels read as their clock.
    pub(crate) cycles: u64,
}

/// Who reaches memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    /// The device only.
    Device,
    /// The host, and the device at the same address.
    Host,
    /// Both, as managed memory.
    Managed,
}

/// Invariant: `mapped` bytes are mapped at the block's address and at `alias`, readable and writable there; both are the same
/// memory. Memory of the device has no access at its address.
#[derive(Debug)]
struct Block {
    bytes: usize,
    mapped: usize,
    alias: usize,
    owner: Owner,
}

/// Cycles that pass between two readings of the clock.
const CYCLES: u64 = 64;

const PAGE: usize = 4096;

impl DeviceMemory {
    /// `bytes` bytes, aligned to a page.
    pub(crate) fn allocate(&mut self, bytes: usize, owner: Owner) -> Result<u64, String> {
        let mapped = bytes.max(1).next_multiple_of(PAGE);
        let why = |error: Errno| error.to_string();
        let file = memfd_create("device memory", MemfdFlags::CLOEXEC).map_err(why)?;
        ftruncate(&file, mapped as u64).map_err(why)?;
        let map = |access| {
            // SAFETY: a new mapping wherever the kernel likes.
            unsafe { mmap(ptr::null_mut(), mapped, access, MapFlags::SHARED, &file, 0) }
        };
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let own = match owner {
            Owner::Device => ProtFlags::empty(),
            Owner::Host | Owner::Managed => both,
        };
        let address = map(own).map_err(why)?.expose_provenance() as u64;
        let alias = map(both).map_err(why)?;
        let block = Block {
            bytes,
            mapped,
            alias: alias.expose_provenance(),
            owner,
        };
        self.blocks.insert(address, block);
        Ok(address)
    }

    /// Frees what begins at an address; whether something did.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        let Some(block) = self.blocks.remove(&address) else {
            return false;
        };
        for mapping in [address as usize, block.alias] {
            let mapping: *mut c_void = ptr::with_exposed_provenance_mut(mapping);
            // SAFETY: the invariant; nobody knows the block any more. A mapping that stays costs only memory.
            let _ = unsafe { munmap(mapping, block.mapped) };
        }
        true
    }

    /// Where the double reaches `bytes` bytes of one allocation.
    pub(crate) fn reach(&self, address: u64, bytes: usize) -> Result<*mut u8, String> {
        let found = self.blocks.range(..=address).next_back();
        let inside = found.and_then(|(start, block)| {
            let at = (address - start) as usize;
            (at.checked_add(bytes)? <= block.bytes).then_some(block.alias + at)
        });
        let alias = inside.ok_or_else(|| {
            format!("{bytes} bytes at {address:#x} are not in one allocation of the device")
        })?;
        Ok(ptr::with_exposed_provenance_mut(alias))
    }

    /// Start, length and owner of the allocation around an address.
    pub(crate) fn allocation(&self, address: u64) -> Option<(u64, usize, Owner)> {
        let (start, block) = self.blocks.range(..=address).next_back()?;
        let is_inside = address - start < block.bytes as u64;
        is_inside.then_some((*start, block.bytes, block.owner))
    }

    /// Who reaches an address; none if it is in no allocation.
    pub(crate) fn owner(&self, address: u64) -> Option<Owner> {
        self.allocation(address).map(|(_, _, owner)| owner)
    }
}

impl Memory for DeviceMemory {
    fn load(&mut self, address: u64, bytes: usize) -> Result<u128, String> {
        let from = self.reach(address, bytes)?;
        let mut value = [0u8; 16];
        // SAFETY: `bytes`, at most 16, of one allocation.
        unsafe { ptr::copy_nonoverlapping(from, value.as_mut_ptr(), bytes) };
        Ok(u128::from_le_bytes(value))
    }

    fn store(&mut self, address: u64, bytes: usize, value: u128) -> Result<(), String> {
        let to = self.reach(address, bytes)?;
        // SAFETY: `bytes`, at most 16, of one allocation.
        unsafe { ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), to, bytes) };
        Ok(())
    }
    fn clock(&mut self) -> Result<u64, String> {
        self.cycles += CYCLES;
        Ok(self.cycles)
    }
}
