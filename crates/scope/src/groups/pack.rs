// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing and unpacking strided bytes with the library's own kernels.

use layout::Layout;
use machine_profile::{Axis, Surface};
use measure::sampling::Plan;

use crate::entry::Entry;
use crate::kernels::{CAN_FLUSH, flush, keep};
use crate::memory::{Mapping, PAGE};
use crate::session::{Effort, Found, Outcome, Session, time, time_after};

const BYTES: [u64; 7] = [64, 1024, 16_384, 131_072, 1_048_576, 8_388_608, 67_108_864];
const QUICK_BYTES: [u64; 3] = [1024, 131_072, 8_388_608];
const RUNS: [u64; 7] = [1, 4, 8, 64, 256, 1024, 4096];
const QUICK_RUNS: [u64; 3] = [4, 64, 1024];
/// Runs begin so many times their length after each other.
const GAP: usize = 2;
const STRIDES: [u64; 5] = [2, 4, 8, 16, 64];

/// How runs are described.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// At equal distances.
    Rows,
    /// At distances that differ.
    List,
    /// Of two lengths, in turn.
    Struct,
}

impl Shape {
    /// About so many packed bytes.
    fn layout(self, bytes: usize, run: usize, gap: usize) -> layout::Result<Layout> {
        let byte = Layout::named(1, 1);
        let count = bytes / run;
        let stride = (run * gap) as i64;
        let place = |index: usize| index as i64 * stride;
        match self {
            Self::Rows => Layout::hvector(count, run, stride, &byte),
            // A few bytes further every third time, so that no rule gives the places.
            Self::List => Layout::hindexed(
                (0..count).map(|index| (place(index) + (index % 3 == 1) as i64, run)),
                &byte,
            ),
            Self::Struct => {
                let (short, long) = (run - run / 4, run + run / 4);
                let length = |index: usize| if index.is_multiple_of(2) { short } else { long };
                Layout::hindexed((0..count).map(|index| (place(index), length(index))), &byte)
            }
        }
    }
}

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    let shapes = [
        (Shape::Rows, "rows"),
        (Shape::List, "list"),
        (Shape::Struct, "struct"),
    ];
    for (shape, name) in shapes {
        for is_pack in [true, false] {
            for is_cold in [false, true] {
                let verb = if is_pack { "pack" } else { "unpack" };
                let state = if is_cold { "flushed" } else { "cached" };
                let entry = Entry::new(
                    format!("{verb}/{name}/{state}"),
                    format!("{verb}ing {name} of runs, {state}, over bytes and the run"),
                    move |session, name| by_run(session, name, shape, is_pack, is_cold),
                );
                let is_corner = matches!(shape, Shape::Rows) && !is_cold;
                entries.push(entry.quick_if(is_corner));
            }
        }
    }
    entries.push(Entry::new(
        "pack/rows/stride",
        "packing rows of 1 MiB, cached, over the run and its stride",
        by_stride,
    ));
    entries
}

fn by_run(session: &Session, name: &str, shape: Shape, is_pack: bool, is_cold: bool) -> Outcome {
    if is_cold && !CAN_FLUSH {
        return Err("this processor's caches cannot be flushed by line".to_owned());
    }
    let (bytes, runs) = match session.effort {
        Effort::Quick => (&QUICK_BYTES[..], &QUICK_RUNS[..]),
        Effort::Full => (&BYTES[..], &RUNS[..]),
    };
    let case = |bytes: u64, run: u64| Case {
        shape,
        is_pack,
        is_cold,
        bytes: bytes as usize,
        run: run as usize,
        gap: GAP,
    };
    // A run is never longer than all bytes: such points have the time of one run.
    surface(
        session,
        name,
        [Axis::Bytes, Axis::Run],
        bytes,
        runs,
        |bytes, run| case(bytes, run.min(bytes)),
    )
}

fn by_stride(session: &Session, name: &str) -> Outcome {
    let runs = [8u64, 64, 512];
    let strides: Vec<u64> = STRIDES.iter().map(|gap| gap * 512).collect();
    surface(
        session,
        name,
        [Axis::Run, Axis::Stride],
        &runs,
        &strides,
        |run, stride| Case {
            shape: Shape::Rows,
            is_pack: true,
            is_cold: false,
            bytes: 1 << 20,
            run: run as usize,
            gap: (stride / run).max(2) as usize,
        },
    )
}

/// One point of a surface.
#[derive(Clone, Copy)]
struct Case {
    shape: Shape,
    is_pack: bool,
    is_cold: bool,
    bytes: usize,
    run: usize,
    gap: usize,
}

fn surface(
    session: &Session,
    name: &str,
    axes: [Axis; 2],
    x: &[u64],
    y: &[u64],
    case: impl Fn(u64, u64) -> Case,
) -> Outcome {
    let plan = session.plan().divided(2);
    let (mut ns, mut mad) = (Vec::new(), Vec::new());
    for &first in x {
        let (mut times, mut spreads) = (Vec::new(), Vec::new());
        for &second in y {
            let sample = point(session, &plan, case(first, second))?;
            times.push(sample.ns);
            spreads.push(sample.mad);
        }
        ns.push(times);
        mad.push(spreads);
    }
    Ok(vec![Found::Surface(Surface {
        name: name.to_owned(),
        axes,
        x: x.to_vec(),
        y: y.to_vec(),
        ns,
        mad,
    })])
}

fn point(session: &Session, plan: &Plan, case: Case) -> Result<machine_profile::Sample, String> {
    let layout = case.shape.layout(case.bytes, case.run, case.gap);
    let layout = layout.map_err(|error| error.to_string())?;
    let bytes = layout.size();
    let (first, span) = layout.span(1).ok_or("a layout without a span")?;
    let memory = Mapping::touched(span)?;
    let packed = Mapping::touched(bytes + PAGE)?;
    let base = memory.start().wrapping_offset(-(first as isize));
    let once = || {
        // SAFETY: the memory is the layout's span from `base` on, and the other one has room for its bytes.
        unsafe {
            if case.is_pack {
                layout.pack(base, 0..bytes, packed.start());
            } else {
                layout.unpack(base, 0..bytes, packed.start());
            }
        }
        keep(packed.start().addr() as u64);
    };
    if !case.is_cold {
        return Ok(session.sample(plan, |repetitions| time(repetitions, once)));
    }
    let clock_ns = measure::sampling::clock_ns();
    let cool = || {
        // SAFETY: whole mappings.
        unsafe {
            flush(memory.start(), span);
            flush(packed.start(), bytes);
        }
    };
    Ok(session.sample(plan, |repetitions| {
        time_after(repetitions, clock_ns, cool, once)
    }))
}
