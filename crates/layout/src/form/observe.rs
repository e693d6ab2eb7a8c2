// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observing how a form becomes canonical, for tools that explain it.
//!
//! Constructors take an observer as a type, so that [`Silent`], with which all types are made, is told nothing and costs
//! nothing. The forms told of are made for the telling: what a constructor was asked for, before each rule and after it.

use super::Form;

/// A rule that changes the description of some bytes, but neither the bytes nor their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A constructor repeats what there is: the form as it was asked for.
    Repeat,
    /// A constructor puts pieces at displacements: the form as it was asked for.
    Pieces,
    /// What is repeated once is no repetition, and a displacement of one piece is added to its offset.
    Elide,
    /// Runs that touch are one run.
    Fold,
    /// A dimension that continues the one inside it is joined with it.
    Flatten,
    /// A piece that continues the regular piece before it is joined with it.
    Continue,
    /// Equal pieces at equal distances are dimensions.
    Regular,
    /// Equal runs at other distances are a list of offsets.
    List,
}

impl Rule {
    /// The name of the rule.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Pieces => "pieces",
            Self::Elide => "elide",
            Self::Fold => "fold",
            Self::Flatten => "flatten",
            Self::Continue => "continue",
            Self::Regular => "regular",
            Self::List => "list",
        }
    }
}

/// An observer of the steps by which forms become canonical.
pub trait Observer {
    /// Whether anything is told at all.
    const WATCHES: bool = true;

    /// `rule` has been applied, and gave `form`.
    fn applied(&mut self, rule: Rule, form: &Form);
}

/// Nobody: what is not told costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    const WATCHES: bool = false;

    fn applied(&mut self, _: Rule, _: &Form) {}
}

/// Tells an observer that watches.
#[inline(always)]
pub(crate) fn tell<O: Observer>(observer: &mut O, rule: Rule, form: impl FnOnce() -> Form) {
    if O::WATCHES {
        observer.applied(rule, &form());
    }
}
