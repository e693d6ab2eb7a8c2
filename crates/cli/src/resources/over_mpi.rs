// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint resources bench --kernel --mpi`: the kernel by gets and puts of an MPI library, beside what the emulation predicts.
//!
//! MPI has no queue pairs: a process for each thread is what *MPI everywhere* is, a window for each thread the nearest to *Dynamic*, one window
//! for all of them to *MPI+threads*.

use std::time::Duration;

use bench_rank::{GETS, GLOBAL_ARRAY, PRODUCTS, PUTS, WRONG};
use channels::emulated::{Matrices, run_kernel};
use channels::policy::Driver;
use channels::{Category, Profile};
use measure::columns::table;
use measure::job::{self, RankReport};
use measure::settings;
use measure::target::{self, Target};
use serde_json::{Value, json};

use super::bench::{KERNEL, millions};
use super::bench_options::BenchOptions;

/// A way to give threads MPI, and the category that it is compared with.
struct Way {
    category: Category,
    name: &'static str,
    /// Clients, threads of each, and windows.
    clients: usize,
    threads: usize,
    windows: usize,
}

/// What a job measured.
#[derive(Default)]
struct Measured {
    version: String,
    gets: (usize, f64),
    puts: (usize, f64),
    products: (usize, f64),
    wrong: usize,
}

impl Measured {
    /// Operations per second, of all threads while they are in MPI.
    fn rate(&self, threads: usize) -> f64 {
        let count = (self.gets.0 + self.puts.0) as f64;
        count * threads as f64 / (self.gets.1 + self.puts.1).max(1.0) * 1e9
    }
}

fn ways(threads: usize) -> [Way; 3] {
    let way = |category, name, clients, threads, windows| Way {
        category,
        name,
        clients,
        threads,
        windows,
    };
    [
        way(
            Category::Everywhere,
            "a process for each thread",
            threads,
            1,
            1,
        ),
        way(
            Category::Dynamic,
            "a window for each thread",
            1,
            threads,
            threads,
        ),
        way(
            Category::Threads,
            "one window for all threads",
            1,
            threads,
            1,
        ),
    ]
}

pub(super) fn kernel(options: &BenchOptions, nic: &Profile) -> Result<(String, Value), String> {
    if settings::is_rank() {
        return Err(
            "resources bench --mpi starts its jobs itself: run it without mpiexec".to_owned(),
        );
    }
    let library = target::library(options.mpiexec.as_deref(), options.library_path.as_deref())?;
    let head = [
        "like          ",
        "MPI                         ",
        "operations",
        "measured",
        "emulated",
        "get, mean",
        "put, mean",
        "product, mean",
        "wrong elements of C",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    let (mut values, mut version) = (Vec::new(), String::new());
    let (mut base, mut emulated_base, mut wrong) = (None, None, 0);
    for way in ways(options.threads) {
        let found = measured(&library, &way)?;
        let mut matrices = Matrices::new(KERNEL.0, KERNEL.1);
        let run = run_kernel(
            way.category,
            Driver::Legacy,
            options.threads,
            nic,
            &mut matrices,
        );
        let emulated = run.map_err(|error| error.to_string())?.rate;
        let rate = found.rate(options.threads);
        let measured = rate / *base.get_or_insert(rate);
        let predicted = emulated / *emulated_base.get_or_insert(emulated);
        let mean = |(count, ns): (usize, f64)| ns / count.max(1) as f64;
        rows.push([
            format!("{:<14}", way.category.name()),
            format!("{:<28}", way.name),
            millions(rate),
            format!("{:.1} %", 100.0 * measured),
            format!("{:.1} %", 100.0 * predicted),
            format!("{:.0} ns", mean(found.gets)),
            format!("{:.0} ns", mean(found.puts)),
            format!("{:.0} ns", mean(found.products)),
            found.wrong.to_string(),
        ]);
        values.push(json!({
            "category": way.category.name(), "mpi": way.name, "rate": rate, "measured": measured, "emulated": predicted,
            "gets": found.gets.0, "puts": found.puts.0,
            "get_ns": mean(found.gets), "put_ns": mean(found.puts), "product_ns": mean(found.products), "wrong": found.wrong,
        }));
        wrong += found.wrong;
        version = found.version;
    }
    let mut text = format!(
        "C = A B over MPI, {0} x {0} tiles of {1} x {1} numbers on a server, {2} threads of clients: {version}\n",
        KERNEL.0, KERNEL.1, options.threads
    );
    table(&mut text, usize::MAX, rows);
    if wrong > 0 {
        return Err(format!("{wrong} numbers of C are wrong\n{text}"));
    }
    text += "\nmeasured: real time on this node, as a share of the first row; there is no network interface between its ranks (real)\n\
        emulated: the same share for a network interface, which is what the emulation predicts where there is one\n";
    let value = json!({ "clock": "real", "library": version, "threads": options.threads, "kernel": values });
    Ok((text, value))
}

/// Runs a job.
fn measured(library: &Target, way: &Way) -> Result<Measured, String> {
    let words = [
        GLOBAL_ARRAY.to_owned(),
        format!("tiles={}", KERNEL.0),
        format!("edge={}", KERNEL.1),
        format!("threads={}", way.threads),
        format!("windows={}", way.windows),
    ];
    let ranks = u32::try_from(way.clients + 1).unwrap_or(u32::MAX);
    let lines = job::run(library, ranks, &words, LIMIT)?.lines;
    let mut found = Measured::default();
    for line in lines {
        match line {
            RankReport::Start { version } => found.version = version,
            RankReport::Skipped { skipped } => return Err(format!("{}: {skipped}", way.name)),
            RankReport::Point {
                name, size, values, ..
            } => {
                let value = (size, values.first().copied().unwrap_or(0.0));
                match name.as_str() {
                    GETS => found.gets = value,
                    PUTS => found.puts = value,
                    PRODUCTS => found.products = value,
                    WRONG => found.wrong = size,
                    _ => {}
                }
            }
            RankReport::Rates { .. } => {}
        }
    }
    // A tile of C takes a row of A, a column of B, and one put.
    let tiles = KERNEL.0 * KERNEL.0;
    let expected = (2 * tiles * KERNEL.0, tiles);
    match (found.gets.0, found.puts.0) == expected {
        true => Ok(found),
        false => Err(format!(
            "{}: the ranks reported {} gets and {} puts: expected {} and {}",
            way.name, found.gets.0, found.puts.0, expected.0, expected.1
        )),
    }
}

/// After so long a job is given up.
const LIMIT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_time_in_mpi_and_every_way_has_as_many_threads() {
        let found = Measured {
            gets: (90, 9000.0),
            puts: (10, 1000.0),
            products: (45, 1e9),
            ..Measured::default()
        };
        assert_eq!(found.rate(2), 2e7);
        assert!(ways(6).iter().all(|way| way.clients * way.threads == 6));
        assert!(
            ways(6)
                .iter()
                .all(|way| way.threads.is_multiple_of(way.windows))
        );
    }
}
