// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether buffers may be in the memory of a GPU. The driver is never initialised here unless `RANKPOINT_GPU=2` demands it: that takes long, and
//! no child that is forked later could use it.

use std::path::Path;
use std::sync::OnceLock;

use layout_cuda::Driver;
use sys::library;
use sys::signals;
use sys::sync::{AtomicU64, Ordering};

use crate::errors::{Error, ErrorClass, Result};
use crate::settings::Settings;

/// The driver, once buffers may be a GPU's.
pub(super) static DRIVER: OnceLock<&'static Driver> = OnceLock::new();

/// How many libraries the process had loaded when [`have_come`] last found that the driver is none of them.
static WITHOUT_DRIVER: AtomicU64 = AtomicU64::new(0);

/// Whether [`start`] has found that buffers may be a GPU's at some time.
static EXPECTED: AtomicU64 = AtomicU64::new(0);

/// Whether work of a GPU on buffers is looked for (`RANKPOINT_CHECK=gpu`).
static CHECKS: AtomicU64 = AtomicU64::new(0);

/// Files that a node with a GPU has, of which a program may load the driver at any time.
const SIGNS_OF_GPUS: [&str; 2] = ["/dev/nvidiactl", "/dev/dxg"];

/// Whether buffers may be in the memory of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// They never are.
    Never,
    /// They may be once the process has loaded the driver: [`have_come`].
    Later,
    /// They may be.
    Now,
}

/// Decides whether buffers may be a GPU's from now on (`RANKPOINT_GPU`).
///
/// # Errors
/// With `RANKPOINT_GPU=2`, why there is no GPU.
pub fn start(settings: &Settings) -> Result<Devices> {
    let when = find(settings)?;
    CHECKS.store(u64::from(settings.check.gpu), Ordering::Relaxed);
    EXPECTED.store(u64::from(when != Devices::Never), Ordering::Relaxed);
    Ok(when)
}

/// Whether buffers may be a GPU's, now or once the process has loaded the driver.
pub fn may_come() -> bool {
    EXPECTED.load(Ordering::Relaxed) != 0
}

/// Whether work of a GPU on buffers is to be found.
pub(super) fn checks_work() -> bool {
    CHECKS.load(Ordering::Relaxed) != 0
}

/// Whether the driver has been found.
pub(crate) fn is_live() -> bool {
    DRIVER.get().is_some()
}

/// The driver, if buffers may be a GPU's now.
pub(super) fn driver() -> Option<&'static Driver> {
    let found = || DRIVER.get().copied();
    found().or_else(|| have_come().then(found).flatten())
}

fn find(settings: &Settings) -> Result<Devices> {
    match settings.gpu {
        0 => Ok(Devices::Never),
        2 => {
            let driver = signals::keeping_actions(Driver::get).map_err(|error| {
                Error::new(
                    ErrorClass::ERR_OTHER,
                    format!("RANKPOINT_GPU is 2, but {error}"),
                )
            })?;
            DRIVER.get_or_init(|| driver);
            Ok(Devices::Now)
        }
        _ if have_come() => Ok(Devices::Now),
        1 if !SIGNS_OF_GPUS.iter().any(|file| Path::new(file).exists()) => Ok(Devices::Never),
        _ => Ok(Devices::Later),
    }
}

/// Whether the process has loaded the driver by now, so that buffers may be a GPU's. Without a library more than the last time it costs
/// one call of the loader.
pub fn have_come() -> bool {
    let loaded = library::loaded_so_far();
    // Relaxed: a thread that got a buffer of a GPU got it after the library was counted.
    if WITHOUT_DRIVER.load(Ordering::Relaxed) == loaded {
        return false;
    }
    if let Some(Ok(driver)) = signals::keeping_actions(Driver::loaded) {
        DRIVER.get_or_init(|| driver);
        return true;
    }
    WITHOUT_DRIVER.store(loaded, Ordering::Relaxed);
    false
}
