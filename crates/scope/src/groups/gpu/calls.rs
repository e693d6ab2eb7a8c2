// SPDX-License-Identifier: MIT OR Apache-2.0
//! What giving work to a GPU costs the processor: calls, launches, graphs, allocations.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use machine_profile::{Axis, Sample};
use measure::threads::team;

use super::units;
use crate::entry::Entry;
use crate::gpu::{ARGUMENTS, Box3, Done, Graph, Pinned, Side3, Stream, Unit};
use crate::session::{Effort, Outcome, Session, cost, curve};

/// Calls that are given before the GPU may catch up: its queue never fills.
const BATCH: u64 = 64;
/// Bytes that copies move whose issue is timed.
const BYTES: usize = 256;
/// Bytes of allocations that are timed.
const ALLOCATION: usize = 1 << 20;
/// Kernels that a graph replays.
const GRAPHS: [u64; 5] = [1, 2, 5, 10, 20];
const QUICK_GRAPHS: [u64; 1] = [20];

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "gpu/issue/memcpy",
            "the call that copies from pinned memory, without the copy",
            memcpy,
        ),
        Entry::new(
            "gpu/issue/3d-peer",
            "the call that copies a plane between contexts, without the copy",
            planes,
        ),
        Entry::new(
            "gpu/issue/kernel",
            "the call that starts a kernel, over bytes of its arguments",
            kernels,
        ),
        Entry::new(
            "gpu/issue/threads",
            "the call that starts a kernel, by each of several threads in a stream of its own, over threads",
            threads,
        ),
        Entry::new(
            "gpu/launch",
            "a kernel that does nothing, until the processor knows that it has ended",
            launch,
        )
        .quick(),
        Entry::new(
            "gpu/synchronize",
            "waiting for a GPU that has nothing to do",
            synchronize,
        ),
        Entry::new(
            "gpu/graph/issue",
            "starting kernels one by one, over their number",
            |session, name| graphs(session, name, Replay::Issue),
        )
        .quick(),
        Entry::new(
            "gpu/graph/instantiate",
            "making a graph of kernels one that can be launched, over their number",
            |session, name| graphs(session, name, Replay::Instantiate),
        ),
        Entry::new(
            "gpu/graph/launch",
            "launching a graph of kernels, over their number",
            |session, name| graphs(session, name, Replay::Launch),
        )
        .quick(),
        Entry::new(
            "gpu/allocate/device",
            "allocating and freeing a MiB of memory of the GPU",
            |session, name| allocation(session, name, |unit| unit.allocate_and_free(ALLOCATION)),
        ),
        Entry::new(
            "gpu/allocate/pinned",
            "allocating, touching and freeing a MiB of pinned memory",
            |session, name| {
                allocation(session, name, |unit| {
                    Pinned::new(unit, ALLOCATION).map(drop)
                })
            },
        ),
    ]
}

/// Samples a call; the GPU catches up between batches, which is not timed.
fn issue(session: &Session, unit: &Unit, mut call: impl FnMut() -> Done) -> Result<Sample, String> {
    let mut failed = None;
    let sample = session.sample(&session.plan(), |repetitions| {
        let (mut left, mut whole) = (repetitions, 0.0);
        while left > 0 && failed.is_none() {
            let batch = left.min(BATCH);
            let start = Instant::now();
            let called = (0..batch).try_for_each(|_| call());
            whole += start.elapsed().as_nanos() as f64;
            failed = called.and_then(|()| unit.finish()).err();
            left -= batch;
        }
        whole
    });
    match failed {
        Some(error) => Err(error.to_string()),
        None => Ok(sample),
    }
}

