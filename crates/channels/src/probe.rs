// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the objects of a category on a network interface, writes through each queue pair, and takes all down again.
//!
//! Threads of one queue pair share its completion queue: a thread gives each completion that it reads to the thread that wrote.

use std::sync::Arc;

use sys::sync::{AtomicU64, Ordering};

use crate::category::Category;
use crate::error::Error;
use crate::interface::{Completions as _, Interface, Page, Pair as _, Pollers, Region as _};
use crate::inventory::Inventory;
use crate::policy::{Class, Driver};

const DEPTH: usize = 16;

/// What was built, and what went through it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Probed {
    /// Device contexts.
    pub contexts: usize,
    /// Queue pairs, and as many completion queues.
    pub queue_pairs: usize,
    /// Thread domains with a queue pair.
    pub domains: usize,
    /// Writes whose value was found at the target.
    pub verified: u64,
    /// Writes that completed, but whose value was not at the target.
    pub wrong: u64,
    /// Completions that another thread read than the one that wrote.
    pub by_others: u64,
}

/// The objects of the threads of one queue pair.
struct Lane<N: Interface> {
    pair: N::Pair,
    completions: Arc<N::Completions>,
    from: Arc<N::Region>,
    to: Arc<N::Region>,
    threads: usize,
}

/// Builds a category, with thread domains where the interface has them, and writes `writes` words with each thread.
///
/// # Errors
/// The interface's, except that it has no thread domains.
pub fn probe<N: Interface>(
    nic: &N,
    category: Category,
    driver: Driver,
    threads: usize,
    writes: u64,
) -> Result<Probed, Error> {
    let inventory = Inventory::new(category, driver, threads);
    let page = match category {
        Category::SharedDynamic => Page::Shared,
        _ => Page::Own,
    };
    let mut probed = Probed::default();
    let mut lanes: Vec<Lane<N>> = Vec::new();
    for planned in &inventory.contexts {
        let context = nic.context()?;
        let domain = nic.protection_domain(&context)?;
        probed.contexts += 1;
        for one in &planned.queue_pairs {
            let completions = nic.completions(&context, DEPTH + 1, Pollers::Many)?;
            let thread = match one.class {
                Class::Domain => nic.thread_domain(&context, page).ok(),
                _ => None,
            };
            let words = one.threads.len().max(1);
            lanes.push(Lane {
                pair: nic.pair(&domain, &completions, thread.as_ref(), DEPTH)?,
                completions,
                from: nic.region(&domain, words)?,
                to: nic.region(&domain, words)?,
                threads: one.threads.len(),
            });
            probed.queue_pairs += 1;
            probed.domains += usize::from(thread.is_some());
        }
    }
    let parts = std::thread::scope(|scope| {
        let lanes: Vec<_> = lanes
            .iter()
            .map(|lane| scope.spawn(move || run(lane, writes)))
            .collect();
        let joined = lanes.into_iter().map(|lane| {
            lane.join().unwrap_or_else(|_| {
                let (call, reason) = ("probe", "a thread panicked".to_owned());
                Err(Error::Device { call, reason })
            })
        });
        joined.collect::<Result<Vec<Probed>, Error>>()
    })?;
    for part in parts {
        probed.verified += part.verified;
        probed.wrong += part.wrong;
        probed.by_others += part.by_others;
    }
    Ok(probed)
}

/// All threads of a queue pair.
fn run<N: Interface>(lane: &Lane<N>, writes: u64) -> Result<Probed, Error> {
    let completed: Vec<AtomicU64> = (0..lane.threads).map(|_| AtomicU64::new(0)).collect();
    let completed = &completed;
    std::thread::scope(|scope| {
        let start = |thread| scope.spawn(move || write(lane, thread, writes, completed));
        let threads: Vec<_> = (0..lane.threads).map(start).collect();
        let mut all = Probed::default();
        for thread in threads {
            let part = thread.join().unwrap_or_else(|_| {
                let (call, reason) = ("probe", "a thread panicked".to_owned());
                Err(Error::Device { call, reason })
            })?;
            all.verified += part.verified;
            all.wrong += part.wrong;
            all.by_others += part.by_others;
        }
        Ok(all)
    })
}

fn write<N: Interface>(
    lane: &Lane<N>,
    thread: usize,
    writes: u64,
    completed: &[AtomicU64],
) -> Result<Probed, Error> {
    let mut found = Probed::default();
    for value in 1..=writes {
        lane.from.set(thread, value);
        let mut is_posted = false;
        loop {
            if !is_posted {
                let (from, to) = ((&*lane.from, thread), (&*lane.to, thread));
                is_posted = lane.pair.post(thread as u64, from, to)?;
            }
            if let Some(number) = lane.completions.poll()? {
                let owner = usize::try_from(number).ok();
                let Some(counter) = owner.and_then(|owner| completed.get(owner)) else {
                    let reason = format!("write {number} was never posted");
                    let call = "ibv_poll_cq";
                    return Err(Error::Device { call, reason });
                };
                found.by_others += u64::from(number != thread as u64);
                // PAIRS: probe.completed
                counter.fetch_add(1, Ordering::Release);
            }
            // PAIRS: probe.completed. What the device wrote before the completion is visible.
            if completed[thread].load(Ordering::Acquire) == value {
                break;
            }
            std::thread::yield_now();
        }
        match lane.to.get(thread) == value {
            true => found.verified += 1,
            false => found.wrong += 1,
        }
    }
    Ok(found)
}
