// SPDX-License-Identifier: MIT OR Apache-2.0
use fabric::lock::Hold;

use super::accesses::{Accesses, Conflict, Lives, Party};
use super::clock::{Clock, Moment};
use super::uses::{Access, Rules, Use};
use super::wire::During;
use crate::datatype::{Predefined, predefined};
use crate::op::Operator;

fn basic(code: u32) -> &'static Predefined {
    Predefined::find(code).unwrap()
}

fn combine(operator: Operator, code: u32, fetches: bool) -> Use {
    let basic = basic(code);
    Use::Combine {
        operator,
        basic,
        fetches,
    }
}

const MEMBER: u32 = 1;

fn accesses() -> Accesses {
    Accesses::new(MEMBER, 3, Rules::default())
}

fn note(
    accesses: &mut Accesses,
    source: u32,
    bytes: std::ops::Range<u64>,
    used: Use,
    during: During,
) -> Option<Conflict> {
    let partner = matches!(used, Use::Load | Use::Store).then_some(2);
    let access = Access {
        used,
        during,
        partner,
    };
    accesses.note(source, bytes, access, Lives::On)
}

/// Whether a second access to some of the same bytes conflicts, in either order, by another origin and by the same one.
fn conflicts(one: Use, other: Use, rules: Rules) -> [bool; 2] {
    [(0, 2), (2, 2)].map(|(first, second)| {
        let in_order = |one, other| {
            let mut accesses = Accesses::new(MEMBER, 3, rules);
            assert!(note(&mut accesses, first, 8..16, one, During::Lock).is_none());
            note(&mut accesses, second, 12..20, other, During::Lock).is_some()
        };
        assert_eq!(
            in_order(one, other),
            in_order(other, one),
            "{one:?} {other:?}"
        );
        in_order(one, other)
    })
}

#[test]
fn conflicts_are_those_of_the_standard() {
    let [int, long] = [predefined::INT, predefined::DOUBLE];
    let sum = combine(Operator::Sum, int, false);
    let fetched = combine(Operator::Sum, int, true);
    let min = combine(Operator::Min, int, true);
    let nothing = combine(Operator::NoOp, int, true);
    let other_type = combine(Operator::Sum, long, false);
    let swap = Use::Swap { basic: basic(int) };
    let rules = Rules::default();
    let (never, always, of_others) = ([false; 2], [true; 2], [true, false]);
    for (one, other, expected) in [
        (Use::Put, Use::Put, always),
        (Use::Put, Use::Get, always),
        (Use::Put, sum, always),
        (Use::Put, swap, always),
        (Use::Put, nothing, always),
        (Use::Get, Use::Get, never),
        (Use::Get, nothing, never),
        (Use::Get, sum, always),
        (Use::Get, swap, always),
        (sum, sum, never),
        (sum, fetched, never),
        (sum, nothing, never),
        (sum, swap, never),
        (sum, min, of_others),
        (sum, other_type, always),
        (swap, other_type, always),
        (nothing, nothing, never),
        (Use::Load, Use::Get, never),
        (Use::Load, Use::Put, always),
        (Use::Load, sum, always),
        (Use::Load, Use::Store, never),
        (Use::Store, Use::Get, always),
        (Use::Store, nothing, always),
    ] {
        assert_eq!(conflicts(one, other, rules), expected, "{one:?} {other:?}");
    }
    let same_op = Rules {
        same_op: true,
        ..rules
    };
    assert_eq!(conflicts(sum, nothing, same_op), of_others);
}

#[test]
fn only_shared_bytes_conflict() {
    let mut accesses = accesses();
    let mut put = |source, bytes| note(&mut accesses, source, bytes, Use::Put, During::Lock);
    assert!(put(0, 0..1000).is_none());
    assert!(put(0, 2000..2001).is_none());
    assert!(put(2, 1000..2000).is_none());
    assert!(put(2, 500..500).is_none());
    let found = put(2, 990..1010).unwrap();
    assert_eq!(
        found.text,
        "a put of rank 0 and a put of rank 2 access bytes 990..1000 of the window of rank 1, and nothing orders them (RANKPOINT_CHECK=rma)"
    );
    let parties = [0, 2].map(|rank| Party {
        rank,
        partner: None,
    });
    assert_eq!(found.parties, parties);
}

/// An origin says that it knows these calls of the members, and the phase.
fn hear(accesses: &mut Accesses, source: u32, numbers: [u32; 3], phase: u32) {
    let mut moment = Moment::new(3);
    for (member, number) in (0..).zip(numbers) {
        moment.clock.advance(member, number);
    }
    moment.known.phase = phase;
    for news in moment.news(&Moment::new(3)) {
        accesses.hear(source, &news).unwrap();
    }
}

fn put(accesses: &mut Accesses, source: u32) -> Option<Conflict> {
    note(accesses, source, 0..8, Use::Put, During::Lock)
}

