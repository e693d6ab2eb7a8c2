// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels touch nothing beyond the last byte and before the first one of either side: the memory there is unreadable.
#![expect(unsafe_code, reason = "packing works on addresses")]
#![expect(clippy::expect_used, reason = "a failure fails the test")]

use std::ops::Range;
use std::ptr;
use std::sync::Mutex;

use layout::{Isa, Layout, limit_isa};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

const PAGE: usize = 4096;

/// Pages with an unreadable one on either side.
struct Fenced {
    whole: *mut u8,
    pages: usize,
}

impl Fenced {
    /// At least `bytes` bytes.
    fn new(bytes: usize) -> Self {
        let pages = bytes.div_ceil(PAGE) + 2;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let done = "the kernel gives a few pages";
        // SAFETY: new memory, of which the first and the last page are closed.
        let whole = unsafe {
            let whole = mmap_anonymous(ptr::null_mut(), pages * PAGE, access, MapFlags::PRIVATE)
                .expect(done);
            mprotect(whole, PAGE, MprotectFlags::empty()).expect(done);
            let last = whole.byte_add((pages - 1) * PAGE);
            mprotect(last, PAGE, MprotectFlags::empty()).expect(done);
            whole.cast()
        };
        Self { whole, pages }
    }

    /// The address of `bytes` bytes that end, or start, where the unreadable memory does.
    fn place(&self, bytes: usize, at_end: bool) -> *mut u8 {
        let offset = if at_end {
            (self.pages - 1) * PAGE - bytes
        } else {
            PAGE
        };
        self.whole.wrapping_add(offset)
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, of which nothing is used any more.
        unsafe { munmap(self.whole.cast(), self.pages * PAGE).expect("it is mapped") };
    }
}

/// Packs and unpacks the bytes `range` of elements between memories that end where the fence begins.
fn check(layout: &Layout, range: Range<usize>) {
    let (low, high) = hull(layout, range.clone());
    let (span, bytes) = ((high - low) as usize, range.len());
    let (memory, packed) = (Fenced::new(span), Fenced::new(bytes));
    for (memory_at_end, packed_at_end) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let base = memory
            .place(span, memory_at_end)
            .wrapping_offset(-(low as isize));
        let target = packed.place(bytes, packed_at_end);
        // SAFETY: what the range touches lies inside the open pages, and so does the packed form.
        unsafe {
            layout.pack(base, range.clone(), target);
            layout.unpack(base, range.clone(), target);
        }
    }
}

/// Checks one element, some elements, and ranges that begin and end inside runs.
fn check_ranges(layout: &Layout) {
    let size = layout.size();
    check(layout, 0..size);
    check(layout, 0..3 * size);
    for (start, end) in [(1, size), (0, size - 1), (size / 3, size - size / 5)] {
        if start < end {
            check(layout, start..end);
            check(layout, start..end + size);
        }
    }
}

fn on_every_isa(test: impl Fn()) {
    // The limit is the process's: one test at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    for isa in [Isa::Portable, Isa::Avx2, Isa::Avx512] {
        limit_isa(isa);
        test();
    }
}

/// The first and the one behind the last byte that a range touches.
fn hull(layout: &Layout, range: Range<usize>) -> (i64, i64) {
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    layout.for_each_run(range, |offset, bytes| {
        low = low.min(offset);
        high = high.max(offset + bytes as i64);
    });
    (low, high)
}

/// Copies the bytes `range` between memories that end where the fence begins.
fn check_copy(source: &Layout, target: &Layout, range: Range<usize>) {
    let (from, to) = (hull(source, range.clone()), hull(target, range.clone()));
    let (read, written) = ((from.1 - from.0) as usize, (to.1 - to.0) as usize);
    let (reads, writes) = (Fenced::new(read), Fenced::new(written));
    for (read_at_end, written_at_end) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let base = reads.place(read, read_at_end);
        let target_base = writes.place(written, written_at_end);
        // SAFETY: what the range touches lies inside the open pages.
        unsafe {
            source.copy(
                base.wrapping_offset(-(from.0 as isize)),
                target,
                target_base.wrapping_offset(-(to.0 as isize)),
                range.clone(),
            );
        }
    }
}

