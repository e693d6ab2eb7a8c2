// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans: boxes, ranks, messages.

use std::array::from_fn;
use std::ops::Range;

use placement::{Graph, place, shuffle};

use crate::assignment::{Square, assign};
use crate::error::Error;
use crate::geometry::{Boundary, Box3, DIRECTIONS, opposite};
use crate::message::{self, Message, Share, Traffic};
use crate::partition::{cut, ranges};
use crate::radius::Radius;

/// A grid and its halos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Points along x, y, z.
    pub grid: [usize; 3],
    /// How far the stencil reaches.
    pub radius: Radius,
    /// What is beyond the ends of each axis.
    pub boundary: [Boundary; 3],
}

/// Which rank has which box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// A box for each node, within it one for each rank; ranks of a node by quadratic assignment.
    #[default]
    Optimised,
    /// Boxes in the order of ranks, x fastest, wherever ranks are.
    Trivial,
    /// The same boxes as [`Self::Optimised`], with any ranks, for comparison.
    Random,
}

/// Which rank has which box, and what it sends to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    /// Ranges of points along each axis.
    cuts: [Vec<Range<usize>>; 3],
    /// The rank of each box, x fastest.
    ranks: Vec<usize>,
    /// The box of each rank.
    boxes: Vec<usize>,
    nodes: Vec<u32>,
}

impl Plan {
    /// Divides a problem among ranks, of which `nodes` has the node each, by any numbers. `distances` between the ranks of a node,
    /// in their order, are the same on all nodes; without them all ranks of a node are equally close. `dims`: boxes along each axis, in
    /// place of what the rule finds.
    ///
    /// # Errors
    /// When there are no such boxes.
    pub fn new(
        problem: Problem,
        nodes: &[u32],
        placement: Placement,
        distances: Option<&Square>,
        dims: Option<[usize; 3]>,
    ) -> Result<Self, Error> {
        check_grid(&problem, nodes)?;
        let groups = groups(nodes);
        let each = groups[0].len();
        let are_equal = groups.iter().all(|group| group.len() == each);
        if distances.is_some_and(|distances| distances.side() != each || !are_equal) {
            return Err(Error::WrongDistances { ranks: each });
        }
        let is_two_level = are_equal && placement != Placement::Trivial && dims.is_none();
        let levels = if is_two_level {
            [groups.len(), each]
        } else {
            [1, nodes.len()]
        };
        let (cuts, level_dims) = match dims {
            None => two_levels(&problem, levels)?,
            Some(dims) => (given(&problem, dims, nodes.len())?, [[1; 3], dims]),
        };
        check_sides(&problem, &cuts)?;
        let mut plan = Self {
            problem,
            cuts,
            ranks: (0..nodes.len()).collect(),
            boxes: Vec::new(),
            nodes: nodes.to_vec(),
        };
        match placement {
            Placement::Trivial => {}
            Placement::Random => {
                let order = shuffle(nodes.len() as u32, 0);
                plan.ranks = order.iter().map(|&rank| rank as usize).collect();
            }
            Placement::Optimised if is_two_level => {
                plan.by_groups(&groups, level_dims, distances);
            }
            Placement::Optimised => plan.by_partition(),
        }
        plan.note_boxes();
        Ok(plan)
    }

    fn note_boxes(&mut self) {
        self.boxes = vec![0; self.ranks.len()];
        for (number, &rank) in self.ranks.iter().enumerate() {
            self.boxes[rank] = number;
        }
    }

    /// Gives the boxes of each node to its ranks, by distances between these.
    fn by_groups(
        &mut self,
        groups: &[Vec<usize>],
        [_, inner]: [[usize; 3]; 2],
        distances: Option<&Square>,
    ) {
        let dims = self.dims();
        // The boxes of each node, x fastest; nodes, x fastest.
        let mut of_node: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
        let outer: [usize; 3] = from_fn(|axis| dims[axis] / inner[axis]);
        for number in 0..self.ranks.len() {
            let at = coordinates(number, dims);
            let node: [usize; 3] = from_fn(|axis| at[axis] / inner[axis]);
            of_node[number_of(node, outer)].push(number);
        }
        for (boxes, ranks) in of_node.iter().zip(groups) {
            let places = distances.map(|distances| {
                let weights = self.weights(boxes);
                assign(&weights, distances)
            });
            for (index, &number) in boxes.iter().enumerate() {
                let place = places.as_ref().map_or(index, |places| places[index]);
                self.ranks[number] = ranks[place];
            }
        }
    }

    /// Points that some boxes send each other.
    fn weights(&self, boxes: &[usize]) -> Square {
        let mut weights = Square::zeros(boxes.len());
        for (index, &number) in boxes.iter().enumerate() {
            for (_, other, points) in self.halos(number) {
                if let Some(other) = boxes.iter().position(|known| *known == other) {
                    weights.add(index, other, points as f64);
                }
            }
        }
        weights
    }

