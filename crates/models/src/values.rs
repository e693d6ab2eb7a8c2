// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers that a model is evaluated with: those of its file, or changed ones.

use std::collections::BTreeMap;

use crate::dual::Dual;
use crate::expression::Expression;
use crate::model::{Curve, Given, Meaning, Spread};
use crate::{Error, Model, Term};

/// Name of the parameter that selects a point of curves whose component names no other.
pub const BYTES: &str = "bytes";

/// A number for each component and parameter of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    pub(crate) leaves: Vec<f64>,
    pub(crate) parameters: BTreeMap<String, f64>,
    /// Standard deviations of components, where they are known.
    pub(crate) sds: Vec<Option<f64>>,
    /// Components whose curve was measured with other sizes only.
    extrapolated: Vec<usize>,
}

impl Model {
    /// The values of the file.
    #[must_use]
    pub fn values(&self) -> Values {
        self.resolve(self.parameters.clone(), &BTreeMap::new())
    }

    /// The values of the file, where some parameters or measured components are given as other numbers. Differences are taken
    /// with these: "what if it had been measured so", not "what if it changed".
    ///
    /// # Errors
    /// An unknown name, or a value that is negative or not finite.
    pub fn values_given(&self, given: &[(String, f64)]) -> Result<Values, Error> {
        let mut parameters = self.parameters.clone();
        let mut leaves = BTreeMap::new();
        for (name, value) in given {
            if !value.is_finite() || *value < 0.0 {
                return Err(Error::Change {
                    change: format!("{name}={value}"),
                    expected: "a number, at least 0".to_owned(),
                });
            }
            match self.meaning(name) {
                Some(Meaning::Parameter(_)) => {
                    parameters.insert(name.clone(), *value);
                }
                Some(Meaning::Component(index)) => {
                    leaves.insert(index, *value);
                }
                Some(Meaning::Terms(_)) | None => {
                    let components = self.components.iter().map(|row| row.name.clone());
                    return Err(Error::Unknown {
                        what: "parameter or component",
                        name: name.clone(),
                        known: self.parameters.keys().cloned().chain(components).collect(),
                    });
                }
            }
        }
        let values = self.resolve(parameters, &leaves);
        for (row, &value) in self.components.iter().zip(&values.leaves) {
            if !value.is_finite() || value < 0.0 {
                return Err(Error::Change {
                    change: row.name.clone(),
                    expected: format!("a difference of at least 0, not {value}"),
                });
            }
        }
        Ok(values)
    }

    fn resolve(&self, parameters: BTreeMap<String, f64>, given: &BTreeMap<usize, f64>) -> Values {
        let at = |curve: &Curve| {
            let place = parameters.get(&curve.over).copied().unwrap_or(0.0);
            on_curve(&curve.points, place)
        };
        let mut extrapolated = Vec::new();
        let leaves = self.components.iter().enumerate().map(|(index, row)| {
            if let Some(&value) = given.get(&index) {
                return value;
            }
            match &row.given {
                Given::Value(value) => *value,
                // A difference is taken below, with the values of the others.
                Given::Difference(_) | Given::Open => 0.0,
                Given::Curve(curve) => {
                    let (value, is_measured) = at(curve);
                    if !is_measured {
                        extrapolated.push(index);
                    }
                    value
                }
            }
        });
        let leaves = leaves.collect();
        let sds = self.components.iter().map(|row| match &row.sd {
            Some(Spread::Same(sd)) => Some(*sd),
            Some(Spread::Curve(curve)) => Some(at(curve).0),
            None => None,
        });
        let mut values = Values {
            leaves,
            sds: sds.collect(),
            parameters,
            extrapolated,
        };
        for (index, row) in self.components.iter().enumerate() {
            if let Given::Difference(expression) = &row.given
                && !given.contains_key(&index)
            {
                let lookup = |name: &str| self.named(name, &values, &[]);
                let value = expression.evaluate(&lookup).value;
                let sd = row.sd.is_none().then(|| self.spread(expression, &values));
                values.leaves[index] = value;
                values.sds[index] = sd.flatten().or(values.sds[index]);
            }
        }
        values
    }

    /// The standard deviation of a difference, from those of its components as if they were independent; nothing if one is unknown.
    fn spread(&self, difference: &Expression, values: &Values) -> Option<f64> {
        let mut names = Vec::new();
        difference.names(&mut names);
        names.sort_unstable();
        names.dedup();
        let mut square = 0.0;
        for name in names {
            let Some(Meaning::Component(leaf)) = self.meaning(name) else {
                continue;
            };
            let (value, sd) = (values.leaves[leaf], values.sds[leaf]?);
            if value != 0.0 {
                let lookup = |name: &str| self.named(name, values, &[leaf]);
                // The slope is by the component's scale, so that of one nanosecond is slope / value.
                square += (difference.evaluate(&lookup).slope / value * sd).powi(2);
            }
        }
        Some(square.sqrt())
    }

