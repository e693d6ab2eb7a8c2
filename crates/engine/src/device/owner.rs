// SPDX-License-Identifier: MIT OR Apache-2.0
//! In which GPU's memory a buffer is.

use layout::Layout;
use layout_cuda::{Allocation, Driver, Gpu};
use sys::own_memory;

use super::counts;
use super::detect::{self, DRIVER};
use super::failure::{self, refused};
use super::moves::packed_at;
use crate::errors::{Error, ErrorClass, Result};

/// The GPU in whose memory a buffer is, and the allocation that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Device(Allocation);

impl Device {
    /// The GPU.
    pub(super) const fn gpu(&self) -> &'static Gpu {
        self.0.gpu
    }

    /// Whether two buffers are in the memory of the same GPU.
    pub(crate) fn is_of_same_gpu(&self, other: &Self) -> bool {
        std::ptr::eq(self.gpu(), other.gpu())
    }

    /// Whether two buffers are in the same allocation.
    pub fn shares_allocation(&self, other: &Self) -> bool {
        self.0.start == other.0.start && self.0.ordinal == other.0.ordinal
    }

    /// Checks that elements of the buffer, whose data begin in this GPU's memory, end there, too.
    ///
    /// # Errors
    /// MPI_ERR_BUFFER.
    pub fn check(&self, base: *const u8, layout: &Layout, count: usize) -> Result<()> {
        let Some((start, bytes)) = reach(base, layout, count) else {
            return Ok(());
        };
        if self.0.contains(start as u64, bytes) {
            return Ok(());
        }
        // Allocations that lie side by side are one range of addresses.
        let last = start.wrapping_add(bytes - 1);
        match (self.allocation_at(start)?, self.allocation_at(last)?) {
            (Some(_), Some(_)) => Ok(()),
            _ => Err(self.leaves(start, bytes)),
        }
    }

    /// This GPU's memory around an address.
    fn allocation_at(&self, address: usize) -> Result<Option<Allocation>> {
        let found = allocation_of(self.0.gpu.driver(), address)?;
        Ok(found.filter(|found| found.ordinal == self.0.ordinal))
    }

    #[cold]
    fn leaves(&self, start: usize, bytes: usize) -> Error {
        let Allocation {
            ordinal,
            start: first,
            bytes: length,
            ..
        } = self.0;
        let end = (start as u64).wrapping_add(bytes as u64);
        let beyond = end.saturating_sub(first.saturating_add(length));
        let value = format!("{bytes} bytes at {start:#x}, in the memory of GPU {ordinal}");
        let expected = format!(
            "data inside memory of that GPU: the allocation has {length} bytes at {first:#x}, which end {beyond} bytes before the data"
        );
        Error::argument(ErrorClass::ERR_BUFFER, "buf", value, expected)
    }
}

/// The lowest address of the data, and the number of bytes from there to their end.
fn reach(base: *const u8, layout: &Layout, count: usize) -> Option<(usize, usize)> {
    let (first, bytes) = layout.span(count)?;
    (bytes > 0).then(|| (base.addr().wrapping_add_signed(first as isize), bytes))
}

/// The memory of a GPU around an address. Once the driver answers nothing any more, what the processor reads is the host's.
///
/// # Errors
/// The driver's errors.
fn allocation_of(driver: &'static Driver, address: usize) -> Result<Option<Allocation>> {
    let ask = || {
        counts::count_query();
        driver.allocation_of(address as u64)
    };
    let found = match failure::has_failed() {
        false => ask().map_err(|error| refused(&error)),
        true => Err(failure::over()),
    };
    match found {
        Err(_) if failure::has_failed() && own_memory::is_readable(address) => Ok(None),
        found => found,
    }
}

/// Whether an address is certainly the host's, which costs no call of the driver: the program's data, the heap and the stack never become a
/// GPU's.
pub fn is_own_memory(address: *const u8) -> bool {
    own_memory::is_own(address.addr())
}

/// The GPU in whose memory the data of `count` elements at `base` are, if they are in one's. The first and the last byte decide.
///
/// # Errors
/// MPI_ERR_BUFFER when the data begin and end in memory of different kinds; the driver's errors.
pub fn device_of(base: *const u8, layout: &Layout, count: usize) -> Result<Option<Device>> {
    let (Some(driver), Some((start, bytes))) = (DRIVER.get(), reach(base, layout, count)) else {
        return Ok(None);
    };
    let ask = |address: usize| {
        if own_memory::is_own(address) {
            return Ok(None);
        }
        allocation_of(driver, address)
    };
    if let Some(allocation) = ask(start)? {
        let device = Device(allocation);
        device.check(base, layout, count)?;
        return Ok(Some(device));
    }
    // A run of bytes that begins in one kind of memory does not reach another.
    let is_run = layout.contiguous_start(count).is_some();
    match is_run {
        false if ask(start.wrapping_add(bytes - 1))?.is_some() => {
            let value = format!("{bytes} bytes at {start:#x}, which begin in memory of the host");
            let expected = "data in one kind of memory: these end in the memory of a GPU";
            let class = ErrorClass::ERR_BUFFER;
            Err(Error::argument(class, "buf", value, expected))
        }
        _ => Ok(None),
    }
}

/// The GPU in whose memory `bytes` bytes are that will be accessed later, if they are in one's. `argument` names them in errors.
///
/// # Errors
/// As for [`device_of`].
pub(crate) fn device_of_bytes(
    argument: &'static str,
    base: *mut u8,
    bytes: usize,
) -> Result<Option<Device>> {
    if !detect::may_come() || detect::driver().is_none() {
        return Ok(None);
    }
    let Some((layout, count)) = packed_at(base, bytes).layout else {
        return Ok(None);
    };
    device_of(base, layout, count).map_err(|error| error.renamed(|_| argument))
}
