// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided communication: operations on a window of rank 1, locks, and synchronisation of all ranks.

use crate::measurement::WINDOW;
use crate::mpi::{Mpi, PeerGroup, RmaWindow, STRIDED, WindowMemory};
use crate::options::RankOptions;
use crate::output::report;
use crate::pattern::{check, fill};

const SMALL: usize = 8;
const TARGET: i32 = 1;

/// Measures the row that the options name.
pub(crate) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    use WindowMemory::{Allocated, Private};
    match options.measurement.name {
        "rma-put" => puts(mpi, options, Allocated),
        "rma-put-private" => puts(mpi, options, Private),
        "rma-get" => gets(mpi, options, Allocated),
        "rma-get-private" => gets(mpi, options, Private),
        "rma-put-strided" => strided(mpi, options),
        "rma-bandwidth" => windows(mpi, options, &options.sizes),
        "rma-rate" => windows(mpi, options, &[SMALL]),
        "rma-accumulate" => accumulates(mpi, options),
        "rma-fetch-and-op" => atomics(mpi, options, |window, iteration| {
            let mut old = 0;
            window.fetch_and_add(&1, &mut old, TARGET);
            window.flush(TARGET);
            assert_eq!(old, iteration, "what was there before");
        }),
        "rma-compare-and-swap" => atomics(mpi, options, |window, iteration| {
            let mut old = 0;
            window.compare_and_swap(&(iteration + 1), &iteration, &mut old, TARGET);
            window.flush(TARGET);
            assert_eq!(old, iteration, "what was there before");
        }),
        "rma-lock" => locks(mpi, options, TARGET, false),
        "rma-lock-contended" => locks(mpi, options, 0, true),
        "rma-fence" => fences(mpi, options),
        "rma-pscw" => posted(mpi, options),
        name => Err(format!("nothing is called {name}")),
    }
}

/// Runs something on rank 0 inside an epoch of shared locks.
fn in_epoch(mpi: &Mpi, window: &RmaWindow<'_>, action: impl FnOnce()) {
    if mpi.rank == 0 {
        window.lock_all();
        action();
        window.unlock_all();
    }
    mpi.barrier();
}

/// The times of something that rank 0 does inside an epoch.
fn timed(
    mpi: &Mpi,
    options: &RankOptions,
    window: &RmaWindow<'_>,
    mut once: impl FnMut(),
) -> Vec<f64> {
    if mpi.rank == 0 {
        window.lock_all();
    }
    let values = options.effort.measure(mpi, |iterations| {
        if mpi.rank == 0 {
            for _ in 0..iterations {
                once();
            }
        }
    });
    if mpi.rank == 0 {
        window.unlock_all();
    }
    values
}

fn puts(mpi: &Mpi, options: &RankOptions, memory: WindowMemory) -> Result<(), String> {
    for &size in &options.sizes {
        let mut window = RmaWindow::new(mpi, memory, size.max(SMALL));
        let mut data = vec![0; size];
        if options.verify {
            fill(&mut data, 7);
            in_epoch(mpi, &window, || window.put(&data, TARGET));
            if mpi.rank == TARGET {
                check(mpi, &window.local()[..size], 7);
            }
        }
        let values = timed(mpi, options, &window, || {
            window.put(&data, TARGET);
            window.flush(TARGET);
        });
        report(mpi, options, options.measurement.name, size, &values)?;
        window.free();
    }
    Ok(())
}

fn gets(mpi: &Mpi, options: &RankOptions, memory: WindowMemory) -> Result<(), String> {
    for &size in &options.sizes {
        let mut window = RmaWindow::new(mpi, memory, size.max(SMALL));
        let mut data = vec![0; size];
        fill(&mut window.local()[..size], 9);
        mpi.barrier();
        in_epoch(mpi, &window, || {
            window.get(&mut data, TARGET);
            window.flush(TARGET);
        });
        if options.verify && mpi.rank == 0 {
            check(mpi, &data, 9);
        }
        let values = timed(mpi, options, &window, || {
            window.get(&mut data, TARGET);
            window.flush(TARGET);
        });
        report(mpi, options, options.measurement.name, size, &values)?;
        window.free();
    }
    Ok(())
}

