// SPDX-License-Identifier: MIT OR Apache-2.0
//! All interleavings of a program's steps, depth first; states that were seen are known by their hash.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::program::Thread;
use super::world::{Behaviour, Step, World};
use crate::variant::Config;

/// What an exploration covered.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Coverage {
    /// Programs.
    pub programs: usize,
    /// Different states.
    pub states: usize,
    /// Steps taken, those to known states included.
    pub steps: usize,
    /// States in which nothing is left to do.
    pub ends: usize,
}

impl std::ops::AddAssign for Coverage {
    fn add_assign(&mut self, other: Self) {
        self.programs += other.programs;
        self.states += other.states;
        self.steps += other.steps;
        self.ends += other.ends;
    }
}

/// What went wrong, and the steps that led there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Counterexample {
    /// What is wrong.
    pub reason: String,
    /// The schedule, a step a line.
    pub schedule: Vec<String>,
}

impl std::fmt::Display for Counterexample {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "{}", self.reason)?;
        for (number, step) in self.schedule.iter().enumerate() {
            writeln!(formatter, "  {}. {step}", number + 1)?;
        }
        Ok(())
    }
}

/// A state on the path, and the steps from it that are left to try.
struct Frame {
    world: World,
    left: Vec<(u64, Step)>,
    taken: Option<Step>,
}

/// Explores all interleavings of a program.
///
/// # Errors
/// The first schedule after which a rule is broken.
pub fn explore(
    config: Config,
    behaviour: Behaviour,
    threads: &[Thread],
) -> Result<Coverage, Box<Counterexample>> {
    let mut coverage = Coverage {
        programs: 1,
        ..Coverage::default()
    };
    let mut known = HashSet::new();
    let mut path = vec![frame(World::new(config, behaviour, threads), threads)];
    coverage.states = 1;
    while let Some(top) = path.last_mut() {
        let Some((_, step)) = top.left.pop() else {
            path.pop();
            continue;
        };
        top.taken = Some(step);
        let mut world = top.world.clone();
        world.take(step, threads);
        coverage.steps += 1;
        if world.violation().is_none() && !known.insert(hash(&world)) {
            continue;
        }
        coverage.states += 1;
        let next = frame(world, threads);
        let is_end = next.left.is_empty();
        coverage.ends += usize::from(is_end);
        let wrong = if is_end {
            next.world.wrong_at_end()
        } else {
            next.world.violation().map(str::to_owned)
        };
        if let Some(reason) = wrong {
            let taken = |frame: &Frame| frame.taken.map(|step| frame.world.describe(step, threads));
            let schedule = path.iter().filter_map(taken).collect();
            return Err(Box::new(Counterexample { reason, schedule }));
        }
        path.push(next);
    }
    Ok(coverage)
}

fn frame(world: World, threads: &[Thread]) -> Frame {
    let mut left = Vec::new();
    world.steps(threads, &mut left);
    Frame {
        world,
        left,
        taken: None,
    }
}

fn hash(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
