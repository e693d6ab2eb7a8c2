// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ranks reported, and how it is written as lines of a model's file.

use std::fmt::Write as _;

use measure::statistics::{median, spread};

/// Values of a point.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) size: usize,
    pub(super) values: Vec<f64>,
}

/// A size, and nanoseconds with their spread.
pub(super) type Point = (usize, [f64; 2]);

/// The keys of a curve's points.
pub(super) const BY_BYTES: &str = "bytes";
pub(super) const BY_WINDOW: &str = "over = \"W\", points";

/// Medians and spreads of the points with a name, by growing size.
///
/// # Errors
/// When the ranks reported none.
pub(super) fn curve(points: &[Measured], name: &str) -> Result<Vec<Point>, String> {
    let own = points.iter().filter(|point| point.name == name);
    let mut curve: Vec<Point> = own
        .map(|point| (point.size, [median(&point.values), spread(&point.values)]))
        .collect();
    curve.sort_by_key(|point| point.0);
    match curve.is_empty() {
        true => Err(format!("the ranks did not report {name}")),
        false => Ok(curve),
    }
}

/// A component as a line of a model.
pub(super) fn component(name: &str, [ns, sd]: [f64; 2], source: &str, experiment: &str) -> String {
    format!(
        "{name} = {{ ns = {ns:.2}, sd = {sd:.2}, source = \"{source}\", experiment = \"{experiment}\" }}\n"
    )
}

/// A curve as a line of a model.
pub(super) fn curve_line(
    name: &str,
    by: &str,
    curve: &[Point],
    source: &str,
    experiment: &str,
) -> String {
    let list = |pick: fn(&Point) -> String| curve.iter().map(pick).collect::<Vec<_>>().join(", ");
    let places = list(|point| point.0.to_string());
    let values = list(|point| format!("{:.2}", point.1[0]));
    let spreads = list(|point| format!("{:.2}", point.1[1]));
    format!(
        "{name} = {{ {by} = [{places}], ns = [{values}], sd = [{spreads}], source = \"{source}\", experiment = \"{experiment}\" }}\n"
    )
}

/// A text as TOML has it.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => drop(write!(out, "\\{letter}")),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_and_one_outlier_does_not_change_the_spread() {
        assert_eq!(quoted("a \"b\" \\ \n"), "\"a \\\"b\\\" \\\\  \"");
        assert!(spread(&[10.0, 11.0, 12.0, 13.0, 1e6]) < 2.0);
    }
}
