// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=collectives`: arguments that all ranks must give alike when they make a topology.

use std::sync::Arc;

use super::graph::show_all;
use crate::coll;
use crate::comm::Comm;
use crate::errors::{ErrorClass, Result};
use crate::task::run_collective;

/// An argument that is the same at all ranks.
pub(super) struct Argument {
    name: &'static str,
    values: Vec<i32>,
    /// Whether it is an array.
    is_list: bool,
    text: fn(i32) -> String,
}

impl Argument {
    pub(super) fn number(name: &'static str, value: i32) -> Self {
        Self {
            is_list: false,
            ..Self::numbers(name, &[value])
        }
    }

    pub(super) fn numbers(name: &'static str, values: &[i32]) -> Self {
        Self {
            name,
            values: values.to_vec(),
            is_list: true,
            text: |value| value.to_string(),
        }
    }

    pub(super) fn flag(name: &'static str, value: bool) -> Self {
        Self {
            is_list: false,
            ..Self::flags(name, &[value])
        }
    }

    pub(super) fn flags(name: &'static str, values: &[bool]) -> Self {
        Self {
            name,
            values: values.iter().map(|&value| i32::from(value)).collect(),
            is_list: true,
            text: |value| (value != 0).to_string(),
        }
    }

    /// Whether edges have weights.
    pub(super) fn weighted(name: &'static str, is_weighted: bool) -> Self {
        Self {
            text: |value| match value {
                0 => "MPI_UNWEIGHTED".to_owned(),
                _ => "weights".to_owned(),
            },
            ..Self::flag(name, is_weighted)
        }
    }

    /// A number that differs for other values.
    fn digest(&self) -> u64 {
        let step = |sum: u64, &value: &i32| {
            (sum ^ u64::from(value as u32))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        self.values.iter().fold(self.values.len() as u64 + 1, step)
    }

    /// The number of values, and the values.
    fn words(&self) -> Vec<u64> {
        let values = self.values.iter().map(|&value| u64::from(value as u32));
        std::iter::once(self.values.len() as u64)
            .chain(values)
            .collect()
    }
}

/// Has all ranks compare arguments, where ranks compare their calls.
///
/// # Errors
/// MPI_ERR_ARG, at all ranks, with the first argument that differs and what each rank gives for it.
pub(super) fn check_same(
    comm: &Arc<Comm>,
    call: &'static str,
    arguments: impl FnOnce() -> Vec<Argument>,
) -> Result<()> {
    if !comm.process().settings().check.collectives || comm.size() == 1 {
        return Ok(());
    }
    let arguments = arguments();
    let own: Vec<u64> = arguments.iter().map(Argument::digest).collect();
    let all = run_collective(comm, call, coll::gather_words(comm.clone(), &own))?;
    let differs = |index: &usize| {
        let mut digests = all.chunks_exact(own.len()).map(|words| words[*index]);
        digests.any(|digest| digest != own[*index])
    };
    let Some(index) = (0..own.len()).find(differs) else {
        return Ok(());
    };
    let argument = &arguments[index];
    let said = lists_of(&show_all(comm, call, argument.words())?);
    let longest = said.iter().map(Vec::len).max().unwrap_or(0);
    let is_other = |place: &usize| {
        said.iter()
            .any(|list| list.get(*place) != said[0].get(*place))
    };
    let place = (0..longest).find(is_other).unwrap_or(0);
    let what = match argument.is_list {
        true => format!("argument '{}' at index {place}", argument.name),
        false => format!("argument '{}'", argument.name),
    };
    let text = |list: &Vec<i32>| {
        let value = list.get(place);
        value.map_or_else(|| "nothing".to_owned(), |&value| (argument.text)(value))
    };
    let error = coll::check::disagreement(ErrorClass::ERR_ARG, &what, said.iter().map(text));
    Err(comm.annotate(error))
}

/// The values that each rank has shown, after their number.
fn lists_of(mut words: &[u64]) -> Vec<Vec<i32>> {
    let mut lists = Vec::new();
    while let &[length, ref rest @ ..] = words {
        let (values, others) = rest.split_at(rest.len().min(length as usize));
        lists.push(values.iter().map(|&word| word as u32 as i32).collect());
        words = others;
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::super::{DistGraph, cart, graph};
    use super::*;
    use crate::settings::{Checks, Settings};
    use crate::testing::{Member, on_members_with};

    fn checked(ranks: u32, body: impl Fn(&'static Member) + Sync) {
        let settings = Settings {
            check: Checks {
                collectives: true,
                ..Checks::default()
            },
            ..Settings::default()
        };
        on_members_with(&settings, ranks, body);
    }

    /// The call failed with a text that ends in these words before the communicator.
    fn tells(outcome: Result<Option<Arc<Comm>>>, words: &str) {
        let error = outcome.map(drop).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.class(), ErrorClass::ERR_ARG, "{text}");
        let words = format!("the ranks disagree about the argument {words} (");
        assert!(text.contains(&words), "{text}");
    }

    #[test]
    fn another_reorder_is_named_in_every_call() {
        checked(3, |member| {
            let (world, reorder) = (member.world(), member.rank() == 1);
            let words = "'reorder': ranks 0, 2 said false; rank 1 said true";
            tells(cart::create(world, &[3], &[true], reorder), words);
            tells(graph::create(world, &[0, 0], &[], reorder), words);
            let edges = DistGraph::default();
            tells(graph::create_adjacent(world, edges, reorder), words);
            tells(graph::create_general(world, &[], false, reorder), words);
            for reorder in [false, true] {
                let made = cart::create(world, &[3], &[true], reorder).unwrap();
                assert!(made.is_some());
            }
        });
    }

    #[test]
    fn other_arguments_are_compared_too() {
        checked(3, |member| {
            let (world, last) = (member.world(), member.rank() == 2);
            let dims: &[i32] = if last { &[3] } else { &[1, 3] };
            let words = "'ndims': ranks 0..1 said 2; rank 2 said 1";
            tells(
                cart::create(world, dims, &[false, true][..dims.len()], true),
                words,
            );
            // Also a grid that only one rank would refuse.
            let words = "'dims' at index 1: ranks 0..1 said 2; rank 2 said 7";
            tells(
                cart::create(world, &[1, if last { 7 } else { 2 }], &[true; 2], false),
                words,
            );
            let words = "'periods' at index 0: ranks 0..1 said false; rank 2 said true";
            tells(cart::create(world, &[1, 2], &[last, true], false), words);
            let index: &[i32] = if last { &[1, 2, 2] } else { &[1, 2] };
            let words = "'nnodes': ranks 0..1 said 2; rank 2 said 3";
            tells(graph::create(world, index, &[1, 0], false), words);
            let words = "'indx' at index 0: ranks 0..1 said 1; rank 2 said 2";
            tells(
                graph::create(world, &[1 + i32::from(last), 2], &[1, 0], false),
                words,
            );
            let words = "'edges' at index 1: ranks 0..1 said 0; rank 2 said 1";
            tells(
                graph::create(world, &[1, 2], &[1, i32::from(last)], false),
                words,
            );
            let words = "'weights': ranks 0..1 said MPI_UNWEIGHTED; rank 2 said weights";
            tells(graph::create_general(world, &[], last, false), words);
            let edges = DistGraph {
                weights: last.then(Default::default),
                ..DistGraph::default()
            };
            let words = "'sourceweights': ranks 0..1 said MPI_UNWEIGHTED; rank 2 said weights";
            tells(graph::create_adjacent(world, edges, false), words);
        });
    }
}