    /// For nodes with different numbers of ranks, or dimensions that were given: by the general partitioner.
    fn by_partition(&mut self) {
        let pairs = (0..self.ranks.len()).flat_map(|number| {
            let halos = self.halos(number).into_iter();
            halos.map(move |(_, other, points)| (number as u32, other as u32, points as u64))
        });
        let graph = Graph::new(self.ranks.len() as u32, pairs);
        let mut known: Vec<u32> = self.nodes.clone();
        known.sort_unstable();
        known.dedup();
        let numbered = self.nodes.iter().map(|node| {
            // Each node is among those that are known.
            known.binary_search(node).unwrap_or(0) as u32
        });
        let numbered: Vec<u32> = numbered.collect();
        if let Some(found) = place(&graph, &numbered) {
            self.ranks = found.iter().map(|&rank| rank as usize).collect();
        }
    }

    /// The halos that a box sends: direction, box that receives, points.
    fn halos(&self, number: usize) -> Vec<(usize, usize, usize)> {
        let (dims, radius) = (self.dims(), &self.problem.radius);
        let at = coordinates(number, dims);
        let sides = self.box_at(at).sides();
        let mut halos = Vec::new();
        for (direction, step) in DIRECTIONS.iter().enumerate() {
            if radius.of(opposite(direction)) == 0 {
                continue;
            }
            let to = (0..3).map(|axis| {
                let moved = at[axis] as i64 + i64::from(step[axis]);
                let is_inside = (0..dims[axis] as i64).contains(&moved);
                let wraps = self.problem.boundary[axis] == Boundary::Periodic;
                (is_inside || wraps).then(|| moved.rem_euclid(dims[axis] as i64) as usize)
            });
            let Some(to) = to.collect::<Option<Vec<_>>>() else {
                continue;
            };
            let points = message::sent(sides, direction, radius).points();
            if points > 0 {
                halos.push((direction, number_of([to[0], to[1], to[2]], dims), points));
            }
        }
        halos
    }

    fn box_at(&self, at: [usize; 3]) -> Box3 {
        Box3 {
            start: from_fn(|axis| self.cuts[axis][at[axis]].start),
            end: from_fn(|axis| self.cuts[axis][at[axis]].end),
        }
    }

    /// The problem.
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Boxes along each axis.
    pub fn dims(&self) -> [usize; 3] {
        from_fn(|axis| self.cuts[axis].len())
    }

    /// Number of ranks.
    pub const fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// The node of each rank.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The points of a rank.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn box_of(&self, rank: usize) -> Box3 {
        self.box_at(self.coordinates_of(rank))
    }

    /// Where the box of a rank is among the boxes.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn coordinates_of(&self, rank: usize) -> [usize; 3] {
        coordinates(self.boxes[rank], self.dims())
    }

    /// What a rank sends: one message to each rank that needs halos of it.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn messages_from(&self, rank: usize) -> Vec<Message> {
        let mut messages: Vec<Message> = Vec::new();
        for (direction, number, points) in self.halos(self.boxes[rank]) {
            let to = self.ranks[number];
            let known = messages.iter_mut().find(|message| message.to == to);
            if let Some(known) = known {
                known.directions.push(direction);
                known.points += points;
            } else {
                messages.push(Message {
                    from: rank,
                    to,
                    directions: vec![direction],
                    points,
                });
            }
        }
        messages
    }

    /// What a rank receives.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn messages_to(&self, rank: usize) -> Vec<Message> {
        let dims = self.dims();
        let at = self.coordinates_of(rank);
        let mut senders: Vec<usize> = DIRECTIONS
            .iter()
            .map(|step| {
                from_fn(|axis| {
                    let moved = at[axis] as i64 + i64::from(step[axis]);
                    moved.rem_euclid(dims[axis] as i64) as usize
                })
            })
            .map(|at| self.ranks[number_of(at, dims)])
            .collect();
        senders.push(rank);
        senders.sort_unstable();
        senders.dedup();
        let sent = senders
            .into_iter()
            .flat_map(|sender| self.messages_from(sender));
        sent.filter(|message| message.to == rank).collect()
    }

    /// Where a message goes.
    pub fn share(&self, message: &Message) -> Share {
        if message.from == message.to {
            Share::Own
        } else if self.nodes[message.from] == self.nodes[message.to] {
            Share::Node
        } else {
            Share::Network
        }
    }

    /// What all ranks send in an exchange.
    pub fn traffic(&self) -> Traffic {
        let mut traffic = Traffic::default();
        for message in (0..self.ranks()).flat_map(|rank| self.messages_from(rank)) {
            match self.share(&message) {
                Share::Own => traffic.own += message.points,
                Share::Node => {
                    traffic.node += message.points;
                    traffic.node_messages += 1;
                }
                Share::Network => {
                    traffic.network += message.points;
                    traffic.network_messages += 1;
                }
            }
        }
        traffic
    }

    /// What a rank sends in a direction, in an array that has its box and the halos around it.
    ///
    /// # Panics
    /// When there is no such rank or direction.
    pub fn sent(&self, rank: usize, direction: usize) -> Box3 {
        let radius = &self.problem.radius;
        message::sent(self.box_of(rank).sides(), direction, radius).shifted(radius.low())
    }

    /// Where a rank receives what came in a direction, in an array that has its box and the halos around it.
    ///
    /// # Panics
    /// When there is no such rank or direction.
    pub fn received(&self, rank: usize, direction: usize) -> Box3 {
        message::received(self.box_of(rank).sides(), direction, &self.problem.radius)
    }

    /// Sides of the array that has the box of a rank and the halos around it.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn array_sides(&self, rank: usize) -> [usize; 3] {
        let sides = self.box_of(rank).sides();
        let (low, high) = (self.problem.radius.low(), self.problem.radius.high());
        from_fn(|axis| low[axis] + sides[axis] + high[axis])
    }
}

