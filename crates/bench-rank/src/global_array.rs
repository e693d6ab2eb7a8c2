// SPDX-License-Identifier: MIT OR Apache-2.0
//! A product of matrices in a global array by gets and puts of MPI, for `rankpoint resources bench --kernel --mpi`.
//!
//! The matrices are rank 0's, in square tiles of whole numbers, so C is exact in any order. Each thread of the other ranks takes tiles of C: it
//! gets a row of tiles of A and a column of B one by one, multiplies, and puts the tile of C. Rank 0 makes no call meanwhile but a barrier, and
//! compares C with its own product afterwards.

use std::time::{Duration, Instant};

use measure::settings;
use measure::target::InitLevel;

use crate::mpi::{Mpi, TileWindow};
use crate::output::print;

/// Name of the job.
pub const GLOBAL_ARRAY: &str = "global-array";
/// Name of the point of all threads' gets: its size is their number, its value the nanoseconds in them.
pub const GETS: &str = "gets";
/// The same of puts.
pub const PUTS: &str = "puts";
/// The same of products.
pub const PRODUCTS: &str = "products";
/// Name of the point with the numbers of C that are wrong.
pub const WRONG: &str = "wrong";

const SERVER: i32 = 0;
const TAG: i32 = 6;

/// What is multiplied, and by whom.
#[derive(Clone, Copy)]
struct Plan {
    /// Tiles of a matrix along an axis, and numbers of a tile along an axis.
    tiles: usize,
    edge: usize,
    /// Threads of each client, and windows that they have.
    threads: usize,
    windows: usize,
}

/// How often something was done, and the nanoseconds that it took.
#[derive(Clone, Copy, Default)]
struct Timed(u64, u64);

/// The operations of a thread: gets, puts, products of tiles.
type Tally = [Timed; 3];

/// Runs as a rank; the words are `key=value` pairs.
pub(crate) fn measure(words: &[String]) -> Result<(), String> {
    let plan = Plan::parse(words)?;
    let level = match plan.threads {
        1 => InitLevel::Single,
        _ => InitLevel::Multiple,
    };
    let mpi = Mpi::start(&settings::library_to_open().to_string_lossy(), level)?;
    let is_server = mpi.rank == SERVER;
    if is_server {
        print(&serde_json::json!({ "version": mpi.version(), "ranks": mpi.size }))?;
    }
    let numbers = if is_server {
        plan.matrices()
    } else {
        Vec::new()
    };
    let mut windows: Vec<TileWindow<'_>> = (0..plan.windows)
        .map(|_| mpi.tile_window(&numbers))
        .collect();
    mpi.barrier();
    let tally = match is_server {
        true => Tally::default(),
        false => plan.run(&mpi, &windows),
    };
    mpi.barrier();
    let tally = gathered(&mpi, tally);
    if is_server {
        // Each window has the tiles of C of the threads that use it.
        let found: Vec<Vec<f64>> = windows.iter_mut().map(TileWindow::own).collect();
        let wrong = plan.wrong(&numbers, &found);
        for (name, Timed(count, ns)) in [GETS, PUTS, PRODUCTS].into_iter().zip(tally) {
            print(&serde_json::json!({ "name": name, "size": count, "values": [ns as f64] }))?;
        }
        print(&serde_json::json!({ "name": WRONG, "size": wrong, "values": [0.0] }))?;
    }
    windows.into_iter().for_each(TileWindow::free);
    mpi.finish();
    Ok(())
}

impl Plan {
    fn parse(words: &[String]) -> Result<Self, String> {
        let mut plan = Self {
            tiles: 1,
            edge: 1,
            threads: 1,
            windows: 1,
        };
        for word in words {
            let wrong = || {
                format!(
                    "{word}: expected tiles, edge, threads or windows, and a number of at least 1"
                )
            };
            let (key, value) = word.split_once('=').ok_or_else(wrong)?;
            let number = value.parse().ok().filter(|&number: &usize| number > 0);
            let number = number.ok_or_else(wrong)?;
            match key {
                "tiles" => plan.tiles = number,
                "edge" => plan.edge = number,
                "threads" => plan.threads = number,
                "windows" => plan.windows = number,
                _ => return Err(wrong()),
            }
        }
        Ok(plan)
    }

    const fn tile_length(self) -> usize {
        self.edge * self.edge
    }

    /// Where a tile of matrix 0, 1 or 2 (A, B, C) stands.
    const fn place(self, matrix: usize, row: usize, column: usize) -> usize {
        ((matrix * self.tiles + row) * self.tiles + column) * self.tile_length()
    }

    /// A, B and an empty C, tile by tile.
    fn matrices(self) -> Vec<f64> {
        let length = self.tiles * self.tiles * self.tile_length();
        let value =
            |seed: usize| move |index: usize| ((index * seed + index / 7) % 17) as f64 - 8.0;
        let (a, b) = ((0..length).map(value(5)), (0..length).map(value(11)));
        // No product is as small, so that a tile which nobody put is wrong.
        a.chain(b)
            .chain(std::iter::repeat_n(f64::MIN, length))
            .collect()
    }

