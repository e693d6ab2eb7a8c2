// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries that need an MPI library: the jobs of `rankpoint bench` on two ranks.

use std::time::Duration;

use ::scope::{Effort, Entry, Found, Outcome, Session};
use bench_rank::CALLS;
use machine_profile::{Axis, Cost, Curve, Point, Sample};
use measure::job::{self, RankReport};
use measure::sampling::{Verdict, check};
use measure::statistics::{mad, median, trimean};
use measure::target::{self, Target};

use super::options::ScopeOptions;

/// Seconds after which a job is given up.
const LIMIT: Duration = Duration::from_secs(120);
const SIZES: [u64; 9] = [0, 8, 64, 512, 4096, 32_768, 262_144, 1_048_576, 4_194_304];
const QUICK_SIZES: [u64; 4] = [8, 4096, 65_536, 1_048_576];

/// How values of a job become nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    /// They are.
    Time,
    /// Bytes a second: the time of one message.
    Bytes,
    /// Messages a second: the time of one message.
    Messages,
}

/// The rows: the entry, the measurement of `rankpoint bench`, and what its values mean.
const ROWS: [(&str, &str, &str, Meaning, bool); 4] = [
    (
        "latency",
        "latency",
        "half a round trip",
        Meaning::Time,
        true,
    ),
    (
        "window",
        "bandwidth",
        "a message of a window of many",
        Meaning::Bytes,
        true,
    ),
    (
        "both",
        "bidirectional",
        "a message of windows in both directions",
        Meaning::Bytes,
        false,
    ),
    (
        "rate",
        "rate",
        "a small message of many",
        Meaning::Messages,
        false,
    ),
];

/// The rows for the library that the options name and for its peers, on this host and, where hosts are given, between the first
/// two.
///
/// # Errors
/// When the file of the peers cannot be read.
pub(super) fn entries(options: &ScopeOptions) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let groups: &[(&str, bool)] = if options.hosts.hosts.len() > 1 {
        &[("mpi", false), ("network/mpi", true)]
    } else {
        &[("mpi", false)]
    };
    for &(group, is_between) in groups {
        for (infix, library) in libraries(options, is_between)? {
            for (name, row, title, meaning, is_quick) in ROWS {
                let library = library.clone();
                let place = if is_between { "two hosts" } else { "two ranks" };
                let entry = Entry::new(
                    format!("{group}/{infix}{name}"),
                    format!("MPI between {place}: {title}, over bytes"),
                    move |session, name| measure(session, name, row, meaning, &library),
                );
                entries.push(entry.quick_if(is_quick).outside());
            }
            let title =
                "MPI_Isend, MPI_Irecv, MPI_Test and MPI_Start (persistent), each call by itself";
            let name = format!("{group}/{infix}calls");
            let entry = Entry::new(name, title, move |session, name| {
                calls(session, name, &library)
            });
            entries.push(entry.outside());
        }
    }
    Ok(entries)
}

type Library = Result<Target, String>;

/// The library itself and its peers, each with what stands before the names of its rows. A library that cannot be measured says so
/// when its entries are.
fn libraries(options: &ScopeOptions, is_between: bool) -> Result<Vec<(String, Library)>, String> {
    let (mpiexec, folder) = (options.mpiexec.as_deref(), options.library_path.as_deref());
    let settled = |target: Target| {
        let mut targets = [target];
        if is_between {
            target::settle(&mut targets, &options.hosts)?;
        }
        let [target] = targets;
        Ok(target)
    };
    let own = target::library(mpiexec, folder).and_then(settled);
    let mut libraries = vec![(String::new(), own)];
    if let Some(file) = &options.peers {
        let targets = target::with_peers(mpiexec, folder, Some(file))?;
        for target in targets.into_iter().skip(1) {
            let infix = format!("{}/", in_names(&target.name));
            libraries.push((infix, settled(target)));
        }
    }
    Ok(libraries)
}

/// A library's name as a part of names of entries.
fn in_names(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '.' => letter.to_ascii_lowercase(),
        _ => '-',
    });
    letters.collect()
}

