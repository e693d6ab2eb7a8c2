// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model as data: parameters, components, sums, quantities and the tables of shares.

use std::collections::BTreeMap;
use std::fmt;

use crate::Error;
use crate::expression::Expression;

/// How a component's value was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A timer around the code.
    Timer,
    /// A trace of the bus.
    Trace,
    /// A difference of other measurements.
    Difference,
    /// A total, divided by the number of operations in it.
    Amortised,
    /// Nobody measured it.
    Assumed,
}

/// Where a component's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// On the node that the model describes, by its user.
    Measured,
    /// Printed in a publication.
    Published,
    /// Computed from measured or published values.
    Derived,
    /// Nobody measured it.
    Assumed,
}

impl Source {
    /// Name in files and that of each value.
    pub const ALL: [(&'static str, Self); 5] = [
        ("timer", Self::Timer),
        ("trace", Self::Trace),
        ("difference", Self::Difference),
        ("amortised", Self::Amortised),
        ("assumed", Self::Assumed),
    ];
}

impl Origin {
    /// Name in files and that of each value.
    pub const ALL: [(&'static str, Self); 4] = [
        ("measured", Self::Measured),
        ("published", Self::Published),
        ("derived", Self::Derived),
        ("assumed", Self::Assumed),
    ];
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(name_in(&Self::ALL, *self))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(name_in(&Self::ALL, *self))
    }
}

fn name_in<T: PartialEq>(all: &[(&'static str, T)], value: T) -> &'static str {
    let row = all.iter().find(|(_, other)| *other == value);
    row.map_or("", |(name, _)| name)
}

/// What a component's value is given as.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// Nanoseconds, or the unit that the terms make of it.
    Value(f64),
    /// A difference of other components and parameters.
    Difference(Expression),
    /// Nanoseconds along a parameter, which selects a point.
    Curve(Curve),
    /// Only a machine profile has it.
    Open,
}

/// What a component costs by the value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// The parameter: `bytes`, or another one that the file names.
    pub(crate) over: String,
    /// Values of the parameter and nanoseconds, by growing values.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Standard deviation of a component's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spread {
    /// The same at all points.
    Same(f64),
    /// One for each point of the component's curve.
    Curve(Curve),
}

/// A leaf of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    pub(crate) name: String,
    pub(crate) given: Given,
    pub(crate) sd: Option<Spread>,
    pub(crate) source: Source,
    pub(crate) origin: Origin,
    pub(crate) experiment: Option<String>,
    /// The entry of machine profiles that gives its value.
    pub(crate) profile: Option<String>,
}

/// A name for terms that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    pub(crate) name: String,
    pub(crate) terms: Vec<Term>,
}

/// A term and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    pub(crate) text: String,
    pub(crate) expression: Expression,
}

/// What the model predicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    pub(crate) name: String,
    pub(crate) terms: Vec<Term>,
    /// What was measured, in the same unit.
    pub(crate) observed: Option<f64>,
    /// The experiment that measures it.
    pub(crate) experiment: Option<String>,
    pub(crate) note: Option<String>,
}

/// A table of shares: parts of a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    pub(crate) name: String,
    pub(crate) of: Term,
    pub(crate) parts: Vec<(String, Term)>,
}

/// A model; [`Model::parse`](crate::Model::parse) reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) name: String,
    pub(crate) note: Option<String>,
    pub(crate) parameters: BTreeMap<String, f64>,
    pub(crate) components: Vec<Component>,
    pub(crate) sums: Vec<Sum>,
    pub(crate) quantities: Vec<Quantity>,
    pub(crate) shares: Vec<Shares>,
}

/// What a name stands for.
#[derive(Clone, Copy)]
pub(crate) enum Meaning<'a> {
    Parameter(f64),
    Component(usize),
    Terms(&'a [Term]),
}

impl Component {
    /// Name in terms and changes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it was obtained.
    #[must_use]
    pub const fn source(&self) -> Source {
        self.source
    }

