// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing and unpacking derived datatypes: packed bytes per second, the time to make and commit a type, and messages of one.

use super::{RankOptions, fill, pattern, report};
use crate::mpi::Mpi;
use crate::mpi::datatype::{Derived, Description, Shape, offsets};

/// The rows and their types; `pack-` and `unpack-` go before the names.
const SHAPES: [(&str, Shape); 15] = [
    ("1", Shape::Blocks(1)),
    ("4", Shape::Blocks(4)),
    ("8", Shape::Blocks(8)),
    ("16", Shape::Blocks(16)),
    ("64", Shape::Blocks(64)),
    ("face", Shape::Face),
    ("transpose", Shape::Transpose),
    ("irregular", Shape::Irregular),
    ("regular", Shape::Regular),
    ("struct", Shape::Struct),
    ("box-subarray", Shape::Box(Description::Subarray)),
    ("box-vectors", Shape::Box(Description::Vectors)),
    ("box-rows", Shape::Box(Description::Rows)),
    ("box-planes", Shape::Box(Description::Planes)),
    ("box-elements", Shape::Box(Description::Elements)),
];

/// Rows of making and committing.
const COMMITS: [(&str, Shape); 4] = [
    ("commit", Shape::Face),
    ("commit-vector", Shape::Vector),
    ("commit-struct", Shape::Struct),
    ("commit-indexed", Shape::Irregular),
];

const TAG: i32 = 1;

/// Measures all rows of packing in one job.
pub(super) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    // The box by its first description, and how fast each was packed.
    let (mut boxed, mut rates) = (Vec::new(), Vec::new());
    for (name, shape) in SHAPES {
        let derived = Derived::new(mpi, shape);
        let mut memory = vec![0; derived.span];
        let mut packed = vec![0; derived.bytes];
        fill(&mut memory, 1);
        if options.verify {
            check(mpi, &derived, &memory, name);
        }
        let rate = |times: &[f64]| -> Vec<f64> {
            let bytes = derived.bytes as f64;
            times.iter().map(|time| bytes / time * 1e9).collect()
        };
        let times = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                derived.pack(&memory, &mut packed);
            }
        });
        report(mpi, &format!("pack-{name}"), derived.bytes, &rate(&times))?;
        if matches!(shape, Shape::Box(_)) {
            rates.push(median(rate(&times)));
            if boxed.is_empty() {
                boxed.clone_from(&packed);
            }
            if boxed != packed {
                mpi.abort(&format!("{name} is packed differently"));
            }
        }
        let times = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                derived.unpack(&packed, &mut memory);
            }
        });
        report(mpi, &format!("unpack-{name}"), derived.bytes, &rate(&times))?;
        if shape == Shape::Irregular {
            let times = gather(mpi, options, &memory, derived.bytes);
            report(mpi, "gather-limit", derived.bytes, &rate(&times))?;
        }
    }
    let fastest = rates.iter().copied().fold(0.0, f64::max);
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    report(mpi, "box-spread", 0, &[(fastest / slowest - 1.0) * 100.0])?;
    for (name, shape) in COMMITS {
        let times = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                drop(Derived::new(mpi, shape));
            }
        });
        report(mpi, name, 0, &times)?;
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// What packing doubles at irregular offsets cannot beat: times of a loop that gathers them.
fn gather(mpi: &Mpi, options: &RankOptions, memory: &[u8], bytes: usize) -> Vec<f64> {
    let (words, _) = memory.as_chunks::<8>();
    let mut gathered = vec![[0u8; 8]; bytes / 8];
    options.effort.measure(mpi, |iterations| {
        for _ in 0..iterations {
            for (to, &at) in gathered.iter_mut().zip(offsets(Shape::Irregular)) {
                *to = words[at as usize];
            }
            std::hint::black_box(&mut gathered);
        }
    })
}

/// Half the time of a vector there and one back.
pub(super) fn round_trips(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let derived = Derived::new(mpi, Shape::Vector);
    let mut memory = vec![0; derived.span];
    fill(&mut memory, mpi.rank as u64);
    let there_and_back = |memory: &mut [u8]| {
        for turn in 0..2 {
            if turn == mpi.rank {
                derived.send(memory, 1 - mpi.rank, TAG);
            } else {
                derived.receive(memory, 1 - mpi.rank, TAG);
            }
        }
    };
    if options.verify {
        there_and_back(&mut memory);
        // Rank 1 has what rank 0 sent, which has come back to rank 0; the gaps are as they were.
        let expected = |place: usize| {
            let sender = if place % 16 < 8 { 0 } else { mpi.rank as u64 };
            pattern(sender, place)
        };
        if let Some(place) = (0..memory.len()).find(|&place| memory[place] != expected(place)) {
            mpi.abort(&format!("wrong data at byte {place} of the vector"));
        }
    }
    let times = options.effort.measure(mpi, |iterations| {
        for _ in 0..iterations {
            there_and_back(&mut memory);
        }
    });
    let halves: Vec<f64> = times.iter().map(|time| time / 2.0).collect();
    report(mpi, options.measurement.name, 8, &halves)
}

/// Ends the job when what was packed and unpacked is not what was there.
fn check(mpi: &Mpi, derived: &Derived<'_>, memory: &[u8], name: &str) {
    let mut packed = vec![0; derived.bytes];
    derived.pack(memory, &mut packed);
    let mut back = vec![0; derived.span];
    derived.unpack(&packed, &mut back);
    let mut again = vec![0; derived.bytes];
    derived.pack(&back, &mut again);
    let moved = back
        .iter()
        .zip(memory)
        .filter(|(here, there)| here == there);
    // Bytes of the memory are seldom zero, so what was not unpacked differs.
    if packed != again || moved.count() < derived.bytes {
        mpi.abort(&format!("packing {name} lost data"));
    }
}
