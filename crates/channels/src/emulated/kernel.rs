// SPDX-License-Identifier: MIT OR Apache-2.0
//! A product of matrices in a global array: C = A B in tiles, in each category.
//!
//! The matrices are the server's. Each thread of the client takes tiles of C one after the other: it gets a row of tiles of A and a
//! column of B, multiplies, and puts the tile of C. Operations are those of MPI: one at a time, each with a completion.

use std::collections::BTreeMap;

use super::lanes::{Events, Server, Time, picoseconds};
use crate::category::Category;
use crate::error::Error;
use crate::expectation::FEW_OF_CONTEXT;
use crate::inventory::Inventory;
use crate::nic::Profile;
use crate::policy::Driver;

/// The server's matrices: square, in square tiles, with whole numbers, so that C is exact in any order.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrices {
    tiles: usize,
    edge: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Matrices {
    /// Matrices of `tiles` by `tiles` tiles of `edge` by `edge` numbers.
    pub fn new(tiles: usize, edge: usize) -> Self {
        let width = tiles * edge;
        let value =
            |seed: usize| move |index: usize| ((index * seed + index / 7) % 17) as f64 - 8.0;
        Self {
            tiles,
            edge,
            a: (0..width * width).map(value(5)).collect(),
            b: (0..width * width).map(value(11)).collect(),
            c: vec![0.0; width * width],
        }
    }

    fn tile(&self, from: &[f64], row: usize, column: usize) -> Vec<f64> {
        let width = self.tiles * self.edge;
        let rows = (0..self.edge).map(|line| (row * self.edge + line) * width + column * self.edge);
        rows.flat_map(|start| from[start..start + self.edge].iter().copied())
            .collect()
    }

    fn put_c(&mut self, row: usize, column: usize, tile: &[f64]) {
        let width = self.tiles * self.edge;
        for (line, values) in tile.chunks(self.edge).enumerate() {
            let start = (row * self.edge + line) * width + column * self.edge;
            self.c[start..start + self.edge].copy_from_slice(values);
        }
    }

    /// Elements of C that are not those of A B.
    pub fn wrong(&self) -> usize {
        let width = self.tiles * self.edge;
        let exact = |index: usize| {
            let (row, column) = (index / width, index % width);
            let products = (0..width).map(|k| self.a[row * width + k] * self.b[k * width + column]);
            products.sum::<f64>()
        };
        let wrong = (0..width * width).filter(|&index| self.c[index] != exact(index));
        wrong.count()
    }
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelRun {
    /// Operations per second.
    pub rate: f64,
    /// Gets, and the time of all threads in them, in ns.
    pub reads: (usize, f64),
    /// Puts, and the time of all threads in them, in ns.
    pub writes: (usize, f64),
}

/// How an operation of a thread is served, in picoseconds.
#[derive(Clone, Copy)]
enum Path {
    /// Nobody waits: the time of an operation.
    Own(Time),
    /// One queue pair after the other on a uUAR: the time on the lane, and beside it.
    Lane(usize, Time, Time),
    /// One thread after the other.
    Pair(usize),
}

/// A thread's work on a tile of C.
struct Work {
    tile: usize,
    operation: usize,
    sum: Vec<f64>,
    a: Vec<f64>,
    started: Time,
}

/// Runs the kernel with `threads` threads; the matrices then have C.
///
/// # Errors
/// When the profile has no times or constants.
pub fn run_kernel(
    category: Category,
    driver: Driver,
    threads: usize,
    nic: &Profile,
    matrices: &mut Matrices,
) -> Result<KernelRun, Error> {
    let (timing, constants) = nic.emulation()?;
    let operation = timing.build + timing.barriers + timing.pio + timing.progress;
    let takes = picoseconds(operation);
    let handover = picoseconds(constants.qp_handover * operation);
    let paths = paths(category, driver, threads, nic)?;
    let mut servers: BTreeMap<usize, Server> = BTreeMap::new();
    let mut events = Events::new(threads);
    let mut work: Vec<Option<Work>> = (0..threads).map(|_| None).collect();
    let (mut next_tile, mut end) = (0, 0);
    let (mut reads, mut writes) = ((0, 0), (0, 0));
    let all = matrices.tiles * matrices.tiles;
    while let Some((now, thread)) = events.next() {
        end = end.max(now);
        if let Some(mine) = &mut work[thread] {
            let is_put = matrices.finish(mine);
            let counted = if is_put { &mut writes } else { &mut reads };
            *counted = (counted.0 + 1, counted.1 + (now - mine.started));
            if is_put {
                work[thread] = None;
            }
        }
        if work[thread].is_none() {
            if next_tile == all {
                continue;
            }
            work[thread] = Some(matrices.start(next_tile));
            next_tile += 1;
        }
        let done = match paths[thread] {
            Path::Own(takes) => now + takes,
            Path::Lane(lane, on, beside) => {
                servers.entry(lane).or_default().serve(now, on) + beside
            }
            Path::Pair(pair) => {
                let lock = servers.entry(pair).or_default();
                lock.serve_customer(thread, now, takes, handover)
            }
        };
        if let Some(mine) = &mut work[thread] {
            mine.started = now;
        }
        events.add(done, thread);
    }
    let ns = |time: Time| time as f64 / 1e3;
    Ok(KernelRun {
        rate: (reads.0 + writes.0) as f64 / ns(end) * 1e9,
        reads: (reads.0, ns(reads.1)),
        writes: (writes.0, ns(writes.1)),
    })
}

impl Matrices {
    fn start(&self, tile: usize) -> Work {
        Work {
            tile,
            operation: 0,
            sum: vec![0.0; self.edge * self.edge],
            a: Vec::new(),
            started: 0,
        }
    }

    /// The effect of an operation that is complete; true for the put of a tile of C.
    fn finish(&mut self, work: &mut Work) -> bool {
        let (row, column) = (work.tile / self.tiles, work.tile % self.tiles);
        let step = work.operation / 2;
        let is_put = step == self.tiles;
        if is_put {
            let sum = std::mem::take(&mut work.sum);
            self.put_c(row, column, &sum);
        } else if work.operation.is_multiple_of(2) {
            work.a = self.tile(&self.a, row, step);
        } else {
            let b = self.tile(&self.b, step, column);
            for (index, sum) in work.sum.iter_mut().enumerate() {
                let (row, column) = (index / self.edge, index % self.edge);
                let products =
                    (0..self.edge).map(|k| work.a[row * self.edge + k] * b[k * self.edge + column]);
                *sum += products.sum::<f64>();
            }
        }
        work.operation += 1;
        is_put
    }
}

/// How the operations of each thread are served.
fn paths(
    category: Category,
    driver: Driver,
    threads: usize,
    nic: &Profile,
) -> Result<Vec<Path>, Error> {
    let (timing, constants) = nic.emulation()?;
    let operation = timing.build + timing.barriers + timing.pio + timing.progress;
    let inventory = Inventory::new(category, driver, threads);
    let (mut on_uuar, mut on_page, mut in_context) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (at, pair) in inventory.used() {
        let uuar = pair.uuar;
        *on_uuar.entry((at, uuar)).or_insert(0_usize) += 1;
        *on_page
            .entry((at, uuar.pages, uuar.page))
            .or_insert(0_usize) += 1;
        *in_context.entry(at).or_insert(0_usize) += 1;
    }
    let lanes: Vec<_> = on_uuar.keys().copied().collect();
    let mut paths = vec![Path::Own(picoseconds(operation)); threads];
    for (index, (at, pair)) in inventory.used().enumerate() {
        let uuar = pair.uuar;
        let path = if pair.threads.len() > 1 {
            Path::Pair(index)
        } else if on_uuar[&(at, uuar)] > 1 {
            // Two that always wait for each other take the published factor each; the rest of an operation overlaps.
            let on = constants.shared_uuar / 2.0;
            let lane = lanes.iter().position(|&lane| lane == (at, uuar));
            let beside = picoseconds((1.0 - on).max(0.0) * operation);
            Path::Lane(lane.unwrap_or(0), picoseconds(on * operation), beside)
        } else if on_page[&(at, uuar.pages, uuar.page)] > 1 {
            Path::Own(picoseconds(constants.shared_uar_kernel * operation))
        } else if category == Category::Dynamic && in_context[&at] > FEW_OF_CONTEXT {
            Path::Own(picoseconds(constants.ctx_16way_kernel * operation))
        } else {
            Path::Own(picoseconds(operation))
        };
        for &thread in &pair.threads {
            paths[thread] = path;
        }
    }
    Ok(paths)
}