#[test]
fn a_complete_access_conflicts_with_those_of_who_does_not_know_of_it() {
    let mut accesses = accesses();
    hear(&mut accesses, 0, [4, 0, 0], 0);
    assert!(put(&mut accesses, 0).is_none());
    accesses.flush(0);
    // Rank 0 itself is behind what it has done.
    assert!(put(&mut accesses, 0).is_none());
    accesses.flush(0);
    // What rank 2 knows of rank 0 is older than the flush.
    hear(&mut accesses, 2, [4, 0, 9], 0);
    let found = put(&mut accesses, 2).unwrap();
    assert_eq!(found.parties.len(), 2);
    accesses.flush(2);
    hear(&mut accesses, 2, [5, 0, 10], 0);
    assert!(put(&mut accesses, 2).is_none());
    accesses.flush(2);
    // All have met since.
    hear(&mut accesses, 0, [5, 0, 0], 1);
    assert!(put(&mut accesses, 0).is_none());
}

#[test]
fn a_lock_tells_its_holder_of_those_that_it_excludes() {
    let mut accesses = accesses();
    for (source, hold) in [(0, Hold::Shared), (2, Hold::Exclusive)] {
        let known = accesses.by_holders(hold).clone();
        let numbers = [0, 1, 2].map(|member| known.of(member).max(u32::from(member == source)));
        hear(&mut accesses, source, numbers, 0);
        assert!(put(&mut accesses, source).is_none());
        accesses.flush(source);
        accesses.unlock(source, hold);
    }
    let holders = |hold| accesses.by_holders(hold).clone();
    let numbers = |clock: Clock| [0, 1, 2].map(|member| clock.of(member));
    // Rank 2 had learned of rank 0, and passes that on.
    assert_eq!(numbers(holders(Hold::Shared)), [2, 0, 2]);
    assert_eq!(numbers(holders(Hold::Exclusive)), [2, 0, 2]);
}

#[test]
fn a_shared_lock_tells_nothing_of_other_shared_ones() {
    let mut accesses = accesses();
    hear(&mut accesses, 0, [1, 0, 0], 0);
    assert!(put(&mut accesses, 0).is_none());
    accesses.flush(0);
    accesses.unlock(0, Hold::Shared);
    assert_eq!(*accesses.by_holders(Hold::Shared), Clock::new(3));
    hear(&mut accesses, 2, [0, 0, 1], 0);
    assert!(put(&mut accesses, 2).is_some());
}

#[test]
fn a_fetch_tells_of_those_who_accumulated_before() {
    let mut accesses = accesses();
    let sum = |fetches| combine(Operator::Sum, predefined::INT, fetches);
    hear(&mut accesses, 0, [7, 0, 0], 0);
    assert!(note(&mut accesses, 0, 8..12, sum(false), During::Lock).is_none());
    assert!(accesses.take_fetched(0).is_none());
    assert!(note(&mut accesses, 2, 8..12, sum(true), During::Lock).is_none());
    assert_eq!(accesses.take_fetched(2).unwrap().of(0), 7);
    assert!(accesses.take_fetched(2).is_none());
}

#[test]
fn accesses_before_the_last_phase_but_one_are_forgotten() {
    let mut accesses = accesses();
    for phase in 0..10 {
        hear(&mut accesses, 0, [1 + phase, 0, 0], phase);
        // In each phase other words.
        for word in (0..10).map(|word| 10 * u64::from(phase) + word) {
            let bytes = 8 * word..8 * word + 8;
            assert!(note(&mut accesses, 0, bytes, Use::Put, During::Lock).is_none());
        }
        accesses.flush(0);
        let mut own = Moment::new(3);
        own.known.phase = phase;
        accesses.set_own(&own);
        assert_eq!(accesses.counts(), [0, 10 * (1 + phase.min(1) as usize)]);
    }
}

#[test]
fn what_many_complete_accesses_take_is_bounded() {
    let mut accesses = accesses();
    for start in 0..300_000 {
        assert!(
            note(
                &mut accesses,
                0,
                2 * start..2 * start + 1,
                Use::Get,
                During::Lock
            )
            .is_none()
        );
        if start % 1000 == 0 {
            accesses.flush(0);
            assert!(accesses.counts()[1] < 70_000);
        }
    }
}

