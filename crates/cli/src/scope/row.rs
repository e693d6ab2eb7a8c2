// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile as rows: one value each, with its name and its place on axes.

use machine_profile::{Axis, Profile, Sample};

/// One value of a profile.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    /// Names of the places, empty without.
    pub(super) from: String,
    pub(super) to: String,
    /// Axes and where the value is on them.
    pub(super) at: Vec<(Axis, u64)>,
    pub(super) unit: &'static str,
    pub(super) value: f64,
    pub(super) mad: f64,
    /// The other statistics of times.
    pub(super) sample: Option<Sample>,
}

impl Row {
    fn new(name: &str, value: f64, mad: f64) -> Self {
        Self {
            name: name.to_owned(),
            from: String::new(),
            to: String::new(),
            at: Vec::new(),
            unit: "ns",
            value,
            mad,
            sample: None,
        }
    }

    fn of_sample(name: &str, sample: &Sample) -> Self {
        Self {
            sample: Some(*sample),
            ..Self::new(name, sample.ns, sample.mad)
        }
    }

    /// Bytes that move, if the value is a time over bytes.
    pub(super) fn bytes(&self) -> Option<u64> {
        let mut axes = self.at.iter();
        axes.find(|(axis, _)| *axis == Axis::Bytes)
            .map(|&(_, bytes)| bytes)
    }

    /// What makes the value different from all others of its profile.
    pub(super) fn key(&self) -> (&str, &str, &str, Vec<u64>) {
        let at = self.at.iter().map(|&(_, place)| place).collect();
        (&self.name, &self.from, &self.to, at)
    }

    /// The key in a sentence.
    pub(super) fn label(&self) -> String {
        let mut label = self.name.clone();
        if !self.from.is_empty() {
            label += &format!(" {} to {}", self.from, self.to);
        }
        for (axis, place) in &self.at {
            label += &format!(" {}={place}", axis.name());
        }
        label
    }
}

/// All values of a profile.
pub(super) fn rows(profile: &Profile) -> Vec<Row> {
    let place = |place: usize| profile.places[place].name.clone();
    let mut rows: Vec<Row> = profile
        .costs
        .iter()
        .map(|cost| Row::of_sample(&cost.name, &cost.sample))
        .collect();
    for matrix in &profile.matrices {
        for (line, &from) in matrix.places.iter().enumerate() {
            for (column, &to) in matrix.places.iter().enumerate() {
                if let Some(value) = matrix.values[line][column] {
                    let mad = matrix.mad[line][column].unwrap_or(0.0);
                    rows.push(Row {
                        from: place(from),
                        to: place(to),
                        unit: matrix.unit.name(),
                        ..Row::new(&matrix.name, value, mad)
                    });
                }
            }
        }
    }
    for curve in &profile.curves {
        for point in &curve.points {
            rows.push(Row {
                from: curve.from.map(place).unwrap_or_default(),
                to: curve.to.map(place).unwrap_or_default(),
                at: vec![(curve.axis, point.x)],
                ..Row::of_sample(&curve.name, &point.sample)
            });
        }
    }
    for surface in &profile.surfaces {
        for (row, &x) in surface.x.iter().enumerate() {
            for (column, &y) in surface.y.iter().enumerate() {
                let (value, mad) = (surface.ns[row][column], surface.mad[row][column]);
                rows.push(Row {
                    at: vec![(surface.axes[0], x), (surface.axes[1], y)],
                    ..Row::new(&surface.name, value, mad)
                });
            }
        }
    }
    rows
}
