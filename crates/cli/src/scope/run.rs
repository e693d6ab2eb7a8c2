// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures, and writes what came out.

use std::path::Path;
use std::time::SystemTime;

use ::scope::{Entry, Progress, Session, SteadyClock};
use machine_profile::Profile;
use measure::columns::table;
use measure::output::{print, tell, write};
use measure::progress::{PLAIN, ProgressBar, bar};
use measure::settings;

use super::options::{Question, ScopeOptions};
use super::{PEER_COMMAND, WATCHER_COMMAND, compare, csv, mpi, plot, report, text};
use crate::profile_readers::is_read;

/// Runs `rankpoint scope`.
pub(crate) fn run(options: &ScopeOptions) -> Result<(), String> {
    match &options.question {
        Some(Question::Report { file, plot, format }) => {
            let mut wanted = options.profile.clone();
            if let Some(file) = file {
                // A profile that is named may be anybody's: it is only shown.
                (wanted.profile, wanted.foreign_profile) = (Some(file.clone()), true);
            }
            let profile = wanted.load()?;
            if let Some(folder) = plot {
                plot::write_all(&profile, folder, *format)?;
            }
            print(&report::render(&profile))
        }
        Some(Question::Compare {
            before,
            after,
            all,
            json,
        }) => {
            let read = |file: &Path| Profile::read(file).map_err(|error| error.to_string());
            let compared = compare::Comparison::of(&read(before)?, &read(after)?);
            print(&if *json {
                to_json(&compared)?
            } else {
                compared.render(*all)
            })
        }
        None => measure(options),
    }
}

fn measure(options: &ScopeOptions) -> Result<(), String> {
    let mut entries = ::scope::entries();
    entries.extend(mpi::entries(options)?);
    let here = ::scope::here();
    let mut selected = options.select(&entries)?;
    // The time may be up before all are measured: first what other commands read.
    selected.sort_by_cached_key(|entry| !is_read(&here, &entry.name));
    if options.list {
        return print(&list(&selected));
    }
    if settings::is_rank() {
        return Err("scope measures the machine itself: run it without mpiexec".to_owned());
    }
    // Where the profile goes must be known before minutes are spent.
    let is_partial = !options.only.is_empty();
    let file = match (is_partial, &options.profile.profile) {
        (true, None) => None,
        _ => Some(options.profile.file(&here)?),
    };
    let program = settings::this_program()?.display().to_string();
    let peer = vec![program.clone(), PEER_COMMAND.to_owned()];
    let mut session = Session::new(options.effort(), ::scope::places(), peer)?;
    options.settle(&mut session)?;
    session.clock = Some(match options.steady_clock {
        true => SteadyClock::set(&[program, WATCHER_COMMAND.to_owned()], session.cores())?,
        false => SteadyClock::left_alone(session.cores()),
    });
    let bar = Bar::new(options.quiet, selected.len());
    let mut profile = ::scope::measure(&mut session, here, &selected, options.limit(), &bar);
    bar.0.finish_and_clear();
    profile.created = launch::clock(SystemTime::now());
    profile.tool = format!("rankpoint {}", env!("CARGO_PKG_VERSION"));
    if is_partial {
        profile.mode = "selected".to_owned();
    }
    publish(options, &profile, file.as_deref())
}

fn list(entries: &[&Entry]) -> String {
    let mut text = String::new();
    let rows = entries.iter().map(|entry| {
        let quick = if entry.is_quick { "quick" } else { "" };
        [entry.name.clone(), quick.to_owned(), entry.title.clone()]
    });
    table(&mut text, 0, rows.collect());
    text
}

/// Writes the profile, and the values in the forms that were asked for.
fn publish(options: &ScopeOptions, profile: &Profile, file: Option<&Path>) -> Result<(), String> {
    let is_output = |file: &Path| file.as_os_str() == "-";
    let outputs = [
        options
            .json
            .as_deref()
            .map(|file| Ok((file, to_json(profile)?))),
        options
            .csv
            .as_deref()
            .map(|file| Ok((file, csv::render(profile)))),
    ];
    let outputs: Vec<(&Path, String)> = outputs
        .into_iter()
        .flatten()
        .collect::<Result<_, String>>()?;
    for (file, text) in &outputs {
        if is_output(file) {
            print(text)?;
        } else {
            write(file, text.as_bytes())?;
        }
    }
    if !outputs.iter().any(|(file, _)| is_output(file)) {
        print(&text::render(profile))?;
    }
    if let Some(folder) = &options.plot {
        plot::write_all(profile, folder, options.format)?;
    }
    let Some(file) = file else {
        return Ok(());
    };
    if let Some(folder) = file.parent() {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    }
    profile.write(file).map_err(|error| error.to_string())?;
    tell(&format!("rankpoint: the profile is {}", file.display()));
    Ok(())
}

fn to_json(value: &impl serde::Serialize) -> Result<String, String> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n")
        .map_err(|error| format!("cannot write JSON: {error}"))
}

/// The bar that shows how far the measurements are.
struct Bar(ProgressBar);

impl Bar {
    fn new(is_quiet: bool, entries: usize) -> Self {
        match is_quiet {
            true => Self(ProgressBar::hidden()),
            false => Self(bar(entries, PLAIN)),
        }
    }
}

impl Progress for Bar {
    fn begin(&self, entry: &Entry) {
        // Drawn here and not by a thread of its own, which would disturb what is measured.
        self.0.set_message(entry.name.clone());
        self.0.tick();
    }

    fn end(&self, _entry: &Entry) {
        self.0.inc(1);
    }
}
