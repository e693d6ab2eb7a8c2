// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing and unpacking derived datatypes: packed bytes per second, and the time to make and commit a type.

use super::{RankOptions, fill, report};
use crate::mpi::Mpi;
use crate::mpi::datatype::{Derived, Shape};

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

/// Measures all rows of packing in one job.
pub(super) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
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
        let times = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                derived.unpack(&packed, &mut memory);
            }
        });
        report(mpi, &format!("unpack-{name}"), derived.bytes, &rate(&times))?;
    }
    let times = options.effort.measure(mpi, |iterations| {
        for _ in 0..iterations {
            drop(Derived::new(mpi, Shape::Face));
        }
    });
    report(mpi, "commit", 0, &times)
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
