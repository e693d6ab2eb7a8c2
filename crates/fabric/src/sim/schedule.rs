// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source of choices: a seeded generator, or a list that a driver enumerates.

use super::trace::mix;
use super::{Schedule, SimError};

/// A generator of equally likely numbers (SplitMix64).
pub(super) struct Generator(u64);

impl Generator {
    pub(super) const fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// A number below `bound`; 0 when the bound is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let high = u128::from(mix(self.0)) * u128::from(bound);
        (high >> 64) as u64
    }
}

/// A source of choices between several options.
pub(super) struct Chooser {
    generator: Generator,
    choices: Vec<u32>,
    /// How many options each choice had, in enumerations.
    options: Vec<u32>,
    enumerates: bool,
}

impl Chooser {
    pub(super) fn new(schedule: &Schedule, seed: u64) -> Self {
        let (choices, enumerates) = match schedule {
            Schedule::Seeded => (Vec::new(), false),
            Schedule::Enumerate { choices } => (choices.clone(), true),
        };
        Self {
            generator: Generator::new(seed),
            choices,
            options: Vec::new(),
            enumerates,
        }
    }

    pub(super) const fn enumerates(&self) -> bool {
        self.enumerates
    }

    /// How many options each choice among several had.
    pub(super) fn options(&self) -> &[u32] {
        &self.options
    }

    /// One of `count` options. Nothing is chosen, and nothing recorded, where there is only one.
    pub(super) fn choose(&mut self, count: usize) -> usize {
        if count < 2 {
            return 0;
        }
        if !self.enumerates {
            return self.generator.below(count as u64) as usize;
        }
        let wanted = self.choices.get(self.options.len()).copied().unwrap_or(0);
        self.options.push(count as u32);
        (wanted as usize).min(count - 1)
    }

    /// Whether something happens that does in `percent` of all cases; never in enumerations.
    pub(super) fn happens(&mut self, percent: u8) -> bool {
        percent != 0 && !self.enumerates && self.generator.below(100) < percent.into()
    }
}

/// The coverage of [`for_each_schedule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Schedules that were run.
    pub schedules: usize,
    /// Whether these were all.
    pub is_complete: bool,
}

/// Runs a program under all schedules, depth first, up to `limit` of them.
///
/// `run` gets the choices of a schedule for [`Schedule::Enumerate`], runs the program on a fresh
/// network, and returns [`SimNet::options`](super::SimNet::options) of that network.
///
/// # Errors
/// When two runs with the same first choices had different options next.
pub fn for_each_schedule(
    limit: usize,
    mut run: impl FnMut(&[u32]) -> Vec<u32>,
) -> Result<Explored, SimError> {
    let (mut choices, mut expected): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for schedules in 1..=limit {
        let options = run(&choices);
        for (choice, &before) in expected.iter().enumerate() {
            let now = options.get(choice).copied().unwrap_or(0);
            if now != before {
                return Err(SimError::Diverged {
                    choice,
                    before,
                    now,
                });
            }
        }
        choices.resize(options.len(), 0);
        let last = (0..options.len()).rfind(|&index| choices[index] + 1 < options[index]);
        let Some(last) = last else {
            return Ok(Explored {
                schedules,
                is_complete: true,
            });
        };
        choices.truncate(last + 1);
        choices[last] += 1;
        expected = options;
        expected.truncate(last + 1);
    }
    Ok(Explored {
        schedules: limit,
        is_complete: false,
    })
}

#[cfg(test)]
mod tests {
    use super::{Explored, Generator, for_each_schedule};
    use crate::sim::SimError;

    #[test]
    fn all_branches_of_a_tree_are_taken_once() {
        // The first choice decides how many follow.
        let mut seen = Vec::new();
        let explored = for_each_schedule(100, |choices| {
            let first = choices.first().copied().unwrap_or(0);
            let options = match first {
                0 => vec![3],
                1 => vec![3, 2],
                _ => vec![3, 2, 2],
            };
            let mut taken = choices.to_vec();
            taken.resize(options.len(), 0);
            seen.push(taken);
            options
        });
        let all = Explored {
            schedules: 7,
            is_complete: true,
        };
        assert_eq!(explored, Ok(all));
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), count), (7, 7));
    }

    #[test]
    fn the_limit_ends_an_enumeration() {
        let explored = for_each_schedule(5, |_| vec![2; 10]).unwrap();
        assert_eq!((explored.schedules, explored.is_complete), (5, false));
    }

    #[test]
    fn programs_that_depend_on_something_else_are_found() {
        let mut runs = 0;
        let outcome = for_each_schedule(9, |_| {
            runs += 1;
            vec![1 + runs, 2]
        });
        let expected = SimError::Diverged {
            choice: 0,
            before: 2,
            now: 3,
        };
        assert_eq!(outcome, Err(expected));
    }

    #[test]
    fn numbers_of_the_generator_stay_below_their_bound_and_reach_it() {
        let mut generator = Generator::new(3);
        let mut seen = [0; 7];
        for _ in 0..700 {
            seen[generator.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 60), "{seen:?}");
        assert_eq!(generator.below(0), 0);
    }
}
