// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask test [STEP...]`: every check and test, then a summary. `--list` names the steps.
//!
//! [`cargo`] runs what cargo knows, [`programs`] C programs and examples, [`abi`] compares our header with another
//! library's, [`gpu`] tries GPUs without one, [`memory`] measures idle ranks, [`others`] runs other projects' tests, [`reports`] asks
//! what a program waits for, [`tune`] has a table of rules made, [`types`] compares datatypes with another library's, [`wrappers`]
//! tries what is installed.

mod abi;
mod cargo;
mod gpu;
mod memory;
mod others;
mod profiling;
mod programs;
mod reports;
mod tune;
mod types;
mod wrappers;

use std::time::Instant;

use crate::{checks, install, instructions, miri, shell, tools, words};

/// What a step has found.
enum Found {
    /// Numbers of tests, and what they were.
    Tests {
        passed: usize,
        failed: usize,
        skipped: usize,
        what: String,
        /// What each failure printed: told after the summary, where a reader looks first.
        wrong: Vec<String>,
    },
    /// Nothing, for a reason that is no fault of the code.
    Skipped(String),
}

/// A step's name and what it does; an error is one failed test.
type Step = (&'static str, fn() -> Result<Found, String>);

/// What is built only if asked for, and tested all the same.
const OPTIONAL: &str = "rankpoint/ndarray";
/// Lines of what a failure has printed that are told after the summary.
const SHOWN: usize = 80;

const STEPS: &[Step] = &[
    ("format", || {
        cargo::succeeds("the format", &["fmt", "--all", "--check"])
    }),
    ("lints", || {
        let arguments = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            OPTIONAL,
            "--quiet",
            "--",
            "-D",
            "warnings",
        ];
        cargo::succeeds("the workspace", &arguments)
    }),
    ("docs", cargo::documentation),
    ("layers", || {
        checks::layers().map(|count| Found::one(format!("{count} crates and folders")))
    }),
    ("lines", || {
        checks::lines().map(|count| Found::one(format!("{count} files")))
    }),
    ("shape", || {
        checks::shape().map(|count| Found::one(format!("{count} files")))
    }),
    ("pairs", || {
        checks::pairs().map(|count| Found::one(format!("{count} orderings")))
    }),
    ("words", || {
        words::check().map(|count| Found::one(format!("{count} files")))
    }),
    ("deny", || {
        checks::deny().map(|count| Found::one(format!("{count} packages")))
    }),
    ("tests", || {
        let arguments = ["test", "--workspace", "--features", OPTIONAL];
        cargo::tests(&[&arguments[..], &["--no-fail-fast"]].concat())
    }),
    ("loom", cargo::models),
    ("ptx", gpu::assemble),
    ("miri", || match miri::missing() {
        Some(why) => Ok(Found::Skipped(why)),
        None => miri::all().map(|passed| Found::counted(passed, "tests under Miri".to_owned())),
    }),
    ("install", || {
        install::into_target().map(|_| Found::one("target/prefix".to_owned()))
    }),
    ("wrappers", wrappers::all),
    ("c-programs", programs::with_our_compiler),
    ("tune", tune::from_end_to_end),
    ("heat", programs::heat_equation),
    ("gpu-buffers", gpu::buffers),
    ("abi", abi::header_agrees),
    ("types", types::agree_with_mpich),
    ("foreign", programs::with_foreign_compiler),
    ("profiling", profiling::layers),
    ("reports", reports::all),
    ("python", others::python),
    ("mpich", others::mpich),
    ("applications", others::applications),
    ("instructions", instruction_counts),
    ("release-fast", programs::unchecked),
    ("memory", memory::budgets),
];

/// Steps that take so long that only those who name them run them.
const NAMED: &[Step] = &[("mpich-whole", others::mpich_whole)];

