// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the examples share: options, the choice of the library, checksums.
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each example uses some of it"
)]

use clap::{Args, Parser, ValueEnum};
use rankpoint::Universe;
use stencil::{Builder, Domain, Library, Method, Methods, Placement, Quantity, Result};

/// Options of all examples.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// An MPI library with the standard ABI to use in place of Rankpoint, such as libmpi_abi.so.1
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) mpi: Option<String>,
    /// How halos move
    #[arg(long, value_enum, default_value_t = How::Auto)]
    pub(crate) methods: How,
    /// Which rank gets which box
    #[arg(long, value_enum, default_value_t = Where::Optimised)]
    pub(crate) placement: Where,
    /// Treat each node as so many
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) pseudo_nodes: usize,
    /// Print what each rank exchanges with whom, and what was measured
    #[arg(long)]
    pub(crate) explain: bool,
}

/// Methods by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum How {
    Auto,
    Shared,
    Packed,
    Typed,
    Partitioned,
}

impl How {
    pub(crate) fn methods(self) -> Methods {
        match self {
            Self::Auto => Methods::all(),
            Self::Shared => Methods::only(Method::Shared),
            Self::Packed => Methods::only(Method::Packed),
            Self::Typed => Methods::only(Method::Typed),
            Self::Partitioned => Methods::only(Method::Partitioned),
        }
    }
}

/// Placements by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Where {
    Optimised,
    Trivial,
    Random,
}

impl Where {
    pub(crate) const fn placement(self) -> Placement {
        match self {
            Self::Optimised => Placement::Optimised,
            Self::Trivial => Placement::Trivial,
            Self::Random => Placement::Random,
        }
    }
}

/// The options of the command line. Where they are wrong, or help is asked for, the first rank prints that, and the program ends.
#[expect(
    clippy::exit,
    reason = "MPI has ended, and nothing else needs to be dropped"
)]
pub(crate) fn options<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|error| {
        let is_first = match Universe::init() {
            Ok(universe) => universe.world().rank() == 0,
            Err(_) => true,
        };
        if is_first {
            // Nobody reads it where the output is closed.
            let _ = error.print();
        }
        std::process::exit(error.exit_code())
    })
}

/// The ranks of this job.
pub(crate) enum World {
    Rankpoint(Universe),
    Other(Library),
}

impl World {
    pub(crate) fn new(common: &Common) -> Result<Self> {
        Ok(match &common.mpi {
            None => Self::Rankpoint(Universe::init()?),
            Some(name) => Self::Other(Library::init(name)?),
        })
    }

    pub(crate) fn domain(&self, grid: [usize; 3], common: &Common) -> Builder<'_> {
        let builder = match self {
            Self::Rankpoint(universe) => Domain::on(&universe.world(), grid),
            Self::Other(library) => Domain::on_library(library, grid),
        };
        builder
            .methods(common.methods.methods())
            .placement(common.placement.placement())
            .pseudo_nodes(common.pseudo_nodes)
    }
}

/// A number that depends on the value at each point, the same on any number of ranks.
pub(crate) fn checksum<T: rankpoint::Plain>(
    domain: &Domain<'_>,
    quantity: Quantity<T>,
    bits: impl Fn(T) -> u64,
) -> Result<u64> {
    let view = domain.current(quantity);
    let [xs, ys, zs] = domain.region();
    let mut sum = 0u64;
    for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
        for (x, &value) in xs.clone().zip(view.row(xs.clone(), y, z)) {
            let place = ((z as u64) << 42) ^ ((y as u64) << 21) ^ (x as u64);
            let mixed = (bits(value) ^ place).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            sum = sum.wrapping_add(mixed ^ (mixed >> 29));
        }
    }
    Ok(domain
        .all_gather(sum)?
        .into_iter()
        .fold(0, u64::wrapping_add))
}

/// Seconds of the slowest rank.
pub(crate) fn slowest(domain: &Domain<'_>, seconds: f64) -> Result<f64> {
    domain.largest(seconds)
}
