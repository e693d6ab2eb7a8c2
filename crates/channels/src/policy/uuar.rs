// SPDX-License-Identifier: MIT OR Apache-2.0
//! uUARs, their classes and their addresses.

use std::fmt;

/// uUARs for data on a UAR page; two more are for priority control.
pub const UUARS_PER_PAGE: usize = 2;
/// Static UAR pages of a context by default.
pub const UARS_PER_CONTEXT: usize = 8;

/// Offset of the first data uUAR in its page.
const FIRST: u64 = 0x800;
/// Bytes from a uUAR to the next.
const STRIDE: u64 = 0x200;
const PAGE_BYTES: u64 = 4096;

/// Who made a page.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Pages {
    /// The context when it was opened.
    Static,
    /// The library for queue pairs without a thread domain.
    OnDemand,
    /// A thread domain.
    Domain,
}

/// A uUAR of a context.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Uuar {
    /// Who made its page.
    pub pages: Pages,
    /// Its page, among those of the same origin.
    pub page: usize,
    /// Its number on the page: 0 or 1.
    pub slot: usize,
}

impl Uuar {
    /// The uUAR with a number among those of the static pages.
    pub const fn of_static(index: usize) -> Self {
        Self {
            pages: Pages::Static,
            page: index / UUARS_PER_PAGE,
            slot: index % UUARS_PER_PAGE,
        }
    }

    /// Its number among the uUARs of pages with the same origin.
    pub const fn index(self) -> usize {
        self.page * UUARS_PER_PAGE + self.slot
    }

    /// Whether another one is on the same page.
    pub fn shares_page(self, other: Self) -> bool {
        (self.pages, self.page) == (other.pages, other.page)
    }
}

/// Static ones by number, pages on demand by page and slot, pages of thread domains by letter and slot.
impl fmt::Display for Uuar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pages {
            Pages::Static => write!(f, "{}", self.index()),
            Pages::OnDemand => write!(f, "{}.{}", self.page, self.slot),
            Pages::Domain => write!(f, "{}.{}", letters(self.page), self.slot),
        }
    }
}

/// A, B, ..., Z, AA, AB, ...
fn letters(index: usize) -> String {
    let last = char::from(b'A' + u8::try_from(index % 26).unwrap_or(0));
    match index / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letters(more - 1)),
    }
}

/// The slot of the uUAR whose register is at an address, as `mlx5dv_init_obj` reports it; none where no data uUAR is.
pub const fn uuar_of_register(address: u64) -> Option<usize> {
    let offset = address % PAGE_BYTES;
    if offset < FIRST || !(offset - FIRST).is_multiple_of(STRIDE) {
        return None;
    }
    match (offset - FIRST) / STRIDE {
        0 => Some(0),
        1 => Some(1),
        _ => None,
    }
}

/// What a uUAR is for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Class {
    /// uUAR 0: any number of queue pairs, DoorBells only.
    HighLatency,
    /// Any number of queue pairs.
    Medium,
    /// One queue pair.
    LowLatency,
    /// One queue pair, on a page that the library allocated for such.
    Dedicated,
    /// Any number of queue pairs, on a page that the library allocated for such.
    Shared,
    /// The queue pair of a thread domain.
    Domain,
}

impl Class {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HighLatency => "high latency",
            Self::Medium => "medium",
            Self::LowLatency => "low latency",
            Self::Dedicated => "dedicated",
            Self::Shared => "shared",
            Self::Domain => "thread domain",
        }
    }

    /// Whether a post by BlueFlame takes the uUAR's lock.
    pub const fn has_lock(self) -> bool {
        matches!(self, Self::Medium | Self::Shared)
    }

    /// Whether posts may use BlueFlame.
    pub const fn has_blue_flame(self) -> bool {
        !matches!(self, Self::HighLatency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_published_trace_are_the_two_buffers_of_one_uuar() {
        assert_eq!(uuar_of_register(0xdfe0_0800), Some(0));
        assert_eq!(uuar_of_register(0xdfe0_0a00), Some(1));
        for other in [0xb00, 0x900, 0xc00, 0xe00, 0, 0x7ff] {
            assert_eq!(uuar_of_register(0xdfe0_0000 + other), None, "{other:#x}");
        }
    }

    #[test]
    fn pages_of_thread_domains_have_letters() {
        let name = |page| {
            let pages = Pages::Domain;
            Uuar {
                pages,
                page,
                slot: 1,
            }
            .to_string()
        };
        assert_eq!(
            [0, 25, 26, 27, 701, 702].map(name),
            ["A.1", "Z.1", "AA.1", "AB.1", "ZZ.1", "AAA.1"]
        );
    }
}
