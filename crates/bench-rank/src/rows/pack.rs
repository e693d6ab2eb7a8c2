// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing and unpacking derived datatypes: packed bytes per second, the time to make and commit a type, and messages of one.

use measure::statistics::median;

use crate::mpi::Mpi;
use crate::mpi::datatype::{Derived, Description, Shape, face_rows, offsets};
use crate::options::RankOptions;
use crate::output::report;
use crate::pattern::{fill, pattern};

/// The rows and their types; `pack-` and `unpack-` go before the names.
const SHAPES: [(&str, Shape); 10] = [
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
];

/// Rows of one box.
const BOXES: [(&str, Shape); 5] = [
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

/// Memory that begins with a page: the allocator's own choice of a place differs from row to row, and what crosses cache lines
/// takes up to a third longer.
struct Pages {
    room: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Pages {
    const PAGE: usize = 4096;

    fn new(bytes: usize) -> Self {
        let room = vec![0; bytes + Self::PAGE];
        let start = room.as_ptr().align_offset(Self::PAGE);
        Self { room, start, bytes }
    }

    fn get(&self) -> &[u8] {
        &self.room[self.start..][..self.bytes]
    }

    fn get_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.start..][..self.bytes]
    }
}

/// Measures all rows of packing in one job.
pub(crate) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    for (name, shape) in SHAPES {
        rows(mpi, options, &[(name, shape)])?;
    }
    let rates = rows(mpi, options, &BOXES)?;
    let fastest = rates.iter().copied().fold(0.0, f64::max);
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    report(
        mpi,
        options,
        "box-spread",
        0,
        &[(fastest / slowest - 1.0) * 100.0],
    )?;
    for (name, shape) in COMMITS {
        let times = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                drop(Derived::new(mpi, shape));
            }
        });
        report(mpi, options, name, 0, &times)?;
    }
    Ok(())
}

/// Packs and unpacks types that describe the same bytes, one after the other, all in the same memory; gives how fast each was packed.
fn rows(mpi: &Mpi, options: &RankOptions, rows: &[(&str, Shape)]) -> Result<Vec<f64>, String> {
    let types: Vec<_> = rows
        .iter()
        .map(|&(name, shape)| (name, Derived::new(mpi, shape)))
        .collect();
    let (bytes, span) = (types[0].1.bytes, types[0].1.span);
    let (mut memory, mut packed) = (Pages::new(span), Pages::new(bytes));
    fill(memory.get_mut(), 1);
    if options.verify {
        let mut expected = Vec::new();
        for (name, derived) in &types {
            let found = check(mpi, derived, memory.get(), name);
            if !expected.is_empty() && found != expected {
                mpi.abort(&format!("{name} is packed differently"));
            }
            expected = found;
        }
    }
    let rate = |times: &[f64]| -> Vec<f64> {
        let rate = |time| bytes as f64 / time * 1e9;
        times.iter().copied().map(rate).collect()
    };
    let packing = options.effort.measure_in_turns(mpi, types.len(), |which| {
        types[which].1.pack(memory.get(), packed.get_mut());
    });
    let unpacking = options.effort.measure_in_turns(mpi, types.len(), |which| {
        types[which].1.unpack(packed.get(), memory.get_mut());
    });
    for ((name, _), (pack, unpack)) in types.iter().zip(packing.iter().zip(&unpacking)) {
        report(mpi, options, &format!("pack-{name}"), bytes, &rate(pack))?;
        report(
            mpi,
            options,
            &format!("unpack-{name}"),
            bytes,
            &rate(unpack),
        )?;
    }
    if let Some((name, times)) = limit(mpi, options, rows[0].1, memory.get(), packed.get_mut()) {
        report(mpi, options, name, bytes, &rate(&times))?;
    }
    Ok(packing
        .into_iter()
        .map(|times| median(&rate(&times)))
        .collect())
}

/// What packing this cannot beat: the row, and times of a loop without the library.
fn limit(
    mpi: &Mpi,
    options: &RankOptions,
    shape: Shape,
    memory: &[u8],
    packed: &mut [u8],
) -> Option<(&'static str, Vec<f64>)> {
    let mut measure = |action: &mut dyn FnMut(&mut [u8])| {
        options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                action(packed);
                std::hint::black_box(&mut *packed);
            }
        })
    };
    match shape {
        Shape::Blocks(1) => {
            let all = &memory[..65_536];
            let times = measure(&mut |packed| packed.copy_from_slice(std::hint::black_box(all)));
            Some(("copy-limit", times))
        }
        Shape::Blocks(64) => {
            let lines = memory.as_chunks::<64>().0;
            let times = measure(&mut |packed| {
                let halves = packed.as_chunks_mut::<32>().0;
                for (to, from) in halves.iter_mut().zip(lines) {
                    to.copy_from_slice(&from[..32]);
                }
            });
            Some(("lines-limit", times))
        }
        Shape::Face => {
            let firsts: Vec<usize> = face_rows().collect();
            let words = memory.as_chunks::<8>().0;
            let times = measure(&mut |packed| {
                let sum = firsts.iter().fold(0u64, |sum, &at| {
                    sum.wrapping_add(u64::from_ne_bytes(words[at]))
                });
                packed[..8].copy_from_slice(&sum.to_ne_bytes());
            });
            Some(("face-limit", times))
        }
        Shape::Irregular => {
            let words = memory.as_chunks::<8>().0;
            let times = measure(&mut |packed| {
                let gathered = packed.as_chunks_mut::<8>().0;
                for (to, &at) in gathered.iter_mut().zip(offsets(shape)) {
                    *to = words[at as usize];
                }
            });
            Some(("gather-limit", times))
        }
        _ => None,
    }
}

/// Half the time of a vector there and one back.
pub(crate) fn round_trips(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let derived = Derived::new(mpi, Shape::Vector);
    let mut memory = Pages::new(derived.span);
    let memory = memory.get_mut();
    fill(memory, mpi.rank as u64);
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
        there_and_back(memory);
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
            there_and_back(memory);
        }
    });
    let halves: Vec<f64> = times.iter().map(|time| time / 2.0).collect();
    report(mpi, options, options.measurement.name, 8, &halves)
}

/// Ends the job when what was packed and unpacked is not what was there; gives what was packed.
fn check(mpi: &Mpi, derived: &Derived<'_>, memory: &[u8], name: &str) -> Vec<u8> {
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
    packed
}
