// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of all pairs of places.

use serde::Serialize;

use crate::axis::Unit;

/// One value for each pair of places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// The entry.
    pub name: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Positions in [`crate::Profile::places`]: those of the rows, and the same of the columns.
    pub places: Vec<usize>,
    /// Medians, from the row's place to the column's; none where nothing was measured. In a file these are `nan`.
    pub values: Vec<Vec<Option<f64>>>,
    /// Median absolute deviations of the same.
    pub mad: Vec<Vec<Option<f64>>>,
}

impl Matrix {
    /// The value from one place to another, both positions in [`crate::Profile::places`].
    pub fn between(&self, from: usize, to: usize) -> Option<f64> {
        let line = |place| self.places.iter().position(|&other| other == place);
        self.values[line(from)?][line(to)?]
    }

    /// The smallest and the largest value off the diagonal.
    pub fn range(&self) -> Option<(f64, f64)> {
        let cells = self.values.iter().enumerate().flat_map(|(row, values)| {
            let others = values
                .iter()
                .enumerate()
                .filter(move |&(column, _)| column != row);
            others.filter_map(|(_, value)| *value)
        });
        cells.fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        })
    }
}
