// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file of a profile: one line for each point, so that two files can be compared line by line.

use std::fmt::Write as _;

use crate::profile::{Profile, SCHEMA};
use crate::sample::Sample;

/// The text of a file that grows.
struct Text(String);

impl Profile {
    /// The profile as TOML; [`Self::parse`] gives the same profile back.
    pub fn to_toml(&self) -> String {
        let mut text = Text(String::new());
        text.pair("schema", SCHEMA);
        text.quoted("created", &self.created);
        text.quoted("tool", &self.tool);
        text.quoted("mode", &self.mode);
        self.write_host(&mut text);
        for control in &self.controls {
            text.head("[[controls]]");
            text.quoted("name", &control.name);
            text.quoted("asked", &control.asked);
            text.quoted("held", &control.held);
        }
        for place in &self.places {
            text.head("[[places]]");
            text.quoted("name", &place.name);
            text.quoted("kind", place.kind.name());
            text.pair("index", place.index);
            text.optional("l3", place.l3);
            text.optional("numa", place.numa);
        }
        for cost in &self.costs {
            text.head("[[costs]]");
            text.quoted("name", &cost.name);
            for (key, value) in statistics(&cost.sample) {
                text.pair(key, value);
            }
        }
        self.write_tables(&mut text);
        for skipped in &self.skipped {
            text.head("[[skipped]]");
            text.quoted("name", &skipped.name);
            text.quoted("reason", &skipped.reason);
        }
        text.0
    }

    fn write_host(&self, text: &mut Text) {
        let host = &self.host;
        text.head("[host]");
        text.quoted("cpu", &host.cpu);
        text.quoted("architecture", &host.architecture);
        text.pair("cores", host.cores);
        text.pair("l3_bytes", host.l3_bytes);
        text.pair("numa_nodes", host.numa_nodes);
        text.pair("page_bytes", host.page_bytes);
        text.pair("virtual", host.is_virtual);
        text.quoted("kernel", &host.kernel);
        text.quoted("fingerprint", &host.fingerprint());
    }

    fn write_tables(&self, text: &mut Text) {
        for matrix in &self.matrices {
            text.head("[[matrices]]");
            text.quoted("name", &matrix.name);
            text.quoted("unit", matrix.unit.name());
            text.pair("places", format!("{:?}", matrix.places));
            text.rows("values", &matrix.values, |value| {
                value.map_or("nan".to_owned(), number)
            });
            text.rows("mad", &matrix.mad, |value| {
                value.map_or("nan".to_owned(), number)
            });
        }
        for surface in &self.surfaces {
            text.head("[[surfaces]]");
            text.quoted("name", &surface.name);
            let [x, y] = surface.axes.map(|axis| axis.name());
            text.pair("axes", format!("{{ x = \"{x}\", y = \"{y}\" }}"));
            text.pair("x", format!("{:?}", surface.x));
            text.pair("y", format!("{:?}", surface.y));
            text.rows("ns", &surface.ns, |&value| number(value));
            text.rows("mad", &surface.mad, |&value| number(value));
        }
        for curve in &self.curves {
            text.head("[[curves]]");
            text.quoted("name", &curve.name);
            text.quoted("axis", curve.axis.name());
            text.optional("from", curve.from);
            text.optional("to", curve.to);
            text.0.push_str("points = [\n");
            for point in &curve.points {
                let mut line = format!("  {{ x = {}", point.x);
                for (key, value) in statistics(&point.sample) {
                    line.push_str(&format!(", {key} = {value}"));
                }
                text.0.push_str(&line);
                text.0.push_str(" },\n");
            }
            text.0.push_str("]\n");
        }
    }
}

impl Text {
    fn head(&mut self, head: &str) {
        self.0.push_str(&format!("\n{head}\n"));
    }

    fn pair(&mut self, key: &str, value: impl std::fmt::Display) {
        self.0.push_str(&format!("{key} = {value}\n"));
    }

    fn optional(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.pair(key, value);
        }
    }

    fn quoted(&mut self, key: &str, value: &str) {
        let text = quote(value);
        self.pair(key, text);
    }

    fn rows<T>(&mut self, key: &str, rows: &[Vec<T>], cell: impl Fn(&T) -> String) {
        self.0.push_str(&format!("{key} = [\n"));
        for row in rows {
            let cells: Vec<String> = row.iter().map(&cell).collect();
            self.0.push_str(&format!("  [{}],\n", cells.join(", ")));
        }
        self.0.push_str("]\n");
    }
}

fn statistics(sample: &Sample) -> [(&'static str, String); 5] {
    [
        ("ns", number(sample.ns)),
        ("trimean", number(sample.trimean)),
        ("mad", number(sample.mad)),
        ("n", sample.n.to_string()),
        ("iid", sample.iid.to_string()),
    ]
}

/// A number that TOML reads back unchanged, and as a number with a fraction.
fn number(value: f64) -> String {
    format!("{value:?}")
}

/// A basic string of TOML.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            letter if letter.is_control() => {
                // Writing into a text cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
