// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which category suits limits that a user gives.

use crate::account::{Totals, ratio};
use crate::category::Category;
use crate::expectation::Expectation;
use crate::nic::{Constants, Memory};
use crate::policy::Driver;

/// What a user asks for; nothing where anything will do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Least share of the throughput of [`Category::Everywhere`].
    pub min_throughput: Option<f64>,
    /// Most UAR pages.
    pub max_uars: Option<usize>,
    /// Most memory of contexts, queue pairs and completion queues, in bytes.
    pub max_bytes: Option<usize>,
}

/// A category, what it takes and what it gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The category.
    pub category: Category,
    /// Its objects, of all processes.
    pub totals: Totals,
    /// Their memory in bytes.
    pub bytes: usize,
    /// Its throughput.
    pub expectation: Expectation,
}

/// By how much a candidate misses what is asked for; 0 where it does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lack {
    /// Throughput, as a share of that of [`Category::Everywhere`].
    pub throughput: f64,
    /// UAR pages beyond the most.
    pub uars: usize,
    /// Bytes beyond the most.
    pub bytes: usize,
}

impl Lack {
    /// Whether nothing is missed.
    pub fn is_none(&self) -> bool {
        self.throughput <= 0.0 && self.uars == 0 && self.bytes == 0
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Recommendation {
    /// The best category that gives all that is asked for.
    Found(Candidate),
    /// No category does: the nearest one, and what it lacks.
    Nearest(Candidate, Lack),
}

impl Wanted {
    /// What a candidate lacks.
    pub fn lack(&self, candidate: &Candidate) -> Lack {
        let over =
            |most: Option<usize>, value: usize| most.map_or(0, |most| value.saturating_sub(most));
        let least = self.min_throughput.unwrap_or(0.0);
        Lack {
            throughput: (least - candidate.expectation.share).max(0.0),
            uars: over(self.max_uars, candidate.totals.uars),
            bytes: over(self.max_bytes, candidate.bytes),
        }
    }
}

/// All categories for `threads` threads in each of `processes` processes.
pub fn candidates(
    driver: Driver,
    threads: usize,
    processes: usize,
    memory: &Memory,
    constants: &Constants,
) -> Vec<Candidate> {
    let candidate = |category| {
        let totals = Totals::new(category, driver, threads).times(processes);
        Candidate {
            category,
            totals,
            bytes: totals.bytes(memory),
            expectation: Expectation::new(category, driver, threads, constants),
        }
    };
    Category::ALL.map(candidate).to_vec()
}

/// The category with the highest throughput among those that give all that is asked for, then that with the fewest UAR pages, then
/// that with the least memory.
///
/// Without any the nearest one: with enough throughput and the least excess of resources, relative to what is allowed; without
/// enough throughput anywhere, the one with most.
pub fn recommend(candidates: &[Candidate], wanted: &Wanted) -> Option<Recommendation> {
    let fits = |one: &&Candidate| wanted.lack(one).is_none();
    let best = candidates.iter().filter(fits).min_by(|one, other| {
        let throughput = other.expectation.share.total_cmp(&one.expectation.share);
        let cost = |one: &Candidate| (one.totals.uars, one.bytes);
        throughput.then(cost(one).cmp(&cost(other)))
    });
    if let Some(&best) = best {
        return Some(Recommendation::Found(best));
    }
    let excess = |one: &Candidate| {
        let lack = wanted.lack(one);
        ratio(lack.uars, wanted.max_uars.unwrap_or(1))
            + ratio(lack.bytes, wanted.max_bytes.unwrap_or(1))
    };
    let nearest = candidates.iter().min_by(|one, other| {
        let throughput = |one: &Candidate| wanted.lack(one).throughput;
        throughput(one)
            .total_cmp(&throughput(other))
            .then(excess(one).total_cmp(&excess(other)))
    });
    nearest.map(|&one| Recommendation::Nearest(one, wanted.lack(&one)))
}
