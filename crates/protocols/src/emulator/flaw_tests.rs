// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every wrong rule is caught by the exhaustive model, which names a schedule.

use super::exhaustive::{Counterexample, explore};
use super::program::Thread;
use super::programs::{cancels, pairs, promises_broken, quadruples, triples};
use super::world::Behaviour;
use crate::flaw::Flaw;
use crate::variant::{Config, Fabric, Variant};

/// A wrong rule, the variant and fabric in which it matters, and what goes wrong.
struct Case {
    flaw: Flaw,
    variant: Variant,
    fabric: Fabric,
    behaviour: Behaviour,
    programs: &'static [Set],
}

/// Programs for a variant.
type Set = fn(Variant) -> Vec<Vec<Thread>>;

const USUAL: &[Set] = &[pairs, triples];

const PLAIN: Behaviour = Behaviour::PLAIN;
const SLOW: Behaviour = Behaviour {
    writes_in_parts: true,
    slow_reads: true,
    ..PLAIN
};

const fn published(flaw: Flaw, variant: Variant) -> Case {
    Case {
        flaw,
        variant,
        fabric: Fabric::PUBLISHED,
        behaviour: PLAIN,
        programs: USUAL,
    }
}

const fn rings(flaw: Flaw, behaviour: Behaviour) -> Case {
    Case {
        flaw,
        variant: Variant::Write,
        fabric: Fabric::RINGS,
        behaviour,
        programs: USUAL,
    }
}

const fn nodes(flaw: Flaw, log_cells: u64) -> Case {
    Case {
        flaw,
        variant: Variant::WriteLog,
        fabric: Fabric::NODES,
        behaviour: Behaviour { log_cells, ..SLOW },
        programs: &[quadruples, triples],
    }
}

const fn cancelling(case: Case) -> Case {
    Case {
        programs: &[cancels],
        ..case
    }
}

const CASES: &[Case] = &[
    // Hazard 1, for each cure.
    published(Flaw::EagerForgotten, Variant::Write1),
    published(Flaw::EagerForgotten, Variant::Write2),
    published(Flaw::EagerForgotten, Variant::Write3c),
    published(Flaw::EagerForgotten, Variant::Write3),
    rings(Flaw::DeliveredWithoutClaim, PLAIN),
    // Hazard 2.
    published(Flaw::WildcardOvertaken, Variant::Write1),
    published(Flaw::WildcardOvertaken, Variant::Write2),
    published(Flaw::WildcardOvertaken, Variant::Write3c),
    published(Flaw::WildcardOvertaken, Variant::Write3),
    rings(Flaw::WildcardOvertaken, PLAIN),
    // Hazard 3.
    published(Flaw::FreedBeforeRts, Variant::Write1),
    published(Flaw::FreedBeforeRts, Variant::Write2),
    published(Flaw::FreedBeforeRts, Variant::Write3c),
    published(Flaw::FreedBeforeRts, Variant::Write3),
    // Hazard 4.
    published(Flaw::RtsTakesCompleted, Variant::Write2),
    published(Flaw::RtsTakesCompleted, Variant::Write3),
    published(Flaw::EagerTakesCompleted, Variant::Write2),
    published(Flaw::EagerTakesCompleted, Variant::Write3),
    // Hazard 5.
    published(Flaw::SentBehindSilentWrite, Variant::Write2),
    published(Flaw::SentBehindSilentWrite, Variant::Write3c),
    published(Flaw::SentBehindSilentWrite, Variant::Write3),
    // Hazard 6.
    published(Flaw::SuspensionLiftedEarly, Variant::Write1),
    published(Flaw::SuspensionLiftedEarly, Variant::Write2),
    published(Flaw::SuspensionLiftedEarly, Variant::Write3c),
    published(Flaw::SuspensionLiftedEarly, Variant::Write3),
    rings(Flaw::SuspensionLiftedEarly, PLAIN),
    // Hazard 7.
    published(Flaw::CapacityIgnored, Variant::Write1),
    published(Flaw::CapacityIgnored, Variant::Write3),
    published(Flaw::CapacityIgnored, Variant::Optimistic),
    rings(Flaw::CapacityIgnored, PLAIN),
    // The counter as the publication has it.
    published(Flaw::CounterReset, Variant::Write3c),
    // Hazard 8: what of it is an order.
    published(Flaw::NotifiedBeforeData, Variant::Write1),
    published(Flaw::NotifiedBeforeData, Variant::Write3),
    published(Flaw::NotifiedBeforeData, Variant::Optimistic),
    // Hazard 9.
    published(Flaw::LocalCompletionTrusted, Variant::Write2),
    published(Flaw::LocalCompletionTrusted, Variant::Write3),
    // Hazard 10.
    cancelling(rings(Flaw::CancelledWithoutClaim, PLAIN)),
    cancelling(published(Flaw::TicketLeftBehind, Variant::Write3)),
    // Hazard 11.
    rings(Flaw::ServedWithoutClaim, PLAIN),
    rings(Flaw::ServedWithoutClaim, SLOW),
    // Hazard 12.
    Case {
        programs: &[promises_broken],
        ..published(Flaw::PromiseBroken, Variant::Optimistic)
    },
    // Hazard 13.
    rings(Flaw::GenerationIgnored, PLAIN),
    // Hazard 14.
    rings(Flaw::OffersUnbounded, PLAIN),
    // The design of `write`.
    rings(Flaw::ScanLeftOut, PLAIN),
    rings(Flaw::OpenStaysOpen, PLAIN),
    rings(Flaw::LostStaysOpen, PLAIN),
    rings(Flaw::OfferedBeforeAnswer, SLOW),
    // Between nodes: the same hazards, and those of its own design.
    nodes(Flaw::WildcardOvertaken, u64::MAX),
    nodes(Flaw::SuspensionLiftedEarly, u64::MAX),
    nodes(Flaw::CapacityIgnored, u64::MAX),
    nodes(Flaw::ScanLeftOut, u64::MAX),
    nodes(Flaw::SeveralOffers, 1),
    nodes(Flaw::LogTrusted, 1),
    nodes(Flaw::ConsumedPassedOver, u64::MAX),
    nodes(Flaw::ScannedFromArrival, u64::MAX),
    nodes(Flaw::CrossingAwaited, u64::MAX),
    nodes(Flaw::TakenLeftOut, u64::MAX),
    nodes(Flaw::ClosedAtTaken, u64::MAX),
    nodes(Flaw::LeftOpen, u64::MAX),
];

/// The first program and schedule in which the flaw shows, and the number of programs tried.
fn find(case: &Case) -> (usize, Option<Box<Counterexample>>) {
    let config = Config {
        flaw: Some(case.flaw),
        ..Config::new(case.variant, case.fabric).with_offers(2)
    };
    let mut tried = 0;
    for set in case.programs {
        for threads in set(case.variant) {
            tried += 1;
            if let Err(found) = explore(config, case.behaviour, &threads) {
                return (tried, Some(found));
            }
        }
    }
    (tried, None)
}

#[test]
fn every_wrong_rule_is_caught() {
    let mut missed = Vec::new();
    for case in CASES {
        let (tried, found) = find(case);
        match found {
            Some(found) => println!(
                "{:?} in {}: program {tried}: {found}",
                case.flaw, case.variant
            ),
            None => missed.push((case.flaw, case.variant, tried)),
        }
    }
    let is_tested = |flaw: &Flaw| CASES.iter().any(|case| case.flaw == *flaw);
    assert!(Flaw::ALL.iter().all(is_tested));
    println!(
        "{} wrong rules caught in {} cases",
        Flaw::ALL.len(),
        CASES.len()
    );
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
