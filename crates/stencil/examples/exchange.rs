// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time of halo exchanges, by placement and method.
//!
//! ```text
//! mpiexec -n 8 target/release/examples/exchange 128 128 128 --pseudo-nodes 2
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports")]

mod common;

use std::time::Instant;

use clap::{Parser, ValueEnum as _};
use common::{Common, How, Where, World, slowest};
use stencil::{Domain, Radius, Result};

#[derive(Parser)]
struct Options {
    /// Points along x
    x: usize,
    /// Points along y
    y: usize,
    /// Points along z
    z: usize,
    /// The radius in all directions
    #[arg(long, default_value_t = 3)]
    radius: usize,
    /// Quantities of 8 bytes
    #[arg(long, default_value_t = 4)]
    quantities: usize,
    /// Measured exchanges of each combination
    #[arg(long, default_value_t = 50)]
    iters: usize,
    #[command(flatten)]
    common: Common,
}

/// Seconds of an exchange: the median over exchanges of the slowest rank's.
fn measure(domain: &mut Domain<'_>, iters: usize) -> Result<f64> {
    let mut times = Vec::with_capacity(iters);
    for exchange in 0..iters + 3 {
        let start = Instant::now();
        domain.exchange()?;
        if exchange >= 3 {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    slowest(domain, times[iters / 2])
}

fn main() -> Result<()> {
    let options: Options = common::options();
    let world = World::new(&options.common)?;
    let grid = [options.x, options.y, options.z];
    for placement in Where::value_variants() {
        for methods in How::value_variants() {
            let common = Common {
                placement: *placement,
                methods: *methods,
                ..options.common.clone()
            };
            let mut builder = world
                .domain(grid, &common)
                .radius(Radius::constant(options.radius));
            for index in 0..options.quantities {
                builder.quantity::<f64>(&format!("quantity {index}"));
            }
            let mut domain = builder.realize()?;
            if options.common.explain {
                print!("{}", domain.explain());
            }
            let seconds = measure(&mut domain, options.iters.max(1))?;
            if domain.rank() == 0 {
                let traffic = domain.plan().traffic();
                let megabytes = |points| (points * 8 * options.quantities) as f64 / 1e6;
                let (within, between) = domain.methods();
                println!(
                    "{:<10} {:<7} {:>10.1} us  {within} within, {between} between; MB to itself {:.3}, within {:.3}, between {:.3}",
                    format!("{placement:?}").to_lowercase(),
                    format!("{methods:?}").to_lowercase(),
                    seconds * 1e6,
                    megabytes(traffic.own),
                    megabytes(traffic.node),
                    megabytes(traffic.network),
                );
            }
        }
    }
    Ok(())
}
