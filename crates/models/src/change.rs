// SPDX-License-Identifier: MIT OR Apache-2.0
//! What-if: changes of components, as `PCIe=0.5x`, `PIO=15` and `Switch=-30%`.

use std::str::FromStr;

use crate::{Error, Model, Values};

/// A change of a component, or of all components of a sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    name: String,
    to: To,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum To {
    /// Nanoseconds.
    Value(f64),
    Factor(f64),
}

impl Change {
    /// A component or sum times a factor.
    #[must_use]
    pub fn scaled(name: &str, factor: f64) -> Self {
        Self {
            name: name.to_owned(),
            to: To::Factor(factor),
            text: format!("{name}={factor}x"),
        }
    }
}

impl FromStr for Change {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Change {
            change: text.to_owned(),
            expected:
                "NAME=VALUE with nanoseconds (15), a factor (0.5x) or per cent (-30%), none below 0"
                    .to_owned(),
        };
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let (name, value) = (name.trim(), value.trim());
        let number = |digits: &str| digits.parse().ok().filter(|one: &f64| one.is_finite());
        let to = if let Some(factor) = value.strip_suffix('x') {
            number(factor).map(To::Factor)
        } else if let Some(share) = value.strip_suffix('%') {
            number(share).map(|share| To::Factor(1.0 + share / 100.0))
        } else {
            number(value).map(To::Value)
        };
        let is_right = |to: &To| match to {
            To::Value(number) | To::Factor(number) => *number >= 0.0,
        };
        match to.filter(is_right) {
            Some(to) if !name.is_empty() => Ok(Self {
                name: name.to_owned(),
                to,
                text: text.to_owned(),
            }),
            _ => Err(wrong()),
        }
    }
}

impl Model {
    /// The values after changes, one after the other. A sum's components all change by the same factor.
    ///
    /// # Errors
    /// Unknown names, and a value for a sum that is 0.
    pub fn changed(&self, values: &Values, changes: &[Change]) -> Result<Values, Error> {
        let mut values = values.clone();
        for change in changes {
            let leaves = self.leaves(&change.name)?;
            let factor = match (change.to, leaves.as_slice()) {
                (To::Value(value), &[only]) if self.components[only].name == change.name => {
                    values.leaves[only] = value;
                    continue;
                }
                (To::Value(value), _) => {
                    let now = self.value(&change.name, &values)?;
                    if now == 0.0 {
                        return Err(Error::Change {
                            change: change.text.clone(),
                            expected: "a sum that is not 0, or its components by name".to_owned(),
                        });
                    }
                    value / now
                }
                (To::Factor(factor), _) => factor,
            };
            for leaf in leaves {
                values.leaves[leaf] *= factor;
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_values_factors_or_per_cent() {
        let change = |text: &str| text.parse::<Change>().expect(text).to;
        assert_eq!(change("PIO=15"), To::Value(15.0));
        assert_eq!(change("PCIe=0.5x"), To::Factor(0.5));
        assert_eq!(change("Switch=-30%"), To::Factor(0.7));
        assert_eq!(change("Switch = +10%"), To::Factor(1.1));
        for wrong in [
            "PIO",
            "PIO=",
            "=3",
            "PIO=-1",
            "PIO=-101%",
            "PIO=nan",
            "PIO=1y",
        ] {
            let error = wrong.parse::<Change>().expect_err(wrong).to_string();
            assert!(
                error.starts_with(&format!("{wrong}: expected NAME=VALUE")),
                "{error}"
            );
        }
    }
}
