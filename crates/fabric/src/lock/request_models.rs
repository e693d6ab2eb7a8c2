// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of a request cell: each request is executed exactly once, by its target or by its origin, and its data are never torn.
//!
//! Mutations that they catch: a store instead of the compare-and-swap in `claim` or in `take_back` (executed twice), `Relaxed` in `take`,
//! `post`, `claim`, `outcome`, `free` or `answer` (a data race on the data), a cell freed without a new number (its origin waits for ever).

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;
use sys::sync::{AtomicU32, Ordering};

use super::{Outcome, RequestCell};

#[derive(Default)]
struct Target {
    cell: RequestCell,
    data: UnsafeCell<u64>,
    executed: AtomicU32,
}

// SAFETY: the data are touched by the holder of the cell only, which is what the model checks.
unsafe impl Sync for Target {}
// SAFETY: numbers.
unsafe impl Send for Target {}

const GET: u64 = 1;

impl Target {
    fn serve(&self) {
        let Some(taken) = self.cell.claim() else {
            return;
        };
        self.executed.fetch_add(1, Ordering::Relaxed);
        let [kind, value] = self.cell.asked();
        if kind == GET {
            // SAFETY: this thread has claimed the cell.
            self.data.with_mut(|data| unsafe { *data = value + 1 });
            self.cell.answer(taken);
        } else {
            // SAFETY: as above.
            assert_eq!(self.data.with(|data| unsafe { *data }), value);
            self.cell.free(taken);
        }
    }

    /// Asks, looks `polls` times, and executes the request itself if it can take it back; false if the cell was not free.
    fn ask(&self, kind: u64, value: u64, polls: usize) -> bool {
        let Some(taken) = self.cell.take() else {
            return false;
        };
        self.cell.fill([kind, value]);
        // SAFETY: this thread has taken the cell.
        self.data.with_mut(|data| unsafe { *data = value });
        self.cell.post(taken);
        let is_pending = |_: &usize| self.cell.outcome(taken) == Outcome::Pending;
        if (0..polls).take_while(is_pending).count() == polls && self.cell.take_back(taken) {
            self.executed.fetch_add(1, Ordering::Relaxed);
            self.cell.free(taken);
            return true;
        }
        loop {
            match self.cell.outcome(taken) {
                Outcome::Pending => thread::yield_now(),
                Outcome::Done => break assert_eq!(kind, 0),
                Outcome::Answered => {
                    assert_eq!(kind, GET);
                    // SAFETY: the answered cell is this thread's.
                    assert_eq!(self.data.with(|data| unsafe { *data }), value + 1);
                    self.cell.free(taken);
                    break;
                }
            }
        }
        true
    }
}

fn ask_and_serve(requests: &'static [(u64, u64)], serves: usize) {
    let target = Arc::new(Target::default());
    let other = {
        let target = target.clone();
        thread::spawn(move || (0..serves).for_each(|_| target.serve()))
    };
    let asked = requests
        .iter()
        .filter(|(kind, value)| target.ask(*kind, *value, 1));
    let asked = asked.count();
    other.join().unwrap();
    assert_eq!(asked, requests.len(), "one origin finds the cell free");
    assert_eq!(target.executed.load(Ordering::Relaxed) as usize, asked);
}

#[test]
fn model_each_request_is_executed_once() {
    loom::model(|| ask_and_serve(&[(0, 5), (GET, 7)], 2));
}

#[test]
fn model_two_origins_share_a_cell() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let target = Arc::new(Target::default());
        let threads: Vec<_> = [(GET, 3), (0, 9)]
            .into_iter()
            .map(|(kind, value)| {
                let target = target.clone();
                thread::spawn(move || u32::from(target.ask(kind, value, 1)))
            })
            .collect();
        target.serve();
        target.serve();
        let asked: u32 = threads.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(target.executed.load(Ordering::Relaxed), asked);
    });
    // The shorter run without a bound, for the count of models.
    loom::model(|| ask_and_serve(&[(GET, 1)], 1));
}
