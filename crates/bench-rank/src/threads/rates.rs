// SPDX-License-Identifier: MIT OR Apache-2.0
//! Message rates of several threads at once. Twin of peer/threads.h.
//!
//! Each thread of a sending rank has one of a receiving rank as its partner. A sender sends a window of messages, waits for their
//! requests and for the receiver's answer; one-sided operations are in [`super::one_sided`]. All windows of a repetition are between two readings of the clock; the data of windows before
//! and after them are verified. Where there are enough cores, each thread has its own.

use std::sync::{Barrier, RwLock};
use std::time::{Duration, Instant};

use measure::sampling::{Grown, grow};
use measure::settings;
use measure::target::InitLevel;
use measure::threads::SpinBarrier;

use super::{Mode, Operation, RatePlan};
use crate::mpi::{Mpi, OneSided, Partitions, Sharing, Stream, Window};
use crate::output::print;
use crate::pattern::{check, fill};
use crate::rows::pair::{check_slots, slots};

/// Windows that are verified before the clock starts.
pub(crate) const CHECKED: u64 = 4;
const TIME_TAG: i32 = 3;

/// From the first message of a thread to its last answer.
pub(crate) type Span = (Instant, Instant);

/// What this process is in the job.
pub(crate) struct Place<'a> {
    pub(crate) mpi: &'a Mpi,
    pub(crate) plan: &'a RatePlan,
    pub(crate) sends: bool,
    pub(crate) peer: i32,
}

/// Runs as a rank.
pub(crate) fn measure(words: &[String]) -> Result<(), String> {
    let plan = RatePlan::parse(words)?;
    let level = match plan.mode {
        Mode::Processes => InitLevel::Single,
        _ => InitLevel::Multiple,
    };
    let mpi = Mpi::start(&settings::library_to_open().to_string_lossy(), level)?;
    if mpi.rank == 0 {
        print(&serde_json::json!({ "version": mpi.version(), "ranks": mpi.size }))?;
    }
    let place = Place::of(&mpi, &plan);
    let done = place.measure();
    match done {
        Err(why) if mpi.rank == 0 => print(&serde_json::json!({ "skipped": why }))?,
        _ => {}
    }
    mpi.finish();
    Ok(())
}

impl<'a> Place<'a> {
    fn of(mpi: &'a Mpi, plan: &'a RatePlan) -> Self {
        let (rank, size) = (mpi.rank, mpi.size);
        let (sends, peer) = match plan.meet {
            Some(_) => (true, (rank + 1) % size),
            None => (rank < size / 2, (rank + size / 2) % size),
        };
        Self {
            mpi,
            plan,
            sends,
            peer,
        }
    }

    /// Measures, or says why the library cannot do so.
    fn measure(&self) -> Result<(), String> {
        match self.plan.operation {
            Operation::Isend => {}
            Operation::Put => return self.measure_one_sided(OneSided::Put),
            Operation::Get => return self.measure_one_sided(OneSided::Get),
            Operation::Accumulate => return self.measure_one_sided(OneSided::Accumulate),
            Operation::Fetch => return self.measure_one_sided(OneSided::Fetch),
        }
        let sharing = match self.plan.mode {
            Mode::Processes => Sharing::World,
            Mode::Serial => Sharing::One,
            Mode::Communicators => Sharing::Own,
            Mode::Endpoints => Sharing::Endpoints,
            Mode::Hints => Sharing::Hinted,
            Mode::Partitioned => return self.measure_partitioned(),
            Mode::Windows => return Err("messages have no windows".to_owned()),
        };
        let streams = self
            .mpi
            .streams(sharing, self.plan.threads_of_rank(), self.peer)?;
        self.repeat(|windows| self.all_streams(&streams, windows))
    }

    fn measure_partitioned(&self) -> Result<(), String> {
        if self.is_alone() {
            return Err(
                "a partitioned message needs an answer, which this fabric does not carry"
                    .to_owned(),
            );
        }
        let count = self.plan.threads * self.plan.window;
        let memory = vec![0; count * self.plan.size_bytes];
        let partitions = if self.sends {
            Partitions::send(self.mpi, memory, count, self.peer, self.plan.threads)
        } else {
            Partitions::receive(self.mpi, memory, count, self.peer)
        };
        let partitions = RwLock::new(partitions?);
        self.repeat(|windows| self.all_partitions(&partitions, windows))
    }

