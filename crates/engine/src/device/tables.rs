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
    let is_of = |table: &Arc<DeviceLayout>| std::ptr::eq(table.gpu(), gpu);
    let wanted: &Layout = layout;
    let same = tables
        .iter()
        .position(|(kept, table)| std::ptr::eq::<Layout>(&**kept, wanted) && is_of(table));
    // Requests of one-sided operations describe the same elements by a new layout each.
    let alike = || {
        tables
            .iter()
            .position(|(kept, table)| is_of(table) && **kept == *wanted)
    };
    let entry = match same.or_else(alike) {
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
