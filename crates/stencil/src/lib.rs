// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil computations on distributed grids.
//!
//! A [`Domain`] is a grid of three dimensions with some quantities at each point, divided among ranks. Each rank has a box of it, and
//! around the box the halos: the points of its neighbours that its stencil reads. [`Domain::advance`] is a time step: it exchanges
//! halos while a kernel works on the points that need none, has the kernel work on the others, and makes the new values the current ones.
//!
//! ```
//! use stencil::{Domain, Radius};
//!
//! let universe = rankpoint::Universe::init()?;
//! let world = universe.world();
//! let mut builder = Domain::on(&world, [16, 12, 8]).radius(Radius::faces(1));
//! let heat = builder.quantity::<f64>("heat");
//! let mut domain = builder.realize()?;
//! domain.fill(heat, |[x, y, z]| (x + y + z) as f64)?;
//! for _ in 0..10 {
//!     domain.advance(|step| {
//!         let (now, mut next) = (step.current(heat), step.next(heat));
//!         let [xs, ys, zs] = step.region();
//!         for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
//!             let row = now.row(xs.start - 1..xs.end + 1, y, z);
//!             let others = [(y - 1, z), (y + 1, z), (y, z - 1), (y, z + 1)];
//!             let others = others.map(|(y, z)| now.row(xs.clone(), y, z));
//!             for (i, new) in next.row_mut(xs.clone(), y, z).iter_mut().enumerate() {
//!                 *new = (row[i] + row[i + 2] + others.iter().map(|row| row[i]).sum::<f64>()) / 6.0;
//!             }
//!         }
//!     })?;
//! }
//! # Ok::<(), stencil::Error>(())
//! ```
//!
//! The crate `stencil_plan` divides and places ([`Plan`]); this one moves the halos. [`Method`] says how: between ranks of a node the
//! receiver reads its neighbour's memory, between nodes messages are packed. All halos that one rank needs of another are one message.
//! Which method is the fastest is measured when the domain is made ([`Methods`]).
//!
//! The same works on any library with the MPI 5.0 standard ABI: [`Library`] opens one at run time, and [`Domain::on_library`] uses it.
//!
//! # Safety
//! All arrays of a rank lie in one area, which other ranks of the node may map ([`mod@area`]). Points of the own box are written by this
//! rank alone, and not while neighbours read them ([`mod@sync`]); halos are written and read by this rank alone. A [`Step`] reads the
//! current arrays and writes the next ones, in a region that views check.
//!
//! Source: C. Pearson, *Movement and Placement of Non-Contiguous Data in Distributed GPU Computing* (University of Illinois, 2021),
//! chapter 4.

mod area;
mod arrays;
mod builder;
mod counters;
mod domain;
mod error;
mod exchange;
mod library;
mod methods;
mod network;
mod on_abi;
mod on_rankpoint;
mod quantity;
mod routes;
mod step;
mod sync;
mod view;

pub use builder::Builder;
pub use counters::Counters;
pub use domain::Domain;
pub use error::{Error, Result};
pub use library::Library;
pub use methods::{Method, Methods};
pub use quantity::Quantity;
pub use stencil_plan::assignment::Square;
pub use stencil_plan::{Boundary, Placement, Plan, Radius};
pub use step::Step;
pub use view::{View, ViewMut};

/// The programs of the page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/stencil.md")]
mod page {}
