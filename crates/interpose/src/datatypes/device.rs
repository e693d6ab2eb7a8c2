// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who owns an address: the processor, or a GPU. Only a driver that the process has loaded by itself is asked, whenever it was loaded;
//! without one no call of a driver is made.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Once, OnceLock};

use layout_cuda::{CudaError, Driver, Gpu, MemorySpace};

use crate::output::say;
use crate::sync::AtomicU64;

/// The owner of an address.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    /// The processor reads and writes it.
    Host,
    /// A GPU, whose kernels pack.
    Gpu(&'static Gpu),
    /// A GPU without kernels, or a driver that does not answer: nothing but the library may touch it.
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
    if Driver::is_loaded() {
        match sys::signals::keeping_actions(Driver::get) {
            Ok(driver) => return Some(FOUND.get_or_init(|| driver)),
            // A driver without a GPU or that refuses to start has no memory.
            Err(error @ CudaError::OldDriver { .. }) => report(error),
            Err(_) => {}
        }
    }
    WITHOUT.store(loaded, Relaxed);
    None
}

/// The owner of an address.
pub(super) fn owner(address: *const u8) -> Owner {
    let Some(driver) = driver() else {
        return Owner::Host;
    };
    match driver.space_of(address.addr() as u64) {
        Ok(MemorySpace::Host) => Owner::Host,
        Ok(MemorySpace::Device(gpu)) => Owner::Gpu(gpu),
        Err(error) => {
            report(&error);
            Owner::Other
        }
    }
}

/// Whether the processor must not touch an address.
pub(super) fn is_device(address: *const u8) -> bool {
    !matches!(owner(address), Owner::Host)
}

/// Says once why data in the memory of a GPU are left to the library.
pub(super) fn report(error: &CudaError) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        say(&format!(
            "datatypes: the library packs data in the memory of a GPU: {error}"
        ));
    });
}
