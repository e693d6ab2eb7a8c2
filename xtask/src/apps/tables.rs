// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was measured, as Markdown.

use std::fmt::Write as _;

use super::catalog::{App, Values};
use super::fit::{Fit, Pays};
use super::series::{Sample, Series, fit};

/// A path pays where it is as much faster.
const GAIN: f64 = 1.05;
/// A model says nothing of times that are further from it.
const DEVIATION: f64 = 0.25;

/// The chapter of an app, from all its series.
pub(super) fn chapter(app: &App, all: &[&Series<'_>]) -> String {
    let mut text = format!(
        "### {}\n\n{}. Published: {}.\n\n",
        app.name, app.about, app.published
    );
    match app.values {
        Values::Sweep { counted, turn } => {
            text.push_str(&sizes(app, all, counted, turn));
            text.push_str(&models(all, counted));
        }
        Values::Phases => text.push_str(&modes(all)),
    }
    text
}

/// One row for each size and number of ranks, one column for each series.
fn sizes(app: &App, all: &[&Series<'_>], counted: &str, turn: &str) -> String {
    let titles = titles(all);
    let mut text = format!(
        "Time of {turn} and the share of it in MPI. Gain: that of {} over {} calls.\n\n",
        app.modes[1].name, app.modes[0].name
    );
    let _ = writeln!(
        text,
        "| {counted} a rank | ranks | {} | gain |",
        titles.join(" | ")
    );
    let _ = writeln!(text, "|---:|---:|{}---:|", "---:|".repeat(titles.len()));
    for (per_rank, ranks) in places(all) {
        let sample = |title: &String| {
            let mut of_title = all
                .iter()
                .filter(|it| it.title() == *title && it.ranks == ranks);
            let medians = of_title.next()?.medians();
            medians.into_iter().find(|it| it.per_rank == per_rank)
        };
        let _ = write!(text, "| {per_rank:.0} | {ranks} |");
        for title in &titles {
            let _ = write!(text, " {} |", sample(title).map_or("-".to_owned(), cell));
        }
        let of_mode = |index: usize| {
            let mut ours = all.iter().filter(|it| it.library.has_extensions());
            let series = ours.find(|it| it.mode.name == app.modes[index].name)?;
            sample(&series.title())
        };
        let gain = of_mode(0)
            .zip(of_mode(1))
            .map(|(one, other)| one.seconds / other.seconds);
        let _ = writeln!(
            text,
            " {} |",
            gain.map_or("-".to_owned(), |gain| format!("{gain:.2} x"))
        );
    }
    text.push('\n');
    text
}

/// A column and its model, if it has enough sizes.
struct Model<'a> {
    title: String,
    on_most_ranks: &'a Series<'a>,
    fit: Option<Fit>,
}

/// The fitted models, and up to which size which path pays.
fn models(all: &[&Series<'_>], counted: &str) -> String {
    let mut text = format!(
        "The model T = O + W/P, fitted to all times on more than one rank by least squares of relative deviations:\n\n\
         | | O | W/P for one of the {counted} | O is half of T at | largest deviation |\n|---|---:|---:|---:|---:|\n"
    );
    let model = |title: String| {
        let of_title = all.iter().copied().filter(|it| it.title() == title);
        let of_title: Vec<&Series<'_>> = of_title.collect();
        let on_most_ranks = of_title.iter().copied().max_by_key(|it| it.ranks)?;
        Some(Model {
            on_most_ranks,
            fit: fit(&of_title),
            title,
        })
    };
    let models: Vec<Model<'_>> = titles(all).into_iter().filter_map(model).collect();
    for Model { title, fit, .. } in &models {
        let Some(fit) = fit else {
            let _ = writeln!(text, "| {title} | too few sizes | | | |");
            continue;
        };
        let half = if fit.overhead_s > 0.0 {
            format!("{:.0} {counted}", fit.half())
        } else {
            "-".to_owned()
        };
        let _ = writeln!(
            text,
            "| {title} | {:.2} us | {:.2} ns | {half} | {:.0} % |",
            1e6 * fit.overhead_s,
            1e9 * fit.each_s,
            100.0 * fit.deviation
        );
    }
    text.push('\n');
    let sizes = places(all).into_iter().filter(|place| place.1 > 1);
    let sizes: Vec<f64> = sizes.map(|place| place.0).collect();
    let Some(base) = models.iter().find(|model| model.on_most_ranks.is_base()) else {
        return text;
    };
    let others = models.iter().filter(|it| !it.on_most_ranks.is_base());
    for model in others {
        let (one, other) = if model.on_most_ranks.library.has_extensions() {
            (model, base)
        } else {
            (base, model)
        };
        let measured = measured(&one.on_most_ranks.medians(), &other.on_most_ranks.medians());
        let by_models = match (one.fit, other.fit) {
            (Some(one), Some(other)) if describes(&one) && describes(&other) => {
                let pays = one.pays_against(&other, GAIN);
                format!("by the models {}", words(pays, &sizes, counted))
            }
            _ => "the models are too far from the times".to_owned(),
        };
        let _ = writeln!(
            text,
            "* {} gains 5 % and more over {} {}; {by_models}.",
            one.title,
            other.title,
            words(measured, &sizes, counted)
        );
    }
    text.push('\n');
    text
}

/// Up to which size a path gains at that size and all smaller ones.
fn measured(one: &[Sample], other: &[Sample]) -> Pays {
    let time_of = |size: f64| other.iter().find(|it| it.per_rank == size);
    let mut sizes: Vec<&Sample> = one.iter().collect();
    sizes.sort_by(|one, other| one.per_rank.total_cmp(&other.per_rank));
    let gains = |it: &&&Sample| {
        time_of(it.per_rank).is_some_and(|other| other.seconds >= GAIN * it.seconds)
    };
    let gained: Vec<&&Sample> = sizes.iter().take_while(gains).collect();
    match gained.last() {
        Some(_) if gained.len() == sizes.len() => Pays::Always,
        Some(last) => Pays::UpTo(last.per_rank),
        None => Pays::Never,
    }
}

/// Whether a model is near the times that were measured.
fn describes(fit: &Fit) -> bool {
    fit.overhead_s > 0.0 && fit.each_s > 0.0 && fit.deviation <= DEVIATION
}

fn words(pays: Pays, sizes: &[f64], counted: &str) -> String {
    let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    let most = sizes.iter().copied().fold(0.0, f64::max);
    match pays {
        Pays::Never => "at no size".to_owned(),
        Pays::UpTo(size) if size < least => {
            format!("at none of these sizes, below {size:.0} {counted} a rank only")
        }
        Pays::UpTo(size) if size <= most => format!("from {size:.0} {counted} a rank down"),
        Pays::UpTo(_) | Pays::Always => "at all of these sizes".to_owned(),
    }
}

/// One row for each mode.
fn modes(all: &[&Series<'_>]) -> String {
    let mut text = "The time of all phases, of the slowest thread in each.\n\n| | time | without computing | gain |\n|---|---:|---:|---:|\n".to_owned();
    let base = all.iter().find(|series| series.is_base());
    let base = base.and_then(|series| series.medians().first().copied());
    for series in all {
        let Some(sample) = series.medians().first().copied() else {
            continue;
        };
        let gain = base.map_or("-".to_owned(), |base| {
            format!("{:.2} x", base.seconds / sample.seconds)
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {gain} |",
            series.title(),
            time(sample.seconds),
            time(sample.seconds * sample.share)
        );
    }
    text.push('\n');
    text
}

/// The columns, in the order in which series came.
fn titles(all: &[&Series<'_>]) -> Vec<String> {
    let mut titles = Vec::new();
    for series in all {
        if !titles.contains(&series.title()) {
            titles.push(series.title());
        }
    }
    titles
}

/// Sizes and numbers of ranks: few ranks first, then large sizes.
fn places(all: &[&Series<'_>]) -> Vec<(f64, usize)> {
    let of = |series: &&Series<'_>| {
        let ranks = series.ranks;
        series
            .medians()
            .into_iter()
            .map(move |it| (it.per_rank, ranks))
    };
    let mut places: Vec<(f64, usize)> = all.iter().flat_map(of).collect();
    places.sort_by(|one, other| one.1.cmp(&other.1).then(other.0.total_cmp(&one.0)));
    places.dedup();
    places
}

fn cell(sample: Sample) -> String {
    format!("{}, {:.0} %", time(sample.seconds), 100.0 * sample.share)
}

fn time(seconds: f64) -> String {
    match 1e6 * seconds {
        us if us < 10.0 => format!("{us:.2} us"),
        us if us < 100.0 => format!("{us:.1} us"),
        us if us < 10_000.0 => format!("{us:.0} us"),
        us => format!("{:.1} ms", us / 1e3),
    }
}

/// The numbers of a fit as JSON.
pub(super) fn fit_json(fit: &Fit) -> serde_json::Value {
    serde_json::json!({ "overhead_s": fit.overhead_s, "each_s": fit.each_s, "deviation": fit.deviation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_model_says_is_held_against_the_sizes_that_were_measured() {
        let sizes = [6912.0, 27.0];
        let said = |pays| words(pays, &sizes, "points");
        assert_eq!(said(Pays::UpTo(312.4)), "from 312 points a rank down");
        assert!(said(Pays::UpTo(3.0)).starts_with("at none of these sizes"));
        assert_eq!(said(Pays::UpTo(1e5)), "at all of these sizes");
        assert_eq!(said(Pays::Always), "at all of these sizes");
        assert_eq!(said(Pays::Never), "at no size");
    }

    #[test]
    fn a_path_pays_up_to_the_size_below_which_it_always_gains() {
        let samples = |times: [f64; 4]| {
            let sample = |(size, us): (f64, f64)| Sample {
                per_rank: size,
                seconds: 1e-6 * us,
                share: 0.5,
            };
            [864.0, 216.0, 54.0, 27.0]
                .into_iter()
                .zip(times)
                .map(sample)
                .collect::<Vec<_>>()
        };
        let of = |one, other| measured(&samples(one), &samples(other));
        let slow = [20.0, 8.0, 4.0, 3.0];
        assert_eq!(of([10.0, 7.9, 3.0, 2.0], slow), Pays::UpTo(54.0));
        assert_eq!(of([10.0, 4.0, 2.0, 2.9], slow), Pays::Never);
        assert_eq!(of([10.0, 4.0, 2.0, 2.0], slow), Pays::Always);
    }

    #[test]
    fn a_model_far_from_the_times_says_nothing() {
        let fit = |overhead_s, deviation| Fit {
            overhead_s,
            each_s: 1e-9,
            deviation,
        };
        assert!(describes(&fit(1e-6, 0.1)));
        assert!(!describes(&fit(1e-6, 0.4)) && !describes(&fit(-1e-6, 0.1)));
    }

    #[test]
    fn times_have_three_digits() {
        let told = [1.234e-6, 12.34e-6, 123.4e-6, 0.01234].map(time);
        assert_eq!(told, ["1.23 us", "12.3 us", "123 us", "12.3 ms"]);
    }
}
