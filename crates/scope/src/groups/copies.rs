// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies within a process.

use machine_profile::Axis;

use crate::entry::Entry;
use crate::kernels::{CAN_FLUSH, Copy, flush};
use crate::memory::{Mapping, PAGE};
use crate::session::{Outcome, Session, curve, time, time_after};

/// Sizes of full profiles: one byte, and powers of two.
pub(super) const SIZES: [u64; 23] = sizes();
/// Sizes of quick profiles.
pub(super) const QUICK_SIZES: [u64; 7] = [64, 512, 4096, 32_768, 262_144, 2_097_152, 16_777_216];
/// Part of the node's memory that one buffer may have.
const PART: u64 = 16;

const fn sizes() -> [u64; 23] {
    let mut sizes = [1; 23];
    let mut index = 1;
    while index < sizes.len() {
        // From 64 bytes to 128 MiB.
        sizes[index] = 1 << (index + 5);
        index += 1;
    }
    sizes
}

/// Where the bytes are before the copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// Source and target in the caches, as far as they fit.
    Cached,
    /// The source in the caches, the target in memory.
    SourceCached,
    /// Both in memory.
    Flushed,
    /// Both in the caches, and the target begins 12 bytes after a line and a page.
    Shifted,
}

impl State {
    const ALL: [Self; 4] = [
        Self::Cached,
        Self::SourceCached,
        Self::Flushed,
        Self::Shifted,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Cached => "cached",
            Self::SourceCached => "source-cached",
            Self::Flushed => "flushed",
            Self::Shifted => "shifted",
        }
    }
}

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for state in State::ALL {
        for copy in Copy::ALL {
            let name = format!("copy/{}/{}", copy.name(), state.name());
            let title = format!("{} with bytes {}, over bytes", copy.name(), state.name());
            let is_quick = match state {
                State::Cached => true,
                State::Flushed => copy == Copy::Memcpy || copy == Copy::NonTemporal,
                State::SourceCached | State::Shifted => false,
            };
            let entry = Entry::new(name, title, move |session, name| {
                measure(session, name, copy, state)
            });
            entries.push(entry.quick_if(is_quick));
        }
    }
    entries
}

fn measure(session: &Session, name: &str, copy: Copy, state: State) -> Outcome {
    if let Some(obstacle) = copy.obstacle() {
        return Err(obstacle.to_owned());
    }
    let is_cold = matches!(state, State::SourceCached | State::Flushed);
    if is_cold && !CAN_FLUSH {
        return Err("this processor's caches cannot be flushed by line".to_owned());
    }
    let most = sys::memory::physical_memory_bytes() / PART;
    let clock_ns = measure::sampling::clock_ns();
    let mut points = Vec::new();
    let sizes = session.sizes(&SIZES, &QUICK_SIZES).into_iter();
    for bytes in sizes.filter(|&bytes| bytes <= most) {
        let length = bytes as usize;
        let (source, room) = (Mapping::touched(length)?, Mapping::touched(length + PAGE)?);
        let shift = if state == State::Shifted { 12 } else { 0 };
        // SAFETY: the room has a page more.
        let target = unsafe { room.start().add(shift) };
        let copy_once = || {
            // SAFETY: two mappings of at least so many bytes; the processor has the instructions (above).
            unsafe { copy.run(target, source.start(), length) };
        };
        let cool = || {
            // SAFETY: as above.
            unsafe {
                flush(target, length);
                if state == State::Flushed {
                    flush(source.start(), length);
                }
            }
        };
        let sample = session.sample(&session.plan(), |repetitions| {
            if is_cold {
                time_after(repetitions, clock_ns, cool, copy_once)
            } else {
                time(repetitions, copy_once)
            }
        });
        points.push((bytes, sample));
    }
    curve(name, Axis::Bytes, Some([0, 0]), points)
}
