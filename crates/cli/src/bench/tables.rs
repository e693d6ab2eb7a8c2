// SPDX-License-Identifier: MIT OR Apache-2.0
//! The results as tables, for a terminal and as Markdown.

use bench_rank::measurement::{Axis, MEASUREMENTS, Measurement};
use measure::sizes::show;
use measure::table::{Form, Table, capitalise, head};
use measure::yardstick::alike;

use super::rendezvous;
use super::results::{PointKey, Results};

/// The mark of values that met cores at another distance than the usual one, as did the others of their row.
const ELSEWHERE: &str = "~";

/// The mark of values that met cores at another distance than the others of their row.
const APART: &str = "!";

/// The mark of values that are fewer than asked for.
const LIMITED: &str = "^";

/// All tables of the results, after the conditions.
pub(super) fn render(results: &Results, form: Form) -> String {
    let mut text = conditions(results, form);
    let sized: Vec<&Measurement> = with_axis(results, Axis::Sizes);
    let mut tables = if results.libraries.len() == 1 {
        side_by_side(results, &sized)
    } else {
        sized.iter().map(|row| compared(results, row)).collect()
    };
    tables.extend(rendezvous::tables(results));
    tables.extend(collectives(results));
    tables.extend(others(results));
    for table in tables {
        text.push_str(&table.render(form));
    }
    text
}

fn with_axis(results: &Results, axis: Axis) -> Vec<&'static Measurement> {
    let wanted = |row: &&Measurement| row.axis == axis && !results.keys(row).is_empty();
    MEASUREMENTS.iter().filter(wanted).collect()
}

fn conditions(results: &Results, form: Form) -> String {
    let mut lines = vec![format!("{}, {} cores", results.processor, results.cores)];
    for library in &results.libraries {
        lines.push(format!("{}: {}", library.name, library.version));
    }
    let distances = results.distances();
    if let Some(usual) = alike::usual(&distances) {
        lines.push(format!("core to core, one cache line: {usual:.0} ns"));
        if alike::differ(&distances, Some(usual)) {
            lines.push(format!(
                "{ELSEWHERE}: measured while the cores were nearer or farther than that"
            ));
        }
    }
    if results
        .points
        .iter()
        .any(|point| point.met_another_distance)
    {
        lines.push(format!(
            "{APART}: measured while the cores were nearer or farther than for the others of the row, which have no ratio then"
        ));
    }
    if results.points.iter().any(|point| point.limited) {
        lines.push(format!(
            "{LIMITED}: fewer values than of the others, because they took too long"
        ));
    }
    lines.extend(results.remarks.iter().cloned());
    head(&results.command, &lines, form)
}

/// One library: a row for each size, a column for each measurement.
fn side_by_side(results: &Results, sized: &[&'static Measurement]) -> Vec<Table> {
    let mut sizes: Vec<usize> = sized
        .iter()
        .flat_map(|row| results.keys(row))
        .map(|key| key.size_bytes)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        return Vec::new();
    }
    let cell = |row: &&'static Measurement, size: usize| {
        let key = results
            .keys(row)
            .into_iter()
            .find(|key| key.size_bytes == size);
        let value = key.and_then(|key| results.median(key, 0));
        value.map_or(String::new(), |value| row.unit.show(value))
    };
    let mut header = vec!["size".to_owned()];
    header.extend(sized.iter().map(|row| row.title.to_lowercase()));
    let rows = sizes.iter().map(|&size| {
        let mut cells = vec![show(size)];
        cells.extend(sized.iter().map(|row| cell(row, size)));
        cells
    });
    vec![Table {
        title: "Two ranks".to_owned(),
        text: String::new(),
        header,
        rows: rows.collect(),
    }]
}

/// Several libraries: a row for each size, a column for each library.
pub(super) fn compared(results: &Results, measurement: &'static Measurement) -> Table {
    let rows = results.keys(measurement).into_iter().map(|key| {
        let mut cells = vec![show(key.size_bytes)];
        cells.extend(values(results, key));
        cells
    });
    Table {
        title: measurement.title.to_owned(),
        text: measurement.text.to_owned(),
        header: header(results, "size"),
        rows: rows.collect(),
    }
}

/// Collectives: a row for each size and number of ranks.
fn collectives(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    for measurement in with_axis(results, Axis::Blocks) {
        let rows = results.keys(measurement).into_iter().map(|key| {
            let mut cells = vec![format!("{}, {} ranks", show(key.size_bytes), key.ranks)];
            cells.extend(values(results, key));
            cells
        });
        tables.push(Table {
            title: capitalise(measurement.title),
            text: measurement.text.to_owned(),
            header: header(results, "size, ranks"),
            rows: rows.collect(),
        });
    }
    tables
}

/// What has no sizes: a row for each measurement and number of ranks.
fn others(results: &Results) -> Option<Table> {
    let keys: Vec<PointKey> = with_axis(results, Axis::Ranks)
        .into_iter()
        .flat_map(|row| results.keys(row))
        .collect();
    let rows = keys.into_iter().map(|key| {
        let title = key.measurement.title;
        let mut cells = vec![match key.ranks {
            1 => title.to_owned(),
            ranks => format!("{title}, {ranks} ranks"),
        }];
        cells.extend(values(results, key));
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: "Everything else".to_owned(),
        text: "`rankpoint bench --list` explains the rows".to_owned(),
        header: header(results, ""),
        rows,
    })
}

