// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exhaustive model: every variant keeps every rule in all interleavings.

use super::exhaustive::{Coverage, explore};
use super::program::Thread;
use super::programs::{cancels, is_thorough, one_of_each, pairs, quadruples, triples, two_senders};
use super::world::Behaviour;
use crate::variant::{Config, Fabric, Variant};

/// A configuration and what its fabric does, with a name.
fn cases(variant: Variant) -> Vec<(&'static str, Config, Behaviour)> {
    let plain = Behaviour::default();
    let rings = Config::new(variant, Fabric::RINGS).with_offers(2);
    let apart = Config::new(variant, Fabric::PUBLISHED).with_offers(2);
    let slow = Behaviour {
        writes_in_parts: true,
        slow_reads: true,
        ..plain
    };
    let refusing = Behaviour {
        refuses_writes: true,
        ..plain
    };
    let once = Behaviour {
        offers_once: true,
        ..slow
    };
    let is_published = !matches!(
        variant,
        Variant::Pieces | Variant::Write | Variant::WriteLog
    );
    match variant {
        Variant::Read => vec![("rings, slow", rings, slow), ("published", apart, plain)],
        Variant::Write => vec![
            ("rings", rings.with_offers(1), plain),
            ("rings, slow", rings, slow),
            ("rings, offered once", rings.with_offers(1), once),
            ("rings, refusing", rings, refusing),
            ("published", apart, plain),
        ],
        Variant::WriteLog => {
            let nodes = Config::new(variant, Fabric::NODES).with_offers(2);
            let log_of = |log_cells| Behaviour { log_cells, ..slow };
            let once = Behaviour {
                log_cells: 1,
                ..once
            };
            vec![
                ("nodes", nodes.with_offers(1), plain),
                ("nodes, slow", nodes, slow),
                ("nodes, log of two cells", nodes, log_of(2)),
                ("nodes, log of one cell", nodes, log_of(1)),
                ("nodes, offered once", nodes.with_offers(1), once),
                ("nodes, refusing", nodes, refusing),
            ]
        }
        _ if is_published => {
            let all = [("published", apart, plain), ("rings, slow", rings, slow)];
            all[..if is_thorough() { 2 } else { 1 }].to_vec()
        }
        _ => vec![("rings", rings, plain)],
    }
}

fn check(variant: Variant, programs: &[Vec<Thread>]) {
    for case in cases(variant) {
        check_case(variant, case, programs);
    }
}

fn check_case(
    variant: Variant,
    (name, config, behaviour): (&str, Config, Behaviour),
    programs: &[Vec<Thread>],
) {
    let mut coverage = Coverage::default();
    for threads in programs {
        match explore(config, behaviour, threads) {
            Ok(one) => coverage += one,
            Err(found) => panic!("{variant}, {name}: {threads:?}\n{found}"),
        }
    }
    println!("{variant}, {name}: {coverage:?}");
    assert!(coverage.programs > 0 && coverage.ends >= coverage.programs);
}

#[test]
fn pairs_of_messages_in_all_interleavings() {
    for variant in Variant::ALL {
        check(variant, &pairs(variant));
    }
}

#[test]
fn three_messages_in_all_interleavings() {
    for variant in Variant::ALL {
        check(variant, &triples(variant));
    }
}

#[test]
fn four_messages_of_a_key_between_nodes_in_all_interleavings() {
    let programs = quadruples(Variant::WriteLog);
    check(Variant::WriteLog, &programs);
}

#[test]
fn two_senders_in_all_interleavings() {
    for variant in Variant::ALL {
        check(variant, &two_senders(variant));
    }
}

#[test]
fn cancelled_receives_in_all_interleavings() {
    for variant in Variant::ALL {
        check(variant, &cancels(variant));
    }
}

#[test]
fn a_death_at_any_step_ends_the_other_side_with_an_error() {
    for variant in Variant::ALL {
        for (name, config, behaviour) in cases(variant) {
            let behaviour = Behaviour {
                deaths: true,
                ..behaviour
            };
            check_case(variant, (name, config, behaviour), &one_of_each(variant));
        }
    }
}