/// Runs `measure` in the context of the GPU, with a stream.
fn with_stream<T>(
    session: &Session,
    measure: impl FnOnce(&Unit, &Stream<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let [unit, _] = units(session)?;
    unit.enter(|| {
        let stream = unit.stream().map_err(|error| error.to_string())?;
        measure(unit, &stream)
    })
}

fn memcpy(session: &Session, name: &str) -> Outcome {
    with_stream(session, |unit, stream| {
        let told = |error: layout_cuda::CudaError| error.to_string();
        let host = Pinned::new(unit, BYTES).map_err(told)?;
        let device = unit.gpu.allocate(BYTES).map_err(told)?;
        let (from, to) = (host.start(), device.address());
        let sample = issue(session, unit, || {
            // SAFETY: both are as long, and `issue` waits for the GPU.
            unsafe { unit.copy_in_later(to, from, BYTES, stream.handle) }
        })?;
        Ok(vec![cost(name, sample)])
    })
}

fn planes(session: &Session, name: &str) -> Outcome {
    let [here, there] = units(session)?;
    with_stream(session, |unit, stream| {
        let told = |error: layout_cuda::CudaError| error.to_string();
        let from = here.gpu.allocate(BYTES).map_err(told)?;
        let to = there.gpu.allocate(BYTES).map_err(told)?;
        let side = |unit: &Unit, address| Side3::device(address, unit.gpu.context(), BYTES, 1);
        let copy = Box3 {
            from: side(here, from.address()),
            to: side(there, to.address()),
            width_bytes: BYTES,
            height: 1,
            depth: 1,
        };
        let sample = issue(session, unit, || {
            // SAFETY: both have the only row, and `issue` waits for the GPU.
            unsafe { unit.copy_planes_peer(&copy, stream.handle) }
        })?;
        Ok(vec![cost(name, sample)])
    })
}

fn kernels(session: &Session, name: &str) -> Outcome {
    with_stream(session, |unit, stream| {
        let mut points = Vec::new();
        for (index, bytes) in ARGUMENTS.into_iter().enumerate() {
            let sample = issue(session, unit, || unit.do_nothing(index, stream))?;
            points.push((bytes as u64, sample));
        }
        curve(name, Axis::Arguments, None, points)
    })
}

fn threads(session: &Session, name: &str) -> Outcome {
    let [unit, _] = units(session)?;
    let mut points = Vec::new();
    for count in 1..=session.cores().len().min(8) {
        let failed = Mutex::new(None);
        let found = team(&session.cores()[..count], &session.plan(), |_| {
            let stream = unit.stay().and_then(|()| unit.stream());
            let failed = &failed;
            move |repetitions: u64| {
                let called = stream.as_ref().map_err(Clone::clone).and_then(|stream| {
                    (0..repetitions).try_for_each(|number| {
                        unit.do_nothing(0, stream)?;
                        // The queue never fills.
                        match number % BATCH {
                            0 => stream.synchronize(),
                            _ => Ok(()),
                        }
                    })
                });
                if let Err(error) = called {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        })?;
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failed {
            return Err(error.to_string());
        }
        points.push((count as u64, session.count(found)));
    }
    curve(name, Axis::Threads, None, points)
}

fn launch(session: &Session, name: &str) -> Outcome {
    with_stream(session, |unit, stream| {
        let sample = issue(session, unit, || {
            unit.do_nothing(0, stream)?;
            stream.synchronize()
        })?;
        Ok(vec![cost(name, sample)])
    })
}

fn synchronize(session: &Session, name: &str) -> Outcome {
    with_stream(session, |unit, _| {
        let sample = issue(session, unit, || unit.finish())?;
        Ok(vec![cost(name, sample)])
    })
}

fn allocation(session: &Session, name: &str, action: impl Fn(&Unit) -> Done) -> Outcome {
    with_stream(session, |unit, _| {
        let mut failed = None;
        let sample = session.sample_with_faults(&session.plan(), |repetitions| {
            let start = Instant::now();
            for _ in 0..repetitions {
                failed = failed.take().or_else(|| action(unit).err());
            }
            start.elapsed().as_nanos() as f64
        });
        match failed {
            Some(error) => Err(error.to_string()),
            None => Ok(vec![cost(name, sample)]),
        }
    })
}

/// What is timed of kernels that are given again and again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Replay {
    Issue,
    Instantiate,
    Launch,
}

fn graphs(session: &Session, name: &str, replay: Replay) -> Outcome {
    let counts = match session.effort {
        Effort::Full => &GRAPHS[..],
        Effort::Quick => &QUICK_GRAPHS,
    };
    with_stream(session, |unit, stream| {
        let mut points = Vec::new();
        for &count in counts {
            points.push((count, replayed(session, unit, stream, (replay, count))?));
        }
        curve(name, Axis::Calls, None, points)
    })
}

fn replayed(
    session: &Session,
    unit: &Unit,
    stream: &Stream<'_>,
    (replay, count): (Replay, u64),
) -> Result<Sample, String> {
    let told = |error: layout_cuda::CudaError| error.to_string();
    let calls = |stream: &Stream<'_>| (0..count).try_for_each(|_| unit.do_nothing(0, stream));
    if replay == Replay::Issue {
        return issue(session, unit, || calls(stream));
    }
    let graph = Graph::capture(stream, calls).map_err(told)?;
    if replay == Replay::Instantiate {
        return issue(session, unit, || graph.instantiate().map(drop));
    }
    let executable = graph.instantiate().map_err(told)?;
    issue(session, unit, || executable.launch(stream))
}