fn strided(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let (block, blocks, stride) = STRIDED;
    let mut window = RmaWindow::new(mpi, WindowMemory::Allocated, blocks * stride);
    let mut data = vec![0; block * blocks];
    fill(&mut data, 3);
    if mpi.rank == 0 {
        window.lock_all();
        window.put_strided(&data, TARGET);
        window.unlock_all();
    }
    mpi.barrier();
    if options.verify && mpi.rank == TARGET {
        let rows = window.local().chunks(stride);
        let packed: Vec<u8> = rows.flat_map(|row| row[..block].to_vec()).collect();
        check(mpi, &packed, 3);
    }
    if mpi.rank == 0 {
        window.lock_all();
    }
    let values = options.effort.measure(mpi, |iterations| {
        if mpi.rank == 0 {
            for _ in 0..iterations {
                window.put_strided(&data, TARGET);
                window.flush(TARGET);
            }
        }
    });
    if mpi.rank == 0 {
        window.unlock_all();
    }
    report(mpi, options, options.measurement.name, SMALL, &values)?;
    window.free();
    Ok(())
}

/// Several puts and one flush; as bytes or as operations a second.
fn windows(mpi: &Mpi, options: &RankOptions, sizes: &[usize]) -> Result<(), String> {
    for &size in sizes {
        let window = RmaWindow::new(mpi, WindowMemory::Allocated, size.max(SMALL));
        let data = vec![1; size];
        let values = timed(mpi, options, &window, || {
            for _ in 0..WINDOW {
                window.put(&data, TARGET);
            }
            window.flush(TARGET);
        });
        let is_rate = options.measurement.name == "rma-rate";
        let each = if is_rate { WINDOW } else { WINDOW * size };
        let rates: Vec<f64> = values.iter().map(|time| each as f64 * 1e9 / time).collect();
        report(mpi, options, options.measurement.name, size, &rates)?;
        window.free();
    }
    Ok(())
}

fn accumulates(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    for &size in &options.sizes {
        let mut window = RmaWindow::new(mpi, WindowMemory::Allocated, size.max(SMALL));
        let data: Vec<i64> = (1..=(size / SMALL) as i64).collect();
        if options.verify {
            in_epoch(mpi, &window, || window.accumulate(&data, TARGET));
            if mpi.rank == TARGET {
                let sums = window.local()[..data.len() * SMALL].chunks(SMALL);
                let is_right = sums
                    .zip(&data)
                    .all(|(sum, value)| sum == value.to_ne_bytes());
                assert!(is_right, "wrong sums of {} numbers", data.len());
            }
            // What is timed changes the sums.
            mpi.barrier();
        }
        let values = timed(mpi, options, &window, || {
            window.accumulate(&data, TARGET);
            window.flush(TARGET);
        });
        report(mpi, options, options.measurement.name, size, &values)?;
        window.free();
    }
    Ok(())
}

/// An atomic operation and its flush; each finds the number of those before it.
fn atomics(
    mpi: &Mpi,
    options: &RankOptions,
    once: impl Fn(&RmaWindow<'_>, i64),
) -> Result<(), String> {
    let window = RmaWindow::new(mpi, WindowMemory::Allocated, SMALL);
    let mut iteration = 0;
    let values = timed(mpi, options, &window, || {
        once(&window, iteration);
        iteration += 1;
    });
    report(mpi, options, options.measurement.name, SMALL, &values)?;
    window.free();
    Ok(())
}

/// An exclusive lock, a put, and the unlock; on rank 0 only, or on all ranks at once.
fn locks(mpi: &Mpi, options: &RankOptions, target: i32, by_all: bool) -> Result<(), String> {
    let window = RmaWindow::new(mpi, WindowMemory::Allocated, SMALL);
    let data = [1; SMALL];
    let values = options.effort.measure(mpi, |iterations| {
        if mpi.rank == 0 || by_all {
            for _ in 0..iterations {
                window.lock(target);
                window.put(&data, target);
                window.unlock(target);
            }
        }
        if by_all {
            mpi.barrier();
        }
    });
    let holders = if by_all { f64::from(mpi.size) } else { 1.0 };
    let values: Vec<f64> = values.iter().map(|time| time / holders).collect();
    report(mpi, options, options.measurement.name, SMALL, &values)?;
    window.free();
    Ok(())
}

fn fences(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let window = RmaWindow::new(mpi, WindowMemory::Allocated, SMALL);
    let values = options.effort.measure(mpi, |iterations| {
        for _ in 0..iterations {
            window.fence();
        }
    });
    report(mpi, options, options.measurement.name, 0, &values)?;
    window.free();
    Ok(())
}

fn posted(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let window = RmaWindow::new(mpi, WindowMemory::Allocated, SMALL);
    let peer = PeerGroup::new(mpi, 1 - mpi.rank);
    let data = [1; SMALL];
    let values = options.effort.measure(mpi, |iterations| {
        for _ in 0..iterations {
            window.exchange_posted(&data, &peer);
        }
    });
    report(mpi, options, options.measurement.name, SMALL, &values)?;
    window.free();
    Ok(())
}
