// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the objects of a category on a device, writes through each queue pair, and takes all down again.
//!
//! Threads of one queue pair share its completion queue: a thread gives each completion that it reads to the thread that wrote.

use std::sync::Arc;

use sys::sync::{AtomicU64, Ordering};

use super::library::Device;
use super::objects::{CompletionQueue, Context, MemoryRegion, ProtectionDomain, QueuePair};
use crate::category::Category;
use crate::error::Error;
use crate::inventory::Inventory;
use crate::policy::Driver;

const DEPTH: u32 = 16;

/// What was built, and what went through it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Probed {
    /// Device contexts.
    pub contexts: usize,
    /// Queue pairs, and as many completion queues.
    pub queue_pairs: usize,
    /// Writes whose value was found at the target.
    pub verified: u64,
    /// Writes that completed, but whose value was not at the target.
    pub wrong: u64,
    /// Completions that another thread read than the one that wrote.
    pub by_others: u64,
}

/// The objects of the threads of one queue pair.
struct Lane {
    pair: QueuePair,
    completions: Arc<CompletionQueue>,
    from: Arc<MemoryRegion>,
    to: Arc<MemoryRegion>,
    threads: usize,
}

/// Builds a category without thread domains, and writes `writes` words with each thread.
///
/// # Errors
/// The device's.
pub fn probe(
    device: &Device,
    category: Category,
    threads: usize,
    writes: u64,
) -> Result<Probed, Error> {
    let inventory = Inventory::new(category, Driver::Dynamic, threads);
    let mut probed = Probed::default();
    let mut lanes = Vec::new();
    for planned in &inventory.contexts {
        let context = Context::open(device)?;
        let domain = ProtectionDomain::new(&context)?;
        probed.contexts += 1;
        for one in &planned.queue_pairs {
            let completions = CompletionQueue::new(&context, DEPTH as i32 + 1)?;
            let words = one.threads.len().max(1);
            lanes.push(Lane {
                pair: QueuePair::new(&domain, &completions, DEPTH)?,
                completions,
                from: MemoryRegion::new(&domain, words)?,
                to: MemoryRegion::new(&domain, words)?,
                threads: one.threads.len(),
            });
            probed.queue_pairs += 1;
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
fn run(lane: &Lane, writes: u64) -> Result<Probed, Error> {
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

fn write(
    lane: &Lane,
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
