// SPDX-License-Identifier: MIT OR Apache-2.0
//! Borders in mailboxes: their owner puts a flag, the neighbour gets the border, and puts a flag that the mailbox may be used again.
//!
//! A thread has a mailbox for each neighbour in another process. Only that neighbour gets from it, and only that neighbour puts its flags.
//! Windows of several threads divide the mailboxes by the thread that gets from them, so no memory is there twice.
//!
//! Flags hold the number of exchanges. The owner fills the mailbox when `DONE` has reached the number of exchanges before, and the
//! neighbour gets it when its own `READY` has reached the number that includes this one.

use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use commplan::{Direction, Neighbour, Place};
use rankpoint::{
    AnyThread, Communicator, Endpoint, LockAllGuard, Result, Source, Tag, Threads, Window,
};

use super::exchange::Worker;
use super::job::{Job, endpoints};
use super::mode::Mode;
use super::options::Fault;
use super::tally::Tally;
use crate::Failure;
use crate::threads::together;

/// Where things are in a mailbox: the flag that the neighbour's border is ready, the one that the neighbour has got this border, and the
/// border.
const READY: usize = 0;
const DONE: usize = 1;
const BORDER: usize = 2;

/// The windows that a thread uses.
struct Boxes<'w, T: Threads> {
    windows: &'w [Window<'w, u64, T>],
    epochs: &'w [LockAllGuard<'w, u64, T>],
    /// Calls on it advance operations of others on this process.
    comm: &'w Communicator<'w, T>,
}

/// A neighbour in another process.
struct Correspondent {
    /// Index of the link.
    link: usize,
    /// The window with the mailbox for it, and the mailbox's index there.
    own: (usize, usize),
    /// The rank that has its mailbox for this thread, and the mailbox's index there.
    other: (usize, usize),
    /// The error to seed here.
    fault: Option<Seeded>,
}

/// The part of a thread in a seeded error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Seeded {
    /// It fills its mailbox for the second exchange before the neighbour has got the first border.
    FillsEarly,
    /// It gets the first border when the flag of the second one is there.
    GetsLate,
    /// It forgets the flag of the first border.
    LosesFlag,
}

/// Values of a mailbox.
const fn stride<T: Threads>(job: &Job<'_, T>) -> usize {
    // No border is larger than a face.
    BORDER + job.domain.depth * job.domain.size * job.domain.size
}

/// Values of the mailboxes of a thread, or of those that one thread of each process gets from.
const fn length<T: Threads>(job: &Job<'_, T>) -> usize {
    job.directions.len() * stride(job)
}

/// One thread in the process.
pub(super) fn run_alone<T: Threads>(job: &Job<'_, T>) -> Result<Tally> {
    let windows = [job.world.window(length(job))?];
    let tally = {
        let epochs = [windows[0].lock_all()?];
        let (windows, comm) = (&windows[..], job.world);
        let epochs = &epochs[..];
        let boxes = Boxes {
            windows,
            epochs,
            comm,
        };
        exchange_all(job, 0, &boxes, None)?
    };
    windows.into_iter().try_for_each(Window::free)?;
    Ok(tally)
}

/// The threads of a process.
pub(super) fn run(job: &Job<'_, AnyThread>) -> std::result::Result<Vec<Tally>, Failure> {
    let threads = job.domain.grid.thread_count();
    if job.mode() == Mode::Endpoint {
        let endpoints = endpoints(job)?.into_iter().enumerate();
        let all = together(endpoints, |(id, endpoint)| on_endpoint(job, id, &endpoint));
        return Ok(all?);
    }
    let lengths = match job.mode() {
        Mode::Window => vec![length(job); threads],
        _ => vec![threads * length(job)],
    };
    let windows = lengths.into_iter().map(|it| job.world.window(it));
    let windows = windows.collect::<Result<Vec<_>>>()?;
    let tallies = {
        let epochs = windows.iter().map(Window::lock_all);
        let epochs = epochs.collect::<Result<Vec<_>>>()?;
        let (windows, comm) = (&windows[..], job.world);
        let epochs = &epochs[..];
        let boxes = Boxes {
            windows,
            epochs,
            comm,
        };
        together(0..threads, |id| exchange_all(job, id, &boxes, None))?
    };
    windows.into_iter().try_for_each(Window::free)?;
    Ok(tallies)
}

