// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer for endpoints, after EP-Lib (Sridharan, Dinan, Kalamkar, SC'14): `MPIX_Comm_create_endpoints` with any MPI library.
//!
//! The program's side. Calls with an endpoint communicator or with a request of one ([`handle`] knows them by their range of addresses)
//! become commands for the endpoint's proxy ([`endpoint`]; the crate `endpoints` has what both share); all other calls pass. Blocking
//! calls are nonblocking commands and a wait in the thread that calls, so that a proxy never waits for one thread of two. Data of all
//! types are packed into memory that both share ([`elements`], with the types that the layer for datatypes knows; [`buffers`]), and
//! operations of the program reduce in its own threads ([`ops`]). Functions that the layer does not have refuse such handles by name ([`refuse`], generated from the table of the ABI).
//!
//! Where the library has the function itself, the program uses that ([`create`]).

mod buffers;
mod collectives;
mod comm;
mod create;
mod elements;
mod endpoint;
mod errors;
mod handle;
mod layer;
mod many;
mod matched;
mod messages;
mod native;
mod ops;
mod persistent;
mod reductions;
mod refuse;
mod requests;
mod varying;

pub(crate) use layer::over;
pub(crate) use native::know;
pub(crate) use refuse::profiling;
