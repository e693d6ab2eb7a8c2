// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a domain is described.
#![expect(
    clippy::disallowed_types,
    reason = "a count of this process, which no model checks"
)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rankpoint::{Communicator, Plain};
use stencil_plan::assignment::Square;
use stencil_plan::{Boundary, Placement, Plan, Problem, Radius};

use crate::area::{ALIGNMENT, Field};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::library::Library;
use crate::methods::Methods;
use crate::network::Network;
use crate::on_abi::OnAbi;
use crate::on_rankpoint::OnRankpoint;
use crate::quantity::Quantity;

/// Quantities that a domain may have.
const MOST_QUANTITIES: usize = 64;

/// The description of a domain, the same at all ranks; made by [`Domain::on`] and [`Domain::on_library`].
pub struct Builder<'n> {
    pub(crate) network: Result<Box<dyn Network<'n> + 'n>>,
    pub(crate) domain: u64,
    problem: Problem,
    fields: Vec<Field>,
    methods: Methods,
    placement: Placement,
    dims: Option<[usize; 3]>,
    distances: Option<Square>,
    pseudo_nodes: usize,
}

impl<'n> Domain<'n> {
    /// Describes a domain on a communicator of Rankpoint, with so many points along x, y, z. Called by all its ranks.
    pub fn on(communicator: &Communicator<'n>, grid: [usize; 3]) -> Builder<'n> {
        let network = OnRankpoint::new(communicator);
        Builder::new(network.map(|network| Box::new(network) as _), grid)
    }

    /// The same on MPI_COMM_WORLD of another library. All ranks drop such domains in the same order, because windows and communicators are
    /// freed by all together.
    pub fn on_library(library: &'n Library, grid: [usize; 3]) -> Builder<'n> {
        let network = OnAbi::new(library);
        Builder::new(network.map(|network| Box::new(network) as _), grid)
    }
}

/// Domains that this process has described.
static DOMAINS: AtomicU64 = AtomicU64::new(0);

impl<'n> Builder<'n> {
    pub(crate) fn new(network: Result<Box<dyn Network<'n> + 'n>>, grid: [usize; 3]) -> Self {
        Self {
            network,
            // Relaxed: only the numbers matter.
            domain: DOMAINS.fetch_add(1, Ordering::Relaxed),
            problem: Problem {
                grid,
                radius: Radius::constant(1),
                boundary: [Boundary::Periodic; 3],
            },
            fields: Vec::new(),
            methods: Methods::all(),
            placement: Placement::Optimised,
            dims: None,
            distances: None,
            pseudo_nodes: 1,
        }
    }

    /// How far the stencil reaches; without this one point in all 26 directions.
    #[must_use]
    pub fn radius(mut self, radius: Radius) -> Self {
        self.problem.radius = radius;
        self
    }

    /// What is beyond the ends of x, y, z; without this all are periodic.
    #[must_use]
    pub const fn boundary(mut self, boundary: [Boundary; 3]) -> Self {
        self.problem.boundary = boundary;
        self
    }

    /// The methods that may be used; without this all.
    #[must_use]
    pub const fn methods(mut self, methods: Methods) -> Self {
        self.methods = methods;
        self
    }

    /// Which rank gets which box.
    #[must_use]
    pub const fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Boxes along x, y, z, in place of those that the partition finds.
    #[must_use]
    pub const fn dims(mut self, dims: [usize; 3]) -> Self {
        self.dims = Some(dims);
        self
    }

    /// How far the ranks of a node are from each other, in their order, in any unit; the same on all nodes.
    #[must_use]
    pub fn distances(mut self, distances: Square) -> Self {
        self.distances = Some(distances);
        self
    }

    /// Treats the ranks of each node as if they were on so many, in blocks: to see on one node what placement gains.
    #[must_use]
    pub const fn pseudo_nodes(mut self, nodes: usize) -> Self {
        self.pseudo_nodes = nodes;
        self
    }

    /// Adds a quantity with an element of this type at each point, zero at first.
    pub fn quantity<T: Plain + 'static>(&mut self, name: &str) -> Quantity<T> {
        self.fields.push(Field {
            name: name.to_owned(),
            bytes: size_of::<T>(),
            alignment: align_of::<T>(),
        });
        Quantity::new(self.fields.len() - 1, self.domain)
    }

    /// Plans, takes memory, and chooses methods. Called by all ranks.
    ///
    /// # Errors
    /// When the grid cannot be divided so, when a rank has too little memory, or describes another domain: at all ranks. When the
    /// library fails.
    pub fn realize(self) -> Result<Domain<'n>> {
        let parts = self.parts();
        let network = self.network?;
        agree(network.as_ref(), &parts)?;
        let expected = 1..=MOST_QUANTITIES;
        if !expected.contains(&self.fields.len()) {
            let found = self.fields.len();
            let text = format!("{found} quantities: expected 1 to {MOST_QUANTITIES}");
            return Err(Error::Argument(text));
        }
        for Field {
            name, alignment, ..
        } in &self.fields
        {
            if *alignment > ALIGNMENT {
                return Err(Error::Argument(format!(
                    "quantity '{name}' has elements aligned to {alignment} bytes: expected at most {ALIGNMENT}"
                )));
            }
        }
        let nodes = pseudo(&network.nodes()?, self.pseudo_nodes)?;
        let plan = Plan::new(
            self.problem,
            &nodes,
            self.placement,
            self.distances.as_ref(),
            self.dims,
        )?;
        Domain::new(network, plan, self.fields, self.domain, self.methods)
    }