    /// Whether this process cannot reach others.
    pub(crate) const fn is_alone(&self) -> bool {
        self.plan.meet.is_some()
    }

    /// Whether this process decides how many windows there are.
    fn leads(&self) -> bool {
        self.mpi.rank == 0 || self.is_alone()
    }

    /// As many repetitions as planned, after some that tell how many windows fill the time of one; prints their rates.
    pub(crate) fn repeat(
        &self,
        mut repetition: impl FnMut(u64) -> Vec<Span>,
    ) -> Result<(), String> {
        let (mut aggregates, mut rates) = (Vec::new(), Vec::new());
        let (mut windows, mut is_known) = (1, false);
        self.meet()?;
        loop {
            let is_last = aggregates.len() as u64 == self.plan.repetitions;
            let asked = self.agree(if is_last { 0 } else { windows });
            if asked == 0 {
                break;
            }
            let spans = repetition(asked);
            let times = self.times(&spans);
            if !self.leads() {
                continue;
            }
            let longest = longest(&spans, &times);
            if is_known {
                let messages = (asked as usize * self.plan.window) as f64;
                aggregates.push(messages * times.len() as f64 / longest.as_secs_f64());
                let of = |time: &Duration| messages / time.as_secs_f64();
                rates.push(times.iter().map(of).collect::<Vec<f64>>());
            } else {
                (windows, is_known) = match grow(windows, longest, self.plan.budget) {
                    Grown::Try(more) => (more, false),
                    Grown::Fits(fitting) => (fitting, true),
                };
            }
        }
        if !self.leads() {
            return Ok(());
        }
        print(&serde_json::json!({ "aggregates": aggregates, "rates": rates }))
    }

    /// The number of windows of the leading rank.
    fn agree(&self, windows: u64) -> u64 {
        if self.is_alone() {
            return windows;
        }
        let mut word = windows as i64;
        self.mpi.broadcast(&mut word);
        word as u64
    }