/// A thread that is a member of the window.
fn on_endpoint(job: &Job<'_, AnyThread>, id: usize, endpoint: &Endpoint<'_>) -> Result<Tally> {
    let windows = [endpoint.window(length(job))?];
    let tally = {
        let epochs = [windows[0].lock_all()?];
        let boxes = Boxes {
            windows: &windows,
            epochs: &epochs,
            comm: endpoint,
        };
        exchange_all(job, id, &boxes, Some(endpoint))?
    };
    windows.into_iter().try_for_each(Window::free)?;
    Ok(tally)
}

/// All steps of a thread.
fn exchange_all<T: Threads, C: Threads>(
    job: &Job<'_, T>,
    id: usize,
    boxes: &Boxes<'_, C>,
    endpoint: Option<&Endpoint<'_>>,
) -> Result<Tally> {
    let mut worker = Worker::new(job, id);
    let correspondents = correspondents(&worker);
    for round in 0..job.options.rounds() {
        worker.wait_for_all(endpoint)?;
        for correspondent in &correspondents {
            worker.fill(round, correspondent, boxes)?;
        }
        worker.leave_borders(round);
        for correspondent in &correspondents {
            worker.fetch(round, correspondent, boxes)?;
        }
        worker.pick_up_borders(round);
        worker.compute(round, endpoint)?;
    }
    Ok(worker.finish())
}

