// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of the same bytes have the same canonical form, and observers are told the steps.
#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use layout::{ArrayOrder, Builder, Form, Layout, Observer, Rule, Share, Slice};
use proptest::prelude::*;

const SIZES: [usize; 3] = [6, 8, 12];
const SUBSIZES: [usize; 3] = [3, 4, 6];
/// A box that is also the part of one process of a distributed array.
const STARTS: [usize; 3] = SUBSIZES;
const DOUBLE: usize = 8;

fn double() -> Layout {
    Layout::named(DOUBLE, DOUBLE)
}

/// Bytes from one index to the next, of planes, rows and elements.
fn pitches() -> [i64; 3] {
    let row = (SIZES[2] * DOUBLE) as i64;
    [row * SIZES[1] as i64, row, DOUBLE as i64]
}

/// Offset of the box's first element.
fn start() -> i64 {
    let starts = STARTS.iter().zip(pitches());
    starts.map(|(&start, pitch)| start as i64 * pitch).sum()
}

/// Offsets of the box's rows.
fn rows() -> Vec<i64> {
    let [plane, row, _] = pitches();
    (0..SUBSIZES[0] as i64)
        .flat_map(|i| (0..SUBSIZES[1] as i64).map(move |j| start() + i * plane + j * row))
        .collect()
}

fn slices() -> [Slice; 3] {
    std::array::from_fn(|index| Slice {
        size: SIZES[index],
        subsize: SUBSIZES[index],
        start: STARTS[index],
    })
}

/// One box of doubles in an array, described in many ways.
fn descriptions() -> Vec<(&'static str, Layout)> {
    let double = double();
    let [plane, row, _] = pitches();
    let (planes, lines, columns) = (SUBSIZES[0], SUBSIZES[1], SUBSIZES[2]);
    let at_start = |layout: &Layout| Layout::structure([(start(), 1, layout)]).unwrap();
    let line = Layout::contiguous(columns, &double).unwrap();
    let face = Layout::hvector(lines, columns, row, &double).unwrap();

    let vector = Layout::vector(lines, columns, SIZES[2] as i64, &double).unwrap();
    let vector = vector.resized(0, plane).unwrap();
    let vector = Layout::vector(planes, 1, 1, &vector).unwrap();
    let hvector = Layout::hvector(planes, 1, plane, &face).unwrap();
    let subarray = Layout::subarray(&slices(), ArrayOrder::C, &double).unwrap();
    let mut reversed = slices();
    reversed.reverse();
    let fortran = Layout::subarray(&reversed, ArrayOrder::Fortran, &double).unwrap();
    let indexed = Layout::hindexed(rows().into_iter().map(|at| (at, columns)), &double);
    let blocks = Layout::hindexed(rows().into_iter().map(|at| (at, 1)), &line);
    let structure = Layout::structure(rows().into_iter().map(|at| (at, 1, &line)));
    let elements = rows()
        .into_iter()
        .flat_map(|at| (0..columns as i64).map(move |k| (at + k * DOUBLE as i64, 1)));
    let elements = Layout::hindexed(elements, &double);
    let faces = (0..planes as i64).map(|i| (start() + i * plane, 1, &face));
    let faces = Layout::structure(faces);
    let resized = line.resized(0, row).unwrap();
    let resized = Layout::contiguous(lines, &resized).unwrap();
    let resized = resized.resized(0, plane).unwrap();
    let resized = Layout::contiguous(planes, &resized).unwrap();
    let bytes = Layout::contiguous(columns * DOUBLE, &Layout::named(1, 1)).unwrap();
    let bytes = Layout::hvector(lines, 1, row, &bytes).unwrap();
    let bytes = Layout::hvector(planes, 1, plane, &bytes).unwrap();
    let shares = [0, 1, 2].map(|index| Share::block(SIZES[index], SUBSIZES[index], 1));
    let darray = Layout::darray(&shares, ArrayOrder::C, &double);
    let undistributed = [Share::all(planes), Share::all(1)];
    let face = face.resized(0, plane).unwrap();
    let undistributed = Layout::darray(&undistributed, ArrayOrder::C, &face);
    vec![
        ("vector of vectors", at_start(&vector)),
        ("hvector of hvectors", at_start(&hvector)),
        ("subarray", subarray),
        ("subarray in Fortran's order", fortran),
        ("indexed", indexed.unwrap()),
        ("hindexed_block of rows", blocks.unwrap()),
        ("struct of rows", structure.unwrap()),
        ("indexed elements", elements.unwrap()),
        ("struct of faces", faces.unwrap()),
        ("contiguous of resized types", at_start(&resized)),
        ("hvectors of bytes", at_start(&bytes)),
        ("darray of blocks", darray.unwrap()),
        ("undistributed darray", at_start(&undistributed.unwrap())),
    ]
}