    /// A client: all of its threads.
    fn run(self, mpi: &Mpi, windows: &[TileWindow<'_>]) -> Tally {
        let clients = (mpi.size - 1) as usize;
        let first = (mpi.rank - 1) as usize * self.threads;
        std::thread::scope(|scope| {
            let work = |thread: usize| {
                let window = &windows[thread % windows.len()];
                self.work(window, first + thread, clients * self.threads)
            };
            let others: Vec<_> = (1..self.threads)
                .map(|thread| scope.spawn(move || work(thread)))
                .collect();
            let mut tally = work(0);
            for other in others {
                match other.join() {
                    Ok(more) => add(&mut tally, more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            tally
        })
    }

    /// One thread of so many in all clients.
    fn work(self, window: &TileWindow<'_>, thread: usize, threads: usize) -> Tally {
        let mut tally = Tally::default();
        let length = self.tile_length();
        let (mut a, mut b, mut sum) = (vec![0.0; length], vec![0.0; length], vec![0.0; length]);
        for tile in (thread..self.tiles * self.tiles).step_by(threads) {
            let (row, column) = (tile / self.tiles, tile % self.tiles);
            sum.fill(0.0);
            for k in 0..self.tiles {
                tally[0].time(|| window.get(&mut a, SERVER, self.place(0, row, k)));
                tally[0].time(|| window.get(&mut b, SERVER, self.place(1, k, column)));
                tally[2].time(|| self.multiply(&mut sum, &a, &b));
            }
            tally[1].time(|| window.put(&sum, SERVER, self.place(2, row, column)));
        }
        tally
    }

    /// Adds the product of two tiles.
    fn multiply(self, sum: &mut [f64], a: &[f64], b: &[f64]) {
        for (row, sums) in sum.chunks_mut(self.edge).enumerate() {
            for (k, factors) in b.chunks(self.edge).enumerate() {
                let factor = a[row * self.edge + k];
                for (sum, other) in sums.iter_mut().zip(factors) {
                    *sum += factor * other;
                }
            }
        }
    }

    /// Numbers of C that are not those of A B, where each window has what its threads put.
    fn wrong(self, numbers: &[f64], windows: &[Vec<f64>]) -> usize {
        let mut wrong = 0;
        let tile = |matrix, row, column| {
            let place = self.place(matrix, row, column);
            &numbers[place..place + self.tile_length()]
        };
        let mut sum = vec![0.0; self.tile_length()];
        for number in 0..self.tiles * self.tiles {
            let (row, column) = (number / self.tiles, number % self.tiles);
            sum.fill(0.0);
            for k in 0..self.tiles {
                self.multiply(&mut sum, tile(0, row, k), tile(1, k, column));
            }
            let place = self.place(2, row, column);
            // With several windows there is one client, whose threads take tiles in turn.
            let window = &windows[number % self.threads % windows.len()];
            let found = &window[place..place + self.tile_length()];
            wrong += found
                .iter()
                .zip(&sum)
                .filter(|(found, sum)| found != sum)
                .count();
        }
        wrong
    }
}

impl Timed {
    fn time(&mut self, action: impl FnOnce()) {
        let start = Instant::now();
        action();
        let time: Duration = start.elapsed();
        self.0 += 1;
        self.1 += time.as_nanos() as u64;
    }
}

fn add(tally: &mut Tally, more: Tally) {
    for (sum, Timed(count, ns)) in tally.iter_mut().zip(more) {
        sum.0 += count;
        sum.1 += ns;
    }
}

/// The operations of all clients, summed on the server.
fn gathered(mpi: &Mpi, own: Tally) -> Tally {
    let mut all = own;
    let mut bytes = Vec::new();
    for Timed(count, ns) in own {
        bytes.extend(count.to_le_bytes());
        bytes.extend(ns.to_le_bytes());
    }
    if mpi.rank != SERVER {
        mpi.send(&bytes, SERVER, TAG);
        return all;
    }
    for rank in 1..mpi.size {
        mpi.receive(&mut bytes, rank, TAG);
        let (words, _) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or(0);
        add(&mut all, [(); 3].map(|()| Timed(next(), next())));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(threads: usize, windows: usize) -> Plan {
        Plan {
            tiles: 3,
            edge: 2,
            threads,
            windows,
        }
    }

    /// C as threads put it, each into its window.
    fn product(plan: Plan) -> Vec<Vec<f64>> {
        let numbers = plan.matrices();
        let mut windows = vec![numbers.clone(); plan.windows];
        for number in 0..plan.tiles * plan.tiles {
            let (row, column) = (number / plan.tiles, number % plan.tiles);
            let mut sum = vec![0.0; plan.tile_length()];
            for k in 0..plan.tiles {
                let at = |matrix, row, column| {
                    let place = plan.place(matrix, row, column);
                    &numbers[place..place + plan.tile_length()]
                };
                plan.multiply(&mut sum, at(0, row, k), at(1, k, column));
            }
            let place = plan.place(2, row, column);
            let window = &mut windows[number % plan.threads % plan.windows];
            window[place..place + plan.tile_length()].copy_from_slice(&sum);
        }
        windows
    }

    #[test]
    fn a_number_that_is_wrong_or_was_not_put_is_counted() {
        for (threads, windows) in [(1, 1), (2, 1), (2, 2)] {
            let plan = plan(threads, windows);
            let numbers = plan.matrices();
            let mut found = product(plan);
            assert_eq!(plan.wrong(&numbers, &found), 0);
            assert_eq!(plan.wrong(&numbers, &vec![numbers.clone(); windows]), 36);
            found[0][plan.place(2, 0, 0) + 3] += 1.0;
            assert_eq!(plan.wrong(&numbers, &found), 1);
        }
    }

    #[test]
    fn tiles_are_multiplied_row_by_column() {
        let plan = plan(1, 1);
        let mut sum = vec![1.0, 0.0, 0.0, 0.0];
        plan.multiply(&mut sum, &[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]);
        assert_eq!(sum, [20.0, 22.0, 43.0, 50.0]);
    }

    #[test]
    fn words_are_checked() {
        let parsed = |word: &str| Plan::parse(&[word.to_owned()]).map(|plan| plan.tiles);
        assert_eq!(parsed("tiles=7"), Ok(7));
        for word in ["tiles=0", "tiles", "tile=3", "edge=x"] {
            assert!(parsed(word).is_err_and(|error| error.starts_with(word)));
        }
    }
}
