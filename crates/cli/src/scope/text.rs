// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile as tables for the terminal.

use machine_profile::{Axis, Curve, Matrix, Profile, Skipped, Surface};
use measure::columns::table;

/// The whole profile.
pub(super) fn render(profile: &Profile) -> String {
    let host = &profile.host;
    let mut text = format!(
        "{}, {} cores, kernel {}{}\n",
        host.cpu,
        host.cores,
        host.kernel,
        if host.is_virtual { ", virtual" } else { "" }
    );
    for control in &profile.controls {
        text += &format!("{}: {}\n", control.name, control.held);
    }
    for matrix in &profile.matrices {
        of_matrix(&mut text, profile, matrix);
    }
    if !profile.costs.is_empty() {
        text += "\n";
        let head = ["ns", "+-", "n", "", "cost"].map(str::to_owned);
        let rows = profile.costs.iter().map(|cost| {
            let sample = &cost.sample;
            [
                sample.ns.to_string(),
                spread(sample.mad),
                sample.n.to_string(),
                mark(sample.iid),
                cost.name.clone(),
            ]
        });
        table(&mut text, 4, [head].into_iter().chain(rows).collect());
    }
    for curve in &profile.curves {
        of_curve(&mut text, profile, curve);
    }
    for surface in &profile.surfaces {
        of_surface(&mut text, surface);
    }
    if !profile.skipped.is_empty() {
        text += "\n";
        table(&mut text, 0, skipped(&profile.skipped));
    }
    let is_marked = profile.curves.iter().flat_map(|curve| &curve.points);
    let is_marked = is_marked.map(|point| &point.sample);
    let mut all = is_marked.chain(profile.costs.iter().map(|cost| &cost.sample));
    if all.any(|sample| !sample.iid) {
        text += "\n* The values were not independent of each other; the median counts with its whole spread.\n";
    }
    text
}

/// Entries without values; those of a group that lack the same thing are one row.
fn skipped(skipped: &[Skipped]) -> Vec<[String; 2]> {
    let group = |row: &Skipped| row.name.split('/').next().unwrap_or_default().to_owned();
    let is_alike =
        |one: &Skipped, other: &Skipped| one.reason == other.reason && group(one) == group(other);
    let row = |rows: &[Skipped]| {
        let name = match rows {
            [row] => row.name.clone(),
            rows => format!("{}/* ({} entries)", group(&rows[0]), rows.len()),
        };
        [name, format!("skipped: {}", rows[0].reason)]
    };
    skipped.chunk_by(is_alike).map(row).collect()
}

/// What stands behind a value that counts with its spread.
fn mark(iid: bool) -> String {
    if iid { "" } else { "*" }.to_owned()
}

fn spread(mad: f64) -> String {
    match mad {
        mad if mad >= 100.0 => format!("{mad:.0}"),
        mad => format!("{mad:.2}"),
    }
}

fn places(profile: &Profile, curve: &Curve) -> String {
    let name = |place: usize| &profile.places[place].name;
    match (curve.from, curve.to) {
        (Some(from), Some(to)) if from == to => format!(", {}", name(from)),
        (Some(from), Some(to)) => format!(", {} to {}", name(from), name(to)),
        _ => String::new(),
    }
}

fn of_curve(text: &mut String, profile: &Profile, curve: &Curve) {
    *text += &format!("\n{}{}\n", curve.name, places(profile, curve));
    let is_rate = curve.axis == Axis::Bytes;
    let head = [
        curve.axis.name(),
        "ns",
        "+-",
        "n",
        "",
        if is_rate { "GB/s" } else { "" },
    ];
    let rows = curve.points.iter().map(|point| {
        let sample = &point.sample;
        let rate = format!("{:.2}", point.x as f64 / sample.ns);
        [
            point.x.to_string(),
            sample.ns.to_string(),
            spread(sample.mad),
            sample.n.to_string(),
            mark(sample.iid),
            if is_rate { rate } else { String::new() },
        ]
    });
    let head = head.map(str::to_owned);
    table(text, 6, [head].into_iter().chain(rows).collect());
}

/// Most columns that a terminal shows; the files have all.
const COLUMNS: usize = 16;

fn of_matrix(text: &mut String, profile: &Profile, matrix: &Matrix) {
    *text += &format!(
        "\n{} [{}], from row to column\n",
        matrix.name,
        matrix.unit.name()
    );
    let name = |place: usize| profile.places[place].name.clone();
    let shown = matrix.places.len().min(COLUMNS);
    let mut lines: Vec<Vec<String>> = vec![vec![String::new()]];
    lines[0].extend(matrix.places[..shown].iter().map(|&place| name(place)));
    for (line, &place) in matrix.places[..shown].iter().enumerate() {
        let cells = matrix.values[line][..shown].iter();
        let cells = cells.map(|value| value.map_or("-".to_owned(), |value| value.to_string()));
        lines.push([name(place)].into_iter().chain(cells).collect());
    }
    grid(text, &lines);
    if shown < matrix.places.len() {
        *text += &format!("  {} more places\n", matrix.places.len() - shown);
    }
}

fn of_surface(text: &mut String, surface: &Surface) {
    let [x, y] = surface.axes.map(Axis::name);
    *text += &format!("\n{} [ns], {x} down, {y} across\n", surface.name);
    let mut lines: Vec<Vec<String>> = vec![vec![String::new()]];
    lines[0].extend(surface.y.iter().map(u64::to_string));
    for (line, x) in surface.x.iter().enumerate() {
        let cells = surface.ns[line].iter().map(f64::to_string);
        lines.push([x.to_string()].into_iter().chain(cells).collect());
    }
    grid(text, &lines);
}

/// Appends cells in columns as wide as they need, aligned on the right.
fn grid(text: &mut String, lines: &[Vec<String>]) {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| width(column).unwrap_or(0))
        .collect();
    for line in lines {
        for (cell, width) in line.iter().zip(&widths) {
            *text += &format!("  {cell:>width$}");
        }
        *text += "\n";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_lack_the_same_are_one_row() {
        let row = |name: &str, reason: &str| Skipped {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        let rows = [row("gpu/a/b", "x"), row("gpu/c", "x"), row("gpu/d", "y")];
        let told: Vec<String> = skipped(&rows)
            .into_iter()
            .map(|[name, reason]| format!("{name}: {reason}"))
            .collect();
        assert_eq!(told, ["gpu/* (2 entries): skipped: x", "gpu/d: skipped: y"]);
    }
}
