// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timed mode: the step that is possible first is taken next.

use super::program::{Rank, Thread};
use super::timing::{Row, Timing, Trace, What};
use super::world::{Behaviour, World};
use crate::variant::Config;

/// What a job did.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// What happened, by time.
    pub rows: Vec<Row>,
    /// What is wrong at the end, as [`World::wrong_at_end`] says; a program that the variant forbids hangs.
    pub wrong: Option<String>,
}

impl Outcome {
    /// Control messages, eager messages included, data and notifications excluded.
    pub fn control_messages(&self) -> usize {
        self.count(|row| row.what == What::Control)
    }

    /// Control messages that leave a rank no earlier than `at_ns`.
    pub fn control_messages_from(&self, at_ns: u64) -> usize {
        self.count(|row| row.what == What::Control && row.at_ns >= at_ns)
    }

    /// When the first data leave their source.
    pub fn data_ns(&self) -> Option<u64> {
        let data = self.rows.iter().filter(|row| row.what == What::Data);
        data.map(|row| row.at_ns).min()
    }

    /// When the last operation of a rank completes.
    pub fn complete_ns(&self, rank: Rank) -> Option<u64> {
        let own = |row: &&Row| row.what == What::Complete && row.from == rank;
        self.rows.iter().filter(own).map(|row| row.at_ns).max()
    }

    fn count(&self, is_counted: impl Fn(&Row) -> bool) -> usize {
        self.rows.iter().filter(|row| is_counted(row)).count()
    }
}

/// Runs a program in virtual time.
pub fn run(config: Config, behaviour: Behaviour, timing: Timing, threads: &[Thread]) -> Outcome {
    let mut world = World::new(config, behaviour, threads);
    world.timing = Some(timing);
    world.trace = Some(Box::new(Trace::default()));
    let mut steps = Vec::new();
    loop {
        world.steps(threads, &mut steps);
        let Some(&(due, step)) = steps.iter().min_by_key(|(due, _)| *due) else {
            break;
        };
        world.now_ns = world.now_ns.max(due);
        world.take(step, threads);
    }
    let wrong = world.wrong_at_end();
    let mut rows = world.trace.take().map_or_else(Vec::new, |trace| trace.rows);
    rows.sort_by_key(|row| row.at_ns);
    Outcome { rows, wrong }
}
