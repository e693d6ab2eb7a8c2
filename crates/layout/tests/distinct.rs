// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes that occur twice, against a set of all bytes.
#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::collections::HashSet;

use layout::Layout;
use proptest::prelude::*;

/// Whether `count` elements hold a byte twice.
fn repeats(layout: &Layout, count: usize) -> bool {
    let mut seen = HashSet::new();
    let mut repeated = false;
    layout.for_each_run(0..layout.size() * count, |offset, bytes| {
        for byte in offset..offset + bytes as i64 {
            repeated |= !seen.insert(byte);
        }
    });
    repeated
}

fn check(layout: &Layout) {
    for count in [0, 1, 2, 5] {
        let found = layout.repeated_byte(count);
        assert_eq!(
            found.is_some(),
            repeats(layout, count),
            "{layout:?} x {count}"
        );
    }
}

#[test]
fn usual_types_are_distinct_and_overlapping_ones_are_not() {
    let double = Layout::named(8, 8);
    let column = Layout::vector(16, 1, 16, &double).unwrap();
    let narrow = column.resized(0, 8).unwrap();
    check(&column);
    check(&narrow);
    check(&Layout::contiguous(16, &narrow).unwrap());
    check(&Layout::contiguous(17, &narrow).unwrap());
    check(&Layout::vector(4, 2, 1, &double).unwrap());
    check(&double.resized(0, 0).unwrap());
    check(&double.resized(0, -8).unwrap());
    let pair = Layout::hindexed([(0, 2), (8, 1)], &double).unwrap();
    assert_eq!(pair.repeated_byte(1), Some(8));
    // Too many to look at; a vector of that many is known.
    let places = (0..3_000_000).map(|index| (index * 16 + index * index % 3, 1));
    let many = Layout::hindexed(places, &double).unwrap();
    assert_eq!(many.repeated_byte(1), None);
    let huge = Layout::vector(1 << 40, 1, 2, &double).unwrap();
    assert_eq!(huge.repeated_byte(1000), None);
}

fn layouts() -> impl Strategy<Value = Layout> {
    let basic = prop_oneof![Just(Layout::named(1, 1)), Just(Layout::named(4, 4))];
    basic.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (1..5usize, 1..3usize, -4..5i64, inner.clone()).prop_map(
                |(count, length, stride, old)| {
                    Layout::vector(count, length, stride, &old).unwrap()
                }
            ),
            (
                prop::collection::vec((-20..40i64, 0..3usize), 1..4),
                inner.clone()
            )
                .prop_map(|(pieces, old)| Layout::hindexed(pieces, &old).unwrap()),
            (-9..9i64, inner).prop_map(|(extent, old)| old.resized(0, extent).unwrap()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 600 }) })]

    #[test]
    fn bytes_that_occur_twice_are_found(layout in layouts()) {
        check(&layout);
    }
}