#[test]
fn an_access_with_a_lock_ends_with_the_flush_of_its_origin() {
    let mut accesses = accesses();
    let put = |accesses: &mut _, source| note(accesses, source, 0..8, Use::Put, During::Lock);
    // Whatever rank 2 knows, rank 0 is not ready.
    hear(&mut accesses, 2, [9, 9, 9], 5);
    assert!(put(&mut accesses, 0).is_none());
    accesses.flush(2);
    assert!(put(&mut accesses, 2).is_some());
    accesses.flush(2);
    accesses.settle(0);
    assert!(put(&mut accesses, 2).is_some());
    accesses.flush(0);
    accesses.flush(2);
    hear(&mut accesses, 0, [9, 9, 9], 6);
    hear(&mut accesses, 2, [9, 9, 10], 6);
    assert!(put(&mut accesses, 2).is_none());
    accesses.flush(2);
    hear(&mut accesses, 0, [10, 9, 11], 7);
    assert!(note(&mut accesses, 0, 0..8, Use::Get, During::Lock).is_none());
    accesses.settle(0);
    hear(&mut accesses, 2, [11, 9, 11], 7);
    assert!(put(&mut accesses, 2).is_none());
}

#[test]
fn an_access_between_fences_ends_with_the_next_fence_of_both() {
    let mut accesses = accesses();
    let put = |accesses: &mut _, source| note(accesses, source, 0..8, Use::Put, During::Fences);
    for _ in 0..3 {
        assert!(put(&mut accesses, 0).is_none());
        accesses.fence(0);
        let late = put(&mut accesses, 2).unwrap();
        assert!(late.parties.is_empty());
        assert_eq!(accesses.take_between_fences().as_ref(), Some(&late.text));
        accesses.fence(2);
        accesses.fence(1);
    }
    assert!(accesses.take_between_fences().is_none());
}

#[test]
fn an_exposure_epoch_keeps_what_its_origins_have_completed() {
    let mut accesses = accesses();
    let put = |accesses: &mut _, source| note(accesses, source, 0..8, Use::Put, During::Start);
    assert!(put(&mut accesses, 0).is_none());
    assert!(note(&mut accesses, 0, 8..16, Use::Get, During::Start).is_none());
    accesses.complete(0);
    assert!(note(&mut accesses, 2, 8..16, Use::Put, During::Start).is_none());
    let found = put(&mut accesses, 2).unwrap();
    let partner = None;
    assert_eq!(found.parties, [Party { rank: 2, partner }]);
    accesses.complete(2);
    assert_eq!(accesses.end_exposure(), Some(found.text));
    assert!(put(&mut accesses, 0).is_none());
    accesses.complete(0);
    assert_eq!(accesses.end_exposure(), None);
}

#[test]
fn the_member_itself_ends_what_it_did_with_its_own_memory() {
    let mut accesses = accesses();
    assert!(note(&mut accesses, MEMBER, 0..8, Use::Load, During::Lock).is_none());
    // Its operation is on rank 2.
    accesses.settle_own(0);
    let found = note(&mut accesses, 0, 0..8, Use::Put, During::Lock).unwrap();
    assert_eq!(found.parties[0].partner, Some(2));
    accesses.flush(0);
    let mut own = Moment::new(3);
    own.known.phase = 1;
    accesses.set_own(&own);
    assert!(note(&mut accesses, MEMBER, 0..8, Use::Load, During::Lock).is_none());
    accesses.settle_own(2);
    hear(&mut accesses, 0, [1, 0, 0], 2);
    assert!(note(&mut accesses, 0, 0..8, Use::Put, During::Lock).is_none());
}

#[test]
fn the_member_knows_more_than_when_it_sent_requests_that_are_queued() {
    let mut accesses = accesses();
    assert!(put(&mut accesses, 0).is_none());
    accesses.flush(0);
    let mut own = Moment::new(3);
    own.known.has_learned = true;
    accesses.set_own(&own);
    assert!(put(&mut accesses, MEMBER).is_some());
    accesses.flush(MEMBER);
    assert!(note(&mut accesses, MEMBER, 0..8, Use::Store, During::Lock).is_none());
}

#[test]
fn a_promise_holds_until_the_next_fence() {
    let mut accesses = accesses();
    for source in 0..3 {
        accesses.fence(source);
    }
    accesses.promise_no_put(true);
    let get = note(&mut accesses, 0, 0..8, Use::Get, During::Fences);
    assert!(get.is_none());
    let put = note(&mut accesses, 0, 8..16, Use::Put, During::Fences).unwrap();
    assert!(put.text.contains("MPI_MODE_NOPUT"), "{}", put.text);
    accesses.fence(0);
    assert!(note(&mut accesses, 0, 0..8, Use::Put, During::Fences).is_none());
}

#[test]
fn the_same_access_again_takes_no_memory() {
    let mut accesses = accesses();
    let sum = combine(Operator::Sum, predefined::INT, true);
    for _ in 0..1000 {
        assert!(note(&mut accesses, 0, 0..4, sum, During::Lock).is_none());
    }
    assert_eq!(accesses.counts(), [1, 0]);
    accesses.flush(0);
    assert_eq!(accesses.counts(), [0, 1]);
    assert!(note(&mut accesses, 0, 0..4, sum, During::Lock).is_none());
    accesses.flush(0);
    assert_eq!(accesses.counts(), [0, 1]);
}