/// Ranks of each node, nodes in the order of their first rank.
fn groups(nodes: &[u32]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut number_of_node = std::collections::HashMap::new();
    for (rank, &node) in nodes.iter().enumerate() {
        let number = *number_of_node.entry(node).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[number].push(rank);
    }
    groups
}

fn coordinates(number: usize, dims: [usize; 3]) -> [usize; 3] {
    [
        number % dims[0],
        number / dims[0] % dims[1],
        number / (dims[0] * dims[1]),
    ]
}

const fn number_of(at: [usize; 3], dims: [usize; 3]) -> usize {
    (at[2] * dims[1] + at[1]) * dims[0] + at[0]
}

fn check_grid(problem: &Problem, nodes: &[u32]) -> Result<(), Error> {
    let grid = problem.grid;
    if grid.contains(&0) {
        return Err(Error::NoPoints { grid });
    }
    if nodes.is_empty() {
        return Err(Error::NoRanks);
    }
    // An exchange moves at most 26 points for each one of the grid, and an element of a point may have 16 bytes or more.
    let mut bytes = Some(1usize << 9);
    let halos = problem.radius.widths();
    for axis in 0..3 {
        let side = grid[axis].checked_add(halos[axis]);
        bytes = bytes
            .zip(side)
            .and_then(|(bytes, side)| bytes.checked_mul(side));
    }
    bytes.map(|_| ()).ok_or(Error::TooLarge { grid, halos })
}

/// Ranges of points along each axis, and the boxes along each axis of nodes and of ranks in them.
type Levels = ([Vec<Range<usize>>; 3], [[usize; 3]; 2]);

/// Boxes of nodes, then of ranks in each of them: the cuts, and the boxes along each axis at both levels.
fn two_levels(problem: &Problem, [nodes, each]: [usize; 2]) -> Result<Levels, Error> {
    let grid = problem.grid;
    let cut = cut(grid, [nodes, each], &problem.radius);
    let [outer, inner] = cut.ok_or_else(|| Error::TooManyBoxes {
        boxes: nodes * each,
        grid,
        least: problem.radius.least_sides(),
    })?;
    let cuts = from_fn(|axis| {
        let of_nodes = ranges(0..grid[axis], outer[axis]);
        let of_ranks = of_nodes
            .into_iter()
            .flat_map(|range| ranges(range, inner[axis]));
        of_ranks.collect()
    });
    Ok((cuts, [outer, inner]))
}

/// Boxes by dimensions that were given.
fn given(
    problem: &Problem,
    dims: [usize; 3],
    ranks: usize,
) -> Result<[Vec<Range<usize>>; 3], Error> {
    let product = dims
        .iter()
        .try_fold(1usize, |all, &dim| all.checked_mul(dim));
    if product != Some(ranks) {
        return Err(Error::WrongDims { dims, ranks });
    }
    Ok(from_fn(|axis| ranges(0..problem.grid[axis], dims[axis])))
}

/// Every box has what its neighbours need of it.
fn check_sides(problem: &Problem, cuts: &[Vec<Range<usize>>; 3]) -> Result<(), Error> {
    let least = problem.radius.least_sides();
    for (axis, cuts) in cuts.iter().enumerate() {
        let side = cuts.iter().map(Range::len).min().unwrap_or(0);
        let has_neighbours = cuts.len() > 1 || problem.boundary[axis] == Boundary::Periodic;
        let least = if has_neighbours { least[axis] } else { 1 };
        if side < least {
            return Err(Error::ThinBox {
                axis,
                side,
                least,
                boxes: cuts.len(),
            });
        }
    }
    Ok(())
}
