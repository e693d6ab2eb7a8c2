// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided communication (MPI-5.0, chapter 12).
//!
//! A [`Window`] knows for each target how its memory is reached ([`target::Path`]): by loads and stores in node-shared memory, by
//! cross-memory attach, or by messages that a service of the target handles. The first two need no call by the target, and their
//! synchronisation works on the boards of the members in the node segment ([`fabric::window`]). Where members share no memory, or the
//! setting `RANKPOINT_RMA` demands it, operations and synchronisation are messages ([`message`]).
//!
//! [`mod@create`] makes windows of what members told each other (`told`), `endpoints` those of endpoints; [`transfer`] is put and get, `fast` their fast path, [`requests`] the forms with a request;
//! [`mod@accumulate`] is what combines, `combine` how; `attach` is all of them on private memory, [`mod@dynamic`] what memory a dynamic window has, and `lend` that which comes with it; [`granule`] is the size of accesses to the windows of safe code; [`mod@fence`], [`active`] and [`passive`] are the three kinds of synchronisation;
//! [`epoch`] is what a member may do at a time.

pub mod accumulate;
#[cfg(test)]
mod accumulate_tests;
pub mod active;
mod announce;
mod attach;
#[cfg(test)]
mod attach_tests;
mod combine;
mod contiguous;
pub mod create;
mod dynamic;
#[cfg(test)]
mod endpoint_tests;
mod endpoints;
pub mod epoch;
mod fast;
pub mod fence;
#[cfg(test)]
mod gate_tests;
pub mod granule;
#[cfg(test)]
mod granule_tests;
mod heap;
pub mod hints;
#[cfg(test)]
mod idle_tests;
mod lend;
mod message;
pub mod passive;
mod paths;
mod polled;
#[cfg(test)]
mod polled_tests;
#[cfg(test)]
mod random_plan_tests;
#[cfg(test)]
mod random_tests;
mod requests;
mod target;
#[cfg(test)]
mod tests;
mod told;
pub mod transfer;
#[cfg(test)]
mod vcis_tests;
pub mod window;

pub use accumulate::{
    Elements, accumulate, compare_and_swap, fetch_and_op, get_accumulate, is_swapped_by_word,
    raccumulate, rcompare_and_swap, rfetch_and_op, rget_accumulate,
};
pub use create::{
    allocate, allocate_elements, allocate_shared, create, create_dynamic, create_dynamic_elements,
    decline,
};
pub use endpoints::{Part, create_endpoints};
pub use epoch::LockKind;
pub use fast::{ElementReduction, Spot, get_now, open_target, open_target_of_world, put_now};
pub use granule::Granule;
pub use hints::WindowHints;
pub use message::{BufferUse, enter_message, note_buffer};
pub use requests::{rget, rput};
pub use target::{Remote, Target};
pub use transfer::{get, put};
pub use window::{Flavor, Window};
