// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making communicators (MPI-5.0, sections 7.4 and 7.6): the calls in which ranks agree by messages. Communicators as data are in
//! [`crate::comm`].
//!
//! [`inter`] makes and merges intercommunicators, [`resource`] splits by the hardware that ranks share.

#[cfg(test)]
mod added_tests;
mod endpoints;
#[cfg(test)]
mod endpoints_tests;
pub mod inter;
mod members;
#[cfg(test)]
mod overlap_tests;
mod persistent;
mod predefined;
pub mod resource;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trace_tests;
#[cfg(test)]
mod vci_report_tests;

pub use endpoints::{MOST_ENDPOINTS, create_endpoints};
pub(crate) use members::twin;
pub use members::{
    UNDEFINED, create, create_from_group, create_group, dup, dup_spread, idup, idup_announced,
    split,
};
pub use persistent::plan;
pub use predefined::dup_predefined;
