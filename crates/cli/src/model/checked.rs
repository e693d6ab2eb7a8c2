// SPDX-License-Identifier: MIT OR Apache-2.0
//! `check`: calibrates, measures what the model predicts, and prints how far off it is.

use bench_rank::{HALVES, WINDOWS};
use measure::statistics::median;
use models::{Model, Values};

use super::calibrated::{Calibration, What, library, measure};
use super::options::CheckOptions;
use super::report::{Cell, Report, Table};
use super::written::Measured;

/// Largest residuals of a good model, in per cent: of a half round trip of 8 bytes and of rates, and of other sizes.
const GOOD_PERCENT: f64 = 5.0;
const GOOD_SIZES_PERCENT: f64 = 10.0;
/// Share of runs that must be good.
const GOOD_RUNS: f64 = 0.9;

/// What the components of a run are, and what is predicted from them.
const ON_ONE_HOST: &str = "Components are measured here, interleaved with what is compared. Messages and windows of other sizes, which a line \
    answers, tell what both sides do at once: that a message answers instead, and what lies between those sizes, is what is predicted.";
const BETWEEN_HOSTS: &str = "Components are measured here, interleaved with what is compared: a ping-pong of bare libfabric, and calls of libfabric \
    and of MPI by themselves. What MPI adds to bare libfabric is what is predicted.";

/// Compares as often as the options say; one job measures components and quantities, interleaved. A run in which the cores are moved does not count; where that is so in more runs than were asked
/// for, nothing can be said.
pub(super) fn check(options: &CheckOptions) -> Result<Report, String> {
    let library = library(&options.measure)?;
    let (mut tables, mut head) = (Vec::new(), Vec::new());
    let (mut main, mut sizes) = (0, 0);
    let (mut run, mut moved) = (1, Vec::new());
    while run <= options.runs {
        if moved.len() as u32 > options.runs {
            return Err(moved.swap_remove(0));
        }
        let (calibration, points) = measure(&options.measure, &library, What::PartsAndQuantities)?;
        if let Err(text) = calibration.expect_one_distance() {
            moved.push(text);
            continue;
        }
        let table = compare(&calibration, &format!("Run {run}"), &points)?;
        head = vec![("library".to_owned(), calibration.version)];
        head.extend(calibration.distances.map(|distances| {
            let name = "core to core, last run".to_owned();
            (name, distances.shown())
        }));
        run += 1;
        main += u32::from(table.is_good(true));
        sizes += u32::from(table.is_good(false));
        tables.push(table.table);
    }
    let verdict = |good: u32| {
        if f64::from(good) >= GOOD_RUNS * f64::from(options.runs) {
            "good"
        } else {
            "not good"
        }
    };
    let runs = options.runs;
    let moved = moved.last().map(|text| {
        let count = moved.len();
        format!("{count} more runs do not count. In the last of them {text}")
    });
    let between_hosts = !options.measure.hosts.hosts.is_empty();
    let (what, how) = match between_hosts {
        true => ("", BETWEEN_HOSTS),
        false => (" and rates", ON_ONE_HOST),
    };
    let mut remarks = vec![
        format!(
            "{}: half round trip of 8 bytes{what} within {GOOD_PERCENT} % in {main} of {runs} runs",
            verdict(main)
        ),
        format!(
            "{}: half round trips of other sizes within {GOOD_SIZES_PERCENT} % in {sizes} of {runs} runs",
            verdict(sizes)
        ),
        how.to_owned(),
    ];
    remarks.extend(moved);
    Ok(Report {
        head,
        tables,
        remarks,
    })
}

/// The comparison of one run.
struct Comparison {
    table: Table,
    /// Whether a row is of the main verdict, and its residual in per cent.
    residuals: Vec<(bool, f64)>,
}

impl Comparison {
    fn is_good(&self, main: bool) -> bool {
        let limit = if main {
            GOOD_PERCENT
        } else {
            GOOD_SIZES_PERCENT
        };
        let own = self.residuals.iter().filter(|row| row.0 == main);
        own.map(|row| row.1.abs()).fold(0.0, f64::max) <= limit
    }
}

fn compare(
    calibration: &Calibration,
    title: &str,
    points: &[Measured],
) -> Result<Comparison, String> {
    let model =
        Model::parse("calibration", &calibration.text).map_err(|error| error.to_string())?;
    let columns = [
        "quantity",
        "predicted ns",
        "measured ns",
        "residual",
        "sd",
        "least certain",
    ];
    let mut comparison = Comparison {
        table: Table::new(title, &columns),
        residuals: Vec::new(),
    };
    let named = |name: &'static str| points.iter().filter(move |point| point.name == name);
    for point in named(HALVES) {
        let values = at(&model, "bytes", point.size)?;
        let name = format!("half round trip, {} bytes", point.size);
        comparison.add(
            &model,
            &values,
            ("half_round_trip", &name),
            point,
            point.size == 8,
        )?;
    }
    for point in named(WINDOWS) {
        let values = at(&model, "W", point.size)?;
        let name = format!("per message, windows of {}", point.size);
        comparison.add(&model, &values, ("rate", &name), point, true)?;
    }
    Ok(comparison)
}

fn at(model: &Model, parameter: &str, value: usize) -> Result<Values, String> {
    let given = [(parameter.to_owned(), value as f64)];
    model
        .values_given(&given)
        .map_err(|error| error.to_string())
}

impl Comparison {
    fn add(
        &mut self,
        model: &Model,
        values: &Values,
        (quantity, name): (&str, &str),
        point: &Measured,
        main: bool,
    ) -> Result<(), String> {
        let told = |error: models::Error| error.to_string();
        let independent = model.independent(quantity).map_err(told)?;
        let answer = independent.predict_against(values, Some(median(&point.values)));
        let residual = answer.residual_percent().unwrap_or(f64::NAN);
        self.residuals.push((main, residual));
        self.table.rows.push(vec![
            Cell::text(name),
            Cell::Number(answer.predicted_ns),
            answer.observed_ns.map_or(Cell::Empty, Cell::Number),
            Cell::Signed(residual),
            answer.sd_ns.map_or(Cell::Empty, Cell::Number),
            answer.least_certain.map_or(Cell::Empty, Cell::Text),
        ]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_good_when_all_of_its_residuals_are_small() {
        let good = |residuals: &[(bool, f64)], main| {
            let comparison = Comparison {
                table: Table::new("", &[]),
                residuals: residuals.to_vec(),
            };
            comparison.is_good(main)
        };
        assert!(good(&[(true, 4.9), (true, -5.0), (false, 30.0)], true));
        assert!(!good(&[(true, 4.9), (true, -5.1)], true));
        assert!(good(&[(true, 9.0), (false, -9.0)], false));
        assert!(!good(&[(false, f64::INFINITY)], false));
    }
}