    /// The value of a name, and its derivative by the common scale of `marked` components.
    pub(crate) fn named(&self, name: &str, values: &Values, marked: &[usize]) -> Dual {
        match self.meaning(name) {
            Some(Meaning::Parameter(own)) => {
                Dual::constant(values.parameters.get(name).copied().unwrap_or(own))
            }
            Some(Meaning::Component(index)) => {
                let value = values.leaves[index];
                let slope = if marked.contains(&index) { value } else { 0.0 };
                Dual { value, slope }
            }
            Some(Meaning::Terms(terms)) => self.terms(terms, values, marked),
            // The reader of the file refuses unknown names.
            None => Dual::constant(f64::NAN),
        }
    }

    pub(crate) fn terms(&self, terms: &[Term], values: &Values, marked: &[usize]) -> Dual {
        let lookup = |name: &str| self.named(name, values, marked);
        let all = terms.iter().map(|term| term.expression.evaluate(&lookup));
        all.fold(Dual::constant(0.0), |sum, term| sum + term)
    }

    /// The value of a component, sum, quantity or parameter, in nanoseconds.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn value(&self, name: &str, values: &Values) -> Result<f64, Error> {
        match self.meaning(name) {
            None => Err(self.unknown_part(name)),
            Some(_) => Ok(self.named(name, values, &[]).value),
        }
    }

    /// The standard deviation of a component in nanoseconds, where it is known.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn sd_ns(&self, component: &str, values: &Values) -> Result<Option<f64>, Error> {
        match self.meaning(component) {
            Some(Meaning::Component(index)) => Ok(values.sds[index]),
            _ => Err(self.unknown_part(component)),
        }
    }

    /// The value of a term, in nanoseconds.
    #[must_use]
    pub fn term(&self, term: &Term, values: &Values) -> f64 {
        self.terms(std::slice::from_ref(term), values, &[]).value
    }

    /// Whether a quantity has a value that depends on components in another form than a multiple: then shares do not add up.
    pub(crate) fn has_corner(&self, name: &str) -> bool {
        let Some(Meaning::Terms(terms)) = self.meaning(name) else {
            return false;
        };
        terms.iter().any(|term| {
            let mut names = Vec::new();
            term.expression.names(&mut names);
            term.expression.has_corner() || names.iter().any(|name| self.has_corner(name))
        })
    }

    /// Components of a quantity that were not measured at the size that is asked for: their values are extrapolated.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn extrapolated(&self, quantity: &str, values: &Values) -> Result<Vec<&str>, Error> {
        let leaves = self.leaves(quantity)?;
        let both = leaves
            .iter()
            .filter(|leaf| values.extrapolated.contains(leaf));
        Ok(both
            .map(|&leaf| self.components[leaf].name.as_str())
            .collect())
    }
}

/// The value of a curve at a place, and whether the place lies between measured ones. Beyond them the nearest two go on.
fn on_curve(points: &[(f64, f64)], place: f64) -> (f64, bool) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return (f64::NAN, false);
    };
    let is_measured = (first.0..=last.0).contains(&place);
    let next = points.iter().position(|point| point.0 >= place);
    let next = next.unwrap_or(points.len() - 1).max(1);
    let Some(&[from, to]) = points.get(next - 1..=next) else {
        return (first.1, is_measured);
    };
    let slope = (to.1 - from.1) / (to.0 - from.0);
    ((from.1 + slope * (place - from.0)).max(0.0), is_measured)
}

#[cfg(test)]
mod tests {
    use super::on_curve;

    #[test]
    fn curves_are_straight_between_points_and_marked_beyond_them() {
        let points = [(8.0, 10.0), (64.0, 38.0), (1024.0, 518.0)];
        assert_eq!(on_curve(&points, 8.0), (10.0, true));
        assert_eq!(on_curve(&points, 36.0), (24.0, true));
        assert_eq!(on_curve(&points, 64.0), (38.0, true));
        assert_eq!(on_curve(&points, 2048.0), (1030.0, false));
        assert_eq!(on_curve(&points, 0.0), (6.0, false));
        assert_eq!(on_curve(&points[..1], 9.0), (10.0, false));
    }
}
