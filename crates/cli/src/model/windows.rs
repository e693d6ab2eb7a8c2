// SPDX-License-Identifier: MIT OR Apache-2.0
//! `window`: time per message with windows, credits, a lock.

use models::window::{Bounded, Path, Shared};
use models::{Model, Values};

use super::options::WindowOptions;
use super::report::{Cell, Report, Table, decimals};
use super::shown::{head, mixture};

/// The answer.
pub(super) fn window(
    model: &Model,
    values: &Values,
    options: &WindowOptions,
) -> Result<Report, String> {
    let named = |index: usize| {
        let name = options.path.get(index).map_or("", String::as_str);
        model
            .value(name, values)
            .map_err(|error| format!("--path: {error}"))
    };
    let path = Path {
        post_ns: named(0)?,
        progress_ns: named(1)?,
        misc_ns: named(2)?,
        completion_ns: named(3)?,
    };
    if path.cpu_ns() <= 0.0 || path.post_ns <= 0.0 || path.progress_ns <= 0.0 {
        return Err("--path: expected posting and progress that take time".to_owned());
    }
    let return_ns = 2.0 * named(4)?;
    let shared = Shared {
        lock_hold_ns: options.lock,
        nic_ns: options.nic_rate.map(|rate| 1e9 / rate),
        credits: options.credits.map(|count| (f64::from(count), return_ns)),
    };
    let mut threads = Table::new("Threads", &["threads", "ns per message", "M/s", "bound"]);
    for count in 1..=options.threads.min(64) {
        threads
            .rows
            .push(thread_row(count, &path.threads(count, &shared)));
    }
    let mut remarks = vec![format!(
        "A core takes {} ns a message; a completion comes {} ns after the post.",
        decimals(path.cpu_ns(), 2),
        decimals(path.completion_ns, 2)
    )];
    if let Some(count) = options.credits {
        let limit = f64::from(count) / return_ns * 1e3;
        let cores = path.cores_of_credits(f64::from(count), return_ns);
        remarks.push(format!(
            "{count} credits, each back after {} ns, allow {} M/s: {} cores.",
            decimals(return_ns, 2),
            decimals(limit, 2),
            decimals(cores, 2)
        ));
    }
    if options.threads > 64 {
        let all = path.threads(options.threads, &shared);
        threads.rows.push(thread_row(options.threads, &all));
    }
    remarks.push("Only the bound matters: changes of anything else change nothing.".to_owned());
    Ok(Report {
        head: head(model),
        tables: vec![windows(&path, &options.depths), enough(&path), threads],
        remarks: [remarks, mixture(model)].concat(),
    })
}

fn thread_row(count: u32, answer: &Bounded) -> Vec<Cell> {
    vec![
        Cell::Count(f64::from(count)),
        Cell::Number(answer.ns),
        Cell::Number(answer.rate() / 1e6),
        Cell::text(answer.bound.name()),
    ]
}

fn windows(path: &Path, depths: &[u32]) -> Table {
    let mut windows = Table::new(
        "Windows",
        &[
            "operations",
            "rolling ns",
            "bound",
            "fill and drain ns",
            "bound ",
        ],
    );
    for &depth in depths {
        let (rolling, drained) = (path.rolling(depth), path.fill_drain(depth));
        windows.rows.push(vec![
            Cell::Count(f64::from(depth)),
            Cell::Number(rolling.ns),
            Cell::text(rolling.bound.name()),
            Cell::Number(drained.ns),
            Cell::text(drained.bound.name()),
        ]);
    }
    windows
}

fn enough(path: &Path) -> Table {
    let needed = |name: &str, count: f64| vec![Cell::text(name), Cell::Count(count)];
    let mut enough = Table::new(
        "Enough that the core is the bound",
        &["queue", "operations"],
    );
    enough
        .rows
        .push(needed("rolling window", path.rolling_depth()));
    enough
        .rows
        .push(needed("fill, then drain", path.fill_drain_posts()));
    enough
        .rows
        .push(needed("equation 2.2", path.posts_between_polls()));
    enough
}
