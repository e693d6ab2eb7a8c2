// SPDX-License-Identifier: MIT OR Apache-2.0
//! The accounts of calls, as JSON has them.

use std::collections::BTreeMap;

use account::Category;
use account::attribution::Account;
use serde::Serialize;

use super::calls::{Call, Level};
use super::published::{PEERS, published};

/// The account of a call at a thread level.
pub(super) struct Counted {
    pub(super) call: &'static Call,
    pub(super) level: Level,
    pub(super) account: Account,
}

/// All accounts.
#[derive(Serialize)]
struct Report {
    /// Where the library is installed.
    prefix: String,
    calls: Vec<CallReport>,
}

#[derive(Serialize)]
struct CallReport {
    call: &'static str,
    /// The program's function that makes it, behind `counted_`.
    counted: &'static str,
    level: &'static str,
    /// Instructions of one call.
    total: f64,
    categories: BTreeMap<&'static str, f64>,
    /// Instructions on lines without an annotation; `other` contains them.
    unannotated: f64,
    lines: Vec<LineReport>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    published: BTreeMap<&'static str, u32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    peers: BTreeMap<&'static str, u32>,
}

#[derive(Serialize)]
struct LineReport {
    file: String,
    line: u32,
    /// None where the line lacks an annotation.
    category: Option<&'static str>,
    instructions: f64,
}

impl Counted {
    fn report(&self) -> CallReport {
        let Self {
            call,
            level,
            account,
        } = self;
        let categories = Category::ALL.iter();
        let is_without_promise = call.function.starts_with("MPI_");
        let parts = published(call.group)
            .filter(|_| is_without_promise)
            .unwrap_or_default();
        let totals = PEERS.iter().filter(|_| is_without_promise);
        let totals = totals.filter_map(|peer| Some((peer.name, peer.total(call.group, *level)?)));
        CallReport {
            call: call.function,
            counted: call.counted,
            level: level.word(),
            total: rounded(account.total),
            categories: categories
                .map(|one| (one.name(), rounded(account.of(*one))))
                .collect(),
            unannotated: rounded(account.unannotated.values().sum()),
            lines: self.lines().map(line_report).collect(),
            published: parts
                .iter()
                .map(|(one, most)| (one.name(), *most))
                .collect(),
            peers: totals.collect(),
        }
    }

    /// Instructions of each line in the order of files and lines; without a category where the annotation is missing.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, u32, Option<Category>, f64)> {
        let annotated = self.account.lines.iter();
        let annotated = annotated
            .map(|((place, category), count)| (&*place.file, place.line, Some(*category), *count));
        let bare = self.account.unannotated.iter();
        let bare = bare.map(|(place, count)| (&*place.file, place.line, None, *count));
        let mut all: Vec<_> = annotated.chain(bare).collect();
        all.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)));
        all.into_iter()
    }
}

fn line_report((file, line, category, count): (&str, u32, Option<Category>, f64)) -> LineReport {
    LineReport {
        file: file.to_owned(),
        line,
        category: category.map(Category::name),
        instructions: rounded(count),
    }
}

/// Counts are means of many calls; digits beyond these are noise of the division.
fn rounded(count: f64) -> f64 {
    (count * 1000.0).round() / 1000.0
}

/// All accounts as JSON.
pub(super) fn json(prefix: &std::path::Path, counted: &[Counted]) -> Result<String, String> {
    let report = Report {
        prefix: prefix.display().to_string(),
        calls: counted.iter().map(Counted::report).collect(),
    };
    let text = serde_json::to_string_pretty(&report);
    let text = text.map_err(|error| format!("cannot write JSON: {error}"))?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::counted;
    use super::*;

    #[test]
    fn json_has_totals_categories_and_lines() {
        let text = json(std::path::Path::new("/prefix"), &counted()).expect("JSON");
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let [first, second] = [&report["calls"][0], &report["calls"][1]];
        assert_eq!(first["call"], "MPI_Isend");
        assert_eq!(first["total"], 12.5);
        assert_eq!(first["categories"]["fabric"], 8.5);
        assert_eq!(first["published"]["datatype"], 59);
        assert_eq!(first["peers"]["MPICH 5.0.2"], 804);
        assert_eq!(second["counted"], "isend_global");
        assert_eq!(second["unannotated"], 2.0);
        assert_eq!(second["lines"][1]["line"], 5);
        assert!(second["lines"][1]["category"].is_null());
        assert!(second["published"].is_null());
    }
}
