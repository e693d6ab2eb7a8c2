// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of complaints that are left, by folder and kind: a committed table that may only shrink.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::shell;

/// Counts by crate or folder, and kind.
pub(crate) type Counts = BTreeMap<(String, String), usize>;

/// A table, from the workspace's root, and what stands at its head.
pub(crate) struct Left {
    pub(crate) path: &'static str,
    pub(crate) head: &'static str,
}

impl Left {
    /// What has grown, and by how much the others shrank.
    pub(crate) fn compare(&self, found: &Counts) -> Result<(Vec<String>, usize), String> {
        let path = shell::root().join(self.path);
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let left = parse(&text)
            .ok_or_else(|| format!("{}: rows are a folder, a kind and a number", self.path))?;
        Ok(compare(found, &left))
    }

    /// Makes the table what was found.
    pub(crate) fn write(&self, found: &Counts) -> Result<(), String> {
        let mut text = format!("# {}\n", self.head);
        for ((place, kind), count) in found {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{place}\t{kind}\t{count}");
        }
        let path = shell::root().join(self.path);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let total: usize = found.values().sum();
        shell::say(&format!("{}: {total} left", self.path));
        Ok(())
    }
}

/// The crate, the folder, or the page in the root that a file belongs to.
pub(crate) fn place(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    let length = if parts[0] == "crates" { 2 } else { 1 };
    parts[..length.min(parts.len())].join("/")
}

fn parse(text: &str) -> Option<Counts> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let mut columns = row.split('\t');
        let (place, kind) = (columns.next()?, columns.next()?);
        let count = columns.next()?.parse().ok()?;
        Some(((place.to_owned(), kind.to_owned()), count))
    })
    .collect()
}

/// What moves to a crate that the table does not know may not grow in all.
fn compare(found: &Counts, left: &Counts) -> (Vec<String>, usize) {
    let (mut grown, mut fewer) = (Vec::new(), 0);
    let of_all = |counts: &Counts, kind: &str| -> usize {
        let same = counts.iter().filter(|((_, other), _)| other == kind);
        same.map(|(_, count)| count).sum()
    };
    for ((place, kind), &count) in found {
        let is_new = !left.keys().any(|(other, _)| other == place);
        if is_new && of_all(found, kind) <= of_all(left, kind) {
            continue;
        }
        let most = left.get(&(place.clone(), kind.clone())).copied();
        let most = most.unwrap_or(0);
        if count > most {
            grown.push(format!("{place}: {kind} {count} times, at most {most}"));
        }
    }
    for (key, most) in left {
        fewer += most.saturating_sub(found.get(key).copied().unwrap_or(0));
    }
    (grown, fewer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_shrink_and_move_to_new_crates() {
        let counts = |rows: &[(&str, usize)]| -> Counts {
            let rows = rows.iter();
            rows.map(|(place, count)| (((*place).to_owned(), "term".to_owned()), *count))
                .collect()
        };
        let left = counts(&[("crates/a", 3), ("crates/b", 2)]);
        let after = |rows| compare(&counts(rows), &left).0.len();
        assert_eq!(after(&[("crates/a", 3), ("crates/b", 1)]), 0);
        assert_eq!(after(&[("crates/a", 4), ("crates/b", 1)]), 1);
        assert_eq!(after(&[("crates/a", 1), ("crates/new", 4)]), 0);
        assert_eq!(after(&[("crates/a", 3), ("crates/new", 4)]), 1);
        let table = "# x\ncrates/a\tterm\t3\ncrates/b\tterm\t2\n";
        assert_eq!(parse(table), Some(left));
        assert_eq!(parse("crates/a\tterm"), None);
    }

    #[test]
    fn files_belong_to_crates_folders_or_pages() {
        let places = ["crates/a/src/b.rs", "docs/x.md", "README.md"].map(place);
        assert_eq!(places, ["crates/a", "docs", "README.md"]);
    }
}
