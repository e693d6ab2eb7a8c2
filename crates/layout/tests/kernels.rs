// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels against loops that copy byte by byte: every width of run, many distances, whole and partial ranges, with
//! every set of instructions in turn. Nothing outside the range may change.
#![expect(unsafe_code, reason = "packing works on addresses")]
#![expect(clippy::disallowed_types, reason = "a flag of one test")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use layout::{Isa, Kernel, Layout, best_isa};
use support::{Numbers, on_every_isa};

const CANARY: u8 = 0xc5;
const MARGIN: usize = if cfg!(miri) { 32 } else { 256 };
/// Lists and records are shorter where an interpreter runs the tests.
const SHRINK: i64 = if cfg!(miri) { 8 } else { 1 };

/// A byte that depends on its place.
fn pattern(place: usize) -> u8 {
    (place.wrapping_mul(2_654_435_761) >> 7) as u8
}

/// Whether a case is left out: all but a few are where an interpreter runs the tests.
fn skip(numbers: &mut Numbers) -> bool {
    cfg!(miri) && numbers.below(150) > 0
}

/// Compares packing and unpacking of several ranges with `places`, the offset of each packed byte.
fn compare(layout: &Layout, places: &[i64], numbers: &mut Numbers) {
    compare_ways(layout, places, numbers, true);
}

fn compare_packed(layout: &Layout, places: &[i64], numbers: &mut Numbers) {
    compare_ways(layout, places, numbers, false);
}

fn compare_ways(layout: &Layout, places: &[i64], numbers: &mut Numbers, unpacks: bool) {
    let low = places.iter().copied().min().unwrap_or(0);
    let high = places.iter().copied().max().unwrap_or(0) + 1;
    let span = (high - low) as usize;
    let memory: Vec<u8> = (0..span + 2 * MARGIN).map(pattern).collect();
    let home = |offset: i64| MARGIN + (offset - low) as usize;
    for round in 0..if cfg!(miri) { 2 } else { 4 } {
        let (start, end) = match round {
            0 => (0, places.len()),
            _ => {
                let start = numbers.below(places.len());
                (start, start + 1 + numbers.below(places.len() - start))
            }
        };
        let expected: Vec<u8> = places[start..end]
            .iter()
            .map(|&at| memory[home(at)])
            .collect();
        let mut packed = vec![CANARY; end - start + MARGIN];
        let base = memory
            .as_ptr()
            .wrapping_add(MARGIN)
            .wrapping_offset(-(low as isize));
        // SAFETY: every byte lies in the memory, and the target is longer than the range.
        unsafe { layout.pack(base, start..end, packed.as_mut_ptr()) };
        assert_eq!(
            packed[..end - start],
            expected[..],
            "{layout:?} {start}..{end}"
        );
        assert!(packed[end - start..].iter().all(|&byte| byte == CANARY));

        if !unpacks {
            continue;
        }
        let mut target = vec![CANARY; memory.len()];
        let mut wanted = target.clone();
        for (&at, &byte) in places[start..end].iter().zip(&expected) {
            wanted[home(at)] = byte;
        }
        let base = target
            .as_mut_ptr()
            .wrapping_add(MARGIN)
            .wrapping_offset(-(low as isize));
        // SAFETY: as above, the other way round.
        unsafe { layout.unpack(base, start..end, expected.as_ptr()) };
        assert!(target == wanted, "{layout:?} {start}..{end}");
    }
}

/// Offsets of the bytes of `count` runs of `width` bytes.
fn rows(width: usize, count: usize, stride: i64) -> Vec<i64> {
    (0..count as i64)
        .flat_map(|index| (0..width as i64).map(move |byte| index * stride + byte))
        .collect()
}

#[test]
fn rows_of_every_width() {
    on_every_isa(|numbers| {
        let byte = Layout::named(1, 1);
        for width in (1..=70).chain([127, 128, 129, 200, 511, 512, 513, 700]) {
            let wide = width as i64;
            for stride in [
                wide + 1,
                wide + 3,
                2 * wide,
                4 * wide,
                8 * wide,
                520,
                1024,
                -2 * wide,
            ] {
                if stride.unsigned_abs() < width as u64 {
                    continue;
                }
                for count in [2, 9, 131] {
                    if skip(numbers) || cfg!(miri) && count > 9 {
                        continue;
                    }
                    let run = Layout::contiguous(width, &byte).unwrap();
                    let layout = Layout::repeated(count, stride, &run).unwrap();
                    compare(&layout, &rows(width, count, stride), numbers);
                }
            }
        }
    });
}

