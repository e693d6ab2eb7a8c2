// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels against loops that copy byte by byte: every width of run, many distances, whole and partial ranges, with
//! every set of instructions in turn. Nothing outside the range may change.
#![expect(unsafe_code, reason = "packing works on addresses")]

use std::sync::Mutex;

use layout::{Isa, Kernel, Layout, best_isa, limit_isa};

const CANARY: u8 = 0xc5;
const MARGIN: usize = if cfg!(miri) { 32 } else { 256 };
/// Lists and records are shorter where an interpreter runs the tests.
const SHRINK: i64 = if cfg!(miri) { 8 } else { 1 };

/// A byte that depends on its place.
fn pattern(place: usize) -> u8 {
    (place.wrapping_mul(2_654_435_761) >> 7) as u8
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }

    /// Whether a case is left out: all but a few are where an interpreter runs the tests.
    fn skip(&mut self) -> bool {
        cfg!(miri) && self.below(150) > 0
    }
}

/// Compares packing and unpacking of several ranges with `places`, the offset of each packed byte.
fn compare(layout: &Layout, places: &[i64], numbers: &mut Numbers) {
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

fn on_every_isa(test: impl Fn(&mut Numbers)) {
    // The limit is the process's: one test at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let all = [Isa::Portable, Isa::Avx2, Isa::Avx512];
    for isa in all.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
        limit_isa(isa);
        test(&mut Numbers(u64::from(isa as u8) + 7));
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
                    if numbers.skip() || cfg!(miri) && count > 9 {
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
        for width in [1, 2, 4, 8] {
            for times in [2, 3, 4, 8, 16] {
                for count in [127, 128, 129, 1000, 1023] {
                    if numbers.skip() {
                        continue;
                    }
                    let run = Layout::named(width, width);
                    let stride = (width * times) as i64;
                    let layout = Layout::repeated(count, stride, &run).unwrap();
                    compare(&layout, &rows(width, count, stride), numbers);
                }
            }
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
                    if numbers.skip() || cfg!(miri) && width > 64 {
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
        assert_eq!(uses(&contiguous), [Kernel::Run]);
        let column = Layout::vector(64, 1, 64, &double).unwrap();
        let transposed = Layout::repeated(64, 8, &column).unwrap();
        assert_eq!(uses(&transposed), [Kernel::Squares]);
        let list = Layout::hindexed([(0, 1), (16, 1), (40, 1)], &double).unwrap();
        assert_eq!(uses(&list), [Kernel::List]);
        let record = Layout::hindexed([(0, 1), (16, 2)], &double).unwrap();
        let records = Layout::contiguous(20, &record).unwrap();
        assert_eq!(uses(&records), [Kernel::Records]);
    });
}
