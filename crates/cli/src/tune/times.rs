// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times of algorithms, each in jobs of its own.

use std::path::Path;
use std::time::Duration;

use algorithms::{Algorithm, Case, Operation};
use machine_profile::Profile;
use measure::job::{self, RankReport};
use measure::statistics::median;
use measure::target::Target;

use super::fit::{Candidate, Measured};
use super::forced_rule::ForcedRule;
use super::options::TuneOptions;

/// The algorithms of an operation, with the numbers that are tried.
fn candidates(operation: Operation, profile: Option<&Profile>) -> Vec<Candidate> {
    let numbers = |algorithm: Algorithm| match (algorithm.parameter(), algorithm.name()) {
        (None, _) => vec![0],
        (Some(_), "knomial") => vec![3, 4, 8],
        (Some(_), "chain") => {
            let mut chunks = vec![8 << 10, 32 << 10, 128 << 10];
            // Other numbers than these are worth a job only where the profile says so.
            chunks.extend(profile.and_then(fastest_chunk));
            chunks.sort_unstable();
            chunks.dedup();
            chunks
        }
        (Some(_), "linear") => vec![2, 8, 32],
        (Some(parameter), _) => vec![parameter.default],
    };
    Algorithm::of(operation)
        .flat_map(|algorithm| {
            let numbers = numbers(algorithm).into_iter();
            numbers.map(move |parameter| Candidate {
                algorithm,
                parameter,
            })
        })
        .collect()
}

/// Bytes of a long message, by which chunks are compared.
pub(crate) const LONG_BYTES: f64 = (1 << 20) as f64;

/// The chunk with which a ring in shared memory moves a long message fastest, by the profile's curves `double/*K`.
pub(crate) fn fastest_chunk(profile: &Profile) -> Option<u64> {
    let chunks = profile.curves.iter().filter_map(|curve| {
        let kib = curve.name.strip_prefix("double/")?.strip_suffix('K')?;
        let time = curve.at(LONG_BYTES);
        let kib: u64 = kib.parse().ok()?;
        (!time.is_extrapolated()).then_some((kib << 10, time.ns))
    });
    let fastest = chunks.min_by(|one, other| one.1.total_cmp(&other.1));
    fastest.map(|(bytes, _)| bytes)
}

/// What the measured call is to the rules: sums of longs.
fn case(operation: Operation, (ranks, nodes): (u32, u32), bytes: usize) -> Case {
    let case = Case::new(operation, ranks, bytes, nodes);
    Case {
        elements: case.total / 8,
        ..case
    }
}

/// The sizes at which an operation on this number of ranks and nodes is measured: those whose data are at most `--largest`.
fn sizes(options: &TuneOptions, operation: Operation, on: (u32, u32)) -> Vec<usize> {
    if operation == Operation::Barrier {
        return vec![0];
    }
    let fits = |&&bytes: &&usize| case(operation, on, bytes).total <= options.largest;
    let mut sizes: Vec<usize> = options.sizes.iter().filter(fits).copied().collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Refuses sizes that leave nothing to measure of an operation that was named.
pub(super) fn check_sizes(options: &TuneOptions, ranks: &[u32]) -> Result<(), String> {
    for &operation in &options.only {
        let has_any = |&ranks: &u32| {
            let on = (ranks, options.hosts.count(ranks));
            !sizes(options, operation, on).is_empty()
        };
        if !ranks.iter().any(has_any) {
            let given: Vec<String> = options.sizes.iter().map(usize::to_string).collect();
            return Err(format!(
                "nothing to measure: with --sizes {} all data of {} have more than --largest {} bytes",
                given.join(","),
                operation.name(),
                options.largest
            ));
        }
    }
    Ok(())
}

/// The times of all algorithms of an operation.
pub(super) fn measure(
    options: &TuneOptions,
    library: &Target,
    operation: Operation,
    (ranks, profile): (u32, Option<&Profile>),
) -> Result<Vec<Measured>, String> {
    let on = (ranks, options.hosts.count(ranks));
    let sizes = sizes(options, operation, on);
    let candidates = candidates(operation, profile);
    let mut values: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); sizes.len()]; candidates.len()];
    for round in 0..options.rounds {
        for (index, candidate) in candidates.iter().enumerate() {
            let can = |bytes: usize| {
                let case = case(operation, on, bytes);
                candidate.algorithm.obstacle(&case).is_none()
            };
            let own: Vec<usize> = sizes.iter().copied().filter(|&bytes| can(bytes)).collect();
            if own.is_empty() {
                continue;
            }
            let file = ForcedRule::write(operation, *candidate, (ranks, round))?;
            for (bytes, list) in run_job(options, library, operation, (ranks, &own), &file.0)? {
                if let Some(place) = sizes.iter().position(|&size| size == bytes) {
                    values[index][place].extend(list);
                }
            }
        }
    }
    let mut measured = Vec::new();
    for (place, &bytes) in sizes.iter().enumerate() {
        let times = candidates.iter().zip(&values);
        let times = times.filter(|(_, lists)| !lists[place].is_empty());
        measured.push(Measured {
            case: case(operation, on, bytes),
            operation,
            times: times
                .map(|(&candidate, lists)| (candidate, median(&lists[place])))
                .collect(),
        });
    }
    Ok(measured)
}

/// The times of one job: bytes, and nanoseconds of each repetition.
fn run_job(
    options: &TuneOptions,
    library: &Target,
    operation: Operation,
    (ranks, sizes): (u32, &[usize]),
    file: &Path,
) -> Result<Vec<(usize, Vec<f64>)>, String> {
    let mut forced = library.clone();
    let variable = "RANKPOINT_COLL_TABLE".to_owned();
    let file = file.display().to_string();
    forced.environment.insert(variable, file);
    let name = match operation {
        Operation::ReduceScatter => "reduce-scatter",
        operation => operation.name(),
    };
    let list: Vec<String> = sizes.iter().map(usize::to_string).collect();
    let mut words = vec![
        name.to_owned(),
        format!("repetitions={}", options.repetitions),
        format!("budget_us={}", options.budget_ms * 1000),
        "verify=1".to_owned(),
    ];
    if operation != Operation::Barrier {
        words.push(format!("sizes={}", list.join(",")));
    }
    let limit = Duration::from_secs(options.time_limit);
    let lines = job::run(&forced, ranks, &words, limit)?.lines;
    let points = lines.into_iter().filter_map(|line| match line {
        RankReport::Point { size, values, .. } => {
            let bytes = if operation == Operation::Barrier {
                0
            } else {
                size
            };
            Some((bytes, values))
        }
        RankReport::Start { .. } | RankReport::Skipped { .. } | RankReport::Rates { .. } => None,
    });
    Ok(points.collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: TuneOptions,
    }

    fn check(words: &str) -> Result<(), String> {
        let words = std::iter::once("tune").chain(words.split(' '));
        check_sizes(&Line::try_parse_from(words).unwrap().options, &[2, 4])
    }

    #[test]
    fn sizes_that_leave_nothing_of_a_named_operation_are_refused() {
        let expected = "nothing to measure: with --sizes 2048,4096 all data of bcast have more than --largest 1024 bytes";
        assert_eq!(
            check("--only barrier,bcast --sizes 2K,4K --largest 1K"),
            Err(expected.to_owned())
        );
        for words in [
            "--only bcast --sizes 512,4K --largest 1K",
            "--only barrier --sizes 4K --largest 1K",
            "--sizes 4K --largest 1K",
        ] {
            assert_eq!(check(words), Ok(()), "{words}");
        }
    }
}
