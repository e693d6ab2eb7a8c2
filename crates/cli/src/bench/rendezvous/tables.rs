// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of long messages.

use bench_rank::measurement::{Axis, MEASUREMENTS, Measurement, Unit};
use measure::sizes::show;
use measure::table::Table;

use super::super::results::{PointKey, Results};
use super::super::tables::{compared, value};
use super::predict::SKEW;

/// The columns of an order: the end of the row's name, and the head.
const COLUMNS: [(&str, &str); 4] = [
    ("", "received"),
    ("-sent", "sent"),
    ("-control", "control messages"),
    ("-switches", "context switches"),
];

/// The tables of the rows that were measured.
pub(in super::super) fn tables(results: &Results) -> Vec<Table> {
    let long = MEASUREMENTS.iter().filter(|row| row.axis == Axis::Long);
    let mut tables = Vec::new();
    for row in long {
        if row.unit == Unit::Percent && !results.keys(row).is_empty() {
            tables.push(compared(results, row));
        } else if row.job() == row.name && row.unit != Unit::Percent {
            tables.extend(of_order(results, row));
        }
    }
    tables.extend(of_skews(results));
    tables
}

/// One order of posts: a row for each size, number of ranks and library, and a column for each value.
fn of_order(results: &Results, row: &'static Measurement) -> Option<Table> {
    let columns = COLUMNS.iter().filter_map(|(end, head)| {
        let name = format!("{}{end}", row.name);
        let column = Measurement::find(&name)?;
        (!results.keys(column).is_empty()).then_some((column, *head))
    });
    let columns: Vec<_> = columns.collect();
    let mut keys: Vec<(u32, usize)> = Vec::new();
    for (column, _) in &columns {
        let more = results.keys(column).into_iter();
        keys.extend(more.map(|key| (key.ranks, key.size_bytes)));
    }
    keys.sort_unstable();
    keys.dedup();
    let mut rows = Vec::new();
    for (ranks, size_bytes) in keys {
        for (library, known) in results.libraries.iter().enumerate() {
            let cells = columns.iter().map(|(column, _)| {
                let key = PointKey {
                    measurement: column,
                    ranks,
                    size_bytes,
                    skew_ns: 0,
                };
                value(results, key, library)
            });
            let size = show(size_bytes);
            let place = match ranks {
                2 => size,
                ranks => format!("{size}, {ranks} ranks"),
            };
            let head = format!("{place}: {}", known.name);
            rows.push([head].into_iter().chain(cells).collect());
        }
    }
    let heads = columns.iter().map(|(_, head)| (*head).to_owned());
    (!rows.is_empty()).then(|| Table {
        title: row.title.to_owned(),
        text: match row.ranks {
            [2] => "times are from the later post until the operation is complete; counts are of both ranks, for each message".to_owned(),
            _ => row.text.to_owned(),
        },
        header: ["size".to_owned()].into_iter().chain(heads).collect(),
        rows,
    })
}

/// The skew curves: a row for each skew, a column for each library, and one for what the model predicts of it.
fn of_skews(results: &Results) -> Vec<Table> {
    let Some(skew) = Measurement::find(SKEW) else {
        return Vec::new();
    };
    let mut sizes: Vec<usize> = (results.keys(skew).iter().map(|key| key.size_bytes)).collect();
    sizes.dedup();
    let curve = |library, size| {
        let mut curves = results.predicted.iter();
        curves.find(|curve| curve.library == library && curve.size_bytes == size)
    };
    let table = |size: usize| {
        let mut header = vec!["receive first by".to_owned()];
        for (library, known) in results.libraries.iter().enumerate() {
            header.push(known.name.clone());
            header.extend(curve(library, size).map(|_| "predicted".to_owned()));
        }
        let keys = results.keys(skew).into_iter();
        let keys = keys.filter(|key| key.size_bytes == size);
        let rows = keys.map(|key| {
            let mut cells = vec![show_skew(key.skew_ns)];
            for library in 0..results.libraries.len() {
                cells.push(value(results, key, library));
                cells.extend(curve(library, size).map(|curve| {
                    let mut points = curve.points.iter();
                    let point = points.find(|(skew_ns, _)| *skew_ns == key.skew_ns);
                    point.map_or("-".to_owned(), |(_, time)| skew.unit.show(*time))
                }));
            }
            cells
        });
        let rows = rows.collect();
        Table {
            title: format!("{}, {}", skew.title, show(size)),
            text: format!("{}: {}", skew.text, ways(results, size)),
            header,
            rows,
        }
    };
    sizes.into_iter().map(table).collect()
}