/// Runs the steps that the arguments name, or all but the long ones.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let Some(steps) = chosen(arguments)? else {
        return Ok(());
    };
    let (mut rows, mut told) = (Vec::new(), Vec::new());
    let (mut all_passed, mut all_failed, mut all_skipped) = (0, 0, 0);
    for (name, action) in steps {
        shell::say(&format!("== {name}"));
        let start = Instant::now();
        let (passed, failed, skipped, text, wrong) = match action() {
            Ok(Found::Tests {
                passed,
                failed,
                skipped,
                what,
                wrong,
            }) => (passed, failed, skipped, what, wrong),
            Ok(Found::Skipped(why)) => (0, 0, 1, format!("skipped: {why}"), Vec::new()),
            Err(text) => {
                let first = text.lines().next().unwrap_or("").to_owned();
                (0, 1, 0, first, vec![text])
            }
        };
        for text in wrong {
            shell::say(&text);
            told.push(format!("-- {name}\n{}", shell::tail(&text, SHOWN)));
        }
        all_passed += passed;
        all_failed += failed;
        all_skipped += skipped;
        let seconds = start.elapsed().as_secs_f64();
        let word = if failed > 0 { "FAILED" } else { "" };
        rows.push(format!(
            "{name:<14}{passed:>7}{failed:>8}{skipped:>9}{seconds:>9.1} s  {word:<7}{text}"
        ));
    }
    shell::say(&format!(
        "\n{:<14}{:>7}{:>8}{:>9}{:>11}",
        "step", "passed", "failed", "skipped", "time"
    ));
    rows.iter().for_each(|row| shell::say(row));
    shell::say("");
    told.iter().for_each(|text| shell::say(text));
    shell::say(&format!(
        "{all_passed} passed, {all_failed} failed, {all_skipped} skipped"
    ));
    if all_failed == 0 && all_passed > 0 {
        Ok(())
    } else {
        Err(String::new())
    }
}

/// The steps that the arguments name, or all but the long ones; none where their names are asked for, which are then told.
fn chosen(arguments: &[String]) -> Result<Option<Vec<&'static Step>>, String> {
    let known = || STEPS.iter().chain(NAMED);
    let names: Vec<&str> = known().map(|(name, _)| *name).collect();
    if arguments.iter().any(|word| word == "--list") {
        STEPS.iter().for_each(|(name, _)| shell::say(name));
        for (name, _) in NAMED {
            shell::say(&format!("{name} (only if named)"));
        }
        return Ok(None);
    }
    if let Some(unknown) = arguments
        .iter()
        .find(|word| !names.contains(&word.as_str()))
    {
        return Err(format!(
            "no step is called {unknown}; the steps are {}",
            names.join(", ")
        ));
    }
    Ok(Some(if arguments.is_empty() {
        STEPS.iter().collect()
    } else {
        known()
            .filter(|(name, _)| arguments.iter().any(|word| word == name))
            .collect()
    }))
}

impl Found {
    /// One thing that is as it should be.
    fn one(what: String) -> Self {
        Self::counted(1, what)
    }

    /// So many of them.
    fn counted(passed: usize, what: String) -> Self {
        Self::Tests {
            passed,
            failed: 0,
            skipped: 0,
            what,
            wrong: Vec::new(),
        }
    }

    /// Passes and failures; nothing at all is a failure too.
    fn runs(passed: usize, wrong: Vec<String>, what: &str) -> Result<Self, String> {
        if passed == 0 && wrong.is_empty() {
            return Err(format!("no {what} ran"));
        }
        Ok(Self::Tests {
            passed,
            failed: wrong.len(),
            skipped: 0,
            what: what.to_owned(),
            wrong,
        })
    }
}

fn instruction_counts() -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC, tools::VALGRIND]) {
        return Ok(Found::Skipped(why));
    }
    let counts = instructions::count()?;
    let told = |count: &instructions::Count| {
        format!(
            "{} {:.1} of {:?} (at most {})",
            count.call, count.instructions, count.profile, count.budget
        )
    };
    let (within, over): (Vec<_>, Vec<_>) = counts
        .iter()
        .partition(|count| count.instructions <= count.budget);
    let (wrong, aims): (Vec<_>, Vec<_>) = over.into_iter().partition(|count| count.fails);
    for count in &aims {
        shell::say(&format!("over budget, not failing yet: {}", told(count)));
    }
    let wrong: Vec<String> = wrong.into_iter().map(told).collect();
    // The first ones are those of a send and a receive; `cargo xtask instructions` shows all.
    let (first, rest) = within.split_at(within.len().min(4));
    let what = first
        .iter()
        .copied()
        .map(told)
        .collect::<Vec<_>>()
        .join(", ");
    let what = format!(
        "{what} and {} more; {} over budgets that do not fail yet",
        rest.len(),
        aims.len()
    );
    Found::runs(within.len(), wrong, &what)
}