/// The neighbours of a thread in other processes. One that gets late comes last, so that no other one waits for it.
fn correspondents<T: Threads>(worker: &Worker<'_, '_, T>) -> Vec<Correspondent> {
    let job = worker.job;
    let (grid, mode, threads) = (&job.domain.grid, job.mode(), job.domain.grid.thread_count());
    let (stride, length) = (stride(job), length(job));
    // Mailboxes of a process are ordered by thread where they are in one window, and by direction.
    let index = |thread: usize, direction: usize| match mode {
        Mode::Serial => thread * length + direction * stride,
        _ => direction * stride,
    };
    let found = worker.links.iter().enumerate().filter_map(|(link, it)| {
        let direction = it.direction;
        let Neighbour::Away(to) = grid.neighbour(worker.place, job.directions[direction]) else {
            return None;
        };
        let (rank, thread) = (grid.rank(to.process), grid.thread_id(to.thread));
        let window = if mode == Mode::Window { thread } else { 0 };
        let opposite = job.directions.len() - 1 - direction;
        let rank = match mode {
            Mode::Endpoint => rank * threads + thread,
            _ => rank,
        };
        Some(Correspondent {
            link,
            own: (window, index(worker.id, direction)),
            other: (rank, index(thread, opposite)),
            fault: seeded(job, worker.place, to, direction),
        })
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|it| it.fault == Some(Seeded::GetsLate));
    found
}

/// The part of a thread in the error to seed, which is at the first mailbox of the first process.
fn seeded<T: Threads>(
    job: &Job<'_, T>,
    from: Place,
    to: Place,
    direction: usize,
) -> Option<Seeded> {
    let fault = job.options.fault?;
    let grid = &job.domain.grid;
    let is_away = |place, direction: &Direction| {
        matches!(grid.neighbour(place, *direction), Neighbour::Away(_))
    };
    let mut owners = grid.places(grid.process_of(0));
    let (owner, first) = owners.find_map(|place| {
        let mut directions = job.directions.iter();
        Some((place, directions.position(|it| is_away(place, it))?))
    })?;
    let is_owner = (from, direction) == (owner, first);
    let is_other = (to, job.directions.len() - 1 - direction) == (owner, first);
    match fault {
        Fault::EarlyReuse if is_owner => Some(Seeded::FillsEarly),
        Fault::EarlyReuse if is_other => Some(Seeded::GetsLate),
        Fault::LostFlag if is_owner => Some(Seeded::LosesFlag),
        _ => None,
    }
}

impl<T: Threads> Worker<'_, '_, T> {
    /// Fills the mailbox for a neighbour, and puts the flag that it is ready.
    fn fill<C: Threads>(
        &mut self,
        round: usize,
        to: &Correspondent,
        boxes: &Boxes<'_, C>,
    ) -> Result<()> {
        let begin = Instant::now();
        let is_early = to.fault == Some(Seeded::FillsEarly) && round == 1;
        if !is_early {
            self.await_flag(to, (DONE, round), boxes)?;
        }
        let (window, index) = to.own;
        let local = boxes.windows[window].local();
        let link = &mut self.links[to.link];
        self.patch.get(&link.own, &mut link.outgoing);
        for (at, &value) in link.outgoing.iter().enumerate() {
            local.store(index + BORDER + at, value);
        }
        if !(to.fault == Some(Seeded::LosesFlag) && round == 0) {
            self.put_flag(to, (READY, round + 1), boxes)?;
        }
        self.tally.times.issue += begin.elapsed();
        Ok(())
    }

    /// Gets the border of a neighbour when it is ready, and puts the flag that the mailbox may be used again.
    fn fetch<C: Threads>(
        &mut self,
        round: usize,
        from: &Correspondent,
        boxes: &Boxes<'_, C>,
    ) -> Result<()> {
        let begin = Instant::now();
        let is_late = from.fault == Some(Seeded::GetsLate) && round == 0;
        self.await_flag(from, (READY, round + 1 + usize::from(is_late)), boxes)?;
        let epoch = &boxes.epochs[self.id % boxes.epochs.len()];
        let (rank, index) = from.other;
        let link = &mut self.links[from.link];
        epoch.get(&mut link.incoming, rank, index + BORDER)?;
        epoch.flush(rank)?;
        self.patch.set(&link.ghost, &link.incoming);
        self.tally.messages_away += 1;
        self.tally.bytes_away += size_of_val(&link.incoming[..]) as u64;
        self.put_flag(from, (DONE, round + 1), boxes)?;
        self.tally.times.completion += begin.elapsed();
        Ok(())
    }

    /// Puts a flag into the neighbour's mailbox for this thread.
    fn put_flag<C: Threads>(
        &mut self,
        to: &Correspondent,
        (flag, rounds): (usize, usize),
        boxes: &Boxes<'_, C>,
    ) -> Result<()> {
        let epoch = &boxes.epochs[self.id % boxes.epochs.len()];
        let (rank, index) = to.other;
        // PAIRS: mailbox.flag. What this thread wrote to its own mailbox, or read from the neighbour's, comes before the flag.
        fence(Ordering::Release);
        epoch.put(&[rounds as u64], rank, index + flag)?;
        epoch.flush(rank)?;
        self.tally.flags += 1;
        Ok(())
    }

    /// Waits until the neighbour has put a flag; one that does not come is recorded, and the thread goes on without it.
    fn await_flag<C: Threads>(
        &mut self,
        from: &Correspondent,
        (flag, rounds): (usize, usize),
        boxes: &Boxes<'_, C>,
    ) -> Result<()> {
        let (window, index) = from.own;
        let local = boxes.windows[window].local();
        let (begin, patience) = (
            Instant::now(),
            Duration::from_secs(self.job.options.patience),
        );
        while local.load(index + flag) < rounds as u64 {
            if begin.elapsed() > patience {
                let found = local.load(index + flag);
                self.lost(from, (flag, rounds), found);
                break;
            }
            boxes.comm.try_probe(Source::Any, Tag::Any)?;
            std::thread::yield_now();
        }
        // PAIRS: mailbox.flag
        fence(Ordering::Acquire);
        Ok(())
    }

    #[cold]
    fn lost(&mut self, from: &Correspondent, (flag, rounds): (usize, usize), found: u64) {
        let Place { process, thread } = self.place;
        let direction = self.job.directions[self.links[from.link].direction].0;
        let name = if flag == READY { "ready" } else { "done" };
        let patience = self.job.options.patience;
        self.tally.wrong += 1;
        self.tally.first_wrong.get_or_insert_with(|| {
            format!(
                "process {process:?}, thread {thread:?}: the flag '{name}' of the neighbour in direction {direction:?} is {found} after {patience} s, expected {rounds}"
            )
        });
    }
}
