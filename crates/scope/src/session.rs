// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry may use while it is measured, and what it gives.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use layout_cuda::Driver;
use machine_profile::{Axis, Cost, Curve, Matrix, Place, PlaceKind, Point, Sample, Surface};
use measure::sampling::{Plan, Sampled, disturbance, sample};
use measure::threads::Spot;

use crate::gpu::Unit;
use crate::guard::SteadyClock;
use crate::sync::{AtomicU64, Ordering};

/// How much is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effort {
    /// What a program needs to choose, within a minute.
    Quick,
    /// Everything.
    Full,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A cost.
    Cost(Cost),
    /// A curve.
    Curve(Curve),
    /// A surface.
    Surface(Surface),
    /// A matrix.
    Matrix(Matrix),
}

/// What an entry gives, or why it has nothing.
pub type Outcome = Result<Vec<Found>, String>;

/// A measurement under way.
pub struct Session {
    /// How much is measured.
    pub effort: Effort,
    /// Places of the profile: first the processors that this process may use, in ascending order.
    pub places: Vec<Place>,
    /// Sizes in bytes that the user wants; none for those of the entries.
    pub sizes: Vec<u64>,
    /// Trials of a sample that the user wants; none for those of the effort.
    pub trials: Option<usize>,
    /// The command that starts the second process (see [`crate::run_peer`]).
    pub peer: Vec<String>,
    /// The clock of the processors, for the record.
    pub clock: Option<SteadyClock>,
    /// When what is measured should have ended.
    pub(crate) deadline: Option<Instant>,
    /// Processors of the two ends of entries with two of them.
    ends: [usize; 2],
    cores: Vec<u32>,
    dropped: AtomicU64,
    values: AtomicU64,
    /// GPUs, or why there are none; opened by the first entry that needs one.
    gpus: OnceLock<Result<Vec<Unit>, String>>,
}

impl Session {
    /// A session on the processors that this process may use.
    ///
    /// # Errors
    /// When the system does not tell them.
    pub fn new(effort: Effort, places: Vec<Place>, peer: Vec<String>) -> Result<Self, String> {
        let cores = places.iter().filter(|place| place.kind == PlaceKind::Core);
        let cores: Vec<u32> = cores.map(|place| place.index as u32).collect();
        if cores.is_empty() {
            return Err("the system does not tell which processors may be used".to_owned());
        }
        Ok(Self {
            effort,
            sizes: Vec::new(),
            trials: None,
            clock: None,
            deadline: None,
            peer,
            ends: [0, farthest(&places, cores.len())],
            places,
            cores,
            dropped: AtomicU64::new(0),
            values: AtomicU64::new(0),
            gpus: OnceLock::new(),
        })
    }

    /// Takes other processors for the two ends: positions among the places.
    ///
    /// # Errors
    /// When there are no such two processors.
    pub fn use_ends(&mut self, ends: [usize; 2]) -> Result<(), String> {
        if ends[0] == ends[1] || ends.iter().any(|&end| end >= self.cores.len()) {
            let count = self.cores.len();
            return Err(format!(
                "places {}-{}: expected two different ones below {count}",
                ends[0], ends[1]
            ));
        }
        self.ends = ends;
        Ok(())
    }

    /// Takes the GPUs of another driver than this machine's.
    ///
    /// # Errors
    /// When the driver refuses, or GPUs were in use already.
    pub fn use_gpu_driver(&mut self, driver: &'static Driver) -> Result<(), String> {
        let units = Unit::all(driver).map_err(|error| error.to_string())?;
        let set = self.gpus.set(Ok(units));
        set.map_err(|_| "the GPUs of this machine are in use".to_owned())
    }

    /// The GPUs of this machine.
    ///
    /// # Errors
    /// When there are none.
    pub(crate) fn gpus(&self) -> Result<&[Unit], String> {
        let found = self.gpus.get_or_init(|| {
            let driver = Driver::get().map_err(|error| format!("needs an NVIDIA GPU: {error}"))?;
            Unit::all(driver).map_err(|error| error.to_string())
        });
        found.as_deref().map_err(Clone::clone)
    }

    /// Processors that may be used.
    pub fn cores(&self) -> &[u32] {
        &self.cores
    }

    /// Two processors as near as possible, by the caches that they share.
    pub fn nearest(&self) -> [usize; 2] {
        let shares = |other: &usize| self.places[*other].l3 == self.places[0].l3;
        [
            0,
            (1..self.cores.len()).find(shares).unwrap_or(self.ends[1]),
        ]
    }

