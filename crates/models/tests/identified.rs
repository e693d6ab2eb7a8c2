// SPDX-License-Identifier: MIT OR Apache-2.0
//! What experiments determine, and what they leave in a lump.

use models::identify::{Equation, solve};
use proptest::prelude::*;

const NAMES: [&str; 8] = [
    "HLP_post",
    "LLP_post",
    "LLP_prog",
    "HLP_rx_prog",
    "PCIe",
    "Wire",
    "Switch",
    "RC_to_MEM",
];
const VALUES: [f64; 8] = [26.56, 175.42, 61.63, 224.66, 137.49, 274.81, 108.0, 240.96];

fn equation(experiment: &str, terms: &[(usize, f64)], ns: f64) -> Equation {
    Equation {
        experiment: experiment.to_owned(),
        terms: terms.to_vec(),
        ns,
    }
}

/// The latency of the published system.
fn latency() -> Equation {
    let terms: Vec<(usize, f64)> = (0..8)
        .map(|index| (index, if index == 4 { 2.0 } else { 1.0 }))
        .collect();
    equation("latency", &terms, 1387.02)
}

#[test]
fn software_and_latency_alone_leave_network_and_io_in_one_lump() {
    let timers = (0..4).map(|index| equation("timer", &[(index, 1.0)], VALUES[index]));
    let equations: Vec<Equation> = timers.chain([latency()]).collect();
    let solution = solve(&equations, 8);
    assert_eq!(solution.to_string(), "rank 5 of 8 components");
    assert!(!solution.is_complete());
    let names = NAMES.map(str::to_owned);
    let lumps: Vec<_> = solution
        .lumps
        .iter()
        .filter(|lump| !lump.is_single())
        .collect();
    assert_eq!(lumps.len(), 1);
    assert_eq!(lumps[0].named(&names), "2 PCIe + Wire + Switch + RC_to_MEM");
    assert_eq!(format!("{:.2}", lumps[0].ns), "898.75");
    assert_eq!(
        solution
            .lumps
            .iter()
            .filter(|lump| lump.is_single())
            .count(),
        4
    );
    assert!(solution.unknown.is_empty());
}

#[test]
fn a_switch_that_can_be_taken_out_leaves_the_lump() {
    let timers = (0..4).map(|index| equation("timer", &[(index, 1.0)], VALUES[index]));
    let without: Vec<(usize, f64)> = latency()
        .terms
        .into_iter()
        .filter(|term| term.0 != 6)
        .collect();
    let more = [latency(), equation("direct cable", &without, 1279.02)];
    let equations: Vec<Equation> = timers.chain(more).collect();
    let solution = solve(&equations, 8);
    assert_eq!(solution.rank, 6);
    let switch = solution
        .lumps
        .iter()
        .find(|lump| lump.terms == [(6, 1.0)])
        .expect("a switch");
    assert!((switch.ns - 108.0).abs() < 1e-9);
}

#[test]
fn experiments_that_disagree_are_averaged_and_the_disagreement_is_told() {
    let equations = [
        equation("one", &[(0, 1.0)], 10.0),
        equation("two", &[(0, 1.0)], 14.0),
    ];
    let solution = solve(&equations, 2);
    assert_eq!(solution.rank, 1);
    assert!((solution.lumps[0].ns - 12.0).abs() < 1e-9);
    assert!((solution.residual_ns - 2.0).abs() < 1e-9);
    assert_eq!(solution.unknown, [1]);
}

#[test]
fn no_experiments_determine_nothing() {
    let solution = solve(&[], 3);
    assert_eq!((solution.rank, solution.unknown.len()), (0, 3));
}

proptest! {
    #[test]
    fn enough_experiments_give_every_component_back(
        rows in prop::collection::vec(prop::collection::vec(0..4_u8, 4), 4..9), values in prop::array::uniform4(1.0..500.0_f64)
    ) {
        let equations: Vec<Equation> = rows.iter().map(|row| {
            let terms: Vec<(usize, f64)> = row.iter().map(|&factor| f64::from(factor)).enumerate().collect();
            let ns = terms.iter().map(|&(index, factor)| factor * values[index]).sum();
            equation("sum", &terms, ns)
        }).collect();
        let solution = solve(&equations, 4);
        prop_assert!(solution.residual_ns < 1e-6);
        // Whatever is known is known rightly, and what is known of a component alone is its value.
        for lump in &solution.lumps {
            let expected: f64 = lump.terms.iter().map(|&(index, factor)| factor * values[index]).sum();
            prop_assert!((lump.ns - expected).abs() < 1e-6 * expected.abs().max(1.0), "{lump:?}");
        }
        prop_assert_eq!(solution.is_complete(), solution.rank == 4);
    }
}
