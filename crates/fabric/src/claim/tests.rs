// SPDX-License-Identifier: MIT OR Apache-2.0
//! One word through its life, from both sides, also past the end of its numbers.

use super::{ClaimWord, OfferNumber};

#[test]
fn an_offer_is_claimed_or_withdrawn_but_not_both() {
    let word = ClaimWord::default();
    let first = word.offer();
    assert!(word.is_offered(first) && word.claim(first));
    assert!(!word.claim(first) && !word.withdraw(first));
    assert!(word.is_claimed(first) && word.end(first) && !word.end(first));
    let second = word.offer();
    assert!(!word.claim(first) && !word.withdraw(first));
    assert!(word.withdraw(second) && !word.claim(second) && !word.end(second));
}

#[test]
fn numbers_start_anew_after_the_last() {
    let word = ClaimWord::default();
    let mut last = OfferNumber::default();
    for _ in 0..(1 << 16) + 3 {
        let number = word.offer();
        assert_eq!(number.0, last.0.wrapping_add(1));
        assert!(!word.claim(last) && word.withdraw(number));
        last = number;
    }
}

#[test]
fn fresh_memory_offers_nothing() {
    let word = ClaimWord::default();
    for number in [0, 1, u16::MAX] {
        let number = OfferNumber(number);
        assert!(!word.claim(number) && !word.withdraw(number) && !word.end(number));
    }
}
