// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread does.

use std::time::{Duration, Instant};

use rankpoint::{AccumulateOrder, Op, Result, Threads};

use super::options::Fault;
use super::problem::{Matrix, Problem, Spot, Unit};
use super::windows::{FactorEpochs, SumEpochs};

/// What a thread counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Units computed.
    pub units: u64,
    /// Tiles of A and B that it got.
    pub gets: u64,
    /// Units taken from the counter, and its end.
    pub fetches: u64,
    /// Tiles of C added to their owner's.
    pub accumulates: u64,
    /// Time of getting tiles, of waiting for them, of accumulating tiles, and of waiting for that.
    pub phases: [Duration; 4],
}

/// A problem, and the ranks that have its tiles.
pub(super) struct Task<'p> {
    pub(super) problem: &'p Problem,
    pub(super) fault: Option<Fault>,
    /// Ranks of the windows in each process; the first of them has the tiles.
    pub(super) ranks_of_process: usize,
    /// The order of accumulates.
    pub(super) order: AccumulateOrder,
}

const GET: usize = 0;
const GET_FLUSH: usize = 1;
const ACCUMULATE: usize = 2;
const ACCUMULATE_FLUSH: usize = 3;

impl Task<'_> {
    /// Takes units until there are none.
    pub(super) fn work<T: Threads>(
        &self,
        factors: &FactorEpochs<'_, T>,
        sums: &SumEpochs<'_, T>,
    ) -> Result<Tally> {
        let problem = self.problem;
        let (mut tally, mut last) = (Tally::default(), None::<Unit>);
        let [mut a, mut b, mut c] = [(); 3].map(|()| vec![0.0; problem.size()]);
        loop {
            let taken = sums.counter.fetch_and_op(1, Op::SUM, 0, 0)?;
            tally.fetches += 1;
            let taken = usize::try_from(taken).unwrap_or(usize::MAX);
            let unit = problem.units().get(taken).copied();
            let mut since = Instant::now();
            let is_other = |last: &Unit| unit.is_none_or(|it| (it.i, it.j) != (last.i, last.j));
            if let Some(done) = last.filter(is_other) {
                let to = self.spot(Matrix::C, done.i, done.j);
                sums.c.accumulate(&c, Op::SUM, to.owner, to.index)?;
                tally.end(ACCUMULATE, &mut since);
                sums.c.flush(to.owner)?;
                tally.end(ACCUMULATE_FLUSH, &mut since);
                c.fill(0.0);
                tally.accumulates += 1;
            }
            let Some(unit) = unit else {
                return Ok(tally);
            };
            last = Some(unit);
            let of_a = self.spot(Matrix::A, unit.i, unit.k);
            let of_b = self.spot(Matrix::B, unit.k, unit.j);
            factors.a.get(&mut a, of_a.owner, of_a.index)?;
            factors.b.get(&mut b, of_b.owner, of_b.index)?;
            tally.end(GET, &mut since);
            factors.a.flush(of_a.owner)?;
            factors.b.flush(of_b.owner)?;
            tally.end(GET_FLUSH, &mut since);
            tally.gets += 2;
            let is_doubled = self.fault.is_some() && taken == problem.units().len() / 2;
            for _ in 0..=usize::from(is_doubled) {
                problem.multiply(&a, &b, &mut c);
                tally.units += 1;
            }
        }
    }

    /// Where a tile of a unit is, by the rank of the windows.
    fn spot(&self, matrix: Matrix, i: usize, j: usize) -> Spot {
        let spot = self.problem.spot(matrix, i, j);
        // Units have no tiles that are zero.
        let spot = spot.unwrap_or(Spot { owner: 0, index: 0 });
        Spot {
            owner: spot.owner * self.ranks_of_process,
            ..spot
        }
    }
}

impl Tally {
    fn end(&mut self, phase: usize, since: &mut Instant) {
        let now = Instant::now();
        self.phases[phase] += now - *since;
        *since = now;
    }
}
