// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows to which ranks add memory while they use it (MPI-5.0, section 12.2.4).
//!
//! # Safety
//! The memory belongs to the window until all ranks have freed it, so neither a guard that is forgotten nor an operation that comes late
//! reaches anything else. It is accessed as that of all windows.

use std::fmt;
use std::marker::PhantomData;

use engine::Result;
use engine::rma::{self, Granule, WindowHints};

use crate::places::ByAddress;
use crate::threads::{OneThread, Threads};
use crate::{Communicator, Local, Plain, Window};

/// A window without memory of its own: each rank attaches elements when it needs them, and tells others their address.
///
/// ```
/// use rankpoint::{Address, Op, Universe};
///
/// let universe = Universe::init()?;
/// let world = universe.world();
/// let window = world.dynamic_window::<u64>()?;
///
/// // Rank 0 attaches a table, and tells all ranks where it is.
/// let table = (world.rank() == 0).then(|| window.attach(10)).transpose()?;
/// let mut start = [table.as_ref().map_or(0, |table| table.address().bits())];
/// world.broadcast(&mut start, 0)?;
/// let start = Address::from_bits(start[0]);
///
/// let epoch = window.lock_all()?;
/// epoch.accumulate(&[1], Op::SUM, 0, start.add(3))?;
/// drop(epoch);
/// world.barrier()?;
/// if let Some(table) = &table {
///     assert_eq!(table.load(3), world.size() as u64);
/// }
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub type DynamicWindow<'u, E, T = OneThread> = Window<'u, E, T, ByAddress>;

/// Elements of this rank that are attached to a [`DynamicWindow`]. Dropping it detaches them; later operations on them fail, and those that
/// are under way may still write them, or elements that this rank attaches next.
#[must_use = "the elements are detached when this is dropped"]
pub struct Attached<'w, E: Plain, T: Threads = OneThread> {
    window: &'w DynamicWindow<'w, E, T>,
    local: Local<'w, E>,
}

impl<'u, T: Threads> Communicator<'u, T> {
    /// A window to which ranks attach elements (MPI_Win_create_dynamic). Called by all ranks.
    ///
    /// # Errors
    /// As for [`Self::window`].
    pub fn dynamic_window<E: Plain>(&self) -> Result<DynamicWindow<'u, E, T>> {
        const CALL: &str = "Communicator::dynamic_window";
        self.run(CALL, |this| {
            let element = (size_of::<E>().max(1) as i64, Granule::of::<E>());
            let hints = WindowHints::default();
            let window = rma::create_dynamic_elements(this.shared(), element, hints, CALL)?;
            Ok(Window::of(window, 0))
        })
    }
}

impl<E: Plain, T: Threads> DynamicWindow<'_, E, T> {
    /// Attaches `length` elements, all bytes of which are zero (MPI_Win_attach). No other rank takes part.
    ///
    /// # Errors
    /// When memory is missing.
    pub fn attach(&self, length: usize) -> Result<Attached<'_, E, T>> {
        let bytes = length.saturating_mul(size_of::<E>());
        let base = self.run("DynamicWindow::attach", self.window.lend(bytes))?;
        Ok(Attached {
            window: self,
            local: Local {
                base: base.cast(),
                length,
                window: PhantomData,
            },
        })
    }
}

impl<'w, E: Plain, T: Threads> std::ops::Deref for Attached<'w, E, T> {
    type Target = Local<'w, E>;

    fn deref(&self) -> &Local<'w, E> {
        &self.local
    }
}

impl<E: Plain, T: Threads> Drop for Attached<'_, E, T> {
    fn drop(&mut self) {
        // It is attached; if it could not be detached, it stays so until the window is freed.
        let _ = self.window.window.end_loan(self.local.base.cast());
    }
}

impl<E: Plain, T: Threads> fmt::Debug for Attached<'_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attached({} elements)", self.local.length)
    }
}
