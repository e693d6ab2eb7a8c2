// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which uUAR a driver gives to a queue pair.
//!
//! A UAR is a page of 4 KiB of a network interface with two uUARs for data. A uUAR takes DoorBells and WQEs by programmed I/O
//! (BlueFlame); two queue pairs on one uUAR share its lane in the network interface and, unless the driver may skip it, its lock.
//!
//! | driver | pages | who assigns |
//! |---|---|---|
//! | [`Legacy`] | static ones when a context is opened, and one for two thread domains | the kernel |
//! | [`OnDemand`] | all when they are first needed | the library (rdma-core) |
//!
//! [`map()`] gives the assignment of a whole context, [`Driver`] names the two.
//!
//! Source: R. Zambre, *Exascalable Communication for Modern Supercomputing* (University of California, Irvine, 2020), appendix B,
//! for the legacy policy; the public sources of rdma-core for the other one.

mod driver;
mod legacy;
mod on_demand;
mod total;
mod uuar;

pub use driver::{Driver, Map, Row, map};
pub use legacy::Legacy;
pub use on_demand::OnDemand;
pub use total::{DEFAULT_LOW, DEFAULT_TOTAL, Uuars};
pub use uuar::{Class, Pages, UARS_PER_CONTEXT, UUARS_PER_PAGE, Uuar, uuar_of_register};