#[test]
fn short_runs_in_lines() {
    on_every_isa(|numbers| {
        let byte = Layout::named(1, 1);
        for width in 1..18 {
            for stride in (width + 1..34).chain([40, 64, 65]) {
                for count in [9, 31, 128, 129, 500 + numbers.below(40)] {
                    if skip(numbers) || cfg!(miri) && count > 31 {
                        continue;
                    }
                    let run = Layout::contiguous(width, &byte).unwrap();
                    let stride = stride as i64;
                    let layout = Layout::repeated(count, stride, &run).unwrap();
                    compare(&layout, &rows(width, count, stride), numbers);
                }
            }
        }
    });
}

/// Records of runs in any order, some of which overlap the next record.
#[test]
fn records_in_lines() {
    on_every_isa(|numbers| {
        let byte = Layout::named(1, 1);
        for case in 0..if cfg!(miri) { 6 } else { 400 } {
            let (mut at, mut pieces) = (numbers.below(20) as i64, Vec::new());
            for _ in 0..2 + numbers.below(4) {
                let length = 1 + numbers.below(20);
                pieces.push((at, length));
                at += (length + 1 + numbers.below(12)) as i64;
            }
            let first = pieces[0].0;
            if case % 5 == 4 {
                pieces.reverse();
            }
            let stride = match case % 7 {
                6 => at - first - 9,
                _ => at - first + numbers.below(20) as i64,
            };
            let count = 3 + numbers.below(90 / SHRINK as usize);
            let record = pieces.iter().map(|&(at, length)| (at, length, &byte));
            let record = Layout::structure(record).unwrap();
            let layout = Layout::repeated(count, stride, &record).unwrap();
            let places: Vec<i64> = (0..count as i64)
                .flat_map(|index| {
                    pieces.iter().flat_map(move |&(at, length)| {
                        (0..length as i64).map(move |byte| index * stride + at + byte)
                    })
                })
                .collect();
            let overlaps = case % 7 == 6;
            if overlaps {
                // What is unpacked twice to one place is the program's error; packing is not.
                compare_packed(&layout, &places, numbers);
            } else {
                compare(&layout, &places, numbers);
            }
        }
    });
}

/// What lies between runs may be written by another thread at the same time.
#[test]
#[cfg_attr(miri, ignore = "two threads that race by design, on different bytes")]
fn gaps_belong_to_others() {
    on_every_isa(|_| {
        let byte = Layout::named(1, 1);
        let piece = |width: usize, stride: i64| {
            let run = Layout::contiguous(width, &byte).unwrap();
            Layout::repeated(4096 / stride as usize, stride, &run).unwrap()
        };
        let pieces = [(0, 4, &byte), (8, 13, &byte)];
        let record = Layout::structure(pieces).unwrap();
        let records = Layout::repeated(170, 24, &record).unwrap();
        for layout in [piece(1, 2), piece(4, 8), piece(8, 16), piece(3, 5), records] {
            let mut memory = vec![0u8; 4096 + 64];
            let base = memory.as_mut_ptr() as usize;
            let mut gaps = vec![true; 4096];
            layout.for_each_run(0..layout.size(), |offset, bytes| {
                gaps[offset as usize..][..bytes].fill(false);
            });
            let packed = vec![7u8; layout.size()];
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        // SAFETY: the memory holds the layout; the other thread touches other bytes.
                        unsafe { layout.unpack(base as *mut u8, 0..packed.len(), packed.as_ptr()) };
                    }
                });
                for round in 0..200u8 {
                    for place in (0..4096).filter(|&place| gaps[place]) {
                        // SAFETY: bytes of gaps are this thread's.
                        unsafe { ((base + place) as *mut u8).write_volatile(round) };
                    }
                    for place in (0..4096).filter(|&place| gaps[place]) {
                        // SAFETY: as above.
                        let found = unsafe { ((base + place) as *mut u8).read_volatile() };
                        assert_eq!(found, round, "{layout:?} at {place}");
                    }
                }
                is_over.store(true, Ordering::Relaxed);
            });
        }
    });
}

#[test]
fn rows_of_rows() {
    on_every_isa(|numbers| {
        for width in [1, 2, 3, 4, 7, 8, 12, 16, 24, 30, 48, 64, 100, 600] {
            for (count, lines) in [(2, 9), (3, 70), (7, 33), (8, 5), (130, 3)] {
                let wide = width as i64;
                for (stride, distance) in [(2 * wide, 140), (wide + 5, 1024), (-2 * wide, 600)] {
                    if skip(numbers) || cfg!(miri) && width > 64 {
                        continue;
                    }
                    let distance = distance + stride.abs() * count as i64;
                    let run = Layout::contiguous(width, &Layout::named(1, 1)).unwrap();
                    let row = Layout::repeated(count, stride, &run).unwrap();
                    let layout = Layout::repeated(lines, distance, &row).unwrap();
                    let places: Vec<i64> = (0..lines as i64)
                        .flat_map(|line| {
                            let row = rows(width, count, stride);
                            row.into_iter().map(move |at| at + line * distance)
                        })
                        .collect();
                    compare(&layout, &places, numbers);
                }
            }
        }
    });
}

