// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layouts whose tables are in the memory of a GPU, and the copies that use them.

use std::ops::Range;

use layout::Layout;

use crate::emit::Direction;
use crate::error::CudaError;
use crate::gpu::{Gpu, Stream};
use crate::memory::DeviceMemory;
use crate::plan::{Addresses, Plan, Tuning};

impl Gpu {
    /// A layout ready for the kernels of this GPU.
    ///
    /// # Errors
    /// When its table cannot be made or does not fit into the GPU's memory.
    pub fn prepare(&'static self, layout: &Layout) -> Result<DeviceLayout, CudaError> {
        let plan = Plan::new(layout, Tuning::default())?;
        let table = plan.table();
        let memory = if table.is_empty() {
            None
        } else {
            let memory = self.allocate(size_of_val(table))?;
            // SAFETY: the table's bytes are there, and the memory is as long.
            unsafe { self.copy_in(memory.address(), table.as_ptr().cast(), size_of_val(table))? };
            Some(memory)
        };
        Ok(DeviceLayout {
            gpu: self,
            plan,
            table: memory,
        })
    }
}

/// A layout whose tables are in the memory of a GPU.
#[derive(Debug)]
pub struct DeviceLayout {
    gpu: &'static Gpu,
    plan: Plan,
    table: Option<DeviceMemory>,
}

impl DeviceLayout {
    /// The GPU that holds it.
    pub const fn gpu(&self) -> &'static Gpu {
        self.gpu
    }

    /// Packs the bytes `range` of the packed form of the elements at `base` to `packed`, both addresses of this GPU, in order
    /// with the other work of a stream. It may still be under way when this returns; the layout must live as long.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// The GPU can read all bytes that `range` describes relative to `base`, and write its length at `packed`, until the
    /// stream has come so far; they do not overlap.
    pub unsafe fn pack(
        &self,
        base: u64,
        range: Range<usize>,
        packed: u64,
        stream: Stream,
    ) -> Result<(), CudaError> {
        self.copy(Direction::Pack, base, range, packed, stream)
    }

    /// Unpacks what is at `packed` into the bytes `range` of the packed form of the elements at `base`, as [`Self::pack`].
    /// Where bytes of the layout lie on each other, any of the packed ones may win.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// As for [`Self::pack`], with reading and writing exchanged.
    pub unsafe fn unpack(
        &self,
        base: u64,
        range: Range<usize>,
        packed: u64,
        stream: Stream,
    ) -> Result<(), CudaError> {
        self.copy(Direction::Unpack, base, range, packed, stream)
    }

    fn copy(
        &self,
        direction: Direction,
        base: u64,
        range: Range<usize>,
        packed: u64,
        stream: Stream,
    ) -> Result<(), CudaError> {
        let at = Addresses {
            base,
            packed,
            table: self.table.as_ref().map_or(0, DeviceMemory::address),
        };
        self.gpu.inside(|| {
            let mut result = Ok(());
            self.plan.launches(direction, range, at, |launch| {
                if result.is_ok() {
                    result = self.gpu.launch(launch, stream);
                }
            });
            result
        })
    }
}
