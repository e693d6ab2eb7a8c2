// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint resources bench`: the microbenchmark and the kernel on an emulated network interface, by virtual or real time.

use std::fmt::Write as _;

use channels::emulated::wall::run_wall;
use channels::emulated::{
    Arrangement, Features, Level, Matrices, Object, Sharing, Workload, run_kernel,
    run_microbenchmark,
};
use channels::policy::Driver;
use channels::{Category, Constants, Profile};
use measure::columns::table;
use serde_json::{Value, json};

use super::bench_options::{BenchOptions, Clock};
use super::options::profile;
use super::over_mpi;
use super::run::{kib, percent};

/// Tiles of the kernel's matrices along an axis, and numbers of a tile along an axis.
pub(super) const KERNEL: (usize, usize) = (48, 2);

pub(super) fn output(options: &BenchOptions) -> Result<String, String> {
    let nic = profile(&options.nic)?;
    let (text, value) = if options.mpi {
        over_mpi::kernel(options, &nic)?
    } else if options.kernel {
        kernel(options, &nic)?
    } else if options.sweep {
        sweep(options, &nic)?
    } else {
        single(options, &nic)?
    };
    if options.json {
        return Ok(format!("{value:#}\n"));
    }
    if options.clock == Clock::Wall {
        return Ok(format!(
            "{text}\nwall: threads, locks, atomics and cache lines of this node (real); there is no bus and no device\n"
        ));
    }
    let (_, constants) = nic.emulation().map_err(|error| error.to_string())?;
    Ok(format!(
        "{text}{}",
        disclaimer(&nic, &constants, options.kernel)
    ))
}

/// A run by one of the clocks.
struct Run {
    rate: f64,
    writes: usize,
    completions: usize,
    fetches: usize,
}

/// Runs of a workload in real time, of which the median counts.
const WALL_RUNS: usize = 5;

fn measure(clock: Clock, workload: &Workload, nic: &Profile) -> Result<Run, String> {
    if clock == Clock::Virtual {
        let run = run_microbenchmark(workload, nic).map_err(|error| error.to_string())?;
        return Ok(Run {
            rate: run.rate,
            writes: run.writes,
            completions: run.completions,
            fetches: run.fetches,
        });
    }
    let cores = sys::cores::usable_processors();
    if workload.threads > cores.len() {
        return Err(format!(
            "--threads {}: expected at most {} with --clock wall, one for each core",
            workload.threads,
            cores.len()
        ));
    }
    let (timing, _) = nic.emulation().map_err(|error| error.to_string())?;
    let inline_bytes = nic.limits.inline_bytes.unwrap_or(0);
    let mut runs = Vec::new();
    for _ in 0..WALL_RUNS {
        let run = run_wall(workload, inline_bytes, timing.fetch_units, &cores);
        let run = run.map_err(|error| error.to_string())?;
        if run.wrong > 0 || run.disordered > 0 {
            return Err(format!(
                "{} targets are wrong and {} writes came out of order",
                run.wrong, run.disordered
            ));
        }
        runs.push(run);
    }
    runs.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    let run = runs[WALL_RUNS / 2];
    Ok(Run {
        rate: run.rate,
        writes: run.writes as usize,
        completions: run.completions as usize,
        fetches: run.fetches as usize,
    })
}

/// What no emulation can find, named in every output.
fn disclaimer(nic: &Profile, constants: &Constants, is_kernel: bool) -> String {
    let (ctx, uar) = match is_kernel {
        true => (
            ("ctx_16way_kernel", constants.ctx_16way_kernel),
            ("shared_uar_kernel", constants.shared_uar_kernel),
        ),
        false => (
            ("ctx_16way", constants.ctx_16way),
            ("shared_uar", constants.shared_uar),
        ),
    };
    format!(
        "\nvirtual: times of profile {}, not of a device. Put in as constants, not found: {} {}, {} {}, shared_uuar {}, qp_handover {}, cq_shared {}\n",
        nic.name,
        ctx.0,
        ctx.1,
        uar.0,
        uar.1,
        constants.shared_uuar,
        constants.qp_handover,
        constants.cq_shared
    )
}