#[test]
fn descriptions_of_one_box_have_one_form() {
    let all = descriptions();
    for (name, layout) in &all {
        assert_eq!(layout.form(), all[0].1.form(), "{name}");
    }
    let Form::Regular(nest) = all[0].1.form() else {
        panic!("a box is regular");
    };
    assert_eq!(nest.block.offset, start());
    assert_eq!(nest.block.bytes, SUBSIZES[2] * DOUBLE);
    let dimensions = nest.dimensions.iter().map(|it| (it.count, it.stride));
    let [plane, row, _] = pitches();
    let expected = [(SUBSIZES[1], row), (SUBSIZES[0], plane)];
    assert_eq!(dimensions.collect::<Vec<_>>(), expected);
}

/// Not only the form: the same loops in the same places, and so the same speed.
#[test]
fn descriptions_of_one_box_are_packed_by_the_same_loops() {
    let all = descriptions();
    let loops = |layout: &Layout, range| layout.kernels(range);
    let size = all[0].1.size();
    for (name, layout) in &all {
        for range in [0..size, 0..size / 2, 5..size - 9] {
            let expected = loops(&all[0].1, range.clone());
            assert_eq!(loops(layout, range), expected, "{name}");
        }
    }
    assert_eq!(loops(&all[0].1, 0..size).len(), 1);
}

/// A block repeated along dimensions, each at least as far apart as what is inside is long. Repetitions touch only where they
/// become one run: rows with holes whose ends touch are also records of other runs, and neither description is simpler.
#[derive(Clone, Debug)]
struct Tower {
    block: usize,
    /// Counts, and bytes between repetitions.
    dimensions: Vec<(usize, usize)>,
}

fn towers() -> impl Strategy<Value = Tower> {
    let dimensions =
        prop::collection::vec((1usize..5, prop::sample::select(vec![0, 0, 3, 8])), 0..4);
    (1usize..20, dimensions).prop_map(|(block, dimensions)| Tower { block, dimensions })
}

