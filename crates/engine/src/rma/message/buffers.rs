// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers of messages and collectives that lie in the memory of a window, for `RANKPOINT_CHECK=rma`: loads and stores of the member by
//! itself (MPI-5.0, section 12.7).

use std::ops::Range;
use std::sync::{Arc, Weak};

use sys::sync::{Mutex, Ordering};

use super::accesses::Lives;
use super::channel::{Channel, locked};
use super::uses::{Access, Use};
use super::wire::During;
use crate::comm::{Comm, Process};
use crate::datatype::Memory;
use crate::errors::Result;
use crate::overlap::Entered;
use crate::rma::window::{Flavor, Window};

/// The windows whose accesses are noted.
static WINDOWS: Mutex<Vec<Weak<Window>>> = Mutex::new(Vec::new());

/// What a call does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferUse {
    /// It reads it.
    Read,
    /// It writes it.
    Written,
}

/// As [`Comm::enter_endpoint`], of a message whose buffer may lie in a window.
///
/// # Errors
/// As there.
#[inline]
pub fn enter_message(
    comm: &Comm,
    call: &'static str,
    memory: &Memory<'_>,
    used: BufferUse,
) -> Result<Option<Entered<'static>>> {
    if comm.vci().overlaps().is_none() {
        return Ok(None);
    }
    note_buffer(comm.process(), call, memory, used);
    comm.enter_endpoint(call)
}

/// Notes what a call does with a buffer, where that is checked.
#[cold]
pub fn note_buffer(process: &Process, call: &'static str, memory: &Memory<'_>, used: BufferUse) {
    if !process.settings().check.rma {
        return;
    }
    let windows: Vec<Arc<Window>> = locked(&WINDOWS).iter().filter_map(Weak::upgrade).collect();
    let is_ours = |window: &&Arc<Window>| std::ptr::eq(window.process(), process);
    for window in windows.iter().filter(is_ours) {
        let Some(channel) = &window.channel else {
            continue;
        };
        let used = match used {
            BufferUse::Read => Use::Sent(call),
            BufferUse::Written => Use::Received(call),
        };
        let note = |address: *const u8, bytes: usize| {
            if let Some(range) = window.part_of(address, bytes) {
                channel.note_local(window, used, range);
            }
        };
        match memory.layout {
            None => note(memory.base, memory.bytes),
            Some((layout, _)) => layout.for_each_run(0..memory.bytes, |offset, bytes| {
                note(memory.base.wrapping_offset(offset as isize), bytes);
            }),
        }
    }
}

impl Window {
    /// From now on buffers in its memory are noted, if its accesses are.
    pub(in crate::rma) fn watch_buffers(self: &Arc<Self>) {
        let is_checked = |channel: &Channel| channel.checked.is_some();
        if self.channel.as_ref().is_some_and(is_checked) {
            let mut windows = locked(&WINDOWS);
            windows.retain(|window| window.strong_count() > 0);
            windows.push(Arc::downgrade(self));
        }
    }

    /// The part of some memory that lies in this member's window.
    fn part_of(&self, address: *const u8, bytes: usize) -> Option<Range<u64>> {
        if self.is_freed.load(Ordering::Relaxed) || bytes == 0 {
            return None;
        }
        if self.flavor() == Flavor::Dynamic {
            return self.offset_of(address, bytes);
        }
        let (start, base) = (address as u64, self.base() as u64);
        let end = (start + bytes as u64).min(base + self.bytes());
        let start = start.max(base);
        (start < end).then(|| start - base..end - base)
    }
}

impl Channel {
    /// Notes that this member uses its own memory in another call.
    fn note_local(&self, window: &Window, used: Use, range: Range<u64>) {
        let own = window.comm.rank() as u32;
        let (during, partner, lives) = if window.epochs.is_between_fences() {
            (During::Fences, None, Lives::On)
        } else if window.epochs.is_exposed.load(Ordering::Relaxed) != 0 {
            (During::Start, None, Lives::On)
        } else {
            // The next call that completes operations on its own memory tells it.
            (During::Lock, Some(own), Lives::No)
        };
        let access = Access {
            used,
            during,
            partner,
        };
        let Some(mut accesses) = self.own_accesses() else {
            return;
        };
        let conflict = accesses.note(own, range, access, lives);
        drop(accesses);
        self.tell(conflict);
        self.note_started(window);
    }
}
