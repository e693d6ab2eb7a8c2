// SPDX-License-Identifier: MIT OR Apache-2.0
//! Magnetohydrodynamics with the communication of the code Astaroth: eight quantities, differences of sixth order, three exchanges and
//! three kernels in a step. An explosion in a periodic box.
//!
//! ```text
//! mpiexec -n 4 target/release/examples/astaroth 64 64 64 --iters 5
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports")]

mod common;
#[path = "common/sixth.rs"]
mod sixth;

use std::f64::consts::TAU;
use std::time::Instant;

use clap::Parser;
use common::{Common, World, checksum, slowest};
use sixth::Lines;
use stencil::{Quantity, Radius, Result, Step};

/// Logarithm of density, velocity, entropy, vector potential.
const NAMES: [&str; 8] = ["lnrho", "ux", "uy", "uz", "entropy", "ax", "ay", "az"];

/// Factors of the three substeps (Williamson's scheme with two registers).
const ALPHA: [f64; 3] = [0.0, -5.0 / 9.0, -153.0 / 128.0];
const BETA: [f64; 3] = [1.0 / 3.0, 15.0 / 16.0, 8.0 / 15.0];

const GAMMA: f64 = 5.0 / 3.0;
const SOUND_SPEED: f64 = 1.0;
const VISCOSITY: f64 = 5e-3;
const RESISTIVITY: f64 = 5e-3;
const CONDUCTIVITY: f64 = 5e-4;

#[derive(Parser)]
struct Options {
    /// Points along x
    x: usize,
    /// Points along y
    y: usize,
    /// Points along z
    z: usize,
    /// Steps
    #[arg(long, default_value_t = 5)]
    iters: usize,
    /// Time of a step
    #[arg(long, default_value_t = 1e-8)]
    dt: f64,
    #[command(flatten)]
    common: Common,
}

/// A vector product.
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Derivatives of a vector: of each component the gradient, and what is made of second derivatives.
struct Vector {
    value: [f64; 3],
    gradient: [[f64; 3]; 3],
    laplacian: [f64; 3],
    /// The gradient of the divergence.
    of_divergence: [f64; 3],
}

