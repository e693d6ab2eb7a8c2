// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layouts that the kernels of a GPU have used before: their plans, and their tables in its memory, which are uploaded once.

use std::sync::{Arc, Mutex, PoisonError};

use layout::{Layout, SharedLayout};
use layout_cuda::{CudaError, DeviceLayout, Gpu};

/// How many are kept.
const KEPT: usize = 32;

/// The most recently used one is the last. Each owner keeps its layout alive, so no other layout has its address.
static TABLES: Mutex<Vec<(SharedLayout, Arc<DeviceLayout>)>> = Mutex::new(Vec::new());

/// A layout ready for the kernels of a GPU.
///
/// # Errors
/// When its table cannot be made or does not fit into the GPU's memory.
pub(super) fn prepared(
    gpu: &'static Gpu,
    layout: &SharedLayout,
) -> Result<Arc<DeviceLayout>, CudaError> {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |(kept, table): &(SharedLayout, Arc<DeviceLayout>)| {
        let (kept, wanted): (&Layout, &Layout) = (kept, layout);
        std::ptr::eq(kept, wanted) && std::ptr::eq(table.gpu(), gpu)
    };
    let entry = match tables.iter().position(is_it) {
        Some(index) => tables.remove(index),
        None => (layout.clone(), Arc::new(gpu.prepare(layout)?)),
    };
    let found = entry.1.clone();
    if tables.len() == KEPT {
        tables.remove(0);
    }
    tables.push(entry);
    Ok(found)
}
