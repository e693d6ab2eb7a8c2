// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile as CSV (RFC 4180): one line a value.

use machine_profile::Profile;

use super::row::{Row, rows};

const HEAD: &str = "name,from,to,axis,x,axis2,y,unit,value,mad,trimean,n,iid,gb_per_s\r\n";

/// The text of the file.
pub(super) fn render(profile: &Profile) -> String {
    let lines = rows(profile).iter().map(line).collect::<String>();
    HEAD.to_owned() + &lines
}

fn line(row: &Row) -> String {
    let axis = |index: usize| match row.at.get(index) {
        Some((axis, place)) => [axis.name().to_owned(), place.to_string()],
        None => [String::new(), String::new()],
    };
    let statistics = match row.sample {
        Some(sample) => [
            sample.trimean.to_string(),
            sample.n.to_string(),
            sample.iid.to_string(),
        ],
        None => Default::default(),
    };
    let rate = row
        .bytes()
        .map(|bytes| (bytes as f64 / row.value).to_string());
    let start = [&row.name, &row.from, &row.to].map(|text| quoted(text));
    let value = [
        row.unit.to_owned(),
        row.value.to_string(),
        row.mad.to_string(),
    ];
    let cells = [
        &start[..],
        &axis(0),
        &axis(1),
        &value,
        &statistics,
        &[rate.unwrap_or_default()],
    ];
    cells.concat().join(",") + "\r\n"
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_commas_and_quotes_are_quoted() {
        assert_eq!(quoted("a/b"), "a/b");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