#[test]
fn rows_inside_each_other() {
    on_every_isa(|numbers| {
        for width in [1, 2, 3, 4, 8, 12, 16, 24] {
            for (lines, columns) in [(8, 8), (9, 17), (33, 5), (64, 64)] {
                if cfg!(miri) && (lines > 8 || width != 8) {
                    continue;
                }
                let element = Layout::contiguous(width, &Layout::named(1, 1)).unwrap();
                let line = (width * columns) as i64;
                let column = Layout::repeated(lines, line, &element).unwrap();
                let layout = Layout::repeated(columns, width as i64, &column).unwrap();
                let places: Vec<i64> = (0..columns as i64)
                    .flat_map(|index| {
                        let column = rows(width, lines, line);
                        column.into_iter().map(move |at| at + index * width as i64)
                    })
                    .collect();
                compare(&layout, &places, numbers);
            }
        }
    });
}

#[test]
fn lists_and_records() {
    on_every_isa(|numbers| {
        for width in [1, 2, 3, 5, 8, 13, 16, 40, 100] {
            if cfg!(miri) && ![3, 13].contains(&width) {
                continue;
            }
            let element = Layout::contiguous(width, &Layout::named(1, 1)).unwrap();
            let mut at = 0;
            let offsets: Vec<i64> = (0..200 / SHRINK)
                .map(|_| {
                    at += (width + 1 + numbers.below(9)) as i64;
                    at
                })
                .collect();
            let list = Layout::hindexed(offsets.iter().map(|&at| (at, 1)), &element).unwrap();
            let one: Vec<i64> = offsets
                .iter()
                .flat_map(|&at| (0..width as i64).map(move |byte| at + byte))
                .collect();
            compare(&list, &one, numbers);
            let far = at + 1000;
            let twice = Layout::repeated(3, far, &list).unwrap();
            let places: Vec<i64> = (0..3)
                .flat_map(|copy| one.iter().map(move |at| at + copy * far))
                .collect();
            compare(&twice, &places, numbers);

            let byte = Layout::named(1, 1);
            let pieces = [(0, 4), (8, width), (120, 6)];
            let record = Layout::structure(pieces.map(|(at, length)| (at, length, &byte))).unwrap();
            let records = Layout::repeated(50 / SHRINK as usize, 150, &record).unwrap();
            let places: Vec<i64> = (0..50 / SHRINK)
                .flat_map(|index| {
                    pieces.into_iter().flat_map(move |(at, length)| {
                        (0..length as i64).map(move |byte| index * 150 + at + byte)
                    })
                })
                .collect();
            compare(&records, &places, numbers);
        }
    });
}

#[test]
fn reports_name_the_loops() {
    on_every_isa(|_| {
        let double = Layout::named(8, 8);
        let uses = |layout: &Layout| {
            let all = layout.kernels(0..layout.size());
            assert_eq!(all.iter().map(|it| it.bytes).sum::<usize>(), layout.size());
            let runs = all.iter().map(|it| it.runs).sum::<usize>();
            assert_eq!(runs, layout.blocks().len());
            all.iter().map(|it| it.kernel).collect::<Vec<_>>()
        };
        let vector = Layout::vector(1000, 1, 4, &double).unwrap();
        let expected = match best_isa() {
            Isa::Avx512 => Kernel::Lines,
            _ => Kernel::Rows,
        };
        assert_eq!(uses(&vector), [expected]);
        let wide = Layout::vector(1000, 2, 5, &double).unwrap();
        assert_eq!(uses(&wide), [Kernel::Rows]);
        let contiguous = Layout::contiguous(1000, &double).unwrap();
        assert_eq!(uses(&contiguous), [Kernel::Copy]);
        let column = Layout::vector(64, 1, 64, &double).unwrap();
        let transposed = Layout::repeated(64, 8, &column).unwrap();
        assert_eq!(uses(&transposed), [Kernel::Squares]);
        let list = Layout::hindexed([(0, 1), (16, 1), (40, 1)], &double).unwrap();
        assert_eq!(uses(&list), [Kernel::List]);
        let record = Layout::hindexed([(0, 1), (16, 2)], &double).unwrap();
        let records = Layout::repeated(20, 400, &record).unwrap();
        assert_eq!(uses(&records), [Kernel::Records]);
        let close = [(0, 4, &double), (40, 1, &double)];
        let close = Layout::structure(close).unwrap();
        let expected = match best_isa() {
            Isa::Avx512 => Kernel::Lines,
            _ => Kernel::Records,
        };
        let repeated = Layout::repeated(20, 56, &close).unwrap();
        assert_eq!(uses(&repeated), [expected]);
    });
}
