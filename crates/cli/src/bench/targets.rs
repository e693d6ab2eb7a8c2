// SPDX-License-Identifier: MIT OR Apache-2.0
//! The columns of a run: each library as the options want it.

use bench_rank::measurement::Measurement;
use measure::target::{InitLevel, Target, settle, with_peers};

use super::options::{BenchOptions, ThreadLevels};

/// Values of `RANKPOINT_RENDEZVOUS`, each a column beside rows of the group of that name.
const RENDEZVOUS: [&str; 4] = ["auto", "read", "pieces", "write"];

/// Reads a value of `--rendezvous`.
pub(super) fn rendezvous(text: &str) -> Result<&'static str, String> {
    let found = RENDEZVOUS.into_iter().find(|&value| value == text);
    found.ok_or_else(|| format!("expected one of {}", RENDEZVOUS.join(", ")))
}

/// The library that the options name, and the peers of their file, at the thread levels and with the progress threads that they ask for.
pub(super) fn targets(options: &BenchOptions) -> Result<Vec<Target>, String> {
    let (mpiexec, folder) = (options.mpiexec.as_deref(), options.library_path.as_deref());
    let mut targets = with_peers(mpiexec, folder, options.peers.as_deref())?;
    settle(&mut targets, &options.hosts)?;
    if options.overlap {
        targets = targets.into_iter().flat_map(with_progress).collect();
    }
    let is_long = |row: &&Measurement| row.is_called("rendezvous");
    let by_default = mpiexec.is_none() && options.measurements().iter().any(is_long);
    let values = match options.rendezvous.as_slice() {
        [] if by_default => &RENDEZVOUS[..],
        given => given,
    };
    if !values.is_empty() {
        let own = targets.remove(0);
        let each = values.iter().map(|value| with_rendezvous(&own, value));
        targets = each.chain(targets).collect();
    }
    Ok((targets.into_iter())
        .flat_map(|target| at_levels(target, options.threads))
        .collect())
}

/// A library as it is, and with its progress thread if it has one.
fn with_progress(target: Target) -> Vec<Target> {
    let mut twin = target.clone();
    twin.name.push_str(", progress thread");
    twin.environment.append(&mut twin.progress);
    let has_one = !target.progress.is_empty();
    std::iter::once(target)
        .chain(has_one.then_some(twin))
        .collect()
}

/// Our library with a value of the setting that says how long messages travel.
fn with_rendezvous(target: &Target, value: &'static str) -> Target {
    let mut target = target.clone();
    target.name = format!("{}, {value}", target.name);
    (target.environment).insert("RANKPOINT_RENDEZVOUS".to_owned(), value.to_owned());
    target.rendezvous = Some(value);
    target
}

/// A library at the thread levels that are measured.
fn at_levels(mut target: Target, levels: ThreadLevels) -> Vec<Target> {
    let mut multiple = target.clone();
    multiple.threads = InitLevel::Multiple;
    multiple.name.push_str(", MULTIPLE");
    target.threads = InitLevel::Single;
    match levels {
        ThreadLevels::Single => vec![target],
        ThreadLevels::Multiple => vec![multiple],
        ThreadLevels::Both => vec![target, multiple],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_with_a_progress_thread_is_measured_twice() {
        let text = r#"[{"name": "a", "launcher": ["x"], "environment": {"P": "1"}, "progress": {"T": "2"}},
                       {"name": "b", "launcher": ["y"]}]"#;
        let known: Vec<Target> = serde_json::from_str(text).unwrap();
        let all: Vec<Target> = known.into_iter().flat_map(with_progress).collect();
        let names: Vec<&str> = all.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["a", "a, progress thread", "b"]);
        assert!(!all[0].environment.contains_key("T"));
        assert_eq!(
            (&*all[1].environment["P"], &*all[1].environment["T"]),
            ("1", "2")
        );
    }

    #[test]
    fn our_library_has_a_column_for_each_value_of_the_setting() {
        let own: Target = serde_json::from_str(r#"{"name": "a", "launcher": ["x"]}"#).unwrap();
        let all = RENDEZVOUS.map(|value| with_rendezvous(&own, value));
        assert_eq!(
            all.each_ref().map(|one| one.name.as_str()),
            ["a, auto", "a, read", "a, pieces", "a, write"]
        );
        let variable = "RANKPOINT_RENDEZVOUS";
        assert!(
            all.iter()
                .all(|one| Some(one.environment[variable].as_str()) == one.rendezvous)
        );
    }

    #[test]
    fn a_library_is_measured_at_the_thread_levels_that_are_asked_for() {
        let text = r#"{"name": "a", "launcher": ["x"]}"#;
        let names = |levels| -> Vec<(String, InitLevel)> {
            let all = at_levels(serde_json::from_str(text).unwrap(), levels);
            let named = |target: Target| (target.name, target.threads);
            all.into_iter().map(named).collect()
        };
        let single = ("a".to_owned(), InitLevel::Single);
        let multiple = ("a, MULTIPLE".to_owned(), InitLevel::Multiple);
        assert_eq!(names(ThreadLevels::Single), std::slice::from_ref(&single));
        assert_eq!(
            names(ThreadLevels::Multiple),
            std::slice::from_ref(&multiple)
        );
        assert_eq!(names(ThreadLevels::Both), [single, multiple]);
    }
}