/// What the predictions take from the run.
fn ways(results: &Results, size: usize) -> String {
    let curves = results
        .predicted
        .iter()
        .filter(|curve| curve.size_bytes == size);
    let one = |curve: &super::Curve| {
        let name = &results.libraries[curve.library].name;
        let show = |time| Unit::Nanoseconds.show(time);
        format!(
            "{name} has a control message of {} and a copy of {}",
            show(curve.control_ns),
            show(curve.copy_ns)
        )
    };
    let all: Vec<String> = curves.map(one).collect();
    match all.is_empty() {
        true => "nothing is predicted".to_owned(),
        false => format!("in the model {}", all.join(", ")),
    }
}

/// A skew with its sign.
fn show_skew(skew_ns: i64) -> String {
    let time = Unit::Nanoseconds.show(skew_ns.unsigned_abs() as f64);
    match skew_ns {
        0 => "0".to_owned(),
        1.. => time,
        _ => format!("-{time}"),
    }
}

#[cfg(test)]
mod tests {
    use measure::table::Form;

    use super::super::testing;
    use super::*;

    fn results() -> Results {
        let of = |library| {
            [
                ("rendezvous-together", (2, 0), library, 5e4),
                ("rendezvous-together-switches", (2, 0), library, 0.0),
                ("rendezvous-oversubscribed", (8, 0), library, 3e5),
                ("rendezvous-control-time", (2, 0), library, 250.0),
                ("rendezvous-skew", (2, -100_000), library, 5e4),
                ("rendezvous-skew", (2, 500), library, 5e4),
                ("rendezvous-overlap-send", (2, 0), library, 90.0),
            ]
        };
        let mut points = [of(0), of(1)].concat();
        points.push(("rendezvous-together-control", (2, 0), 0, 2.0));
        testing::results(&[("ours, read", Some("read")), ("theirs", None)], &points)
    }

    #[test]
    fn each_order_has_a_table_with_what_was_counted() {
        let tables = tables(&results());
        let titles: Vec<_> = tables.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "Long message, both posted at once",
                "Overlap of the send of a long message",
                "Long messages, more ranks than cores",
                "Long message by skew, 1 MiB",
            ]
        );
        let header = ["size", "received", "control messages", "context switches"];
        assert_eq!(tables[0].header, header);
        assert_eq!(
            tables[0].rows[0],
            ["1 MiB: ours, read", "50.0 us", "2.00", "0.00"]
        );
        assert_eq!(tables[0].rows[1], ["1 MiB: theirs", "50.0 us", "-", "0.00"]);
        assert_eq!(tables[2].rows[0], ["1 MiB, 8 ranks: ours, read", "300 us"]);
        for table in &tables {
            assert!(table.rows.iter().all(|row| row.len() == table.header.len()));
            assert!(table.render(Form::Markdown).contains("| ---"));
        }
    }

    #[test]
    fn skews_stand_in_order_beside_their_predictions() {
        let tables = tables(&results());
        let skews = tables.last().unwrap();
        assert_eq!(
            skews.header,
            ["receive first by", "ours, read", "predicted", "theirs"]
        );
        assert_eq!(skews.rows[0], ["-100 us", "50.0 us", "50.0 us", "50.0 us"]);
        assert_eq!(skews.rows[1], ["500 ns", "50.0 us", "50.2 us", "50.0 us"]);
        assert!(
            skews
                .text
                .contains("ours, read has a control message of 250 ns and a copy of 50.0 us")
        );
    }
}
