// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for area: taken from the node segment, or from a communicator that is gone.

use algorithms::shared::buffer_bytes;
use fabric::area::SharedArea;
use sys::sync::Mutex;

use crate::comm::Process;

/// SharedArea whose communicators are gone, at the ranks that made them.
#[derive(Default)]
pub(crate) struct SpareAreas(Mutex<Vec<SharedArea>>);

impl SpareAreas {
    pub(in crate::coll) fn keep(&self, area: SharedArea) {
        if let Ok(mut list) = self.0.lock() {
            list.push(area);
        }
    }

    /// SharedArea for so many members that all former members have retired from.
    fn take(&self, members: u32) -> Option<SharedArea> {
        let mut list = self.0.lock().ok()?;
        let fits = |area: &SharedArea| area.members() == members && area.is_deserted();
        let index = list.iter().position(fits)?;
        let area = list.swap_remove(index);
        area.reset();
        Some(area)
    }
}

/// The offset of area for so many members in the node segment; 0 if there is no room.
pub(in crate::coll) fn make(process: &Process, members: u32) -> u64 {
    let (segment, bytes) = (
        process.segment(),
        SharedArea::bytes(members, buffer_bytes(members)),
    );
    let used = process.spare_areas.take(members);
    let offset = used.and_then(|area| segment.offset_of(area.base(), bytes as usize));
    offset.unwrap_or_else(|| segment.allocate_spare(bytes).unwrap_or(0))
}