    /// The parts of the description: their names, and what they are.
    fn parts(&self) -> [(&'static str, String); 9] {
        let Problem {
            grid,
            radius,
            boundary,
        } = &self.problem;
        [
            ("grid", format!("{grid:?}")),
            ("radius", format!("{radius:?}")),
            ("boundary", format!("{boundary:?}")),
            ("quantities", format!("{:?}", self.fields)),
            ("methods", format!("{:?}", self.methods)),
            ("placement", format!("{:?}", self.placement)),
            ("dims", format!("{:?}", self.dims)),
            ("distances", format!("{:?}", self.distances)),
            ("pseudo-nodes", self.pseudo_nodes.to_string()),
        ]
    }
}

/// A number that is the same for the same text (FNV-1a).
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Compares the description with those of all ranks. Called by all.
///
/// # Errors
/// Names the first rank that differs from rank 0 and in what, at all ranks.
fn agree(network: &dyn Network<'_>, parts: &[(&str, String)]) -> Result<()> {
    let whole: String = parts.iter().flat_map(|(_, text)| [text, "\n"]).collect();
    let digests = network.all_gather(digest(&whole))?;
    let Some(rank) = digests.iter().position(|other| *other != digests[0]) else {
        return Ok(());
    };
    let mut different = Vec::new();
    for (name, text) in parts {
        let digests = network.all_gather(digest(text))?;
        if digests[rank] != digests[0] {
            different.push(*name);
        }
    }
    Err(Error::Argument(format!(
        "rank {rank} describes another domain than rank 0 in {}",
        different.join(", ")
    )))
}

/// The nodes divided into so many, in blocks of their ranks.
fn pseudo(nodes: &[u32], parts: usize) -> Result<Vec<u32>> {
    if parts == 0 {
        return Err(Error::Argument(
            "0 pseudo-nodes: expected 1 or more".to_owned(),
        ));
    }
    let mut ranks_of = BTreeMap::<u32, Vec<usize>>::new();
    for (rank, &node) in nodes.iter().enumerate() {
        ranks_of.entry(node).or_default().push(rank);
    }
    let (mut divided, mut first) = (vec![0; nodes.len()], 0);
    for ranks in ranks_of.values() {
        // Nodes have at least one rank, and so do their parts.
        let parts = parts.min(ranks.len());
        for (index, &rank) in ranks.iter().enumerate() {
            divided[rank] = first + (index * parts / ranks.len()) as u32;
        }
        first += parts as u32;
    }
    Ok(divided)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudo_nodes_divide_nodes() {
        assert_eq!(pseudo(&[0; 4], 2).ok(), Some(vec![0, 0, 1, 1]));
        assert_eq!(pseudo(&[0, 1, 0, 1], 2).ok(), Some(vec![0, 2, 1, 3]));
        assert_eq!(pseudo(&[7, 9, 9], usize::MAX).ok(), Some(vec![0, 1, 2]));
        assert!(pseudo(&[0], 0).is_err());
    }
}
