// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies from layout to layout are what packing and unpacking do, for every pair of shapes, any range, and every set of
//! instructions; and they touch nothing else.
#![expect(unsafe_code, reason = "copies work on addresses")]
#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::ops::Range;
use std::sync::Mutex;

use layout::{Isa, Layout, limit_isa};
use proptest::prelude::*;

/// Memory for elements: where the base address is in it, and the bytes.
fn memory(layout: &Layout, elements: usize) -> (isize, Vec<u8>) {
    let (first, span) = layout.span(elements).unwrap();
    let bytes = (0..span).map(|place| (place.wrapping_mul(2_654_435_761) >> 9) as u8);
    (-(first as isize), bytes.collect())
}

/// Elements that hold so many bytes.
fn elements(layout: &Layout, bytes: usize) -> usize {
    bytes.div_ceil(layout.size().max(1))
}

fn check(source: &Layout, target: &Layout, range: Range<usize>) {
    let (from, data) = memory(source, elements(source, range.end));
    let (to, old) = memory(target, elements(target, range.end));
    let old: Vec<u8> = old.iter().map(|byte| !byte).collect();
    let (mut expected, mut copied) = (old.clone(), old);
    let mut packed = vec![0; range.len()];
    let from = data.as_ptr().wrapping_offset(from);
    // SAFETY: both memories hold all elements that the range touches.
    unsafe {
        source.pack(from, range.clone(), packed.as_mut_ptr());
        let base = expected.as_mut_ptr().wrapping_offset(to);
        target.unpack(base, range.clone(), packed.as_ptr());
        let base = copied.as_mut_ptr().wrapping_offset(to);
        source.copy(from, target, base, range.clone());
    }
    assert!(expected == copied, "{source:?} {target:?} {range:?}");
}

/// Layouts of all kinds, none of which overlaps itself.
fn shapes() -> Vec<Layout> {
    let byte = Layout::named(1, 1);
    let run = |bytes: usize| Layout::contiguous(bytes, &byte).unwrap();
    let mut all = vec![run(1), run(600)];
    for (width, count, stride) in [
        (1, 200, 2),
        (2, 300, 8),
        (3, 17, 4),
        (4, 140, -16),
        (8, 150, 24),
        (8, 140, 32),
        (12, 33, 700),
        (24, 20, 40),
        (40, 9, 41),
        (600, 3, 601),
    ] {
        all.push(Layout::repeated(count, stride, &run(width)).unwrap());
    }
    let grid = Layout::repeated(3, 20, &run(8)).unwrap();
    let grid = Layout::repeated(9, 100, &grid).unwrap();
    all.push(grid.clone());
    all.push(Layout::repeated(4, -1000, &grid).unwrap());
    let deep = Layout::repeated(2, 5000, &grid).unwrap();
    let deep = Layout::repeated(2, 11_000, &deep).unwrap();
    all.push(Layout::repeated(2, 23_000, &deep).unwrap());
    let column = Layout::repeated(16, 128, &run(8)).unwrap();
    all.push(Layout::repeated(16, 8, &column).unwrap());
    let places = (0..40).map(|index| (index * 14 + index % 3, 1));
    let list = Layout::hindexed(places, &run(10)).unwrap();
    all.push(list.clone());
    all.push(Layout::repeated(3, 700, &list).unwrap());
    let record = Layout::structure([(0, 4, &byte), (8, 8, &byte), (17, 6, &byte)]).unwrap();
    all.push(record.clone());
    all.push(Layout::repeated(50, 24, &record).unwrap());
    let mixed = Layout::structure([(0, 1, &grid), (2000, 7, &byte), (3000, 1, &list)]).unwrap();
    all.push(mixed.resized(0, 4000).unwrap());
    all.push(run(8).resized(0, 20).unwrap());
    all
}

fn on_every_isa(test: impl Fn()) {
    // The limit is the process's: one test at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let all = [Isa::Portable, Isa::Avx2, Isa::Avx512];
    for isa in all.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
        limit_isa(isa);
        test();
    }
}

#[test]
fn every_pair_of_shapes() {
    let shapes = shapes();
    on_every_isa(|| {
        for (row, source) in shapes.iter().enumerate() {
            for (column, target) in shapes.iter().enumerate() {
                // An interpreter sees few pairs of small ones, each shape on each side.
                let size = source.size() + target.size();
                if cfg!(miri) && ((row + column) % 5 > 0 || size > 500) {
                    continue;
                }
                let bytes = source.size().max(target.size());
                check(source, target, 0..bytes);
                check(source, target, bytes / 3..2 * bytes + 1);
                check(source, target, 5..bytes + 3);
            }
        }
    });
}

#[test]
fn the_same_shape_at_other_distances() {
    let byte = Layout::named(1, 1);
    let grid = |width: usize, counts: [usize; 3], gaps: [i64; 3]| {
        let mut layout = Layout::contiguous(width, &byte).unwrap();
        for (count, gap) in counts.into_iter().zip(gaps) {
            layout = Layout::repeated(count, layout.true_extent() + gap, &layout).unwrap();
        }
        layout
    };
    on_every_isa(|| {
        for width in (1..=70).chain([128, 513]) {
            if cfg!(miri) && width % 48 > 0 {
                continue;
            }
            for counts in [[2, 5, 3], [9, 2, 2], [33, 3, 2]] {
                let source = grid(width, counts, [3, 100, 1]);
                let target = grid(width, counts, [8, 1, 60]);
                check(&source, &target, 0..source.size());
                check(&source, &target, 1..source.size() - 1);
            }
        }
    });
}

fn any_layout() -> impl Strategy<Value = Layout> {
    let leaf =
        (1usize..40).prop_map(|bytes| Layout::contiguous(bytes, &Layout::named(1, 1)).unwrap());
    leaf.prop_recursive(4, 10, 3, |inner| {
        prop_oneof![
            (1usize..9, 0i64..20, inner.clone()).prop_map(|(count, gap, old)| {
                Layout::repeated(count, old.true_extent() + gap, &old).unwrap()
            }),
            prop::collection::vec((0i64..20, inner), 1..4).prop_map(|pieces| {
                let mut at = 0;
                let places: Vec<(i64, usize, &Layout)> = pieces
                    .iter()
                    .map(|(gap, old)| {
                        let place = at + gap - old.true_lower_bound();
                        at += gap + old.true_extent();
                        (place, 1, old)
                    })
                    .collect();
                Layout::structure(places).unwrap()
            }),
        ]
    })
    .prop_map(|layout| {
        layout
            .resized(layout.true_lower_bound(), layout.true_extent() + 3)
            .unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore = "making random types takes too long there")]
    fn copies_are_what_packing_and_unpacking_do(
        source in any_layout(), target in any_layout(), cut in any::<(u16, u16)>(),
    ) {
        let bytes = 2 * source.size().min(target.size());
        let (start, end) = (usize::from(cut.0) % bytes, usize::from(cut.1) % bytes);
        check(&source, &target, start.min(end)..start.max(end) + 1);
        check(&source, &source, start.min(end)..start.max(end) + 1);
    }
}
