// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heat in a periodic box with a hot and a cold sphere: each step replaces a point by the mean of its six neighbours and itself.
//!
//! ```text
//! mpiexec -n 4 target/release/examples/jacobi3d 128 128 128 --iters 100
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports")]

mod common;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::time::Instant;

use clap::Parser;
use common::{Common, World, checksum, slowest};
use stencil::{Domain, Quantity, Radius, Result, Step};

const HOT: f32 = 1.0;
const COLD: f32 = 0.0;
const START: f32 = 0.5;

#[derive(Parser)]
struct Options {
    /// Points along x
    x: usize,
    /// Points along y
    y: usize,
    /// Points along z
    z: usize,
    /// Steps
    #[arg(long, default_value_t = 30)]
    iters: usize,
    /// Exchange first, then calculate everything
    #[arg(long)]
    no_overlap: bool,
    /// Write the points of each rank as jacobi3d-STEP-RANK.vtk every so many steps
    #[arg(long, value_name = "STEPS")]
    period: Option<usize>,
    #[command(flatten)]
    common: Common,
}

/// The value of a sphere's points, which stays.
fn fixed([nx, ny, nz]: [usize; 3], [x, y, z]: [i64; 3]) -> Option<f32> {
    let radius = nx as i64 / 10;
    let is_in = |center: i64| {
        let (dx, dy, dz) = (x - center, y - ny as i64 / 2, z - nz as i64 / 2);
        dx * dx + dy * dy + dz * dz <= radius * radius
    };
    if is_in(nx as i64 / 3) {
        Some(HOT)
    } else if is_in(2 * nx as i64 / 3) {
        Some(COLD)
    } else {
        None
    }
}

fn kernel(step: &Step<'_>, heat: Quantity<f32>, grid: [usize; 3]) {
    let (now, mut next) = (step.current(heat), step.next(heat));
    let [xs, ys, zs] = step.region();
    for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
        let own = now.row(xs.start - 1..xs.end + 1, y, z);
        let sides = [(y - 1, z), (y + 1, z), (y, z - 1), (y, z + 1)];
        let [below, above, before, behind] = sides.map(|(y, z)| now.row(xs.clone(), y, z));
        for (i, new) in next.row_mut(xs.clone(), y, z).iter_mut().enumerate() {
            let around = own[i] + own[i + 2] + below[i] + above[i] + before[i] + behind[i];
            *new = (around + own[i + 1]) / 7.0;
        }
        for (x, new) in xs.clone().zip(next.row_mut(xs.clone(), y, z)) {
            *new = fixed(grid, [x, y, z]).unwrap_or(*new);
        }
    }
}

fn write(domain: &Domain<'_>, heat: Quantity<f32>, step: usize) -> std::io::Result<()> {
    let name = format!("jacobi3d-{step}-{}.vtk", domain.rank());
    let mut file = BufWriter::new(File::create(name)?);
    let [xs, ys, zs] = domain.region();
    let [nx, ny, nz] = [&xs, &ys, &zs].map(|range| range.end - range.start);
    writeln!(
        file,
        "# vtk DataFile Version 3.0\njacobi3d, step {step}\nASCII"
    )?;
    writeln!(file, "DATASET STRUCTURED_POINTS\nDIMENSIONS {nx} {ny} {nz}")?;
    writeln!(
        file,
        "ORIGIN {} {} {}\nSPACING 1 1 1",
        xs.start, ys.start, zs.start
    )?;
    writeln!(
        file,
        "POINT_DATA {}\nSCALARS heat float\nLOOKUP_TABLE default",
        nx * ny * nz
    )?;
    let view = domain.current(heat);
    for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
        for value in view.row(xs.clone(), y, z) {
            writeln!(file, "{value}")?;
        }
    }
    file.flush()
}

fn main() -> Result<()> {
    let options: Options = common::options();
    let grid = [options.x, options.y, options.z];
    let world = World::new(&options.common)?;
    let mut builder = world.domain(grid, &options.common).radius(Radius::faces(1));
    let heat = builder.quantity::<f32>("heat");
    let mut domain = builder.realize()?;
    if options.common.explain {
        print!("{}", domain.explain());
    }
    domain.fill(heat, |point| fixed(grid, point).unwrap_or(START))?;
    domain.all_gather(0)?;
    let start = Instant::now();
    for step in 0..options.iters {
        if options.no_overlap {
            domain.exchange()?;
            domain.calculate(|step| kernel(step, heat, grid))?;
            domain.swap();
        } else {
            domain.advance(|step| kernel(step, heat, grid))?;
        }
        let wanted = options
            .period
            .is_some_and(|period| (step + 1).is_multiple_of(period.max(1)));
        if wanted {
            let text =
                |error| stencil::Error::Argument(format!("cannot write the points: {error}"));
            write(&domain, heat, step + 1).map_err(text)?;
        }
    }
    let seconds = slowest(&domain, start.elapsed().as_secs_f64())?;
    let sum = checksum(&domain, heat, |value| u64::from(value.to_bits()))?;
    if domain.rank() == 0 {
        let (within, between) = domain.methods();
        let [x, y, z] = domain.plan().dims();
        println!(
            "jacobi3d, {x}x{y}x{z} boxes, {within} within nodes, {between} between, {} steps",
            options.iters
        );
        println!("real   {seconds:.6} s");
        println!("checksum {sum:016x}");
    }
    Ok(())
}