fn header(results: &Results, first: &str) -> Vec<String> {
    let mut header = vec![first.to_owned()];
    header.extend(results.libraries.iter().map(|library| library.name.clone()));
    if results.has_both_levels() {
        header.push("MULTIPLE to SINGLE".to_owned());
    }
    if results.has_peers() {
        header.push("to best peer".to_owned());
    }
    header
}

/// The value of a library with its marks.
pub(super) fn value(results: &Results, key: PointKey, library: usize) -> String {
    let value = results.median(key, library);
    let marks = [
        (results.is_apart(key, library), APART),
        (results.elsewhere(key, library), ELSEWHERE),
        (results.is_limited(key, library), LIMITED),
    ];
    let marks: String = marks
        .iter()
        .filter(|mark| mark.0)
        .map(|mark| mark.1)
        .collect();
    value.map_or("-".to_owned(), |value| {
        marks + &key.measurement.unit.show(value)
    })
}

fn values(results: &Results, key: PointKey) -> Vec<String> {
    let show = |library| value(results, key, library);
    let mut cells: Vec<String> = (0..results.libraries.len()).map(show).collect();
    let show = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2} x"));
    if results.has_both_levels() {
        cells.push(show(results.ratio_of_levels(key)));
    }
    if results.has_peers() {
        cells.push(show(results.ratio_to_best_peer(key)));
    }
    cells
}

#[cfg(test)]
mod tests {
    use measure::yardstick::alike::Chosen;

    use super::super::results::Library;
    use super::*;

    fn chosen(value: f64, distance: f64, is_apart: bool) -> Chosen {
        Chosen {
            values: vec![value],
            met: vec![distance; 2],
            is_apart,
        }
    }

    fn two_libraries() -> Results {
        let library = |name: &str| Library {
            name: name.to_owned(),
            version: "1".to_owned(),
            ..Library::default()
        };
        let mut results = Results {
            libraries: vec![library("ours"), library("theirs")],
            ..Results::default()
        };
        for (name, size_bytes) in [("latency", 8), ("latency", 4096), ("barrier", 0)] {
            let measurement = Measurement::find(name).unwrap();
            let key = PointKey {
                measurement,
                ranks: 2,
                size_bytes,
                skew_ns: 0,
            };
            results.add(key, 0, &chosen(100.0, 55.0, false));
            results.add(key, 1, &chosen(400.0, 60.0, false));
        }
        results
    }

    #[test]
    fn every_point_stands_in_a_row_with_its_ratio() {
        let text = render(&two_libraries(), Form::Terminal);
        assert!(
            text.contains("4 KiB  100 ns  400 ns        0.25 x"),
            "{text}"
        );
        assert!(text.contains("Barrier, 2 ranks"), "{text}");
        assert_eq!(text.matches("0.25 x").count(), 3, "{text}");
    }

    #[test]
    fn values_that_met_cores_elsewhere_are_marked() {
        let mut results = two_libraries();
        let key = PointKey {
            measurement: Measurement::find("rate").unwrap(),
            ranks: 2,
            size_bytes: 8,
            skew_ns: 0,
        };
        for library in 0..2 {
            results.add(key, library, &chosen(1e6, 280.0, false));
        }
        let text = render(&results, Form::Terminal);
        assert!(text.contains("cache line: 55 ns"), "{text}");
        assert_eq!(text.matches(ELSEWHERE).count(), 3, "{text}");
        assert_eq!(text.matches("1.00 x").count(), 1, "{text}");
        assert!(!render(&two_libraries(), Form::Terminal).contains(ELSEWHERE));
    }

    #[test]
    fn a_row_whose_libraries_met_different_distances_has_no_ratio() {
        let mut results = two_libraries();
        let key = results.points[0].key;
        results.add(key, 1, &chosen(400.0, 160.0, true));
        let text = render(&results, Form::Terminal);
        assert!(text.contains("100 ns  !~400 ns             -"), "{text}");
        assert!(text.contains("\n!: measured while"), "{text}");
        assert_eq!(text.matches("0.25 x").count(), 2, "{text}");
        assert!(!render(&two_libraries(), Form::Terminal).contains(APART));
    }

    #[test]
    fn values_that_took_too_long_are_marked() {
        let mut results = two_libraries();
        assert!(!render(&results, Form::Terminal).contains(LIMITED));
        let key = results.points[0].key;
        results.limit(key, 1);
        results.remarks.push("theirs: gone".to_owned());
        let text = render(&results, Form::Terminal);
        assert!(text.contains("^400 ns"), "{text}");
        assert!(
            text.contains("^: fewer") && text.contains("\ntheirs: gone\n"),
            "{text}"
        );
    }

    #[test]
    fn markdown_rows_have_as_many_cells_as_their_header() {
        let text = render(&two_libraries(), Form::Markdown);
        let cells: Vec<usize> = text
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.matches('|').count())
            .collect();
        assert!(
            cells.len() == 7 && cells.iter().all(|&count| count == 5),
            "{text}"
        );
    }
}
