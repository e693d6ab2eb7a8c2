// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer for placement, after TEMPI (Pearson, *Movement and Placement of Non-Contiguous Data in Distributed GPU Computing*, 2021,
//! chapter 5.3): `reorder` of the calls that make topologies has an effect in every library.
//!
//! TEMPI leaves processes where they are and translates the ranks in all calls. This layer makes a communicator of the processes in
//! their new order ([`order`]) and has the library make the topology on that one without `reorder`: so nothing needs translation, and no
//! other call has a part in it.
//!
//! What a call says about neighbours ([`given`]) goes to rank 0 of the communicator, with the node of each process ([`nodes`]). Rank 0
//! calculates the placement. A process that gets another rank needs the edges that were given for this rank where each process names
//! its own ([`role`]).
//!
//! All processes of a communicator place it, or none: they decide by what all of them have seen. What is not placed goes on
//! to the library as it is.

mod counts;
mod given;
mod layer;
mod nodes;
mod order;
mod role;

pub(crate) use counts::lines as counts;
pub(crate) use layer::over;