    /// Waits until the other processes are here too, on a fabric that carries nothing.
    fn meet(&self) -> Result<(), String> {
        let Some(folder) = &self.plan.meet else {
            return Ok(());
        };
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::write(folder.join(self.mpi.rank.to_string()), "").map_err(told)?;
        while std::fs::read_dir(folder).map_err(told)?.count() < self.mpi.size as usize {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// How long each thread of all senders took, on the leading rank.
    fn times(&self, spans: &[Span]) -> Vec<Duration> {
        let own = spans.iter().map(|(start, end)| *end - *start);
        let mut times: Vec<Duration> = own.collect();
        if self.plan.mode != Mode::Processes || self.is_alone() {
            return times;
        }
        let mut word = [0; 8];
        if self.mpi.rank == 0 {
            for rank in 1..self.mpi.size / 2 {
                self.mpi.receive(&mut word, rank, TIME_TAG);
                times.push(Duration::from_nanos(u64::from_le_bytes(word)));
            }
        } else if self.sends {
            word = (times[0].as_nanos() as u64).to_le_bytes();
            self.mpi.send(&word, 0, TIME_TAG);
        }
        times
    }

    fn all_streams(&self, streams: &[Stream<'_>], windows: u64) -> Vec<Span> {
        let together = Barrier::new(streams.len());
        self.on_threads(|thread| self.stream(&streams[thread], thread, windows, &together))
    }

    /// Runs a function on each thread of this process, which have cores of their own if there are enough.
    pub(crate) fn on_threads(&self, run: impl Fn(usize) -> Span + Sync) -> Vec<Span> {
        let (threads, run) = (self.plan.threads_of_rank(), &run);
        if threads == 1 {
            self.take_core(0);
            return vec![run(0)];
        }
        let start = |thread| {
            move || {
                self.take_core(thread);
                run(thread)
            }
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(start(thread)))
                .collect();
            let joined = all.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined
                .map(|span| span.unwrap_or_else(|_| self.mpi.abort("a thread panicked")))
                .collect()
        })
    }

    fn take_core(&self, thread: usize) {
        let cores = sys::cores::usable_processors();
        let own = self.mpi.rank as usize * self.plan.threads_of_rank() + thread;
        if let (true, Some(&core)) = (cores.len() >= self.plan.all_threads(), cores.get(own)) {
            // Without it the system places the thread.
            let _ = sys::cores::run_on(&[core]);
        }
    }

    /// A thread's part of a repetition.
    fn stream(&self, stream: &Stream<'_>, thread: usize, windows: u64, together: &Barrier) -> Span {
        let size = self.plan.size_bytes;
        let (mut data, mut slots) = (vec![1; size], slots(size, self.plan.window));
        let mut window = Window::new(self.plan.window);
        let mut one = |data: &[u8], slots: &mut [u8]| {
            if self.is_alone() {
                stream.send_window(data, &mut window);
            } else if self.sends {
                stream.send_window(data, &mut window);
                stream.await_answer();
            } else {
                stream.receive_window(slots, size, &mut window);
                stream.answer();
            }
        };
        let first = thread as u64 * 2 * CHECKED;
        let mut turn = |verified: Option<u64>| {
            if let Some(message) = verified {
                fill(&mut data, message);
            }
            one(&data, &mut slots);
            if let (Some(message), false) = (verified, self.sends) {
                check_slots(self.mpi, &slots, size, message);
            }
        };
        let checked = if self.plan.verify && self.plan.meet.is_none() {
            CHECKED
        } else {
            0
        };
        (first..first + checked).for_each(|message| turn(Some(message)));
        together.wait();
        let start = Instant::now();
        (0..windows).for_each(|_| turn(None));
        let span = (start, Instant::now());
        together.wait();
        if checked > 0 {
            turn(Some(first + CHECKED));
        }
        span
    }

    /// One message for each window of all threads.
    fn all_partitions(&self, partitions: &RwLock<Partitions<'_>>, windows: u64) -> Vec<Span> {
        if !self.sends {
            let mut all = partitions.write().unwrap_or_else(|it| it.into_inner());
            let mut one = || {
                all.start();
                all.wait();
                self.mpi.send(&[], self.peer, TIME_TAG);
            };
            (0..windows).for_each(|_| one());
            if self.plan.verify {
                one();
                check(self.mpi, all.memory(), windows);
            }
            return Vec::new();
        }
        let together = SpinBarrier::new(self.plan.threads as u64);
        self.on_threads(|thread| {
            let one = |fill_with: Option<u64>| {
                if thread == 0 {
                    let mut all = partitions.write().unwrap_or_else(|it| it.into_inner());
                    if let Some(message) = fill_with {
                        fill(all.memory(), message);
                    }
                    all.start();
                }
                together.wait();
                let own = thread * self.plan.window;
                let all = partitions.read().unwrap_or_else(|it| it.into_inner());
                all.make_ready(own..own + self.plan.window);
                drop(all);
                together.wait();
                if thread == 0 {
                    let mut all = partitions.write().unwrap_or_else(|it| it.into_inner());
                    all.wait();
                    self.mpi.receive(&mut [], self.peer, TIME_TAG);
                }
            };
            together.wait();
            let start = Instant::now();
            (0..windows).for_each(|_| one(None));
            let span = (start, Instant::now());
            if self.plan.verify {
                one(Some(windows));
            }
            span
        })
    }
}

/// From the first message of all threads to the last answer; clocks of several processes are not compared.
fn longest(spans: &[Span], times: &[Duration]) -> Duration {
    let start = spans.iter().map(|(start, _)| *start).min();
    let end = spans.iter().map(|(_, end)| *end).max();
    let own = start.zip(end).map(|(start, end)| end - start);
    let all = own.into_iter().chain(times.iter().copied());
    all.max().unwrap_or_default().max(Duration::from_nanos(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_thread_ends_a_repetition() {
        let now = Instant::now();
        let at = |ms| now + Duration::from_millis(ms);
        let spans = [(at(0), at(5)), (at(2), at(9))];
        assert_eq!(longest(&spans, &[]), Duration::from_millis(9));
        let other = [Duration::from_millis(11)];
        assert_eq!(longest(&spans, &other), other[0]);
    }
}
