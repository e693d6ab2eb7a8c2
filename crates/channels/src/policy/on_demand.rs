// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policy of drivers since 2020: the library allocates pages when queue pairs and thread domains need them.
//!
//! A context has one page for DoorBells only. Queue pairs without a thread domain get uUARs of their own until `low` are taken;
//! then each adds a page of shared uUARs until there are `total - low`, and takes the least used. A uUAR that is given back goes to
//! the end of its list, so neighbours in time are not on one page any more.

use std::collections::VecDeque;

use super::total::Uuars;
use super::uuar::{Class, Pages, UUARS_PER_PAGE, Uuar};

/// A context under the policy of pages on demand.
#[derive(Clone, Debug)]
pub struct OnDemand {
    uuars: Uuars,
    pages: usize,
    domain_pages: usize,
    /// uUARs of their own that are in use.
    dedicated: usize,
    free_dedicated: VecDeque<Uuar>,
    free_domains: VecDeque<Uuar>,
    /// Shared uUARs in the order of their allocation, and their queue pairs.
    shared: Vec<(Uuar, usize)>,
}

impl OnDemand {
    /// A context without queue pairs.
    pub fn new(uuars: Uuars) -> Self {
        Self {
            uuars,
            pages: 0,
            domain_pages: 0,
            dedicated: 0,
            free_dedicated: VecDeque::new(),
            free_domains: VecDeque::new(),
            shared: Vec::new(),
        }
    }

    /// The uUAR of a new queue pair without a thread domain.
    pub fn add(&mut self) -> (Uuar, Class) {
        if self.dedicated < self.uuars.low() {
            self.dedicated += 1;
            let free = self.free_dedicated.pop_front();
            let uuar = free.unwrap_or_else(|| {
                let [first, second] = self.page();
                self.free_dedicated.push_back(second);
                first
            });
            return (uuar, Class::Dedicated);
        }
        if self.shared.len() < self.uuars.total() - self.uuars.low() {
            let page = self.page();
            self.shared.extend(page.map(|uuar| (uuar, 0)));
        }
        // The first of several minima, so that equals are taken in the order of their allocation.
        let least = self.shared.iter_mut().min_by_key(|(_, load)| *load);
        let Some((uuar, load)) = least else {
            // `Uuars` leaves at least one that is not of low latency, so the list has a page.
            return (self.page()[0], Class::Shared);
        };
        *load += 1;
        (*uuar, Class::Shared)
    }

    /// The uUAR of a new thread domain.
    pub fn add_domain(&mut self) -> Uuar {
        if let Some(free) = self.free_domains.pop_front() {
            return free;
        }
        let pages = Pages::Domain;
        let page = self.domain_pages;
        self.domain_pages += 1;
        self.free_domains.push_back(Uuar {
            pages,
            page,
            slot: 1,
        });
        Uuar {
            pages,
            page,
            slot: 0,
        }
    }

    /// Gives the uUAR of a queue pair back.
    pub fn remove(&mut self, uuar: Uuar) {
        match self.shared.iter_mut().find(|(one, _)| *one == uuar) {
            Some((_, load)) => *load = load.saturating_sub(1),
            None => {
                self.dedicated = self.dedicated.saturating_sub(1);
                self.free_dedicated.push_back(uuar);
            }
        }
    }

    /// Gives the uUAR of a thread domain back.
    pub fn remove_domain(&mut self, uuar: Uuar) {
        self.free_domains.push_back(uuar);
    }

    /// Pages of queue pairs without a thread domain.
    pub const fn pages(&self) -> usize {
        self.pages
    }

    /// UAR pages: that of DoorBells, and those of queue pairs and thread domains.
    pub const fn uars(&self) -> usize {
        1 + self.pages + self.domain_pages
    }

    fn page(&mut self) -> [Uuar; UUARS_PER_PAGE] {
        let page = self.pages;
        self.pages += 1;
        [0, 1].map(|slot| Uuar {
            pages: Pages::OnDemand,
            page,
            slot,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_domains_made_after_destruction_may_share_no_page() {
        let mut context = OnDemand::new(Uuars::default());
        let first: Vec<Uuar> = (0..4).map(|_| context.add_domain()).collect();
        assert!(first[0].shares_page(first[1]) && first[2].shares_page(first[3]));
        context.remove_domain(first[3]);
        context.remove_domain(first[0]);
        let again = [context.add_domain(), context.add_domain()];
        assert_eq!(again, [first[3], first[0]]);
        assert!(!again[0].shares_page(again[1]));
        assert_eq!(context.uars(), 3);
    }

    #[test]
    fn queue_pairs_give_their_uuars_back() {
        let mut context = OnDemand::new(Uuars::default());
        let all: Vec<Uuar> = (0..16).map(|_| context.add().0).collect();
        context.remove(all[2]);
        assert_eq!(context.add(), (all[2], Class::Dedicated));
        context.remove(all[9]);
        assert_eq!(context.add(), (all[9], Class::Shared));
        assert_eq!(context.pages(), 8);
    }
}
