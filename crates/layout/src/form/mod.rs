// SPDX-License-Identifier: MIT OR Apache-2.0
//! The canonical form of a type map, and observers of how a form becomes canonical.

mod canonical;
mod members;
mod nests;
mod observe;

pub(crate) use canonical::FEW;
pub use canonical::{Block, Dimension, Dimensions, Form, MAX_DIMENSIONS, Nest};
pub(crate) use members::MAX_DEPTH;
pub use members::{Member, Members};
pub use nests::Nests;
pub(crate) use observe::tell;
pub use observe::{Observer, Rule, Silent};
