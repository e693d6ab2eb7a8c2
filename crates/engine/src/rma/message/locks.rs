// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock of a member as its service keeps it: who holds it, and who waits for it, in the order of their requests.

use std::collections::VecDeque;

use fabric::lock::Hold;

use super::wire::Number;
use crate::errors::{Error, ErrorClass, Result};

/// An origin that wants the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanting {
    pub(super) source: u32,
    pub(super) hold: Hold,
    /// Where it waits for the answer.
    pub(super) number: Number,
}

/// A lock with a fair queue.
#[derive(Default)]
pub(super) struct LockQueue {
    holders: Vec<(u32, Hold)>,
    queue: VecDeque<Wanting>,
}

impl LockQueue {
    fn may_enter(&self, hold: Hold) -> bool {
        match hold {
            Hold::Exclusive => self.holders.is_empty(),
            Hold::Shared => self.holders.iter().all(|(_, held)| *held == Hold::Shared),
        }
    }

    /// Takes up a request; [`Self::admit`] tells who gets the lock.
    pub(super) fn want(&mut self, wanting: Wanting) {
        self.queue.push_back(wanting);
    }

    /// The next one that gets the lock now, if any.
    pub(super) fn admit(&mut self) -> Option<Wanting> {
        let first = self.queue.front()?;
        if !self.may_enter(first.hold) {
            return None;
        }
        let admitted = self.queue.pop_front()?;
        self.holders.push((admitted.source, admitted.hold));
        Some(admitted)
    }

    /// An origin gives the lock back; the result is how it held it.
    ///
    /// # Errors
    /// When it does not hold it.
    pub(super) fn leave(&mut self, source: u32) -> Result<Hold> {
        let found = self
            .holders
            .iter()
            .position(|(holder, _)| *holder == source);
        let Some(index) = found else {
            let text = format!("rank {source} does not hold the lock that it gives back");
            return Err(Error::new(ErrorClass::ERR_RMA_SYNC, text));
        };
        Ok(self.holders.swap_remove(index).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_goes_round_in_the_order_of_the_requests() {
        let mut lock = LockQueue::default();
        let holds = [
            Hold::Shared,
            Hold::Shared,
            Hold::Exclusive,
            Hold::Shared,
            Hold::Exclusive,
        ];
        for (source, hold) in (0..).zip(holds) {
            let number = Number::of(source);
            lock.want(Wanting {
                source,
                hold,
                number,
            });
        }
        let admitted = |lock: &mut LockQueue| -> Vec<u32> {
            std::iter::from_fn(|| lock.admit().map(|wanting| wanting.source)).collect()
        };
        assert_eq!(admitted(&mut lock), [0, 1]);
        lock.leave(1).unwrap();
        assert!(lock.leave(3).is_err());
        assert_eq!(admitted(&mut lock), [0; 0]);
        lock.leave(0).unwrap();
        assert_eq!(admitted(&mut lock), [2]);
        lock.leave(2).unwrap();
        assert_eq!(admitted(&mut lock), [3]);
        lock.leave(3).unwrap();
        assert_eq!(admitted(&mut lock), [4]);
        lock.leave(4).unwrap();
        assert_eq!(admitted(&mut lock), [0; 0]);
    }
}