fn rate(clock: Clock, workload: &Workload, nic: &Profile) -> Result<f64, String> {
    Ok(measure(clock, workload, nic)?.rate)
}

const fn name(clock: Clock) -> &'static str {
    match clock {
        Clock::Virtual => "virtual",
        Clock::Wall => "wall",
    }
}

pub(super) fn millions(rate: f64) -> String {
    format!("{:.3} M/s", rate / 1e6)
}

fn single(options: &BenchOptions, nic: &Profile) -> Result<(String, Value), String> {
    let workload = options.workload()?;
    let checked = workload.checked().map_err(|error| error.to_string())?;
    let own = Workload {
        sharing: Sharing::default(),
        level: Level::Independent,
        ..checked
    };
    let clock = options.clock;
    let run = measure(clock, &checked, nic)?;
    let relative = run.rate / rate(clock, &own, nic)?;
    let objects = Arrangement::new(&checked);
    let bytes = nic.memory.map(|memory| objects.bytes(&memory));
    let mut text = format!(
        "{} threads, {} writes each of {} bytes: {}, {} of the rate without sharing\n",
        checked.threads,
        checked.messages,
        checked.size,
        millions(run.rate),
        percent(relative)
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} CTX, {} QP, {} CQ, {} UARs, {} uUARs of which {} are used ({} unused), {} (exact)",
        objects.contexts,
        objects.queue_pairs,
        objects.completion_queues,
        objects.uars,
        objects.uuars(),
        objects.used_uuars,
        percent(objects.waste()),
        bytes.map_or("memory unknown".to_owned(), kib)
    );
    let _ = writeln!(
        text,
        "{} completions, {} payloads fetched over the bus\n",
        run.completions, run.fetches
    );
    let head = [
        "thread",
        "CTX",
        "PD",
        "MR",
        "CQ",
        "QP",
        "UAR page",
        "payload at",
    ];
    let rows = objects.seats.iter().enumerate().map(|(thread, seat)| {
        [
            thread,
            seat.context,
            seat.protection_domain,
            seat.region,
            seat.completion_queue,
            seat.queue_pair,
            seat.page,
            seat.address,
        ]
        .map(|number| number.to_string())
    });
    let head = std::iter::once(head.map(str::to_owned));
    table(&mut text, usize::MAX, head.chain(rows).collect());
    let value = json!({
        "clock": name(clock), "threads": checked.threads, "writes": run.writes, "rate": run.rate, "relative": relative,
        "completions": run.completions, "fetches": run.fetches, "contexts": objects.contexts, "queue_pairs": objects.queue_pairs,
        "completion_queues": objects.completion_queues, "uars": objects.uars, "uuars": objects.uuars(),
        "used_uuars": objects.used_uuars, "unused": objects.waste(), "bytes": bytes, "seats": seats(&objects),
    });
    Ok((text, value))
}

/// The objects of each thread.
fn seats(objects: &Arrangement) -> Value {
    let seats = objects.seats.iter().map(|seat| {
        json!({
            "context": seat.context, "protection_domain": seat.protection_domain, "region": seat.region,
            "completion_queue": seat.completion_queue, "queue_pair": seat.queue_pair, "page": seat.page, "address": seat.address,
        })
    });
    seats.collect()
}

/// The variants of a sweep: all features, and all but one each.
const VARIANTS: [(&str, &str); 5] = [
    ("All", ""),
    ("w/o postlist", "postlist"),
    ("w/o unsignaled", "unsignaled"),
    ("w/o inlining", "inlining"),
    ("w/o BlueFlame", "blueflame"),
];

