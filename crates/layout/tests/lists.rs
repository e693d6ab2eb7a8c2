// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of equal runs whose offsets take two, four or eight bytes each, with every width of run and set of instructions,
//! against loops over the blocks: in memory that spans 40 GiB of addresses where it has to.
#![expect(unsafe_code, reason = "packing works on addresses")]
#![expect(clippy::expect_used, reason = "a failure fails the test")]

mod support;

use std::ptr;

use layout::{Form, Layout};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use support::{Numbers, on_every_isa};

/// Addresses, few of which are ever used.
struct Expanse {
    start: *mut u8,
    bytes: usize,
}

impl Expanse {
    fn new(bytes: usize) -> Self {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: new memory.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags) };
        Self {
            start: start.expect("addresses cost nothing").cast(),
            bytes,
        }
    }

    /// What offsets are relative to: far from both ends.
    fn middle(&self) -> *mut u8 {
        self.start.wrapping_add(self.bytes / 2)
    }
}

impl Drop for Expanse {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, of which nothing is used any more.
        unsafe { munmap(self.start.cast(), self.bytes).expect("it is mapped") };
    }
}

/// `runs` places in no order, `step` bytes apart at least and multiples of `unit`, on both sides of 0.
fn places(runs: usize, unit: usize, step: usize, numbers: &mut Numbers) -> Vec<i64> {
    let step = step.next_multiple_of(unit);
    let mut all: Vec<i64> = (0..runs)
        .map(|index| {
            let more = numbers.below(4) * unit;
            (index * (step + 4 * unit) + more) as i64 - (runs * step / 2) as i64
        })
        .collect();
    for index in (1..runs).rev() {
        all.swap(index, numbers.below(index + 1));
    }
    all
}

/// Bytes that tell runs apart.
fn fill(base: *mut u8, places: &[i64], width: usize) -> Vec<u8> {
    let mut packed = Vec::new();
    for (index, &at) in places.iter().enumerate() {
        for byte in 0..width {
            let value = (index * 31 + byte * 7 + 1) as u8;
            // SAFETY: places lie in the expanse.
            unsafe { *base.wrapping_offset(at as isize + byte as isize) = value };
            packed.push(value);
        }
    }
    packed
}

/// Reads what lies at the places.
fn gathered(base: *const u8, places: &[i64], width: usize) -> Vec<u8> {
    let bytes = places
        .iter()
        .flat_map(|&at| (0..width).map(move |byte| at as isize + byte as isize));
    // SAFETY: places lie in the expanse.
    bytes
        .map(|at| unsafe { *base.wrapping_offset(at) })
        .collect()
}

/// Packs, unpacks and copies all of a list of runs and parts of it, from one base to another of the expanse.
fn check(places: &[i64], width: usize, expanse: &Expanse, numbers: &mut Numbers) -> usize {
    let byte = Layout::named(1, 1);
    let element = Layout::contiguous(width, &byte).expect("a few bytes");
    let layout = Layout::hindexed(places.iter().map(|&at| (at, 1)), &element).expect("a list");
    let offsets = match layout.form() {
        Form::List { offsets, bytes, .. } => Some(offsets).filter(|_| *bytes == width),
        _ => None,
    };
    let offsets = offsets.expect("a list of runs");
    assert!(offsets.iter().eq(places.iter().copied()));
    let base = expanse.middle();
    // Far enough from the runs at the first base: no run is longer, and no two are closer.
    let other = base.wrapping_add(width + 1);
    for round in 0..4 {
        let all = layout.size();
        let (start, end) = match round {
            0 => (0, all),
            _ => {
                let start = numbers.below(all);
                (start, start + 1 + numbers.below(all - start))
            }
        };
        let expected = fill(base, places, width);
        let mut packed = vec![0; end - start];
        // SAFETY: all runs lie in the expanse.
        unsafe { layout.pack(base, start..end, packed.as_mut_ptr()) };
        assert!(
            packed == expected[start..end],
            "{width} {start}..{end} of {layout:?}"
        );

        let mut wanted = vec![0xee; all];
        for clear in [0xee, 0] {
            for &at in places {
                // SAFETY: as above.
                unsafe {
                    ptr::write_bytes(other.wrapping_offset(at as isize), clear, width);
                }
            }
            wanted.fill(clear);
            wanted[start..end].copy_from_slice(&packed);
            // SAFETY: as above.
            unsafe {
                if clear == 0 {
                    layout.copy(base, &layout, other, start..end);
                } else {
                    layout.unpack(other, start..end, packed.as_ptr());
                }
            }
            assert!(gathered(other, places, width) == wanted);
        }
        assert!(gathered(base, places, width) == expected);
    }
    offsets.bytes_each()
}

const WIDTHS: [usize; 20] = [
    1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 200,
];

#[test]
fn lists_of_every_width_with_short_offsets() {
    let expanse = Expanse::new(4 << 20);
    on_every_isa(|numbers| {
        for width in WIDTHS {
            for unit in [1, 2, 4, 8] {
                let places = places(100, unit, 2 * width + 2, numbers);
                assert_eq!(check(&places, width, &expanse, numbers), 2);
            }
        }
    });
}

#[test]
fn lists_of_every_width_with_long_offsets() {
    let expanse = Expanse::new(64 << 20);
    on_every_isa(|numbers| {
        for width in WIDTHS {
            for unit in [1, 2, 4, 8] {
                let places = places(600, unit, 4000 * unit, numbers);
                assert_eq!(check(&places, width, &expanse, numbers), 4);
            }
        }
    });
}

#[test]
fn lists_whose_offsets_do_not_fit_32_bits() {
    let expanse = Expanse::new(40 << 30);
    on_every_isa(|numbers| {
        for width in [1, 4, 8, 13, 24, 64, 200] {
            // 36 GiB in no order: more than 2^31 units of 8 bytes.
            let wide = places(300, 8, 120 << 20, numbers);
            assert_eq!(check(&wide, width, &expanse, numbers), 8);
            // As far in order, so that each chunk has a base nearby.
            let mut narrow: Vec<i64> = places(512, 8, 4000, numbers);
            narrow.sort_unstable();
            for (index, at) in narrow.iter_mut().enumerate() {
                *at += if index < 256 { -17 << 30 } else { 17 << 30 };
            }
            assert!([2, 4].contains(&check(&narrow, width, &expanse, numbers)));
        }
    });
}

#[test]
fn a_moved_list_shares_its_table() {
    let double = Layout::named(8, 8);
    let list = |by: i64| {
        let places = [0, 24, 56, 1 << 20].map(|at| (at + by, 1));
        Layout::hindexed(places, &double).unwrap()
    };
    let moved = Layout::hindexed([(-7, 1)], &list(0)).unwrap();
    assert_eq!(moved.form(), list(-7).form());
    let edge = i64::MAX - (1 << 20) - 8;
    assert!(Layout::hindexed([(edge, 1)], &list(0)).is_ok());
    assert!(Layout::hindexed([(edge + 1, 1)], &list(0)).is_err());
}
