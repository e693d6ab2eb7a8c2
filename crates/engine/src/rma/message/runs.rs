// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of bytes in a member's own memory, which may be a GPU's: what a request reads and writes.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use layout::Layout;

use crate::allocate;
use crate::datatype::Memory;
use crate::device::{Device, Scattered};
use crate::errors::{Error, ErrorClass, Result};
use crate::rma::granule::Granule;

/// A run that lies inside the window and is whole granules. The window's memory is the process's until its service ends.
#[derive(Clone, Copy)]
pub(super) struct LocalSpan {
    pub(super) address: *mut u8,
    pub(super) bytes: usize,
    /// The GPU in whose memory it is.
    pub(super) device: Option<Device>,
}

/// Whether two places are in one GPU's memory, or both in the host's.
pub(super) fn are_together(one: Option<Device>, other: Option<Device>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_of_same_gpu(&other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl LocalSpan {
    /// It as the memory of a message, if the processor reaches it. Whether a GPU's memory is there still only its driver can say, so that
    /// goes through copies.
    pub(super) fn memory(&self) -> Option<Memory<'static>> {
        let is_host = self.device.is_none();
        is_host.then(|| Memory::contiguous(self.address, self.bytes))
    }
}

/// The bytes of runs together.
pub(super) fn total(runs: &[LocalSpan]) -> usize {
    runs.iter().map(|run| run.bytes).sum()
}

/// The runs that are in one kind of memory, one group behind the other.
fn groups(runs: &[LocalSpan]) -> impl Iterator<Item = &[LocalSpan]> {
    runs.chunk_by(|one, other| are_together(one.device, other.device))
}

/// The runs of a group in the memory of a GPU.
fn scattered(device: Device, runs: &[LocalSpan]) -> Result<Scattered> {
    let places: Vec<_> = runs.iter().map(|run| (run.address, run.bytes)).collect();
    Scattered::new(device, &places, &Layout::named(1, 1))
}

/// Stores packed bytes in runs.
pub(super) fn store(granule: Granule, runs: &[LocalSpan], mut data: &[u8]) -> Result<()> {
    let total = total(runs);
    if total != data.len() {
        let text = format!("a request of {} bytes with {} of data", total, data.len());
        return Err(Error::new(ErrorClass::ERR_INTERN, text));
    }
    for group in groups(runs) {
        if let Some(device) = group[0].device {
            let (first, rest) = data.split_at(self::total(group));
            scattered(device, group)?.write(first)?;
            data = rest;
            continue;
        }
        for run in group {
            // SAFETY: the run is memory of this process (LocalSpan), and the data are as long as all runs.
            unsafe { granule.store(data.as_ptr(), run.address, run.bytes) };
            data = &data[run.bytes..];
        }
    }
    Ok(())
}

/// Packs the bytes of runs.
pub(super) fn load(granule: Granule, runs: &[LocalSpan]) -> Result<Vec<u8>> {
    let mut packed = allocate::zeroed(total(runs))?;
    let mut rest = packed.as_mut_slice();
    for group in groups(runs) {
        if let Some(device) = group[0].device {
            let (first, behind) = rest.split_at_mut(total(group));
            first.copy_from_slice(&scattered(device, group)?.read()?);
            rest = behind;
            continue;
        }
        for run in group {
            // SAFETY: the run is memory of this process (LocalSpan); the rest is longer than it.
            unsafe { granule.load(run.address, rest.as_mut_ptr(), run.bytes) };
            rest = &mut rest[run.bytes..];
        }
    }
    Ok(packed)
}