fn variant(name: &str, workload: Workload) -> Result<Workload, String> {
    let features = match name {
        "" => workload.features,
        "MPI" => Features::MPI,
        name => workload
            .features
            .without(name)
            .map_err(|error| error.to_string())?,
    };
    Ok(Workload {
        features,
        ..workload
    })
}

fn sweep(options: &BenchOptions, nic: &Profile) -> Result<(String, Value), String> {
    let base = options.workload()?;
    let ways: Vec<usize> = (0..7)
        .map(|power| 1 << power)
        .filter(|ways| base.threads.is_multiple_of(*ways))
        .collect();
    let mut variants = VARIANTS.to_vec();
    variants.push(("MPI", "MPI"));
    let mut text = format!(
        "{} threads: rate with an object that x threads share, of the rate with one for each\n",
        base.threads
    );
    let head = ["object", "x"]
        .into_iter()
        .chain(variants.iter().map(|(name, _)| *name));
    let head: Vec<String> = head.map(str::to_owned).collect();
    let mut rows: Vec<[String; 8]> = vec![head.try_into().map_err(|_| "8 columns".to_owned())?];
    let mut values = Vec::new();
    for object in Object::ALL {
        // All others have one context with every other queue pair, so that only the object makes a difference.
        let is_context = object == Object::Ctx;
        let sharing = match is_context {
            true => Sharing::default(),
            false => Sharing::default().with(Object::Ctx, base.threads),
        };
        let start = Workload {
            sharing,
            is_spaced: !is_context || base.is_spaced,
            ..base
        };
        for &ways in &ways {
            let mut row = vec![object.name().to_owned(), ways.to_string()];
            for (name, without) in &variants {
                let own = variant(without, start)?;
                let shared = Workload {
                    sharing: sharing.with(object, ways),
                    ..own
                };
                let relative = rate(options.clock, &shared, nic)? / rate(options.clock, &own, nic)?;
                row.push(format!("{:.1} %", 100.0 * relative));
                values.push(json!({ "object": object.name(), "ways": ways, "variant": name, "relative": relative }));
            }
            rows.push(row.try_into().map_err(|_| "8 columns".to_owned())?);
        }
    }
    table(&mut text, usize::MAX, rows);
    let value = json!({ "clock": name(options.clock), "threads": base.threads, "sweep": values });
    Ok((text, value))
}

fn kernel(options: &BenchOptions, nic: &Profile) -> Result<(String, Value), String> {
    let (tiles, edge) = KERNEL;
    let mut text = format!(
        "C = A B, {tiles} x {tiles} tiles, {} threads, driver legacy\n",
        options.threads
    );
    let head = [
        "category      ",
        "operations",
        "throughput",
        "get, mean",
        "put, mean",
        "wrong elements of C",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    let mut values = Vec::new();
    let mut base = None;
    for category in Category::ALL {
        let mut matrices = Matrices::new(tiles, edge);
        let run = run_kernel(
            category,
            Driver::Legacy,
            options.threads,
            nic,
            &mut matrices,
        );
        let run = run.map_err(|error| error.to_string())?;
        let relative = run.rate / *base.get_or_insert(run.rate);
        let mean = |(count, ns): (usize, f64)| ns / count.max(1) as f64;
        let wrong = matrices.wrong();
        rows.push([
            format!("{:<14}", category.name()),
            millions(run.rate),
            format!("{:.1} %", 100.0 * relative),
            format!("{:.0} ns", mean(run.reads)),
            format!("{:.0} ns", mean(run.writes)),
            wrong.to_string(),
        ]);
        values.push(json!({
            "category": category.name(), "rate": run.rate, "relative": relative,
            "get_ns": mean(run.reads), "put_ns": mean(run.writes), "wrong": wrong,
        }));
    }
    table(&mut text, usize::MAX, rows);
    let value = json!({ "clock": "virtual", "threads": options.threads, "kernel": values });
    Ok((text, value))
}