fn measure(
    session: &Session,
    name: &str,
    row: &str,
    meaning: Meaning,
    library: &Result<Target, String>,
) -> Outcome {
    let library = library.as_ref().map_err(Clone::clone)?;
    if session.cores().len() < 2 {
        return Err("needs two cores, and this process may use one".to_owned());
    }
    let sizes: Vec<u64> = match (&session.sizes[..], session.effort) {
        ([], Effort::Full) => SIZES.to_vec(),
        ([], Effort::Quick) => QUICK_SIZES.to_vec(),
        (own, _) => own.to_vec(),
    };
    let sizes = sizes.iter().filter(|&&bytes| takes(meaning, bytes));
    let list: Vec<String> = sizes.map(u64::to_string).collect();
    if list.is_empty() {
        return Err("none of the sizes that were asked for is one of its sizes".to_owned());
    }
    let budget_us = match session.effort {
        Effort::Quick => 2_000,
        Effort::Full => 5_000,
    };
    let words = [
        row.to_owned(),
        format!("sizes={}", list.join(",")),
        "repetitions=15".to_owned(),
        format!("budget_us={budget_us}"),
        "verify=1".to_owned(),
    ];
    let lines = job::run(library, 2, &words, LIMIT)?.lines;
    let mut points = Vec::new();
    for line in lines {
        match line {
            RankReport::Point { size, values, .. } => {
                points.push((size as u64, sample(&values, size, meaning)));
            }
            RankReport::Skipped { skipped } => return Err(skipped),
            RankReport::Start { .. } | RankReport::Rates { .. } => {}
        }
    }
    found(name, points)
}

/// Bytes of messages whose calls are timed.
const CALL_BYTES: usize = 8;

fn calls(session: &Session, name: &str, library: &Library) -> Outcome {
    let library = library.as_ref().map_err(Clone::clone)?;
    if session.cores().len() < 2 {
        return Err("needs two cores, and this process may use one".to_owned());
    }
    let words = [CALLS.to_owned(), format!("sizes={CALL_BYTES}")];
    let mut found = Vec::new();
    for line in job::run(library, 2, &words, LIMIT)?.lines {
        match line {
            RankReport::Point {
                name: call, values, ..
            } => found.push(Found::Cost(Cost {
                name: format!("{name}/{call}"),
                sample: sample(&values, CALL_BYTES, Meaning::Time),
            })),
            RankReport::Skipped { skipped } => return Err(skipped),
            RankReport::Start { .. } | RankReport::Rates { .. } => {}
        }
    }
    match found.is_empty() {
        true => Err("the job gave no values".to_owned()),
        false => Ok(found),
    }
}

/// Whether a message of so many bytes has such a value.
fn takes(meaning: Meaning, bytes: u64) -> bool {
    match meaning {
        Meaning::Time => true,
        Meaning::Bytes => bytes > 0,
        Meaning::Messages => bytes <= 64,
    }
}

fn found(name: &str, mut points: Vec<(u64, Sample)>) -> Outcome {
    points.sort_by_key(|(bytes, _)| *bytes);
    points.dedup_by_key(|(bytes, _)| *bytes);
    let point = |&(x, sample): &(u64, Sample)| Point { x, sample };
    match &points[..] {
        [] => Err("the job gave no values".to_owned()),
        [(0, sample)] => Ok(vec![Found::Cost(Cost {
            name: name.to_owned(),
            sample: *sample,
        })]),
        several => Ok(vec![Found::Curve(Curve {
            name: name.to_owned(),
            axis: Axis::Bytes,
            from: Some(0),
            to: Some(1),
            points: several.iter().map(point).collect(),
        })]),
    }
}

fn sample(values: &[f64], bytes: usize, meaning: Meaning) -> Sample {
    let time = |&value: &f64| match meaning {
        Meaning::Time => value,
        Meaning::Bytes => bytes as f64 * 1e9 / value,
        Meaning::Messages => 1e9 / value,
    };
    let times: Vec<f64> = values.iter().map(time).collect();
    Sample {
        ns: median(&times),
        trimean: trimean(&times),
        mad: mad(&times),
        n: times.len() as u64,
        iid: !matches!(check(&times), Verdict::Dependent(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_fit_into_names_of_entries() {
        assert_eq!(in_names("Open MPI 5.0.3"), "open-mpi-5.0.3");
    }

    #[test]
    fn times_and_rates_become_the_time_of_a_message() {
        let values = [2e9, 1e9, 4e9];
        assert_eq!(sample(&values, 4096, Meaning::Bytes).ns, 2048.0);
        assert_eq!(sample(&values, 8, Meaning::Messages).ns, 0.5);
        assert_eq!(sample(&[100.0, 300.0, 200.0], 8, Meaning::Time).ns, 200.0);
    }
}
