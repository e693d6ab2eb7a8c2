// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of what a step could run it runs.

use super::found::Found;

/// `Quick` covers each value of each parameter, and pairs of them, in a quarter of an hour; `Thorough` all combinations.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Scope {
    Quick,
    Thorough,
}

/// The variable that tells tests their scope.
pub(super) const VARIABLE: &str = "RANKPOINT_TEST_SCOPE";

impl Scope {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Thorough => "thorough",
        }
    }

    /// The result, in a quick run, of a step that only thorough runs have.
    pub(super) fn left_out(self) -> Option<Found> {
        let is_quick = self == Self::Quick;
        is_quick.then(|| Found::Skipped("only in a thorough run".to_owned()))
    }

    /// The first of a quick run's values, or all.
    pub(super) fn some<T>(self, all: &[T], quick: usize) -> &[T] {
        match self {
            Self::Quick => &all[..quick.min(all.len())],
            Self::Thorough => all,
        }
    }
}
