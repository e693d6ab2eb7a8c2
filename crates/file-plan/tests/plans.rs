// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans compared with naive models: every byte is accessed exactly once, by one aggregator in one round.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use file_plan::{Coverage, Domains, Rows, Tiles};
use layout::{Layout, SharedLayout};
use proptest::prelude::*;

/// Filetypes that ascend.
fn filetypes() -> impl Strategy<Value = Layout> {
    let pieces = prop::collection::vec((0i64..40, 1usize..9), 1..6);
    (pieces, 0i64..20, 1usize..4, 0i64..9).prop_map(|(pieces, padding, count, start)| {
        let byte = Layout::named(1, 1);
        let mut at = start;
        let placed = pieces.into_iter().map(|(gap, bytes)| {
            let place = at + gap;
            at = place + bytes as i64;
            (place, bytes)
        });
        let one = Layout::hindexed(placed.collect::<Vec<_>>(), &byte).unwrap();
        let one = one.resized(0, at + padding).unwrap();
        Layout::contiguous(count, &one).unwrap()
    })
}

proptest! {
    #[test]
    fn positions_and_offsets_are_those_of_the_list_of_bytes(
        filetype in filetypes(), displacement in 0u64..50, start in 0u64..60, bytes in 0u64..90,
    ) {
        let tiles = Tiles::new(displacement, SharedLayout::from(filetype.clone()));
        prop_assert!(tiles.ascend());
        let mut visible = Vec::new();
        for tile in 0..160 {
            for block in filetype.blocks() {
                let first = displacement as i64 + tile * filetype.extent() + block.offset;
                visible.extend((first..first + block.bytes as i64).map(|at| at as u64));
            }
        }
        let mut found = Vec::new();
        tiles.for_each_range(start..start + bytes, |offset, bytes| found.extend(offset..offset + bytes));
        let range = start as usize..(start + bytes) as usize;
        prop_assert_eq!(&found[..], &visible[range.clone()]);
        for position in range {
            prop_assert_eq!(tiles.offset_of(position as u64), Some(visible[position]));
        }
        for offset in 0..visible[150] {
            let before = visible.partition_point(|&at| at < offset) as u64;
            prop_assert_eq!(tiles.position_of(offset), before);
        }
    }

    #[test]
    fn every_byte_is_in_one_window(
        start in 0u64..5000, bytes in 1u64..20_000, aggregators in 1u32..9, alignment in 1u64..3000, buffer in 1u64..5000,
    ) {
        let whole = start..start + bytes;
        let domains = Domains::cut(whole.clone(), aggregators, alignment, buffer);
        let mut windows = Vec::new();
        for aggregator in 0..aggregators {
            for round in 0..domains.rounds() {
                let window = domains.window(aggregator, round);
                prop_assert!(window.end - window.start <= buffer);
                if !window.is_empty() {
                    windows.push(window);
                }
            }
        }
        let mut at = whole.start;
        for window in windows {
            prop_assert_eq!(window.start, at);
            at = window.end;
        }
        prop_assert_eq!(at, whole.end);
    }

    #[test]
    fn rows_and_coverage_keep_every_byte(pieces in prop::collection::vec((0u64..900, 1u64..30), 0..40)) {
        let mut rows = Rows::default();
        let mut coverage = Coverage::new(100..1100);
        let mut all = vec![false; 1000];
        for &(at, bytes) in &pieces {
            rows.push(100 + at, bytes);
            coverage.add(100 + at..100 + at + bytes);
            all[at as usize..(at + bytes) as usize].fill(true);
        }
        prop_assert_eq!(rows.bytes(), pieces.iter().map(|piece| piece.1).sum::<u64>());
        let flat = rows.ranges().flatten();
        prop_assert!(flat.eq(pieces.iter().flat_map(|&(at, bytes)| 100 + at..100 + at + bytes)));
        prop_assert!(rows.lie_in(&(100..1100)));
        let mut covered = vec![false; 1000];
        for range in coverage.ranges(0) {
            covered[range.start as usize - 100..range.end as usize - 100].fill(true);
        }
        prop_assert_eq!(covered, all);
    }
}