    /// Where it comes from.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// The entry of machine profiles that gives its value (see [`Model::values_given`]), and whether nothing else does.
    #[must_use]
    pub fn profile(&self) -> Option<(&str, bool)> {
        let is_open = matches!(self.given, Given::Open);
        self.profile.as_deref().map(|entry| (entry, is_open))
    }

    /// The parameter that it depends on, with the smallest and the largest value that it was measured at.
    #[must_use]
    pub fn range(&self) -> Option<(&str, f64, f64)> {
        match &self.given {
            Given::Curve(Curve { over, points }) => {
                Some((over, points.first()?.0, points.last()?.0))
            }
            Given::Value(_) | Given::Difference(_) | Given::Open => None,
        }
    }
}

impl Sum {
    /// Name in terms and changes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Term {
    /// The term as the file has it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Quantity {
    /// Name in questions.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its terms, which add up.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// What it is good for.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

impl Shares {
    /// Title of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole.
    #[must_use]
    pub const fn of(&self) -> &Term {
        &self.of
    }

    /// Names of the parts, and their terms.
    #[must_use]
    pub fn parts(&self) -> &[(String, Term)] {
        &self.parts
    }
}

impl Model {
    /// Name of the model.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it describes.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Parameters, by name.
    #[must_use]
    pub const fn parameters(&self) -> &BTreeMap<String, f64> {
        &self.parameters
    }

    /// Components, in the order of the file.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Sums, in the order of the file.
    #[must_use]
    pub fn sums(&self) -> &[Sum] {
        &self.sums
    }

    /// Quantities, in the order of the file.
    #[must_use]
    pub fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }

    /// Tables of shares, in the order of the file.
    #[must_use]
    pub fn shares(&self) -> &[Shares] {
        &self.shares
    }

    /// The quantity with a name.
    ///
    /// # Errors
    /// [`Error::Unknown`], with the names there are.
    pub fn quantity(&self, name: &str) -> Result<&Quantity, Error> {
        let found = self.quantities.iter().find(|row| row.name == name);
        found.ok_or_else(|| Error::Unknown {
            what: "quantity",
            name: name.to_owned(),
            known: self.quantities.iter().map(|row| row.name.clone()).collect(),
        })
    }

    /// Indices of the components that a component, a sum or a quantity is made of.
    ///
    /// # Errors
    /// [`Error::Unknown`], with the names there are.
    pub(crate) fn leaves(&self, name: &str) -> Result<Vec<usize>, Error> {
        let mut found = Vec::new();
        match self.meaning(name) {
            None | Some(Meaning::Parameter(_)) => return Err(self.unknown_part(name)),
            Some(_) => self.collect_leaves(name, &mut found),
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    pub(crate) fn unknown_part(&self, name: &str) -> Error {
        let components = self.components.iter().map(|row| row.name.clone());
        let sums = self.sums.iter().map(|row| row.name.clone());
        Error::Unknown {
            what: "component or sum",
            name: name.to_owned(),
            known: components.chain(sums).collect(),
        }
    }

    pub(crate) fn meaning(&self, name: &str) -> Option<Meaning<'_>> {
        if let Some(&value) = self.parameters.get(name) {
            return Some(Meaning::Parameter(value));
        }
        if let Some(index) = self.components.iter().position(|row| row.name == name) {
            return Some(Meaning::Component(index));
        }
        let sums = self.sums.iter().map(|row| (&row.name, &row.terms));
        let quantities = self.quantities.iter().map(|row| (&row.name, &row.terms));
        sums.chain(quantities)
            .find(|(own, _)| *own == name)
            .map(|(_, terms)| Meaning::Terms(terms))
    }

    fn collect_leaves(&self, name: &str, found: &mut Vec<usize>) {
        match self.meaning(name) {
            Some(Meaning::Component(index)) => found.push(index),
            Some(Meaning::Terms(terms)) => {
                let mut names = Vec::new();
                terms
                    .iter()
                    .for_each(|term| term.expression.names(&mut names));
                names
                    .iter()
                    .for_each(|name| self.collect_leaves(name, found));
            }
            Some(Meaning::Parameter(_)) | None => {}
        }
    }
}
