// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of many copies of irregular types: their forms are as large as their descriptions, whatever the block lengths, and
//! copies of any range are what lists of all their bytes give.
#![expect(unsafe_code, reason = "packing works on addresses")]
#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::ops::Range;

use layout::{ArrayOrder, Builder, Form, Layout, Member, Observer, Rule, Share};
use proptest::prelude::*;

/// What a form takes memory for.
fn parts(form: &Form) -> usize {
    match form {
        Form::Regular(_) => 1,
        Form::List { offsets, .. } => offsets.len(),
        Form::Irregular { nests, .. } => nests.len(),
        Form::Compound { members, .. } => {
            members.iter().map(|it: &Member| 1 + parts(&it.form)).sum()
        }
    }
}

/// MPI_SHORT_INT: two runs with a gap.
fn short_int() -> Layout {
    let byte = Layout::named(1, 1);
    Layout::structure([(0, 2, &byte), (4, 4, &byte)]).unwrap()
}

/// Five runs at no equal distances.
fn list() -> Layout {
    let places = [0, 12, 20, 40, 44];
    Layout::hindexed(places.map(|at| (at, 3)), &Layout::named(1, 1)).unwrap()
}

/// Runs and a vector.
fn record() -> Layout {
    let byte = Layout::named(1, 1);
    let column = Layout::repeated(4, 8, &Layout::named(2, 2)).unwrap();
    Layout::structure([(0, 1, &byte), (3, 1, &column), (40, 9, &byte)]).unwrap()
}

const LONG: usize = 1 << 40;

/// Displacements of 64 blocks, at no equal distances.
fn places(length: usize) -> Vec<i64> {
    let noise = |index: i64| (index.wrapping_mul(6_364_136_223_846_793_005) >> 40) & 7;
    (0..64)
        .map(|index| index * (length as i64 + 8) + noise(index))
        .collect()
}

#[test]
fn forms_do_not_grow_with_block_lengths() {
    for old in [short_int(), list(), record()] {
        for length in [1000, 1 << 20, 1 << 32, LONG] {
            let places = places(length);
            let unit = old.extent();
            let scaled = || places.iter().map(|at| at * unit);
            let equal = Layout::equal_blocks(length, places.iter().copied(), unit, &old).unwrap();
            let indexed = Layout::hindexed(scaled().map(|at| (at, length)), &old).unwrap();
            let longer = scaled().zip(length..);
            let longer = Layout::hindexed(longer, &old).unwrap();
            let mixed = scaled()
                .enumerate()
                .map(|(index, at)| (at, 1 + index % 2 * length, &old));
            let mixed = Layout::structure(mixed).unwrap();
            assert_eq!(equal, indexed);
            assert_eq!(equal.size(), 64 * length * old.size());
            for made in [&equal, &longer, &mixed] {
                assert!(
                    parts(made.form()) <= 64 * (1 + parts(old.form())),
                    "{made:?}"
                );
            }
            let shares = [
                Share::block(3, 2, 0),
                Share::cyclic(10 * length + 7, length, 3, 0),
            ];
            let array = Layout::darray(&shares, ArrayOrder::C, &old).unwrap();
            assert!(
                parts(array.form()) <= 4 * (1 + parts(old.form())),
                "{array:?}"
            );
            // Two copies of what has just been made, and of its copies.
            let mut deep = equal;
            for _ in 0..3 {
                let far = deep.extent();
                deep = Layout::hindexed([(0, 1), (far + 5, 2)], &deep).unwrap();
            }
            assert!(
                parts(deep.form()) <= 27 * 64 * (2 + parts(old.form())),
                "{length}"
            );
            assert_eq!(deep.size(), 27 * 64 * length * old.size());
        }
    }
}

#[test]
fn copies_at_equal_distances_are_dimensions() {
    let old = short_int();
    let extent = old.extent();
    let long = LONG as i64;
    let apart = Layout::equal_blocks(
        LONG,
        (0i32..64).map(|at| i64::from(at) * (long + 3)),
        extent,
        &old,
    );
    let vector = Layout::vector(64, LONG, long + 3, &old);
    assert_eq!(apart, vector);
    let touching = Layout::equal_blocks(
        LONG,
        (0i32..64).map(|at| i64::from(at) * long),
        extent,
        &old,
    );
    assert_eq!(
        touching.unwrap().form(),
        Layout::contiguous(64 * LONG, &old).unwrap().form()
    );
    let joined = Layout::hindexed([(0, 1000), (1000 * extent, LONG), (7, 300)], &old).unwrap();
    let Form::Compound { members, .. } = joined.form() else {
        panic!("two members");
    };
    let counts = members
        .iter()
        .map(|it: &Member| it.form.dimensions()[0].count);
    assert_eq!(counts.collect::<Vec<_>>(), [1000 + LONG, 300]);
}

#[test]
fn types_of_types_are_not_deep() {
    let byte = Layout::named(1, 1);
    let mut layout = Layout::hindexed([(0, 500), (9001, 400)], &list()).unwrap();
    for level in 0..2000 {
        let far = layout.true_lower_bound() + layout.true_extent();
        layout = Layout::structure([(0, 1, &layout), (far + level % 3, 1, &byte)]).unwrap();
    }
    assert_eq!(layout.size(), 900 * 15 + 2000);
    assert!(parts(layout.form()) < 4000);
    let debug = format!("{:?}", layout.form());
    assert!(debug.matches("Compound").count() < 20);
}

