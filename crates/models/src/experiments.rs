// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which components of a model its experiments determine: an experiment that gave a component is an equation, and so is what was
//! observed of a quantity that adds multiples of components.

use crate::dual::Dual;
use crate::identify::{Equation, Solution, solve};
use crate::{Model, Source, Values};

/// Relative error of a quantity that is still a sum of multiples.
const TOLERANCE: f64 = 1e-9;

/// What experiments determine, and the names of the components that its indices stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Determined {
    /// Rank, lumps and what is unknown.
    pub solution: Solution,
    /// Names of the components.
    pub names: Vec<String>,
}

impl Model {
    /// What the experiments of the model determine. Components that were assumed are those that only observations can tell.
    #[must_use]
    pub fn determined(&self, values: &Values) -> Determined {
        let measured = self.components.iter().enumerate();
        let measured = measured.filter(|(_, row)| row.source != Source::Assumed);
        let mut equations: Vec<Equation> = measured
            .map(|(index, row)| Equation {
                experiment: row.name.clone(),
                terms: vec![(index, 1.0)],
                ns: values.leaves[index],
            })
            .collect();
        equations.extend(self.quantities.iter().filter_map(|row| {
            let (terms, rest) = self.multiples(&row.name, values)?;
            Some(Equation {
                experiment: row.name.clone(),
                terms,
                ns: row.observed? - rest,
            })
        }));
        Determined {
            solution: solve(&equations, self.components.len()),
            names: self.components.iter().map(|row| row.name.clone()).collect(),
        }
    }

    /// How often a quantity contains each component, and what it contains besides; nothing if it is no such sum.
    fn multiples(&self, quantity: &str, values: &Values) -> Option<(Vec<(usize, f64)>, f64)> {
        if self.has_corner(quantity) {
            return None;
        }
        let at = |leaves: Vec<f64>| {
            let mut changed = values.clone();
            changed.leaves = leaves;
            let Dual { value, .. } = self.named(quantity, &changed, &[]);
            value
        };
        let none = vec![0.0; values.leaves.len()];
        let rest = at(none.clone());
        let leaves = self.leaves(quantity).ok()?.into_iter();
        let terms: Vec<(usize, f64)> = leaves
            .map(|leaf| {
                let mut one = none.clone();
                one[leaf] = 1.0;
                (leaf, at(one) - rest)
            })
            .collect();
        let sum: f64 = terms
            .iter()
            .map(|&(leaf, by)| by * values.leaves[leaf])
            .sum();
        let whole = at(values.leaves.clone());
        let is_sum = (sum + rest - whole).abs() <= TOLERANCE * whole.abs().max(1.0);
        is_sum.then_some((terms, rest))
    }
}

#[cfg(test)]
mod tests {
    use crate::Model;

    const TEXT: &str = "name = 'x'\norigin = 'measured'\n[parameter]\nc = 4\n[component]\n\
         a = { ns = 10, source = 'timer' }\nb = { ns = 1 }\nd = { ns = 1 }\n\
         [quantity.sum]\nterms = ['a', '2 b / c', 'd', '5']\nobserved = 40\n";

    #[test]
    fn an_observation_determines_the_lump_of_what_was_assumed() {
        let model = Model::parse("x", TEXT).expect("a model");
        let found = model.determined(&model.values());
        assert_eq!(found.solution.to_string(), "rank 2 of 3 components");
        let lumps: Vec<_> = found
            .solution
            .lumps
            .iter()
            .map(|lump| lump.named(&found.names))
            .collect();
        assert_eq!(lumps, ["a", "b + 2 d"]);
        // 40 - 10 - 5, in halves of b.
        assert!((found.solution.lumps[1].ns - 50.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_sum_of_multiples_is_no_equation() {
        for terms in ["'max(a, b)', 'd'", "'a', 'b * d'"] {
            let text = TEXT.replace("'a', '2 b / c', 'd', '5'", terms);
            let model = Model::parse("x", &text).expect("a model");
            let found = model.determined(&model.values());
            assert_eq!(found.solution.rank, 1, "{terms}");
            assert_eq!(found.solution.unknown, [1, 2], "{terms}");
        }
    }
}
