// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast a layout is packed, by a small model and by trying it.
//!
//! The model counts cycles: each run costs its stores of 16, 32 or 64 bytes and what its loop adds, or the cache lines that
//! it touches, whichever is more. A line costs what the smallest cache gives that holds all lines touched, less where runs
//! are long, and runs on pages of their own cost more. It knows
//! nothing of the processor but its instructions, and is meant to tell 2 bytes a cycle from 20.

use layout::{Isa, Kernel, KernelUse, Layout};

const LINE: u128 = 64;
/// Bytes of packed data of which the loops are looked at.
const LOOKED_AT: usize = 1 << 24;

/// A cache: its size in bytes and what a line out of it costs in cycles.
const CACHES: [(u128, f64); 3] = [(32 << 10, 1.0), (1 << 20, 3.0), (32 << 20, 12.0)];
const MEMORY_CYCLES: f64 = 25.0;
/// What of that is left where a run is so long that the processor fetches ahead, and how long that is.
const AHEAD: f64 = 0.4;
const LONG_RUN: usize = 4096;
/// Cycles to find out where a page is, for runs a page or more apart.
const PAGE_CYCLES: f64 = 12.0;
const PAGE: u64 = 4096;

/// The prediction of the model.
pub(super) struct Prediction {
    pub(super) bytes_a_cycle: f64,
    /// Where the lines come from.
    pub(super) source: &'static str,
    /// The loops, in the order of their use.
    pub(super) kernels: Vec<KernelUse>,
}

/// Predicts how fast `count` elements are packed.
pub(super) fn predict(layout: &Layout, count: usize, isa: Isa) -> Prediction {
    let whole = layout.size().saturating_mul(count);
    let kernels = layout.kernels(0..whole.min(LOOKED_AT));
    let bytes: usize = kernels.iter().map(|it| it.bytes).sum();
    let lines: u128 = kernels.iter().map(lines).sum();
    let scale = whole as f64 / bytes.max(1) as f64;
    let footprint = (lines * LINE) as f64 * scale;
    let cache = CACHES.iter().position(|it| footprint <= it.0 as f64);
    let line_cycles = cache.map_or(MEMORY_CYCLES, |index| CACHES[index].1);
    let cycles: f64 = kernels
        .iter()
        .map(|it| work(it, isa).max(lines_of(it) * line_cycles * fetched_ahead(it)) + pages(it))
        .sum();
    Prediction {
        bytes_a_cycle: bytes as f64 / cycles.max(1.0),
        source: ["level-1 cache", "level-2 cache", "level-3 cache", "memory"][cache.unwrap_or(3)],
        kernels,
    }
}

/// What is left of a line's price.
fn fetched_ahead(used: &KernelUse) -> f64 {
    if used.width >= LONG_RUN { AHEAD } else { 1.0 }
}

/// Cycles that runs cost because they lie on pages of their own.
fn pages(used: &KernelUse) -> f64 {
    let is_remote = used.distance.unsigned_abs() >= PAGE && used.kernel != Kernel::Squares;
    if is_remote {
        PAGE_CYCLES * used.runs as f64
    } else {
        0.0
    }
}

fn lines_of(used: &KernelUse) -> f64 {
    lines(used) as f64
}

/// Cache lines that are touched.
fn lines(used: &KernelUse) -> u128 {
    let (runs, bytes) = (used.runs as u128, used.bytes as u128);
    let distance = u128::from(used.distance.unsigned_abs());
    match used.kernel {
        // Squares use a line for as many rows as it has.
        Kernel::Squares | Kernel::Copy => bytes.div_ceil(LINE),
        Kernel::Records => (distance * runs).div_ceil(LINE).min(runs).max(bytes / LINE),
        Kernel::List => runs,
        // The distance is that of rows' runs, or of whole records.
        Kernel::Lines => (distance * (bytes / used.width as u128)).div_ceil(LINE),
        Kernel::Rows if distance < LINE => (distance * runs).div_ceil(LINE),
        Kernel::Rows => {
            let width = used.width as u128;
            runs * (width + LINE - 8).div_ceil(LINE).max(1)
        }
    }
}

/// Cycles of loops whose data are at hand.
fn work(used: &KernelUse, isa: Isa) -> f64 {
    let store = if isa == Isa::Portable { 16 } else { 32 };
    let stores = |bytes: usize| bytes.div_ceil(store) as f64;
    let runs = used.runs as f64;
    let run = match used.kernel {
        Kernel::Copy => return 20.0 * used.calls as f64 + stores(used.bytes),
        // A line, compressed in a few cycles.
        Kernel::Lines => return 2.0 * lines_of(used),
        Kernel::Records => return 2.0 * runs,
        Kernel::List => 1.0 + stores(used.width),
        Kernel::Squares => 0.5 + stores(used.width),
        Kernel::Rows if used.width > 512 => 20.0 + stores(used.width),
        Kernel::Rows => stores(used.width),
    };
    runs * run + 5.0 * used.calls as f64
}

/// The name of a loop.
pub(super) fn kernel_name(used: &KernelUse, isa: Isa) -> String {
    let set = match isa {
        Isa::Portable => "",
        Isa::Avx2 | Isa::Avx512 => ", AVX2",
    };
    let width = used.width;
    match used.kernel {
        Kernel::Copy => "one run at a time".to_owned(),
        Kernel::Rows => format!("rows of {width}-byte runs{set}"),
        Kernel::Lines => format!(
            "compressed lines, {width} bytes every {}, AVX-512",
            used.distance
        ),
        Kernel::Squares => format!("squares of {width}-byte runs"),
        Kernel::List => format!("list of {width}-byte runs"),
        Kernel::Records => format!("records of {width} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(layout: &Layout) -> f64 {
        predict(layout, 1, Isa::Avx2).bytes_a_cycle
    }

    #[test]
    fn longer_runs_are_faster_and_farther_ones_slower() {
        let byte = Layout::named(1, 1);
        let vector = |width: usize, stride: i64| {
            let run = Layout::contiguous(width, &byte).unwrap();
            Layout::repeated(1000, stride, &run).unwrap()
        };
        let widths = [1, 3, 9, 24, 60].map(|width| speed(&vector(width, 200)));
        assert!(widths.is_sorted(), "{widths:?}");
        let strides = [40, 100_000].map(|stride| speed(&vector(24, stride)));
        assert!(strides[0] >= strides[1], "{strides:?}");
        let remote = Layout::repeated(100_000, 4096, &byte).unwrap();
        assert!(speed(&remote) < speed(&vector(1, 64)) / 3.0);
        assert!(speed(&Layout::contiguous(10_000, &byte).unwrap()) > 10.0);
    }

    #[test]
    fn every_kernel_has_a_price() {
        let used = |kernel| KernelUse {
            kernel,
            width: 8,
            distance: 16,
            calls: 1,
            runs: 100,
            bytes: 800,
        };
        for kernel in [
            Kernel::Copy,
            Kernel::Rows,
            Kernel::Lines,
            Kernel::Squares,
            Kernel::List,
            Kernel::Records,
        ] {
            assert!(work(&used(kernel), Isa::Avx512) > 10.0, "{kernel:?}");
            assert!(lines(&used(kernel)) >= 12, "{kernel:?}");
        }
    }
}
