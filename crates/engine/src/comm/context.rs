// SPDX-License-Identifier: MIT OR Apache-2.0
//! Context ids: what tells the messages of one communicator from those of another.
//!
//! A new communicator has a *leader*, the first member that has a number left. Its id is the leader's world rank joined with a
//! number that the leader has not in use, so ids never clash when several leaders make communicators at once, and agreeing
//! takes no more than telling the members one word: no search, no lock held across messages. The leader
//! takes a number again when it has freed the communicator, oldest first and not before it has freed many others: what is
//! still under way is then over everywhere, and memory does not grow with communicators that are gone.
//!
//! Ids are even: the odd ones are the collective contexts. The first numbers of rank 0 are fixed (below).

use std::collections::VecDeque;
use std::sync::OnceLock;

use sys::sync::Mutex;

use crate::errors::{Error, ErrorClass};

/// Context id of MPI_COMM_WORLD.
pub(crate) const WORLD: u32 = 0;
/// Context id of MPI_COMM_SELF.
pub(crate) const ITSELF: u32 = 2;
/// Context id of agreements among processes that share no communicator (MPI_Comm_create_from_group).
pub(crate) const BOOTSTRAP: u32 = 4;
/// Context id of MPI_Finalize, in which all ranks wait for each other: a program's collectives never match it.
pub(crate) const DEPARTURE: u32 = 6;
/// The context id of a communicator whose members have not agreed yet; no leader assigns it.
pub(crate) const PENDING: u32 = u32::MAX - 1;
const FIRST_NUMBER: u32 = 4;
/// Bits of a context id without the lowest one, which marks collectives, and the highest one, which is 0: match words with that bit
/// ([`fabric::board::PARTITIONED`]) are partitioned communication's.
const BITS: u32 = 30;

/// Numbers that rest before one of them is used again, as long as there are fresh ones.
const RESTING: usize = 4096;

/// The context ids that this process gives away as a leader.
pub(crate) struct Contexts {
    rank: u32,
    number_bits: u32,
    numbers: Mutex<Numbers>,
    /// Whether the process can hold another communicator, if there is a limit.
    has_room: OnceLock<fn() -> bool>,
}

struct Numbers {
    next: u32,
    freed: VecDeque<u32>,
}

impl Contexts {
    pub(crate) fn new(rank: u32, size: u32) -> Self {
        let rank_bits = u32::BITS - (size - 1).leading_zeros();
        Self {
            rank,
            number_bits: BITS - rank_bits,
            numbers: Mutex::new(Numbers {
                next: FIRST_NUMBER,
                freed: VecDeque::new(),
            }),
            has_room: OnceLock::new(),
        }
    }

    /// Sets the function that tells whether the process can hold another communicator.
    pub(crate) fn limit(&self, has_room: fn() -> bool) {
        // The first function stays.
        let _ = self.has_room.set(has_room);
    }

    /// Whether this process can hold another communicator.
    pub(crate) fn has_room(&self) -> bool {
        self.has_room.get().is_none_or(|has_room| has_room())
    }

    fn with<R>(&self, action: impl FnOnce(&mut Numbers) -> R) -> R {
        match self.numbers.lock() {
            Ok(mut numbers) => action(&mut numbers),
            Err(poisoned) => action(&mut poisoned.into_inner()),
        }
    }

    fn has_fresh(&self, numbers: &Numbers) -> bool {
        u64::from(numbers.next) < (1 << self.number_bits) - 1
    }

    /// Whether [`Self::take`] would return an id.
    pub(crate) fn has_number(&self) -> bool {
        self.with(|numbers| self.has_fresh(numbers) || !numbers.freed.is_empty())
    }

    /// A context id that no communicator uses; `None` when this process leads as many communicators as there are numbers.
    pub(crate) fn take(&self) -> Option<u32> {
        let number = self.with(|numbers| {
            if self.has_fresh(numbers) && numbers.freed.len() < RESTING {
                numbers.next += 1;
                return Some(numbers.next - 1);
            }
            numbers.freed.pop_front()
        })?;
        let leader = u64::from(self.rank) << self.number_bits;
        Some(((leader | u64::from(number)) << 1) as u32)
    }

    /// The error of `members` members of which none has a number left.
    #[cold]
    pub(crate) fn used_up(&self, members: u32) -> Error {
        let text = format!(
            "each of the {members} members leads 2^{} communicators already, which are all that it can lead",
            self.number_bits
        );
        Error::new(ErrorClass::ERR_NO_MEM, text)
    }

    /// Leaves this process so many numbers.
    #[cfg(test)]
    pub(crate) fn leave(&self, numbers: u32) {
        let next = (1 << self.number_bits) - 1 - numbers;
        let freed = VecDeque::new();
        self.with(|all| *all = Numbers { next, freed });
    }

    /// The leader of the communicator with this id.
    #[cfg(test)]
    pub(crate) const fn leader(&self, context: u32) -> u32 {
        context >> 1 >> self.number_bits
    }

    /// Where in the order of its leader's communicators the one with this id is: 0 for those that every process has, then 1, 2...
    pub(crate) const fn ordinal(&self, context: u32) -> u32 {
        let number = (context >> 1) & ((1u32 << self.number_bits) - 1);
        (number + 1).saturating_sub(FIRST_NUMBER)
    }

    /// Takes back an id whose communicator is gone; ids of other leaders are theirs to take back.
    pub(crate) fn give_back(&self, context: u32) {
        let (leader, number) = (
            u64::from(context >> 1) >> self.number_bits,
            u64::from(context >> 1) & ((1 << self.number_bits) - 1),
        );
        let ours = leader == u64::from(self.rank) && context != PENDING;
        if ours && number >= u64::from(FIRST_NUMBER) {
            self.with(|numbers| numbers.freed.push_back(number as u32));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use super::*;

    #[test]
    fn leaders_never_give_the_same_id() {
        for size in [1, 2, 3, 64, 65, 1 << 20] {
            let mut seen = HashSet::from([WORLD, ITSELF, BOOTSTRAP, DEPARTURE]);
            for rank in BTreeSet::from([0, size / 2, size - 1]) {
                let leader = Contexts::new(rank, size);
                for _ in 0..500 {
                    let context = leader.take().unwrap();
                    assert_eq!(context & (1 | 1 << 31), 0);
                    assert!(seen.insert(context), "{rank} of {size}");
                }
            }
        }
    }

    #[test]
    fn communicators_that_come_and_go_use_few_numbers() {
        let leader = Contexts::new(0, 2);
        let mut seen = HashSet::new();
        for _ in 0..100_000 {
            let context = leader.take().unwrap();
            seen.insert(context);
            leader.give_back(context);
        }
        assert_eq!(seen.len(), RESTING);
        assert_eq!(leader.with(|numbers| numbers.freed.len()), RESTING);
    }

    #[test]
    fn freed_ids_come_back_when_fresh_ones_are_used_up() {
        let leader = Contexts::new(5, 1 << 20);
        let all: Vec<u32> = std::iter::from_fn(|| leader.take()).collect();
        assert!(!leader.has_number());
        assert_eq!(all.len(), (1 << 10) - 1 - FIRST_NUMBER as usize);
        leader.give_back(PENDING);
        leader.give_back(all[7]);
        leader.give_back(all[3]);
        leader.give_back(WORLD);
        assert!(leader.has_number());
        assert_eq!(leader.take().unwrap(), all[7]);
        assert_eq!(leader.take().unwrap(), all[3]);
        assert!(leader.take().is_none() && !leader.has_number());
    }
}
