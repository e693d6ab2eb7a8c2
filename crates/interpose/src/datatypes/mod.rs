// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer for datatypes, after TEMPI (Pearson, *Movement and Placement of Non-Contiguous Data in Distributed GPU Computing*, 2021,
//! chapter 5): data of derived types are packed by the kernels of `layout` and travel as MPI_PACKED.
//!
//! A derived type is read from the library when it is committed ([`commit`], [`decode`]) and kept until the library forgets it
//! ([`types`]); the layer for endpoints uses the same. Where the
//! library packs it faster itself, it goes on as it is ([`costs`]). Packed bytes are in the order of the type map without a header,
//! as the libraries' own: so the other side need not have this layer ([`wire`] makes sure). Calls that complete requests unpack what has
//! arrived ([`pending`], [`complete`]). On request [`collectives`] move packed bytes, too. Data in the memory of a GPU are packed by its
//! kernels ([`region`]), into memory that [`route`] chooses.

mod blocking;
mod blocks;
mod buffer;
mod calls;
mod collectives;
mod commit;
mod complete;
mod costs;
mod counts;
mod data;
mod decode;
mod device;
mod elements;
mod exchange;
mod group;
mod instead;
mod layer;
mod leaf;
mod nonblocking;
mod own;
mod packing;
mod pending;
mod persistent;
mod pool;
mod region;
mod route;
mod status;
mod types;
mod wire;

pub(crate) use commit::reading;
pub(crate) use counts::lines as counts;
pub(crate) use layer::{of_requests, over};
pub(crate) use leaf::layout as layout_of_predefined;
pub(crate) use route::know_query;
pub(crate) use types::{Type, find};
