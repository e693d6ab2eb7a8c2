// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who owns data: the processor, or a GPU. Only a driver that the process has loaded by itself is asked, whenever it was loaded
//! and initialised; without one no call of a driver is made.

use std::ffi::c_void;
use std::fmt::Display;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Once, OnceLock};

use layout::Layout;
use layout_cuda::{Allocation, CudaError, Driver, Gpu};
use sys::own_memory;

use crate::output::say;
use crate::sync::AtomicU64;

/// The owner of data.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    /// The processor reads and writes them.
    Host,
    /// A GPU, whose kernels pack.
    Gpu(&'static Gpu),
    /// A GPU without kernels, a driver that does not answer, or several owners: nothing but the library may touch them.
    Other,
}

/// The driver, if the process has loaded it.
fn driver() -> Option<&'static Driver> {
    static FOUND: OnceLock<&'static Driver> = OnceLock::new();
    /// How many libraries the process had loaded when the driver was none of them.
    static WITHOUT: AtomicU64 = AtomicU64::new(0);
    if let Some(found) = FOUND.get() {
        return Some(found);
    }
    let loaded = sys::library::loaded_so_far();
    // Relaxed: a thread that got memory of a GPU got it after the driver was counted.
    if WITHOUT.load(Relaxed) == loaded {
        return None;
    }
    match sys::signals::keeping_actions(Driver::loaded) {
        Some(Ok(driver)) => return Some(FOUND.get_or_init(|| driver)),
        Some(Err(error)) => report(error),
        None => {}
    }
    WITHOUT.store(loaded, Relaxed);
    None
}

/// The owner of an address.
pub(super) fn owner(address: *const u8) -> Owner {
    answered(|driver| {
        let found = allocation_of(driver, address.addr())?;
        Ok(found.map_or(Owner::Host, |found| Owner::Gpu(found.gpu)))
    })
}

/// The owner of the data of elements, by their first and their last byte. A run of bytes is in the memory that it begins in; elements
/// with gaps that begin and end in different memory, or that leave a GPU's, are [`Owner::Other`].
pub(super) fn owner_of(base: *const c_void, layout: &Layout, count: usize) -> Owner {
    let is_run = layout.contiguous_start(count).is_some();
    let Some((first, bytes)) = layout.span(count).filter(|span| span.1 > 0) else {
        return Owner::Host;
    };
    let first = base.addr().wrapping_add_signed(first as isize);
    answered(|driver| {
        let begins = allocation_of(driver, first)?;
        let is_inside = begins.is_some_and(|found| found.contains(first as u64, bytes));
        if is_run || is_inside {
            return Ok(begins.map_or(Owner::Host, |found| Owner::Gpu(found.gpu)));
        }
        // Allocations that lie side by side are one range of addresses.
        let ends = allocation_of(driver, first.wrapping_add(bytes - 1))?;
        Ok(match (begins, ends) {
            (None, None) => Owner::Host,
            (Some(begins), Some(ends)) if begins.ordinal == ends.ordinal => Owner::Gpu(begins.gpu),
            _ => Owner::Other,
        })
    })
}

/// What the driver, if there is one, says of an owner.
fn answered(ask: impl FnOnce(&'static Driver) -> Result<Owner, CudaError>) -> Owner {
    let Some(driver) = driver() else {
        return Owner::Host;
    };
    ask(driver).unwrap_or_else(|error| {
        report(&error);
        Owner::Other
    })
}

/// The memory of a GPU around an address. The process's own memory costs no call of the driver.
fn allocation_of(driver: &'static Driver, address: usize) -> Result<Option<Allocation>, CudaError> {
    if own_memory::is_own(address) {
        return Ok(None);
    }
    driver.allocation_of(address as u64)
}

/// Whether the processor must not touch an address.
pub(super) fn is_device(address: *const u8) -> bool {
    !matches!(owner(address), Owner::Host)
}

/// Says once why data in the memory of a GPU are left to the library.
pub(super) fn report(error: &dyn Display) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        say(&format!(
            "datatypes: the library packs data in the memory of a GPU: {error}"
        ));
    });
}
