// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timed mode agrees with the formulas.

use super::counts::Column;
use super::timing::Timing;
use super::transfer::{RECEIVER, SENDER, Transfer};
use crate::cost::{Path, Times};
use crate::variant::{Reads, Variant};

const BYTES: u64 = 64 << 10;
/// Posts are late enough for every skew.
const ORIGIN_NS: u64 = 1_000_000;

fn assert_within_a_percent(value: f64, expected: f64, scale: f64, what: &str) {
    let allowed = 0.01 * expected.abs().max(scale);
    assert!(
        (value - expected).abs() <= allowed,
        "{what}: {value} is not {expected}"
    );
}

#[test]
fn delays_of_all_skews_are_those_of_the_formulas() {
    let mut points = 0;
    for hops in [1.0, 2.0] {
        let c = 1300.0 * hops;
        for column in Column::ALL.into_iter().chain([Column::Write3c]) {
            for is_any_source in [false, true] {
                if is_any_source && column == Column::Optimistic {
                    continue;
                }
                let config = column.config();
                let by_agent =
                    config.variant == Variant::Read && config.fabric.reads == Reads::Agent;
                let times = Times {
                    control_ns: c,
                    read_ns: if by_agent { c } else { 0.0 },
                    startup_ns: 500.0,
                    bytes_per_ns: 1.25,
                };
                let mut timing = Timing::even(1300.0, 0.0, times.startup_ns, times.bytes_per_ns);
                timing.ranks_per_board = 1;
                timing.hop_factors = [1.0, hops, hops, hops];
                let path = Path::of(config, !is_any_source);
                for eighth in -64..=64 {
                    let skew = f64::from(eighth) / 8.0 * c;
                    let (send, receive) = (ORIGIN_NS as f64 + skew, ORIGIN_NS as f64);
                    let transfer = Transfer {
                        any_source: is_any_source,
                        ..Transfer::long(BYTES, send as u64, receive as u64)
                    };
                    let outcome = transfer.run(config, timing);
                    assert_eq!(outcome.wrong, None);
                    let what = format!("{}, {path:?}, skew {skew}", column.name());
                    let later = send.max(receive);
                    let start = outcome.data_ns().unwrap() as f64;
                    let delay = times.delay_ns(path, skew);
                    assert_within_a_percent(start - later, delay, c, &what);
                    let (received, sent) = times.complete_ns(config, path, BYTES, (send, receive));
                    let ends = [(RECEIVER, received), (SENDER, sent)];
                    for (rank, expected) in ends {
                        let end = outcome.complete_ns(rank).unwrap() as f64;
                        assert_within_a_percent(end - later, expected - later, c, &what);
                    }
                    points += 1;
                }
            }
        }
    }
    println!("{points} points");
}

#[test]
fn jitter_and_reordering_break_no_rule() {
    let mut messages = 0;
    for column in Column::ALL {
        for seed in 1..200 {
            let mut timing = Timing::even(1300.0, 1300.0, 500.0, 1.25);
            timing.jitter_ns = 3000.0;
            timing.seed = seed;
            let transfer = Transfer::long(BYTES, seed * 37 % 4000, seed * 91 % 4000);
            let outcome = transfer.run(column.config(), timing);
            assert_eq!(outcome.wrong, None, "{}, seed {seed}", column.name());
            messages += outcome.control_messages();
        }
    }
    println!("{messages} control messages");
}
