// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds and runs all series round by round, and writes what they found.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::catalog::{App, Program, Values};
use super::library::Library;
use super::options::Options;
use super::series::{self, Series};
use super::{modes, plot, tables};
use crate::peers::PEERS;
use crate::{bench, install, shell, tools};

/// Rounds, of which medians are taken.
const ROUNDS: usize = 5;
/// No run begins later than this after the first one; building comes before.
const LIMIT: Duration = Duration::from_secs(510);
/// What stands in arguments for a number of threads of a rank.
const THREADS: &str = "{threads}";

/// Compares.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    if options.table {
        return modes::write();
    }
    tools::need(&[tools::CC])?;
    let prefix = install::into_target()?;
    let is_rust = |app: &&App| app.program == Program::Rust;
    if options.apps.iter().any(is_rust) {
        shell::cargo(&["build", "--quiet", "--release", "-p", "rankpoint-apps"])?;
    }
    let mut notes = Vec::new();
    let libraries = libraries(&options, &prefix, &mut notes);
    let mut all = all_series(&options, &libraries)?;
    let wrong = run_rounds(&mut all, rounds(&options), &mut notes);
    write(&options, arguments, &all, notes)?;
    if wrong.is_empty() {
        return Ok(());
    }
    Err(wrong.join("\n"))
}

/// Runs all series as often as time allows, and gives what failed.
fn run_rounds(all: &mut [Series<'_>], rounds: usize, notes: &mut Vec<String>) -> Vec<String> {
    let start = Instant::now();
    let mut wrong = Vec::new();
    for round in 1..=rounds {
        shell::say(&format!(
            "Round {round} of {rounds}, {} runs ...",
            all.len()
        ));
        for series in &mut *all {
            if start.elapsed() > LIMIT {
                notes.push(format!("stopped in round {round} for want of time"));
                return wrong;
            }
            if let Err(why) = series.run()
                && !wrong.contains(&why)
            {
                wrong.push(why);
            }
        }
    }
    wrong
}

fn rounds(options: &Options) -> usize {
    if options.quick { 1 } else { ROUNDS }
}

/// Rankpoint, and the peers that are there or can be fetched.
fn libraries(options: &Options, prefix: &Path, notes: &mut Vec<String>) -> Vec<Library> {
    let mut libraries = vec![Library::ours(prefix)];
    for peer in PEERS.iter().filter(|_| options.peers) {
        match Library::peer(peer, prefix) {
            Ok(library) => libraries.push(library),
            Err(why) => notes.push(format!("without {}: {why}", peer.name)),
        }
    }
    libraries
}

/// Every app in every mode on every library that has them.
fn all_series<'a>(options: &Options, libraries: &'a [Library]) -> Result<Vec<Series<'a>>, String> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (cores / 2).clamp(2, 8).to_string();
    let mut all = Vec::new();
    for &app in &options.apps {
        let words = if options.quick {
            app.quick
        } else {
            app.arguments
        };
        let arguments: Vec<String> = words
            .iter()
            .map(|word| word.replace(THREADS, &threads))
            .collect();
        for library in libraries {
            let Some(program) = series::program(app, library)? else {
                continue;
            };
            let modes = app
                .modes
                .iter()
                .filter(|mode| mode.is_everywhere || library.has_extensions());
            for (mode, ranks) in modes.flat_map(|mode| {
                app.ranks
                    .numbers(cores)
                    .into_iter()
                    .map(move |ranks| (mode, ranks))
            }) {
                all.push(Series::new(
                    app,
                    library,
                    *mode,
                    ranks,
                    program.clone(),
                    arguments.clone(),
                ));
            }
        }
    }
    Ok(all)
}

/// Writes tables, JSON and plots into the folder, and the tables and plots into the page of this machine if that is wanted.
fn write(
    options: &Options,
    arguments: &[String],
    all: &[Series<'_>],
    notes: Vec<String>,
) -> Result<(), String> {
    let folder = &options.folder;
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(told)?;
    let words: String = arguments.iter().map(|word| format!(" {word}")).collect();
    let mut text = format!(
        "Measured by `cargo xtask apps{words}`, {}:\n\n* {}\n",
        if options.quick {
            "one round".to_owned()
        } else {
            format!("medians of {ROUNDS} rounds")
        },
        bench::this_machine()
    );
    for note in notes {
        text.push_str(&format!("* {note}\n"));
    }
    text.push('\n');
    let mut plots: Vec<PathBuf> = Vec::new();
    let mut fits: Vec<Value> = Vec::new();
    for app in &options.apps {
        let of_app: Vec<&Series<'_>> = all
            .iter()
            .filter(|series| series.app.name == app.name)
            .collect();
        text.push_str(&tables::chapter(app, &of_app));
        if of_app.iter().all(|series| series.medians().is_empty()) {
            continue;
        }
        if matches!(app.values, Values::Sweep { .. }) {
            let file = folder.join(format!("{}.svg", app.name));
            plot::write(&file, &of_app)?;
            text.push_str(&format!("![{}]({}.svg)\n\n", app.name, app.name));
            plots.push(file);
            for series in &of_app {
                let fit = series::fit(&[*series]);
                fits.push(json!({ "app": app.name, "title": series.title(), "ranks": series.ranks, "fit": fit.as_ref().map(tables::fit_json) }));
            }
        }
    }
    let rows: Vec<Value> = all.iter().map(Series::json).collect();
    let data = json!({ "machine": bench::this_machine(), "series": rows, "fits": fits });
    let page = folder.join("apps.md");
    fs::write(&page, &text).map_err(told)?;
    fs::write(folder.join("apps.json"), format!("{data:#}\n")).map_err(told)?;
    shell::say(&text);
    shell::say(&format!("Wrote {}", folder.display()));
    if options.write {
        bench::write_apps(&page, &plots)?;
    }
    Ok(())
}
