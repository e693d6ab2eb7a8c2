// SPDX-License-Identifier: MIT OR Apache-2.0
//! The objects of a category, one by one.

use std::collections::BTreeSet;

use crate::category::Category;
use crate::policy::{Class, Driver, Legacy, OnDemand, Uuar, Uuars};

/// Most UAR pages of a context's thread domains.
pub const DOMAIN_UARS_PER_CONTEXT: usize = 512;

/// A queue pair with a completion queue of its own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueuePair {
    /// Its uUAR.
    pub uuar: Uuar,
    /// What the uUAR is for.
    pub class: Class,
    /// Threads that use it; none for a queue pair that only keeps its uUAR from others.
    pub threads: Vec<usize>,
}

/// A device context.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Context {
    /// UAR pages.
    pub uars: usize,
    /// Thread domains, with and without a queue pair.
    pub domains: usize,
    /// Its queue pairs.
    pub queue_pairs: Vec<QueuePair>,
}

/// All objects of the threads of one process, or of as many processes with one thread each ([`Category::Everywhere`]).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Inventory {
    /// The contexts.
    pub contexts: Vec<Context>,
}

/// Threads that one context has thread domains for; none for as many as there are.
pub const fn threads_per_context(category: Category) -> Option<usize> {
    match category {
        Category::Everywhere => Some(1),
        Category::TwoDynamic => Some(DOMAIN_UARS_PER_CONTEXT / 2),
        Category::Dynamic => Some(DOMAIN_UARS_PER_CONTEXT),
        Category::SharedDynamic => Some(2 * DOMAIN_UARS_PER_CONTEXT),
        Category::Static | Category::Threads => None,
    }
}

impl Inventory {
    /// The objects that `threads` threads have.
    pub fn new(category: Category, driver: Driver, threads: usize) -> Self {
        let each = threads_per_context(category)
            .unwrap_or(threads)
            .clamp(1, threads.max(1));
        let firsts = (0..threads).step_by(each);
        let contexts = firsts.map(|first| {
            let members: Vec<usize> = (first..threads.min(first + each)).collect();
            match driver {
                Driver::Legacy => legacy(category, &members),
                Driver::Dynamic => on_demand(category, &members),
            }
        });
        Self {
            contexts: contexts.collect(),
        }
    }

    /// The queue pairs that threads use, with the number of their context.
    pub fn used(&self) -> impl Iterator<Item = (usize, &QueuePair)> {
        self.contexts
            .iter()
            .enumerate()
            .flat_map(|(index, context)| {
                let used = context
                    .queue_pairs
                    .iter()
                    .filter(|one| !one.threads.is_empty());
                used.map(move |one| (index, one))
            })
    }

    /// Different uUARs that threads use.
    pub fn used_uuars(&self) -> usize {
        let all: BTreeSet<(usize, Uuar)> = self.used().map(|(at, one)| (at, one.uuar)).collect();
        all.len()
    }
}

const fn queue_pair(uuar: Uuar, class: Class, threads: Vec<usize>) -> QueuePair {
    QueuePair {
        uuar,
        class,
        threads,
    }
}

fn legacy(category: Category, members: &[usize]) -> Context {
    let mut context = Legacy::new(Uuars::default());
    let mut queue_pairs = Vec::new();
    let mut domains = 0;
    for &thread in members {
        let own = vec![thread];
        match category {
            Category::Everywhere | Category::Dynamic => {
                let uuar = context.add_independent_domain();
                queue_pairs.push(queue_pair(uuar, Class::Domain, own));
                domains += 1;
            }
            Category::TwoDynamic => {
                for threads in [own, Vec::new()] {
                    let uuar = context.add_independent_domain();
                    queue_pairs.push(queue_pair(uuar, Class::Domain, threads));
                    domains += 1;
                }
            }
            Category::SharedDynamic => {
                queue_pairs.push(queue_pair(context.add_domain(), Class::Domain, own));
                domains += 1;
            }
            Category::Static => {
                let (uuar, class) = context.add();
                queue_pairs.push(queue_pair(uuar, class, own));
            }
            Category::Threads => {}
        }
    }
    if category == Category::Threads {
        let (uuar, class) = context.add();
        queue_pairs.push(queue_pair(uuar, class, members.to_vec()));
    }
    Context {
        uars: context.uars(),
        domains,
        queue_pairs,
    }
}

/// On the software that is installed everywhere a page of one's own costs two thread domains, of which the first gets a queue pair.
fn on_demand(category: Category, members: &[usize]) -> Context {
    let mut context = OnDemand::new(Uuars::default());
    let mut queue_pairs = Vec::new();
    let mut domains = 0;
    for &thread in members {
        let own = vec![thread];
        let of_domains: &[(usize, bool)] = match category {
            Category::Everywhere | Category::SharedDynamic => &[(1, true)],
            Category::Dynamic => &[(2, true)],
            Category::TwoDynamic => &[(2, true), (2, false)],
            Category::Static | Category::Threads => &[],
        };
        for &(count, is_used) in of_domains {
            let uuar = context.add_domain();
            for _ in 1..count {
                // The rest of the page stays without a queue pair.
                context.add_domain();
            }
            let threads = if is_used { own.clone() } else { Vec::new() };
            queue_pairs.push(queue_pair(uuar, Class::Domain, threads));
            domains += count;
        }
        if category == Category::Static {
            let (uuar, class) = context.add();
            queue_pairs.push(queue_pair(uuar, class, own));
        }
    }
    if category == Category::Threads {
        let (uuar, class) = context.add();
        queue_pairs.push(queue_pair(uuar, class, members.to_vec()));
    }
    Context {
        uars: context.uars(),
        domains,
        queue_pairs,
    }
}
