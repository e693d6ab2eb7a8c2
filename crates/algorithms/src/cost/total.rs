// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost of a collective as a whole.

use super::rounds::rounds;
use super::sent::{Sent, sent};
use crate::case::Case;
use crate::names::Algorithm;

/// The cost of a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Steps one after the other on the longest way; rounds, in shared memory.
    pub rounds: u64,
    /// The most that one rank sends.
    pub most: Sent,
    /// The messages and bytes of all ranks together.
    pub all: Sent,
}

impl Cost {
    /// The cost of a case by an algorithm that can do it, with its number.
    pub fn of(algorithm: Algorithm, parameter: u64, case: &Case) -> Self {
        let mut cost = Self {
            rounds: rounds(algorithm, parameter, case),
            ..Self::default()
        };
        for rank in 0..case.ranks {
            let one = sent(algorithm, parameter, case, rank);
            cost.all = cost.all.and(one);
            cost.most.messages = cost.most.messages.max(one.messages);
            cost.most.bytes = cost.most.bytes.max(one.bytes);
        }
        cost
    }
}
