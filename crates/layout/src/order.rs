// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of the bytes of an element: a file view wants displacements that do not decrease (MPI-5.0, section 14.1.1).

use crate::form::{Dimension, Form, Nest};
use crate::layout::Layout;

/// How the bytes of an element lie, in packing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each run begins behind the end of the one before, or at it.
    Ascending,
    /// No run begins before the one before, but some overlap.
    Overlapping,
    /// A run begins before the one before.
    Decreasing,
}

/// Where a part begins, and where the next one may begin at the earliest.
#[derive(Clone, Copy)]
struct Reach {
    first: i64,
    next: i64,
}

impl Layout {
    /// How the bytes of one element lie. Costs as much as the canonical form has parts.
    pub fn order(&self) -> Order {
        if self.size() == 0 || reach_of(self.form(), true).is_some() {
            Order::Ascending
        } else if reach_of(self.form(), false).is_some() {
            Order::Overlapping
        } else {
            Order::Decreasing
        }
    }
}

/// The reach of a run; with `apart` the next one begins behind it, without anywhere but before it.
const fn run(offset: i64, bytes: usize, apart: bool) -> Reach {
    Reach {
        first: offset,
        next: if apart {
            offset.saturating_add(bytes as i64)
        } else {
            offset
        },
    }
}

/// The reach of a form, if its runs are in order.
fn reach_of(form: &Form, apart: bool) -> Option<Reach> {
    let inside = match form {
        Form::Regular(nest) => return reach_of_nest(nest, apart),
        Form::List { offsets, bytes, .. } => {
            sequence(offsets.iter().map(|at| Some(run(at, *bytes, apart))))
        }
        Form::Irregular { nests, .. } => {
            sequence(nests.iter().map(|nest| reach_of_nest(nest, apart)))
        }
        Form::Compound { members, .. } => sequence(
            members
                .iter()
                .filter(|member| member.bytes > 0)
                .map(|member| {
                    let reach = reach_of(&member.form, apart)?;
                    Some(Reach {
                        first: reach.first.saturating_add(member.offset),
                        next: reach.next.saturating_add(member.offset),
                    })
                }),
        ),
    };
    repeated(inside?, form.dimensions())
}

fn reach_of_nest(nest: &Nest, apart: bool) -> Option<Reach> {
    repeated(
        run(nest.block.offset, nest.block.bytes, apart),
        &nest.dimensions,
    )
}

/// The reach of parts that follow each other.
fn sequence(mut parts: impl Iterator<Item = Option<Reach>>) -> Option<Reach> {
    let mut all = parts.next()??;
    for part in parts {
        let part = part?;
        if part.first < all.next {
            return None;
        }
        all.next = part.next;
    }
    Some(all)
}

/// The reach of a part that is repeated along dimensions, innermost first.
fn repeated(part: Reach, dimensions: &[Dimension]) -> Option<Reach> {
    let mut all = part;
    for dimension in dimensions.iter().filter(|it| it.count > 1) {
        if dimension.stride < all.next.saturating_sub(all.first) {
            return None;
        }
        let far = dimension.stride.saturating_mul(dimension.count as i64 - 1);
        all.next = all.next.saturating_add(far);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same from the list of runs.
    fn naive(layout: &Layout) -> Order {
        let blocks = layout.blocks();
        let pairs = || blocks.array_windows();
        if pairs().all(|[a, b]| a.offset + a.bytes as i64 <= b.offset) {
            Order::Ascending
        } else if pairs().all(|[a, b]| a.offset <= b.offset) {
            Order::Overlapping
        } else {
            Order::Decreasing
        }
    }

    #[test]
    fn the_order_is_that_of_the_runs() {
        let int = Layout::named(4, 4);
        let pair = Layout::vector(2, 1, 2, &int).unwrap();
        let layouts = [
            int.clone(),
            pair.clone(),
            Layout::vector(3, 2, -4, &int).unwrap(),
            Layout::hvector(3, 1, 2, &int).unwrap(),
            Layout::hindexed([(0, 2), (12, 1), (20, 3)], &int).unwrap(),
            Layout::hindexed([(0, 2), (4, 1), (20, 3)], &int).unwrap(),
            Layout::hindexed([(40, 2), (12, 1), (20, 3)], &int).unwrap(),
            Layout::structure([(0, 2, &pair), (48, 1, &int), (64, 3, &pair)]).unwrap(),
            Layout::structure([(0, 2, &pair), (8, 1, &int), (64, 3, &pair)]).unwrap(),
            Layout::structure([(64, 2, &pair), (8, 1, &int)]).unwrap(),
            Layout::contiguous(0, &int).unwrap(),
        ];
        for layout in &layouts {
            assert_eq!(layout.order(), naive(layout), "{layout:?}");
        }
        let wide = Layout::contiguous(1 << 40, &pair.resized(0, 16).unwrap()).unwrap();
        assert_eq!(wide.order(), Order::Ascending);
    }
}
