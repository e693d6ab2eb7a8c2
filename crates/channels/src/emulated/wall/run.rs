// SPDX-License-Identifier: MIT OR Apache-2.0
//! The microbenchmark in real time.

use std::sync::{Arc, Barrier};
use std::time::Instant;

use super::lane::{Line, WQE_WORDS};
use super::objects::{WallCompletions, WallNic, WallPair, WallRegion};
use crate::emulated::arrangement::Arrangement;
use crate::emulated::workload::{Level, Object, Workload};
use crate::error::Error;
use crate::interface::{Completions as _, Interface as _, Page, Pollers, Region as _};
use crate::policy::Driver;

/// Fruitless polls after which a thread gives its core away.
const POLLS: u32 = 1000;

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WallRun {
    /// Writes per second.
    pub rate: f64,
    /// Writes that the lanes have done.
    pub writes: u64,
    /// Completions that threads have read.
    pub completions: u64,
    /// Payloads that were fetched from memory.
    pub fetches: u64,
    /// Writes that came out of order, or twice.
    pub disordered: u64,
    /// Threads whose last value was not at its target.
    pub wrong: usize,
}

/// What all threads use.
struct Objects {
    pairs: Vec<WallPair>,
    queues: Vec<Arc<WallCompletions>>,
    payloads: Arc<WallRegion>,
    targets: Arc<WallRegion>,
}

/// Runs a workload with a thread for each of its threads, bound to `cores` in turn.
///
/// # Errors
/// When its numbers do not go together.
pub fn run_wall(
    workload: &Workload,
    inline_bytes: usize,
    fetch_units: usize,
    cores: &[u32],
) -> Result<WallRun, Error> {
    let workload = workload.checked()?;
    let arrangement = Arrangement::new(&workload);
    let is_inlined = workload.is_inlined(inline_bytes);
    let nic = WallNic::new(Driver::Legacy, fetch_units, is_inlined, workload.signaled());
    let objects = Objects::new(&nic, &workload, &arrangement)?;
    let barrier = Barrier::new(workload.threads + 1);
    let (objects, barrier, arrangement) = (&objects, &barrier, &arrangement);
    let (seconds, completions) = std::thread::scope(|scope| {
        let thread = |index: usize| {
            let core = cores.get(index % cores.len().max(1)).copied();
            scope.spawn(move || {
                // Where the system refuses to bind, threads run where it likes.
                let _ = core.is_some_and(|core| sys::cores::run_on(&[core]));
                barrier.wait();
                // The threads' own clock: this one may get a core only when they have ended.
                let start = Instant::now();
                let completions = objects.run(&workload, arrangement, index)?;
                Ok((start, Instant::now(), completions))
            })
        };
        let threads: Vec<_> = (0..workload.threads).map(thread).collect();
        barrier.wait();
        let (mut starts, mut ends, mut completions) = (Vec::new(), Vec::new(), 0);
        for thread in threads {
            let ended = thread.join().unwrap_or_else(|_| {
                let (call, reason) = ("bench", "a thread panicked".to_owned());
                Err(Error::Device { call, reason })
            });
            let (start, end, read): (Instant, Instant, u64) = ended?;
            starts.push(start);
            ends.push(end);
            completions += read;
        }
        let first = starts.into_iter().min();
        let seconds = first.zip(ends.into_iter().max());
        let seconds = seconds.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
        Ok::<_, Error>((seconds, completions))
    })?;
    let writes = objects.pairs.iter().map(WallPair::done).sum();
    let last = |thread: &usize| objects.targets.get(thread * WQE_WORDS);
    let is_wrong = |thread: &usize| last(thread) != workload.messages as u64;
    let wrong = match workload.sharing.of(Object::Buf) {
        1 => (0..workload.threads).filter(is_wrong).count(),
        // Threads that share a payload send each other's values.
        _ => 0,
    };
    Ok(WallRun {
        rate: writes as f64 / seconds.max(1e-9),
        writes,
        completions,
        fetches: nic.fetches(),
        disordered: objects.pairs.iter().map(WallPair::disordered).sum(),
        wrong,
    })
}

impl Objects {
    fn new(nic: &WallNic, workload: &Workload, arrangement: &Arrangement) -> Result<Self, Error> {
        let contexts: Vec<_> = (0..arrangement.contexts)
            .map(|_| nic.context())
            .collect::<Result<_, _>>()?;
        let domains: Vec<_> = contexts
            .iter()
            .map(|context| nic.protection_domain(context))
            .collect::<Result<_, _>>()?;
        let page = match workload.level {
            Level::Independent => Page::Own,
            Level::SharedPage => Page::Shared,
        };
        let pollers = match workload.is_extended {
            true => Pollers::One,
            false => Pollers::Many,
        };
        let ways = workload.sharing.of(Object::Cq);
        let entries = workload.depth.div_ceil(workload.signaled()) * ways;
        let (mut pairs, mut queues) = (Vec::new(), Vec::new());
        for seat in &arrangement.seats {
            let context = &contexts[seat.context];
            if seat.completion_queue == queues.len() {
                queues.push(nic.completions(context, entries, pollers)?);
            }
            if seat.queue_pair < pairs.len() {
                continue;
            }
            // A thread domain promises one thread.
            let has_domain = workload.sharing.of(Object::Qp) == 1;
            let thread = match has_domain {
                true => Some(nic.thread_domain(context, page)?),
                false => None,
            };
            if workload.is_spaced && has_domain {
                // The neighbour that nobody uses.
                nic.thread_domain(context, page)?;
            }
            let queue = &queues[seat.completion_queue];
            let domain = &domains[seat.context];
            pairs.push(nic.pair(domain, queue, thread.as_ref(), workload.depth)?);
        }
        let words = workload.threads * WQE_WORDS;
        Ok(Self {
            pairs,
            queues,
            payloads: nic.region(&domains[0], words)?,
            targets: nic.region(&domains[0], words)?,
        })
    }

    /// A thread's part; gives the completions that it read.
    fn run(
        &self,
        workload: &Workload,
        arrangement: &Arrangement,
        thread: usize,
    ) -> Result<u64, Error> {
        let seat = arrangement.seats[thread];
        let (pair, queue) = (
            &self.pairs[seat.queue_pair],
            &self.queues[seat.completion_queue],
        );
        // Payloads of a cache line each, or side by side.
        let buffer = seat.address / workload.align;
        let word = match workload.align >= size_of::<Line>() {
            true => buffer * WQE_WORDS,
            false => buffer,
        };
        let (count, mut sent, mut read) = (workload.posted(), 0, 0);
        let mut fruitless = 0;
        let mut poll = || -> Result<u64, Error> {
            let found = queue.poll()?.is_some();
            fruitless = if found { 0 } else { fruitless + 1 };
            if fruitless > POLLS {
                sys::cores::yield_core();
            }
            Ok(u64::from(found))
        };
        while sent < workload.messages {
            let value = (sent + count) as u64;
            self.payloads.set(word, value);
            let from = (&*self.payloads, word);
            let to = (&*self.targets, thread * WQE_WORDS);
            while !pair.post_list(count, thread as u64, from, to)? {
                read += poll()?;
            }
            sent += count;
        }
        while !pair.is_idle() {
            read += poll()?;
        }
        Ok(read)
    }
}
