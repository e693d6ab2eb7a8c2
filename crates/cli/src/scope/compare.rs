// SPDX-License-Identifier: MIT OR Apache-2.0
//! How two profiles differ.

use machine_profile::Profile;
use measure::columns::table;
use serde::Serialize;

use super::row::{Row, rows};
use super::winners::{Winner, winners};

/// Values of two profiles, one beside the other.
#[derive(Serialize)]
pub(super) struct Comparison {
    /// In which parts the machines differ.
    machines: Vec<String>,
    values: Vec<Compared>,
    winners: Vec<Change>,
    /// Values that only one of the profiles has.
    only_before: usize,
    only_after: usize,
}

/// A value that both have.
#[derive(Serialize)]
struct Compared {
    value: String,
    unit: &'static str,
    before: f64,
    after: f64,
    /// The second over the first.
    ratio: f64,
    /// Bounds of the ratio, by what both values may differ by.
    low: f64,
    high: f64,
    /// Whether 1 lies outside.
    differs: bool,
}

/// A method that is the fastest in one of them only.
#[derive(Serialize)]
struct Change {
    purpose: &'static str,
    bytes: u64,
    before: String,
    after: String,
}

impl Comparison {
    /// Compares two profiles.
    pub(super) fn of(before: &Profile, after: &Profile) -> Self {
        let (old, new) = (rows(before), rows(after));
        let values: Vec<Compared> = new
            .iter()
            .filter_map(|row| {
                let other = old.iter().find(|other| other.key() == row.key())?;
                Some(Compared::of(other, row))
            })
            .collect();
        Self {
            machines: before.host.differences(&after.host),
            only_before: old.len() - values.len(),
            only_after: new.len() - values.len(),
            values,
            winners: changes(&winners(before), &winners(after)),
        }
    }

    /// The text; `all` also has values that do not differ.
    pub(super) fn render(&self, all: bool) -> String {
        let mut text = String::new();
        if !self.machines.is_empty() {
            text += &format!("Different machines: {}\n", self.machines.join("; "));
        }
        let differ = self.values.iter().filter(|value| value.differs).count();
        text += &format!("{differ} of {} values differ", self.values.len());
        let missing = [(self.only_before, "first"), (self.only_after, "second")];
        for (count, which) in missing.into_iter().filter(|(count, _)| *count > 0) {
            text += &format!("; {count} only in the {which}");
        }
        text += "\n";
        let shown = self.values.iter().filter(|value| all || value.differs);
        let cells = shown.map(|value| {
            [
                format!("{:.3}", value.ratio),
                format!("{:.3} to {:.3}", value.low, value.high),
                value.before.to_string(),
                value.after.to_string(),
                value.unit.to_owned(),
                value.value.clone(),
            ]
        });
        let head = ["ratio", "within", "before", "after", "unit", "value"].map(str::to_owned);
        let cells: Vec<_> = [head].into_iter().chain(cells).collect();
        if cells.len() > 1 {
            table(&mut text, 4, cells);
        }
        for change in &self.winners {
            text += &format!(
                "{}, {} bytes: {} was the fastest, now {}\n",
                change.purpose, change.bytes, change.before, change.after
            );
        }
        text
    }
}

impl Compared {
    fn of(before: &Row, after: &Row) -> Self {
        let spread = |row: &Row| {
            let spread = row.sample.map_or(row.mad, |sample| sample.spread_ns());
            spread.min(row.value)
        };
        let bounds = |row: &Row| (row.value - spread(row), row.value + spread(row));
        let ((old_low, old_high), (new_low, new_high)) = (bounds(before), bounds(after));
        let (low, high) = (ratio(new_low, old_high), ratio(new_high, old_low));
        Self {
            value: after.label(),
            unit: after.unit,
            before: before.value,
            after: after.value,
            ratio: ratio(after.value, before.value),
            low,
            high,
            differs: low > 1.0 || high < 1.0,
        }
    }
}

/// The ratio of two values; 1 for two that are 0.
fn ratio(after: f64, before: f64) -> f64 {
    if after == before { 1.0 } else { after / before }
}

fn changes(before: &[Winner], after: &[Winner]) -> Vec<Change> {
    let change = |new: &Winner| {
        let is_same = |old: &&Winner| (old.purpose, old.bytes) == (new.purpose, new.bytes);
        let old = before.iter().find(is_same)?;
        (old.method != new.method).then(|| Change {
            purpose: new.purpose,
            bytes: new.bytes,
            before: old.method.clone(),
            after: new.method.clone(),
        })
    };
    after.iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::profile;
    use super::*;

    #[test]
    fn a_profile_does_not_differ_from_itself() {
        let compared = Comparison::of(&profile(1.0), &profile(1.0));
        assert!(compared.values.len() > 5 && compared.winners.is_empty());
        assert!(
            compared
                .values
                .iter()
                .all(|value| !value.differs && value.ratio == 1.0)
        );
        assert!(compared.render(false).starts_with("0 of "));
    }

    #[test]
    fn values_outside_their_confidence_differ_and_changed_winners_are_told() {
        let (before, mut after) = (profile(1.0), profile(1.0));
        let slow = after
            .curves
            .iter_mut()
            .find(|curve| curve.name == "copy/memcpy/cached");
        for point in &mut slow.expect("the example has it").points {
            point.sample.ns *= 10.0;
        }
        let compared = Comparison::of(&before, &after);
        let differing = compared.values.iter().filter(|value| value.differs);
        assert!(differing.clone().count() >= 1);
        assert!(
            differing
                .into_iter()
                .all(|value| value.value.starts_with("copy/memcpy"))
        );
        let text = compared.render(false);
        assert!(
            text.contains("copy/memcpy/cached was the fastest, now copy/avx2/cached"),
            "{text}"
        );
    }
}
