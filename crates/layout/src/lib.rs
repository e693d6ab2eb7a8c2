// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which bytes: MPI type maps as data, and the copies between them and packed bytes.
//!
//! A [`Layout`] says where the bytes of one element lie relative to a base address, in the order in which MPI packs them
//! (MPI-5.0, chapter 5). It knows no MPI calls and no operating system. Constructors keep nothing but a canonical form
//! (`form`): blocks repeated along dimensions, and lists of such, so that equal objects that were described differently
//! cost the same and no path recurses over the history of a type. Copies ([`Layout::pack`], [`Layout::unpack`], and
//! [`Layout::copy`] from one layout to another) work on any range of the packed bytes, which is what a message cut into
//! pieces needs.
//!
//! To inspect a layout: [`Layout::form`] is the canonical form, a [`Builder`] tells an [`Observer`] how it came
//! about, and [`Layout::kernels`] says by which loops it is packed.
//!
//! The crate `layout-cuda` does the same in the memory of GPUs.
//!
//! Tests: `type_map` compares layouts with a naive interpreter of the standard's type maps, `forms` descriptions of the same
//! bytes, `kernels` every width of run, `compound` copies of irregular types, `direct` every pair of shapes, and `edges` puts
//! unreadable pages around them. `visits` counts the parts of a form that copies of chunks read.

mod bounds;
mod build;
mod construct;
mod copy;
mod dense;
mod direct;
mod distinct;
mod error;
mod form;
mod gather;
mod isa;
mod kernel;
mod layout;
mod list;
mod long;
mod offsets;
mod order;
mod regular;
mod report;
mod shared;
mod visits;
mod walk;

pub use build::{ArrayOrder, Builder, Share, Slice};
pub use error::{LayoutError, Result};
pub use form::{
    Block, Dimension, Dimensions, Form, MAX_DIMENSIONS, Member, Members, Nest, Nests, Observer,
    Rule, Silent,
};
pub use isa::{Isa, best_isa, limit_isa};
pub use layout::Layout;
pub use long::{copy_bytes, copy_past_caches, settle};
pub use offsets::Offsets;
pub use order::Order;
pub use report::{Kernel, KernelUse};
pub use shared::SharedLayout;
