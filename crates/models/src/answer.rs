// SPDX-License-Identifier: MIT OR Apache-2.0
//! Questions to a model: residuals, gains, what is needed for a gain, sensitivities, sweeps.

use crate::model::Given;
use crate::{Change, Error, Model, Origin, Quantity, Values};

/// A quantity whose observation no component was taken from. Only such a quantity has a residual.
#[derive(Clone, Copy, Debug)]
pub struct Independent<'a> {
    model: &'a Model,
    quantity: &'a Quantity,
}

/// Prediction and observation of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// What the model says, in nanoseconds.
    pub predicted_ns: f64,
    /// What was measured, in nanoseconds.
    pub observed_ns: Option<f64>,
    /// Standard deviation of the prediction, where those of all its components are known.
    pub sd_ns: Option<f64>,
    /// The component that contributes most to the standard deviation.
    pub least_certain: Option<String>,
}

/// Old and new value of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Nanoseconds before.
    pub before_ns: f64,
    /// Nanoseconds after.
    pub after_ns: f64,
}

/// By how much a component must become cheaper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Need {
    /// Per cent of the component.
    Reduction(f64),
    /// It cannot; were it proportional, it would take so many per cent.
    Cannot(Option<f64>),
}

/// How a quantity follows a component.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Name of the component.
    pub component: String,
    /// Per cent of the quantity for one per cent of the component.
    pub elasticity: f64,
    /// Nanoseconds of the component.
    pub ns: f64,
    /// Where its value comes from.
    pub origin: Origin,
}

impl Prediction {
    /// Signed residual in per cent of the observation.
    #[must_use]
    pub fn residual_percent(&self) -> Option<f64> {
        let observed = self.observed_ns?;
        Some(100.0 * (self.predicted_ns - observed) / observed)
    }
}

impl Gain {
    /// What is saved, in per cent of the value before.
    #[must_use]
    pub fn percent(&self) -> f64 {
        if self.before_ns == 0.0 {
            return 0.0;
        }
        100.0 * (1.0 - self.after_ns / self.before_ns)
    }

    /// How many times as fast it is.
    #[must_use]
    pub fn factor(&self) -> f64 {
        self.before_ns / self.after_ns
    }
}

impl<'a> Independent<'a> {
    /// Prediction and observation.
    #[must_use]
    pub fn predict(&self, values: &Values) -> Prediction {
        self.predict_against(values, self.quantity.observed)
    }

    /// Prediction and an observation that was made apart.
    #[must_use]
    pub fn predict_against(&self, values: &Values, observed: Option<f64>) -> Prediction {
        let model = self.model;
        let terms = &self.quantity.terms;
        let predicted = model.terms(terms, values, &[]).value;
        let leaves = model.leaves(&self.quantity.name).unwrap_or_default();
        let parts = leaves.iter().map(|&leaf| {
            let row = &model.components[leaf];
            let slope = model.terms(terms, values, &[leaf]).slope;
            let value = values.leaves[leaf];
            // The slope is by the component's scale, so that of one nanosecond is slope / value.
            let sd = values.sds[leaf]?;
            Some((
                row.name.as_str(),
                if value == 0.0 {
                    0.0
                } else {
                    slope / value * sd
                },
            ))
        });
        let parts: Option<Vec<(&str, f64)>> = parts.collect();
        let least_certain = parts.as_ref().and_then(|parts| {
            let most = parts
                .iter()
                .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
            (most.1 != 0.0).then(|| most.0.to_owned())
        });
        let square =
            |parts: Vec<(&str, f64)>| parts.iter().map(|part| part.1 * part.1).sum::<f64>();
        Prediction {
            predicted_ns: predicted,
            observed_ns: observed,
            sd_ns: parts.map(|parts| square(parts).sqrt()),
            least_certain,
        }
    }

    /// The quantity.
    #[must_use]
    pub const fn quantity(&self) -> &'a Quantity {
        self.quantity
    }
}