impl Tower {
    fn layout(&self, leaf: &Layout) -> Layout {
        let mut layout = Layout::contiguous(self.block, leaf).unwrap();
        let mut span = layout.true_extent();
        for &(count, gap) in &self.dimensions {
            let has_holes = layout.contiguous_start(1).is_none();
            let gap = (if has_holes { gap.max(1) } else { gap }) as i64;
            layout = Layout::repeated(count, span + gap, &layout).unwrap();
            span = layout.true_extent() + gap;
        }
        layout
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// Towers of runs, all their blocks listed, and cut in two anywhere: one form.
    #[test]
    fn boxes_have_one_form(tower in towers(), cut in any::<usize>()) {
        let byte = Layout::named(1, 1);
        let tower = tower.layout(&byte);
        let blocks = tower.blocks();
        let listed = Layout::hindexed(blocks.iter().map(|it| (it.offset, it.bytes)), &byte).unwrap();
        prop_assert_eq!(listed.form(), tower.form());
        let bytes = blocks
            .iter()
            .flat_map(|it| (0..it.bytes as i64).map(|at| (it.offset + at, 1)));
        let single = Layout::hindexed(bytes, &byte).unwrap();
        prop_assert_eq!(single.form(), tower.form());

        let Form::Regular(nest) = tower.form() else { panic!("regular") };
        if let Some(outer) = nest.dimensions.last() {
            let repeated = tower.size() / outer.count;
            let mut inner = Layout::hindexed(
                blocks[..blocks.len() / outer.count].iter().map(|it| (it.offset, it.bytes)),
                &byte,
            ).unwrap();
            prop_assert_eq!(inner.size(), repeated);
            inner = inner.resized(0, outer.stride).unwrap();
            let first = 1 + cut % (outer.count - 1);
            let pieces = [(0, first), (first as i64 * outer.stride, outer.count - first)];
            let joined = Layout::hindexed(pieces, &inner).unwrap();
            prop_assert_eq!(joined.form(), tower.form());
        }
    }

    /// Copies of something irregular, listed and described.
    #[test]
    fn patterns_have_one_form(
        gaps in prop::collection::vec((1usize..9, 1i64..20), 2..6),
        copies in prop::collection::vec(2usize..5, 1..3),
    ) {
        let byte = Layout::named(1, 1);
        let mut at = 0;
        let pieces = gaps.iter().map(|&(bytes, gap)| {
            at += gap + 9;
            (at - gap - 9, bytes)
        });
        let pieces: Vec<(i64, usize)> = pieces.collect();
        let mut layout = Layout::hindexed(pieces, &byte).unwrap();
        for (level, &count) in copies.iter().enumerate() {
            let distance = layout.true_extent() + 100 + level as i64;
            layout = Layout::repeated(count, distance, &layout).unwrap();
        }
        let blocks = layout.blocks();
        let listed = Layout::hindexed(blocks.iter().map(|it| (it.offset, it.bytes)), &byte).unwrap();
        prop_assert_eq!(listed.form(), layout.form());
    }
}

#[test]
fn a_million_entries_that_are_a_vector_are_one() {
    let pieces = (0..1_000_000).map(|index| (index * 24, 2));
    let listed = Layout::hindexed(pieces, &double()).unwrap();
    assert_eq!(listed, Layout::vector(1_000_000, 2, 3, &double()).unwrap());
    assert!(matches!(listed.form(), Form::Regular(_)));
}

#[test]
fn records_in_a_box_are_not_copied_out() {
    let byte = Layout::named(1, 1);
    let record = Layout::structure([(0, 4, &byte), (8, 8, &byte), (20, 1, &byte)]).unwrap();
    let slice = |size, subsize, start| Slice {
        size,
        subsize,
        start,
    };
    let slices = [slice(1 << 20, 1 << 19, 7), slice(1 << 20, 1 << 18, 5)];
    let layout = Layout::subarray(&slices, ArrayOrder::C, &record).unwrap();
    assert_eq!(layout.size(), 13 << 37);
    let Form::Irregular { nests, .. } = layout.form() else {
        panic!("three runs");
    };
    assert_eq!(nests.len(), 3);
}

#[test]
fn observers_are_told_of_each_rule() {
    struct Notes(Vec<Rule>);
    impl Observer for Notes {
        fn applied(&mut self, rule: Rule, form: &Form) {
            // What is told has as many bytes as the type, whatever rule has been applied.
            assert!(form.bytes() > 0, "{rule:?} {form:?}");
            self.0.push(rule);
        }
    }
    let told = |build: &dyn Fn(&mut Builder<'_, Notes>) -> layout::Result<Layout>| {
        let mut notes = Notes(Vec::new());
        build(&mut Builder::new(&mut notes)).unwrap();
        notes.0
    };
    let vector = told(&|it| it.vector(4, 2, 3, &double()));
    assert_eq!(vector, [Rule::Repeat, Rule::Fold, Rule::Repeat]);
    let dense = told(&|it| it.vector(4, 1, 1, &double()));
    assert_eq!(dense, [Rule::Repeat, Rule::Elide, Rule::Repeat, Rule::Fold]);
    let pair = Layout::vector(2, 1, 2, &double()).unwrap();
    let flat = told(&|it| it.repeated(3, 32, &pair));
    assert_eq!(flat, [Rule::Repeat, Rule::Flatten]);
    let regular = told(&|it| it.hindexed([(0, 1), (8, 1), (40, 2), (80, 2)], &double()));
    assert_eq!(regular, [Rule::Pieces, Rule::Fold, Rule::Regular]);
    let list = told(&|it| it.hindexed([(0, 1), (16, 1), (48, 1)], &double()));
    assert_eq!(list, [Rule::Pieces, Rule::List]);
    let one = told(&|it| it.hindexed([(24, 1)], &double()));
    assert_eq!(one, [Rule::Repeat, Rule::Elide, Rule::Elide]);
    let more = told(&|it| it.hindexed([(0, 1), (32, 1)], &pair));
    assert_eq!(more, [Rule::Pieces, Rule::Continue, Rule::Regular][..2]);
}

/// Equal blocks are looked at in one go; what comes out is what their list gives.
#[test]
fn equal_blocks_are_a_list() {
    let tight = double();
    let sparse = tight.resized(-8, 40).unwrap();
    let pair = Layout::structure([(0, 1, &tight), (24, 1, &tight)]).unwrap();
    let lists: [&[i64]; 9] = [
        &[],
        &[7],
        &[0, 2, 4, 6],
        &[0, 1, 5, 9],
        &[3, 1, 90, -4],
        &[0, 5, 7, 100, 105, 107],
        &[4, 4, 4],
        &[9, 8, 7, 6, 4],
        &[i64::MAX / 8, 0],
    ];
    for old in [&tight, &sparse, &pair] {
        for places in lists {
            for (length, unit) in [(0, 8), (1, 8), (1, 40), (2, 8), (3, 1), (1, -16), (1, 64)] {
                let made = Layout::equal_blocks(length, places.iter().copied(), unit, old);
                let scaled: Option<Vec<i64>> =
                    places.iter().map(|at| at.checked_mul(unit)).collect();
                let listed = scaled.map_or(Err(layout::LayoutError::Overflow), |scaled| {
                    Layout::hindexed(scaled.into_iter().map(|at| (at, length)), old)
                });
                assert_eq!(made, listed, "{places:?} of {length} every {unit}");
            }
        }
    }
}
