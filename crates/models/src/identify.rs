// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which components a set of experiments determines, and their values by least squares.
//!
//! Each experiment says that a sum of multiples of components has a value. The reduced echelon form of these rows has one row for
//! each thing that can be known: a component alone, or a lump of components that no experiment tells apart. Lumps are reported
//! whole and never split.

use std::fmt;

/// A linear combination of components, and the value that an experiment gave for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Equation {
    /// What gave it.
    pub experiment: String,
    /// Multiples of components, by index.
    pub terms: Vec<(usize, f64)>,
    /// Nanoseconds.
    pub ns: f64,
}

/// A component, or several that cannot be told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Lump {
    /// Multiples of components, by index.
    pub terms: Vec<(usize, f64)>,
    /// Nanoseconds of the whole lump.
    pub ns: f64,
}

/// What experiments determine.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Number of independent experiments.
    pub rank: usize,
    /// Number of components.
    pub components: usize,
    /// What is known.
    pub lumps: Vec<Lump>,
    /// Components of which nothing is known.
    pub unknown: Vec<usize>,
    /// Root of the mean square of what the experiments disagree by, in nanoseconds.
    pub residual_ns: f64,
}

/// Coefficients below this share of the largest count as zero.
const TOLERANCE: f64 = 1e-9;

impl Lump {
    /// Whether it is one component, once.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.terms.len() == 1
    }

    /// The lump with names, such as `2 PCIe + Wire`.
    #[must_use]
    pub fn named(&self, names: &[String]) -> String {
        let terms = self.terms.iter().map(|&(index, factor)| {
            let name = names.get(index).map_or("?", String::as_str);
            if factor == 1.0 {
                name.to_owned()
            } else {
                format!("{factor} {name}")
            }
        });
        terms.collect::<Vec<_>>().join(" + ")
    }
}

impl Solution {
    /// Whether every component has a value of its own.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.rank == self.components
    }
}

impl fmt::Display for Solution {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "rank {} of {} components", self.rank, self.components)
    }
}

/// What equations over `components` components determine.
#[must_use]
pub fn solve(equations: &[Equation], components: usize) -> Solution {
    let matrix: Vec<Vec<f64>> = equations
        .iter()
        .map(|equation| dense(equation, components))
        .collect();
    let (echelon, pivots) = reduced(matrix.clone());
    // With R the echelon form, the matrix is its pivot columns times R: least squares over these columns give the values of R's rows.
    let columns: Vec<Vec<f64>> = matrix
        .iter()
        .map(|row| pivots.iter().map(|&pivot| row[pivot]).collect())
        .collect();
    let right: Vec<f64> = equations.iter().map(|equation| equation.ns).collect();
    let values = least_squares(&columns, &right);
    let errors = columns.iter().zip(&right).map(|(row, right)| {
        let left: f64 = row.iter().zip(&values).map(|(a, b)| a * b).sum();
        (left - right).powi(2)
    });
    let residual_ns = (errors.sum::<f64>() / right.len().max(1) as f64).sqrt();
    let lumps = echelon.iter().zip(&values).map(|(row, &ns)| {
        let terms = row.iter().copied().enumerate();
        let terms: Vec<(usize, f64)> = terms
            .filter(|(_, factor)| factor.abs() > TOLERANCE)
            .collect();
        Lump { terms, ns }.with_whole_numbers()
    });
    let lumps: Vec<Lump> = lumps.collect();
    let is_known = |component: &usize| {
        let mut terms = lumps.iter().flat_map(|lump| &lump.terms);
        terms.any(|(index, _)| index == component)
    };
    Solution {
        rank: pivots.len(),
        components,
        unknown: (0..components)
            .filter(|component| !is_known(component))
            .collect(),
        lumps,
        residual_ns,
    }
}

impl Lump {
    /// Scales the lump so that its smallest multiple is 1, if all others are whole then: `2 PCIe + Wire` for `PCIe + 0.5 Wire`.
    fn with_whole_numbers(self) -> Self {
        let smallest = self
            .terms
            .iter()
            .map(|term| term.1.abs())
            .fold(f64::INFINITY, f64::min);
        let scaled = |factor: f64| factor / smallest;
        let is_whole = |factor: f64| (scaled(factor) - scaled(factor).round()).abs() < 1e-6;
        if !smallest.is_finite() || !self.terms.iter().all(|term| is_whole(term.1)) {
            return self;
        }
        let terms = self.terms.into_iter();
        Self {
            terms: terms
                .map(|(index, factor)| (index, scaled(factor).round()))
                .collect(),
            ns: scaled(self.ns),
        }
    }
}

fn dense(equation: &Equation, components: usize) -> Vec<f64> {
    let mut row = vec![0.0; components];
    for &(index, factor) in &equation.terms {
        if let Some(cell) = row.get_mut(index) {
            *cell += factor;
        }
    }
    row
}

/// The rows of the reduced echelon form that are not zero, and the column in which each has its 1.
fn reduced(mut rows: Vec<Vec<f64>>) -> (Vec<Vec<f64>>, Vec<usize>) {
    let columns = rows.first().map_or(0, Vec::len);
    let largest = rows.iter().flatten().fold(0.0_f64, |a, &b| a.max(b.abs()));
    let mut pivots = Vec::new();
    for column in 0..columns {
        let done = pivots.len();
        let by_size =
            |&a: &usize, &b: &usize| rows[a][column].abs().total_cmp(&rows[b][column].abs());
        let Some(best) = (done..rows.len()).max_by(by_size) else {
            break;
        };
        if rows[best][column].abs() <= TOLERANCE * largest {
            continue;
        }
        rows.swap(done, best);
        let scale = rows[done][column];
        rows[done].iter_mut().for_each(|cell| *cell /= scale);
        let pivot = rows[done].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if index != done && factor != 0.0 {
                row.iter_mut()
                    .zip(&pivot)
                    .for_each(|(cell, own)| *cell -= factor * own);
            }
        }
        pivots.push(column);
    }
    rows.truncate(pivots.len());
    (rows, pivots)
}

/// Least squares over columns that are independent, by orthogonalising them one after the other.
fn least_squares(rows: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let count = rows.first().map_or(0, Vec::len);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut upper = vec![vec![0.0; count]; count];
    let mut rest = right.to_vec();
    let mut along = vec![0.0; count];
    for column in 0..count {
        let mut vector: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        for (index, own) in basis.iter().enumerate() {
            let factor = dot(&vector, own);
            upper[index][column] = factor;
            vector
                .iter_mut()
                .zip(own)
                .for_each(|(cell, own)| *cell -= factor * own);
        }
        let length = dot(&vector, &vector).sqrt();
        upper[column][column] = length;
        vector.iter_mut().for_each(|cell| *cell /= length);
        along[column] = dot(&vector, &rest);
        let factor = along[column];
        rest.iter_mut()
            .zip(&vector)
            .for_each(|(cell, own)| *cell -= factor * own);
        basis.push(vector);
    }
    let mut values = vec![0.0; count];
    for column in (0..count).rev() {
        let known: f64 = (column + 1..count)
            .map(|other| upper[column][other] * values[other])
            .sum();
        values[column] = (along[column] - known) / upper[column][column];
    }
    values
}
