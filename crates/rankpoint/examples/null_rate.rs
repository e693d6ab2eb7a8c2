// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of 8 bytes a second that one core sends where nothing carries them, which is the rate of the library alone:
//! `RANKPOINT_FABRIC=null cargo run --release --example null_rate`. `cargo xtask bench icount` runs it in each build profile.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use rankpoint::{Result, Universe};

const WINDOW: usize = 64;
const WINDOWS: usize = 20_000;
const SAMPLES: usize = 15;

/// The median of samples of a rate: millions of messages a second.
fn rate(mut window: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut rates = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let start = Instant::now();
        for _ in 0..WINDOWS {
            window()?;
        }
        let seconds = start.elapsed().as_secs_f64();
        rates.push((WINDOW * WINDOWS) as f64 / seconds / 1e6);
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates[SAMPLES / 2])
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let place = world.duplicate_predefined::<1>()?;
    let (me, value) = (world.rank(), 1_i64);
    let sends = rate(|| (0..WINDOW).try_for_each(|_| world.send(black_box(&value), me, 0)))?;
    let window = || {
        world.scope(|scope| {
            for _ in 0..WINDOW {
                scope.isend(black_box(&value), me, 0)?.wait()?;
            }
            Ok(())
        })
    };
    let isends = rate(window)?;
    let window = || {
        place.scope(|scope| {
            let fast = scope.promise().world_ranks().in_order().in_bulk();
            (0..WINDOW).try_for_each(|_| fast.isend(black_box(&value), me))?;
            scope.promise().in_bulk().wait_all()
        })
    };
    let in_bulk = rate(window)?;
    let constant =
        rate(|| (0..WINDOW).try_for_each(|_| place.send_in_order(black_box(&value), me)))?;
    let mut out = std::io::stdout().lock();
    for (name, rate) in [
        ("send", sends),
        ("isend and wait", isends),
        ("isend, all promises", in_bulk),
        ("send, all promises, constant communicator", constant),
    ] {
        writeln!(out, "{name}: {rate:.1} million messages a second").ok();
    }
    Ok(())
}