impl Model {
    /// The quantity with a name, if no component was taken from its own experiment.
    ///
    /// # Errors
    /// [`Error::Unknown`] and [`Error::Circular`].
    pub fn independent(&self, name: &str) -> Result<Independent<'_>, Error> {
        let quantity = self.quantity(name)?;
        let fed = self.sources(self.leaves(name)?).into_iter().find(|&leaf| {
            let experiment = &self.components[leaf].experiment;
            experiment.is_some() && *experiment == quantity.experiment
        });
        match (fed, &quantity.experiment) {
            (Some(leaf), Some(experiment)) => Err(Error::Circular {
                quantity: name.to_owned(),
                experiment: experiment.clone(),
                component: self.components[leaf].name.clone(),
            }),
            _ => Ok(Independent {
                model: self,
                quantity,
            }),
        }
    }

    /// The components, and those that differences among them were computed from.
    fn sources(&self, mut leaves: Vec<usize>) -> Vec<usize> {
        let mut next = 0;
        while let Some(row) = leaves.get(next).map(|&leaf| &self.components[leaf]) {
            let mut names = Vec::new();
            if let Given::Difference(expression) = &row.given {
                expression.names(&mut names);
            }
            for name in names {
                let more = self.leaves(name).unwrap_or_default();
                let new: Vec<usize> = more
                    .into_iter()
                    .filter(|leaf| !leaves.contains(leaf))
                    .collect();
                leaves.extend(new);
            }
            next += 1;
        }
        leaves
    }

    /// What changes do to a quantity.
    ///
    /// # Errors
    /// Unknown names.
    pub fn what_if(
        &self,
        values: &Values,
        quantity: &str,
        changes: &[Change],
    ) -> Result<Gain, Error> {
        let terms = &self.quantity(quantity)?.terms;
        let changed = self.changed(values, changes)?;
        Ok(Gain {
            before_ns: self.terms(terms, values, &[]).value,
            after_ns: self.terms(terms, &changed, &[]).value,
        })
    }

    /// By how much a component, or a sum, must become cheaper for a gain of a quantity.
    ///
    /// # Errors
    /// Unknown names, and a gain that is not between 0 and 100 per cent.
    pub fn need(
        &self,
        values: &Values,
        quantity: &str,
        gain_percent: f64,
        part: &str,
    ) -> Result<Need, Error> {
        if !(gain_percent > 0.0 && gain_percent <= 100.0) {
            return Err(Error::Change {
                change: format!("{gain_percent}%"),
                expected: "a gain above 0 % and up to 100 %".to_owned(),
            });
        }
        let gain = |reduction: f64| -> Result<f64, Error> {
            let change = Change::scaled(part, 1.0 - reduction);
            Ok(self.what_if(values, quantity, &[change])?.percent())
        };
        let most = gain(1.0)?;
        let is_proportional = (2.0 * gain(0.5)? - most).abs() <= 1e-9 * most.abs();
        if is_proportional && !self.has_corner(quantity) {
            let needed = 100.0 * gain_percent / most;
            return Ok(match needed {
                needed if most <= 0.0 || !needed.is_finite() => Need::Cannot(None),
                // A gain that takes the whole component may miss it by a rounding.
                needed if needed > 100.0 + 1e-9 => Need::Cannot(Some(needed)),
                needed => Need::Reduction(needed.min(100.0)),
            });
        }
        if most < gain_percent {
            return Ok(Need::Cannot(None));
        }
        // The gain grows with the reduction, with corners: the interval that holds the answer is halved.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if gain(middle)? < gain_percent {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Need::Reduction(100.0 * high))
    }

    /// How a quantity follows each of its components; the strongest first.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn sensitivity(&self, values: &Values, quantity: &str) -> Result<Vec<Sensitivity>, Error> {
        let terms = &self.quantity(quantity)?.terms;
        let leaves = self.leaves(quantity)?;
        let rows = leaves.iter().map(|&leaf| {
            let dual = self.terms(terms, values, &[leaf]);
            let row = &self.components[leaf];
            Sensitivity {
                component: row.name.clone(),
                elasticity: dual.slope / dual.value,
                ns: values.leaves[leaf],
                origin: row.origin,
            }
        });
        let mut rows: Vec<Sensitivity> = rows.collect();
        rows.sort_by(|a, b| b.elasticity.abs().total_cmp(&a.elasticity.abs()));
        Ok(rows)
    }

    /// Gains of a quantity in per cent, where a part becomes cheaper by each of `reductions`, in per cent.
    ///
    /// # Errors
    /// Unknown names, and a reduction that is not between 0 and 100 per cent.
    pub fn sweep(
        &self,
        values: &Values,
        quantity: &str,
        part: &str,
        reductions: &[f64],
    ) -> Result<Vec<f64>, Error> {
        let gains = reductions.iter().map(|&reduction| {
            if !(0.0..=100.0).contains(&reduction) {
                return Err(Error::Change {
                    change: format!("{reduction}"),
                    expected: "a reduction between 0 and 100 per cent".to_owned(),
                });
            }
            let change = Change::scaled(part, 1.0 - reduction / 100.0);
            Ok(self.what_if(values, quantity, &[change])?.percent())
        });
        gains.collect()
    }
}
