// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages: all halos that one rank needs of another.

use std::array::from_fn;

use crate::geometry::{Box3, DIRECTIONS};
use crate::radius::Radius;

/// The halos that one rank sends to another in an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank that sends.
    pub from: usize,
    /// The rank that receives; the same one, where the grid wraps around.
    pub to: usize,
    /// Indices of the directions from the sender, in order. The receiver has the halo of each at its opposite side.
    pub directions: Vec<usize>,
    /// Points of all halos.
    pub points: usize,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// To the rank itself.
    Own,
    /// To another rank of the node.
    Node,
    /// To another node.
    Network,
}

/// Points that an exchange moves, and the messages with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Points that ranks send to themselves.
    pub own: usize,
    /// Points that go to other ranks of the node.
    pub node: usize,
    /// Points that go to other nodes.
    pub network: usize,
    /// Messages within nodes.
    pub node_messages: usize,
    /// Messages between nodes.
    pub network_messages: usize,
}

impl Traffic {
    /// All points.
    pub const fn points(&self) -> usize {
        self.own + self.node + self.network
    }
}

/// What a rank with a box of these sides sends in a direction: points next to that side, relative to its box, as wide as the
/// receiver's halo.
pub(crate) fn sent(sides: [usize; 3], direction: usize, radius: &Radius) -> Box3 {
    let step = DIRECTIONS[direction];
    let width = |axis: usize| radius.width(axis, -step[axis]);
    Box3 {
        start: from_fn(|axis| match step[axis] {
            1 => sides[axis] - width(axis),
            _ => 0,
        }),
        end: from_fn(|axis| match step[axis] {
            -1 => width(axis),
            _ => sides[axis],
        }),
    }
}

/// Where a rank has the halo that came in a direction, in an array that begins with the low halos.
pub(crate) fn received(sides: [usize; 3], direction: usize, radius: &Radius) -> Box3 {
    let step = DIRECTIONS[direction];
    let low = radius.low();
    let (start, end): (Vec<_>, Vec<_>) = (0..3)
        .map(|axis| match step[axis] {
            // It moved up, so it is at the low side.
            1 => (0, low[axis]),
            -1 => {
                let first = low[axis] + sides[axis];
                (first, first + radius.width(axis, 1))
            }
            _ => (low[axis], low[axis] + sides[axis]),
        })
        .unzip();
    Box3 {
        start: from_fn(|axis| start[axis]),
        end: from_fn(|axis| end[axis]),
    }
}
