// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for commons: taken from the node segment, or from a communicator that is gone.

use algorithms::shared::area_bytes;
use fabric::commons::Commons;
use sys::sync::Mutex;

use crate::comm::Process;

/// Commons whose communicators are gone, at the ranks that made them.
#[derive(Default)]
pub(crate) struct UsedCommons(Mutex<Vec<Commons>>);

impl UsedCommons {
    pub(super) fn keep(&self, commons: Commons) {
        if let Ok(mut list) = self.0.lock() {
            list.push(commons);
        }
    }

    /// Commons for so many members that all former members have retired from.
    fn take(&self, members: u32) -> Option<Commons> {
        let mut list = self.0.lock().ok()?;
        let fits = |commons: &Commons| commons.members() == members && commons.is_deserted();
        let index = list.iter().position(fits)?;
        let commons = list.swap_remove(index);
        commons.reset();
        Some(commons)
    }
}

/// The offset of commons for so many members in the node segment; 0 if there is no room.
pub(super) fn make(process: &Process, members: u32) -> u64 {
    let (segment, bytes) = (
        process.segment(),
        Commons::bytes(members, area_bytes(members)),
    );
    let used = process.commons.take(members);
    let offset = used.and_then(|commons| segment.offset_of(commons.base(), bytes as usize));
    offset.unwrap_or_else(|| segment.allocate_spare(bytes).unwrap_or(0))
}
