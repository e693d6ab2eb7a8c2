// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policy of drivers before 2020: static pages, which the kernel assigns.
//!
//! uUAR 0 takes any number of queue pairs and DoorBells only; the last `low` take one queue pair each; the rest is shared. A queue
//! pair gets the first free low-latency uUAR, then the least loaded shared one, and uUAR 0 only where all others are of low latency.

use super::total::Uuars;
use super::uuar::{Class, Pages, UUARS_PER_PAGE, Uuar};

/// A context under the legacy policy.
#[derive(Clone, Debug)]
pub struct Legacy {
    uuars: Uuars,
    /// Queue pairs of each static uUAR.
    loads: Vec<usize>,
    /// Thread domains on the pages that were allocated for them: which slots are taken.
    domains: Vec<[bool; UUARS_PER_PAGE]>,
}

impl Legacy {
    /// A context without queue pairs.
    pub fn new(uuars: Uuars) -> Self {
        Self {
            uuars,
            loads: vec![0; uuars.total()],
            domains: Vec::new(),
        }
    }

    /// The class of a static uUAR.
    pub fn class(&self, index: usize) -> Class {
        if index >= self.uuars.total() - self.uuars.low() {
            Class::LowLatency
        } else if index == 0 {
            Class::HighLatency
        } else {
            Class::Medium
        }
    }

    /// The uUAR of a new queue pair without a thread domain.
    pub fn add(&mut self) -> (Uuar, Class) {
        let first_low = self.uuars.total() - self.uuars.low();
        let free = (first_low..self.loads.len()).find(|&index| self.loads[index] == 0);
        let index = free.unwrap_or_else(|| {
            let medium = 1..first_low;
            // The first of several minima, so that equals are taken in ascending order.
            medium.min_by_key(|&index| self.loads[index]).unwrap_or(0)
        });
        self.loads[index] += 1;
        (Uuar::of_static(index), self.class(index))
    }

    /// The uUAR of a new thread domain: the first of a new page, or the second of one that has room.
    pub fn add_domain(&mut self) -> Uuar {
        let room = |(page, slots): (usize, &[bool; UUARS_PER_PAGE])| {
            let slot = slots.iter().position(|taken| !taken)?;
            Some((page, slot))
        };
        let (page, slot) = self
            .domains
            .iter()
            .enumerate()
            .find_map(room)
            .unwrap_or_else(|| {
                self.domains.push([false; UUARS_PER_PAGE]);
                (self.domains.len() - 1, 0)
            });
        self.domains[page][slot] = true;
        Uuar {
            pages: Pages::Domain,
            page,
            slot,
        }
    }

    /// The uUAR of a new thread domain with a page of its own, as the published extension of thread domains (`sharing = 1`) makes it.
    pub fn add_independent_domain(&mut self) -> Uuar {
        self.domains.push([true; UUARS_PER_PAGE]);
        Uuar {
            pages: Pages::Domain,
            page: self.domains.len() - 1,
            slot: 0,
        }
    }

    /// Takes a queue pair away from a static uUAR.
    pub fn remove(&mut self, index: usize) {
        if let Some(load) = self.loads.get_mut(index) {
            *load = load.saturating_sub(1);
        }
    }

    /// Queue pairs of each static uUAR.
    pub fn loads(&self) -> &[usize] {
        &self.loads
    }

    /// UAR pages: the static ones and those of thread domains.
    pub fn uars(&self) -> usize {
        self.loads.len() / UUARS_PER_PAGE + self.domains.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_destruction_the_least_loaded_uuar_comes_first() {
        let mut context = Legacy::new(Uuars::new(6, 2).expect("sizes"));
        let order: Vec<usize> = (0..7).map(|_| context.add().0.index()).collect();
        assert_eq!(order, [4, 5, 1, 2, 3, 1, 2]);
        context.remove(1);
        context.remove(1);
        context.remove(4);
        let order: Vec<usize> = (0..3).map(|_| context.add().0.index()).collect();
        assert_eq!(order, [4, 1, 1], "a round robin would have gone on with 3");
    }
}