impl Vector {
    fn new(lines: [&Lines<'_>; 3], i: usize) -> Self {
        let second = lines.map(|lines| lines.second(i));
        let [[xy_x, xz_x, _], [xy_y, _, yz_y], [_, xz_z, yz_z]] = lines.map(|lines| lines.mixed(i));
        Self {
            value: lines.map(|lines| lines.value(i)),
            gradient: lines.map(|lines| lines.gradient(i)),
            laplacian: second.map(|second| second.iter().sum()),
            of_divergence: [
                second[0][0] + xy_y + xz_z,
                xy_x + second[1][1] + yz_z,
                xz_x + yz_y + second[2][2],
            ],
        }
    }

    fn curl(&self) -> [f64; 3] {
        let of = &self.gradient;
        [
            of[2][1] - of[1][2],
            of[0][2] - of[2][0],
            of[1][0] - of[0][1],
        ]
    }

    fn divergence(&self) -> f64 {
        (0..3).map(|axis| self.gradient[axis][axis]).sum()
    }
}

/// The rates of change of all quantities at a point.
fn rates(lines: &[Lines<'_>; 8], i: usize) -> [f64; 8] {
    let [lnrho, ux, uy, uz, entropy, ax, ay, az] = lines;
    let (u, a) = (Vector::new([ux, uy, uz], i), Vector::new([ax, ay, az], i));
    let (grad_rho, grad_s) = (lnrho.gradient(i), entropy.gradient(i));
    let (ln_rho, s) = (lnrho.value(i), entropy.value(i));
    let (rho, divergence) = (ln_rho.exp(), u.divergence());
    let field = a.curl();
    let current: [f64; 3] = std::array::from_fn(|axis| a.of_divergence[axis] - a.laplacian[axis]);
    let force = cross(current, field);
    let heat = GAMMA * s + (GAMMA - 1.0) * ln_rho;
    let sound = SOUND_SPEED * SOUND_SPEED * heat.exp();
    let temperature = sound / (GAMMA - 1.0);
    // The traceless rate of shear.
    let shear: [[f64; 3]; 3] = std::array::from_fn(|one| {
        std::array::from_fn(|other| {
            let trace = if one == other { divergence / 3.0 } else { 0.0 };
            0.5 * (u.gradient[one][other] + u.gradient[other][one]) - trace
        })
    });
    let of_velocity: [f64; 3] = std::array::from_fn(|axis| {
        let pressure = sound * (grad_s[axis] + grad_rho[axis]);
        let viscous =
            u.laplacian[axis] + u.of_divergence[axis] / 3.0 + 2.0 * dot(shear[axis], grad_rho);
        -dot(u.value, u.gradient[axis]) - pressure + force[axis] / rho + VISCOSITY * viscous
    });
    let grad_heat: [f64; 3] =
        std::array::from_fn(|axis| GAMMA * grad_s[axis] + (GAMMA - 1.0) * grad_rho[axis]);
    let laplacian = |lines: &Lines<'_>| lines.second(i).iter().sum::<f64>();
    let of_heat = GAMMA * laplacian(entropy) + (GAMMA - 1.0) * laplacian(lnrho);
    let sheared: f64 = shear.iter().map(|row| dot(*row, *row)).sum();
    let produced = RESISTIVITY * dot(current, current) + 2.0 * rho * VISCOSITY * sheared;
    let of_entropy = -dot(u.value, grad_s)
        + produced / (rho * temperature)
        + CONDUCTIVITY / rho * (of_heat + dot(grad_heat, grad_heat));
    let induced = cross(u.value, field);
    let of_potential: [f64; 3] =
        std::array::from_fn(|axis| induced[axis] + RESISTIVITY * a.laplacian[axis]);
    let [vx, vy, vz] = of_velocity;
    let [px, py, pz] = of_potential;
    let of_density = -dot(u.value, grad_rho) - divergence;
    [of_density, vx, vy, vz, of_entropy, px, py, pz]
}

/// What is fixed in a run.
struct Run {
    quantities: [Quantity<f64>; 8],
    spacing: f64,
    dt: f64,
    /// The first point and the sides of this rank's box.
    start: [i64; 3],
    sides: [usize; 3],
}

/// A substep in a region. `register` has the changes of all quantities at each point of the box.
fn kernel(step: &Step<'_>, run: &Run, substep: usize, register: &mut [[f64; 8]]) {
    let views = run.quantities.map(|quantity| step.current(quantity));
    let mut nexts = run.quantities.map(|quantity| step.next(quantity));
    let [xs, ys, zs] = step.region();
    for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
        let lines = views
            .each_ref()
            .map(|view| Lines::new(view, xs.clone(), y, z, run.spacing));
        let row = (z - run.start[2]) as usize * run.sides[1] + (y - run.start[1]) as usize;
        let first = row * run.sides[0] + (xs.start - run.start[0]) as usize;
        for (i, x) in xs.clone().enumerate() {
            let rates = rates(&lines, i);
            let changes = &mut register[first + i];
            for (quantity, rate) in rates.into_iter().enumerate() {
                changes[quantity] = ALPHA[substep] * changes[quantity] + run.dt * rate;
                let new = lines[quantity].value(i) + BETA[substep] * changes[quantity];
                nexts[quantity].set([x, y, z], new);
            }
        }
    }
}

/// A number in [0, 1) for a point.
fn random([x, y, z]: [i64; 3], salt: u64) -> f64 {
    let place = ((z as u64) << 40) ^ ((y as u64) << 20) ^ (x as u64) ^ (salt << 60);
    let mixed = (place ^ (place >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// A component of the velocity: away from the middle, in a shell.
fn explosion(grid: [usize; 3], spacing: f64, point: [i64; 3], axis: usize) -> f64 {
    let away: [f64; 3] =
        std::array::from_fn(|axis| (point[axis] as f64 - grid[axis] as f64 / 2.0) * spacing);
    let distance = dot(away, away).sqrt();
    let (amplitude, radius, width) = (1.0, 0.8, 0.2);
    let off = (distance - radius) / width;
    if distance == 0.0 {
        return 0.0;
    }
    amplitude * (-0.5 * off * off).exp() * away[axis] / distance
}

fn main() -> Result<()> {
    let options: Options = common::options();
    let grid = [options.x, options.y, options.z];
    let world = World::new(&options.common)?;
    let mut builder = world
        .domain(grid, &options.common)
        .radius(Radius::constant(sixth::REACH as usize).corners(0));
    let quantities = NAMES.map(|name| builder.quantity::<f64>(name));
    let mut domain = builder.realize()?;
    if options.common.explain {
        print!("{}", domain.explain());
    }
    let region = domain.region();
    let run = Run {
        quantities,
        spacing: TAU / grid[0] as f64,
        dt: options.dt,
        start: region.each_ref().map(|range| range.start),
        sides: region.map(|range| (range.end - range.start) as usize),
    };
    domain.fill(quantities[0], |_| 0.5f64.ln())?;
    for axis in 0..3 {
        domain.fill(quantities[1 + axis], |at| {
            explosion(grid, run.spacing, at, axis)
        })?;
        domain.fill(quantities[5 + axis], |at| random(at, axis as u64))?;
    }
    domain.fill(quantities[4], |at| random(at, 3))?;
    let mut register = vec![[0.0; 8]; run.sides.iter().product()];
    domain.all_gather(0)?;
    let start = Instant::now();
    for _ in 0..options.iters {
        for substep in 0..3 {
            domain.advance(|step| kernel(step, &run, substep, &mut register))?;
        }
    }
    let seconds = slowest(&domain, start.elapsed().as_secs_f64())?;
    let mut sum = 0u64;
    for quantity in quantities {
        sum = sum
            .wrapping_mul(31)
            .wrapping_add(checksum(&domain, quantity, f64::to_bits)?);
    }
    if domain.rank() == 0 {
        let (within, between) = domain.methods();
        let [x, y, z] = domain.plan().dims();
        let counters = domain.counters();
        println!(
            "astaroth, {x}x{y}x{z} boxes, {within} within nodes, {between} between, {} steps",
            options.iters
        );
        println!(
            "exact  {} exchanges, {} messages of rank 0",
            counters.exchanges, counters.messages
        );
        println!(
            "real   {seconds:.6} s, of which rank 0 waited {:.6} s",
            counters.wait().as_secs_f64()
        );
        println!("checksum {sum:016x}");
    }
    Ok(())
}