#[test]
fn copies_touch_nothing_beyond_their_edges() {
    let strided = |width: usize, count: usize, stride: i64| {
        Layout::repeated(count, stride, &run_of(width)).unwrap()
    };
    let grid = Layout::repeated(9, 100, &strided(8, 3, 20)).unwrap();
    let places = (0..200).map(|index| (index * 14 + index % 3, 1));
    let list = Layout::hindexed(places, &run_of(6)).unwrap();
    let shapes = [
        strided(1, 1500, 2),
        strided(2, 700, -8),
        strided(8, 170, 32),
        strided(24, 50, 40),
        strided(700, 2, 701),
        Layout::repeated(8, -1000, &grid).unwrap(),
        list,
    ];
    on_every_isa(|| {
        for source in &shapes {
            for target in &shapes {
                for bytes in (1100..1200).step_by(7) {
                    check_copy(source, target, 0..bytes);
                    check_copy(source, target, 13..bytes);
                }
            }
        }
    });
}

fn run_of(width: usize) -> Layout {
    Layout::contiguous(width, &Layout::named(1, 1)).expect("a few bytes")
}

#[test]
fn rows_touch_nothing_beyond_their_edges() {
    on_every_isa(|| {
        for width in (1..=70).chain([128, 129, 300, 513]) {
            for times in [2, 3, 8] {
                for count in [2, 9, 129, 257] {
                    let stride = (width * times) as i64;
                    for stride in [stride, -stride] {
                        let rows = Layout::repeated(count, stride, &run_of(width)).unwrap();
                        check_ranges(&rows);
                    }
                }
            }
        }
    });
}

/// The loops that load and store whole lines begin with eight lines; every number of runs in the last line is tried.
#[test]
fn lines_touch_nothing_beyond_their_edges() {
    on_every_isa(|| {
        for (width, stride) in [
            (1, 2),
            (1, 32),
            (2, 4),
            (3, 4),
            (5, 7),
            (4, 32),
            (8, 12),
            (12, 24),
            (15, 31),
        ] {
            let least = 500 / stride;
            for count in (least..least + 80).chain([300, 301]) {
                let stride = stride as i64;
                let rows = Layout::repeated(count, stride, &run_of(width)).unwrap();
                check(&rows, 0..rows.size());
                check(&rows, 1..rows.size());
                // The first row packed is the last in memory, with room behind it in the packed form.
                let down = -rows.extent() - 3;
                let descending = Layout::repeated(3, down, &rows).unwrap();
                check(&descending, 0..descending.size());
            }
        }
    });
}

#[test]
fn records_in_lines_touch_nothing_beyond_their_edges() {
    on_every_isa(|| {
        let byte = Layout::named(1, 1);
        for (first, gap, second, rest) in [(4, 4, 14, 2), (1, 1, 1, 0), (3, 40, 9, 3), (8, 8, 8, 8)]
        {
            let at = first + gap;
            let pieces = [(0, first as usize, &byte), (at, second as usize, &byte)];
            let record = Layout::structure(pieces).unwrap();
            for count in (3..90).chain([255, 256]) {
                check_ranges(&Layout::repeated(count, at + second + rest, &record).unwrap());
            }
        }
    });
}

#[test]
fn rows_of_rows_touch_nothing_beyond_their_edges() {
    on_every_isa(|| {
        for width in [1, 2, 4, 8, 13, 24, 64, 100] {
            for (count, lines) in [(2, 70), (7, 9), (40, 3), (130, 3)] {
                for distance in [5, 1000] {
                    let row = Layout::repeated(count, 2 * width as i64, &run_of(width)).unwrap();
                    let distance = distance + row.true_extent();
                    check_ranges(&Layout::repeated(lines, distance, &row).unwrap());
                    check_ranges(&Layout::repeated(lines, -distance, &row).unwrap());
                }
            }
        }
    });
}

#[test]
fn tiles_touch_nothing_beyond_their_edges() {
    on_every_isa(|| {
        for width in [1, 2, 3, 4, 8, 12, 16, 24] {
            for (rows, columns) in [(8, 8), (11, 9), (9, 11), (40, 3)] {
                let column = (width * columns) as i64;
                let column = Layout::repeated(rows, column, &run_of(width)).unwrap();
                check_ranges(&Layout::repeated(columns, width as i64, &column).unwrap());
            }
        }
    });
}

#[test]
fn lists_and_records_touch_nothing_beyond_their_edges() {
    on_every_isa(|| {
        for width in 1..=70 {
            let places = (0..50).map(|index| ((index * (width + 1 + index % 3)) as i64, 1));
            let list = Layout::hindexed(places, &run_of(width)).unwrap();
            check_ranges(&list);
            check_ranges(&Layout::repeated(3, -20_000, &list).unwrap());
            let byte = Layout::named(1, 1);
            let pieces = [(0, 4, &byte), (8, width, &byte), (120, 6, &byte)];
            let record = Layout::structure(pieces).unwrap();
            check_ranges(&Layout::repeated(20, 130, &record).unwrap());
        }
    });
}