#[test]
fn observers_see_what_stays_together() {
    #[derive(Default)]
    struct Notes(Vec<(Rule, usize)>);
    impl Observer for Notes {
        fn applied(&mut self, rule: Rule, form: &Form) {
            self.0.push((rule, form.bytes()));
        }
    }
    let (old, mut notes) = (list(), Notes::default());
    let pieces = [(0, 1000), (48_000, 2000), (1 << 20, 1), (1 << 21, 70)];
    let watched = Builder::new(&mut notes).hindexed(pieces, &old).unwrap();
    assert_eq!(watched, Layout::hindexed(pieces, &old).unwrap());
    let bytes = watched.size();
    assert_eq!(notes.0, [(Rule::Pieces, bytes)]);
}

/// A type and all its bytes, in packing order.
#[derive(Clone, Debug)]
struct Known {
    layout: Layout,
    bytes: Vec<i64>,
}

impl Known {
    fn new(layout: Layout) -> Self {
        let runs = layout.blocks();
        let bytes = runs
            .iter()
            .flat_map(|run| run.offset..run.offset + run.bytes as i64);
        let bytes = bytes.collect();
        Self { layout, bytes }
    }

    fn of(pieces: &[(i64, usize, Self)]) -> Self {
        let listed = pieces
            .iter()
            .map(|(at, length, old)| (*at, *length, &old.layout));
        let layout = Layout::structure(listed).unwrap();
        let mut bytes = Vec::new();
        for (at, length, old) in pieces {
            for index in 0..*length as i64 {
                let moved = at + index * old.layout.extent();
                bytes.extend(old.bytes.iter().map(|byte| byte + moved));
            }
        }
        Self { layout, bytes }
    }

    /// Packs, unpacks and copies a part of some elements.
    fn check(&self, count: usize, range: Range<usize>) {
        let layout = &self.layout;
        let elements = (0..count as i64).map(|index| index * layout.extent());
        let bytes: Vec<i64> = elements
            .flat_map(|at| self.bytes.iter().map(move |byte| byte + at))
            .collect();
        assert_eq!(bytes.len(), layout.size() * count);
        let wanted = &bytes[range.clone()];
        let mut visited = Vec::new();
        layout.for_each_run(range.clone(), |at, bytes| {
            visited.extend(at..at + bytes as i64)
        });
        assert_eq!(visited, wanted);
        let (first, span) = layout.span(count).unwrap();
        let memory: Vec<u8> = (0..span).map(|at| (at * 7 + at / 251) as u8).collect();
        let at = |byte: &i64| (byte - first) as usize;
        let packed: Vec<u8> = wanted.iter().map(|byte| memory[at(byte)]).collect();
        let mut image = vec![0; span];
        for (byte, value) in wanted.iter().zip(&packed) {
            image[at(byte)] = *value;
        }
        let other = Layout::repeated(layout.size() * count, 2, &Layout::named(1, 1)).unwrap();
        let mut spread = vec![0; 2 * layout.size() * count];
        let (mut mine, mut made) = (
            vec![0; range.len()],
            [vec![0; span], vec![0; span], vec![0; span]],
        );
        let base = |memory: &mut [u8]| memory.as_mut_ptr().wrapping_offset(-first as isize);
        // SAFETY: all memories hold the elements, and `mine` the range.
        unsafe {
            let from = memory.as_ptr().wrapping_offset(-first as isize);
            layout.pack(from, range.clone(), mine.as_mut_ptr());
            layout.unpack(base(&mut made[0]), range.clone(), packed.as_ptr());
            layout.copy(from, layout, base(&mut made[1]), range.clone());
            layout.copy(from, &other, spread.as_mut_ptr(), range.clone());
            other.copy(spread.as_ptr(), layout, base(&mut made[2]), range.clone());
        }
        assert_eq!(mine, packed);
        assert!(
            made.iter().all(|made| *made == image),
            "{layout:?} {range:?}"
        );
    }
}

fn pieces(
    old: impl Strategy<Value = Known>,
    lengths: Vec<usize>,
) -> impl Strategy<Value = Vec<(i64, usize, Known)>> {
    let piece = (0i64..40, prop::sample::select(lengths), old);
    prop::collection::vec(piece, 1..6).prop_map(|mut pieces| {
        let mut at = -50;
        for (place, length, old) in &mut pieces {
            at += *place - old.layout.lower_bound().min(0);
            *place = at;
            at += old.layout.extent() * *length as i64;
        }
        pieces
    })
}

/// Copies of irregular types, and copies of those.
fn types() -> impl Strategy<Value = Known> {
    let byte = Layout::named(1, 1);
    let basic = [short_int(), list(), record(), byte].map(Known::new);
    let long = pieces(prop::sample::select(basic.to_vec()), vec![1, 1, 2, 40, 150]);
    let long = long.prop_map(|pieces| Known::of(&pieces));
    let mixed = prop_oneof![3 => long, 1 => prop::sample::select(basic.to_vec())];
    pieces(mixed, vec![1, 1, 2, 3]).prop_map(|pieces| Known::of(&pieces))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore = "making random types takes too long there")]
    fn compound_types_agree_with_their_bytes(made in types(), cut in any::<(u32, u32)>()) {
        let bytes = 2 * made.layout.size();
        let (start, end) = (cut.0 as usize % bytes, cut.1 as usize % bytes);
        made.check(1, 0..bytes / 2);
        made.check(2, start.min(end)..start.max(end) + 1);
    }
}
