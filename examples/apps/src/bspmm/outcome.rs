// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run is told by.

use std::ops::RangeInclusive;
use std::time::Duration;

use rankpoint::{AccumulateOrder, Communicator, Op, Threads};
use serde_json::json;

use super::job::Found;
use super::options::Options;
use super::problem::{Matrix, Problem};
use super::work::Tally;
use crate::{Failure, Told};

/// Sums over all threads of all processes, the same in each process.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was run.
    pub about: String,
    /// Tiles of A, of B and of C that are not zero.
    pub kept: [usize; 3],
    /// Units of the problem.
    pub units: u64,
    /// Sums of what threads counted; times are those of the slowest thread in each phase.
    pub total: Tally,
    /// Tiles of C that are not those of the serial product.
    pub wrong_tiles: u64,
    /// The counter at the end.
    pub next: u64,
    /// Threads of all processes.
    pub workers: u64,
    /// The order of accumulates to C, as its window has it.
    pub order: AccumulateOrder,
}

impl Outcome {
    /// Sums up. Called by all ranks.
    pub(super) fn of<T: Threads>(
        world: &Communicator<'_, T>,
        options: &Options,
        problem: &Problem,
        found: &Found,
    ) -> Result<Self, Failure> {
        let (mut sums, mut longest) = ([0; 6], [0; 4]);
        for tally in &found.tallies {
            let counts = [tally.units, tally.gets, tally.fetches, tally.accumulates];
            sums.iter_mut().zip(counts).for_each(|(sum, it)| *sum += it);
            for (longest, time) in longest.iter_mut().zip(tally.phases) {
                let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                *longest = time.max(*longest);
            }
        }
        (sums[4], sums[5]) = (found.wrong_tiles, found.next);
        world.all_reduce_in_place(&mut sums, Op::SUM)?;
        world.all_reduce_in_place(&mut longest, Op::MAX)?;
        let [units, gets, fetches, accumulates, wrong_tiles, next] = sums;
        let (mode, processes, tiles) = (options.mode.name(), world.size(), problem.tiles());
        Ok(Self {
            about: format!(
                "bspmm, mode {mode}, {} threads in each of {processes} processes, {tiles} x {tiles} tiles of {1} x {1} numbers",
                options.threads,
                problem.edge()
            ),
            kept: Matrix::ALL.map(|matrix| problem.kept(matrix)),
            units: problem.units().len() as u64,
            total: Tally {
                units,
                gets,
                fetches,
                accumulates,
                phases: longest.map(Duration::from_nanos),
            },
            wrong_tiles,
            next,
            workers: options.threads * processes as u64,
            order: found.order,
        })
    }

    /// Whether the product and all counts are those of the problem.
    pub fn is_right(&self) -> bool {
        let Tally {
            units,
            gets,
            fetches,
            accumulates,
            ..
        } = self.total;
        self.wrong_tiles == 0
            && units == self.units
            && gets == 2 * self.units
            && fetches == self.units + self.workers
            && self.next == fetches
            && self.accumulates().contains(&accumulates)
    }

    /// How many accumulates there may be: a worker adds a tile of C once for all units that it takes in a row.
    pub fn accumulates(&self) -> RangeInclusive<u64> {
        let least = self.kept[Matrix::C as usize] as u64;
        least..=if self.workers > 1 { self.units } else { least }
    }

    /// The outcome as lines of text.
    pub fn text(&self) -> String {
        let total = &self.total;
        let [factors, _, product] = self.kept;
        let [get, get_flush, add, add_flush] = total.phases.map(|it| it.as_secs_f64());
        format!(
            "{}\n\
             exact  {factors} tiles of A and of B, {product} of C\n\
             exact  {} units, {} done\n\
             exact  {} gets, {} fetches\n\
             varies {} accumulates{}, expected {} to {}\n\
             exact  {} tiles of C differ from the serial product\n\
             real   get {get:.6} s, its flush {get_flush:.6} s, accumulate {add:.6} s, its flush {add_flush:.6} s\n\
             {}\n",
            self.about,
            self.units,
            total.units,
            total.gets,
            total.fetches,
            total.accumulates,
            match self.order {
                AccumulateOrder::OfCalls => "",
                AccumulateOrder::Any => " in any order",
            },
            self.accumulates().start(),
            self.accumulates().end(),
            self.wrong_tiles,
            self.verdict()
        )
    }

    /// The outcome as JSON.
    pub fn json(&self) -> String {
        let total = &self.total;
        let [get, get_flush, accumulate, accumulate_flush] =
            total.phases.map(|it| it.as_secs_f64());
        let all = json!({
            "about": self.about,
            "exact": {
                "tiles": self.kept, "units": self.units, "units_done": total.units, "gets": total.gets,
                "fetches": total.fetches, "accumulates_in_order": self.order == AccumulateOrder::OfCalls, "counter": self.next,
                "wrong_tiles": self.wrong_tiles, "is_right": self.is_right(),
            },
            "varies": { "accumulates": total.accumulates },
            "real_s": {
                "get": get, "get_flush": get_flush, "accumulate": accumulate, "accumulate_flush": accumulate_flush,
            },
        });
        format!("{all:#}\n")
    }

    /// What the program tells of it.
    pub(super) fn told(&self, as_json: bool) -> Told {
        Told {
            text: if as_json { self.json() } else { self.text() },
            wrong: None,
            is_right: self.is_right(),
        }
    }

    fn verdict(&self) -> &'static str {
        if self.is_right() { "verified" } else { "wrong" }
    }
}