    /// Two processors as far as possible.
    pub fn farthest(&self) -> [usize; 2] {
        [0, farthest(&self.places, self.cores.len())]
    }

    /// How many values were dropped because the system had disturbed them, and how many there were.
    pub fn disturbed(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.dropped), read(&self.values))
    }

    /// How much is measured for one sample.
    pub(crate) fn plan(&self) -> Plan {
        let is_late = self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        if is_late {
            // What has begun ends soon, with the fewest values.
            return Plan {
                trial: Duration::ZERO,
                trials: 1,
                ..Plan::QUICK
            };
        }
        let plan = match self.effort {
            Effort::Quick => Plan::QUICK,
            Effort::Full => Plan::FULL,
        };
        Plan {
            trials: self.trials.unwrap_or(plan.trials),
            ..plan
        }
    }

    /// Positions of the two ends, and their processors.
    ///
    /// # Errors
    /// With one core.
    pub(crate) fn two(&self) -> Result<([usize; 2], [Spot; 2]), String> {
        if self.cores.len() < 2 {
            return Err("needs two cores, and this process may use one".to_owned());
        }
        let spot = |end: usize| Spot {
            core: self.cores[end],
        };
        Ok((self.ends, self.ends.map(spot)))
    }

    /// Those of the sizes that are wanted: the user's, or every one for a full profile and a selection for a quick one.
    pub(crate) fn sizes(&self, all: &[u64], quick: &[u64]) -> Vec<u64> {
        let (first, last) = (all[0], all[all.len() - 1]);
        if !self.sizes.is_empty() {
            let inside = |size: &&u64| (first..=last).contains(size);
            return self.sizes.iter().filter(inside).copied().collect();
        }
        match self.effort {
            Effort::Full => all.to_vec(),
            Effort::Quick => quick.to_vec(),
        }
    }

    /// Samples on the calling thread. A value around which the system took the core away, moved the thread or gave it pages is
    /// dropped.
    pub(crate) fn sample(&self, plan: &Plan, mut timed: impl FnMut(u64) -> f64) -> Sample {
        self.count(sample(plan, &mut timed, &disturbance))
    }

    /// The same for operations that have page faults.
    pub(crate) fn sample_with_faults(
        &self,
        plan: &Plan,
        mut timed: impl FnMut(u64) -> f64,
    ) -> Sample {
        let state = || {
            let found = disturbance();
            (found.preemptions, found.core)
        };
        self.count(sample(plan, &mut timed, &state))
    }

    /// Keeps count of what was dropped.
    pub(crate) fn count(&self, found: Sampled) -> Sample {
        let all = found.sample.n + found.dropped;
        self.dropped.fetch_add(found.dropped, Ordering::Relaxed);
        self.values.fetch_add(all, Ordering::Relaxed);
        found.sample
    }
}

/// The processor that shares least with the first.
fn farthest(places: &[Place], cores: usize) -> usize {
    let distance = |&other: &usize| {
        let (here, there) = (&places[0], &places[other]);
        (here.numa != there.numa, here.l3 != there.l3, other)
    };
    (0..cores).max_by_key(distance).unwrap_or(0)
}

/// A cost.
pub(crate) fn cost(name: &str, sample: Sample) -> Found {
    Found::Cost(Cost {
        name: name.to_owned(),
        sample,
    })
}

/// A curve over an axis.
pub(crate) fn curve(
    name: &str,
    axis: Axis,
    places: Option<[usize; 2]>,
    points: Vec<(u64, Sample)>,
) -> Outcome {
    if points.is_empty() {
        return Err("none of the sizes that were asked for is one of its sizes".to_owned());
    }
    let point = |(x, sample)| Point { x, sample };
    Ok(vec![Found::Curve(Curve {
        name: name.to_owned(),
        axis,
        from: places.map(|places| places[0]),
        to: places.map(|places| places[1]),
        points: points.into_iter().map(point).collect(),
    })])
}

/// Nanoseconds of repetitions of an action.
#[inline]
pub(crate) fn time(repetitions: u64, mut action: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repetitions {
        action();
    }
    start.elapsed().as_nanos() as f64
}

/// Nanoseconds of repetitions of an action, without those of what comes before each; what reading the clock takes is taken off.
pub(crate) fn time_after(
    repetitions: u64,
    clock_ns: f64,
    mut before: impl FnMut(),
    mut action: impl FnMut(),
) -> f64 {
    let mut whole = 0.0;
    for _ in 0..repetitions {
        before();
        let start = Instant::now();
        action();
        whole += start.elapsed().as_nanos() as f64;
    }
    (whole - clock_ns * repetitions as f64).max(0.0)
}
