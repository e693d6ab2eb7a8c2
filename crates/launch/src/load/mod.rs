// SPDX-License-Identifier: MIT OR Apache-2.0
//! The load of the cores that ranks use, and what follows from it.
//!
//! Ranks are bound to cores while that helps. The binding ends for good when oversubscribed ranks share a core while
//! another one idles ([`balance`]), or when other programs take much of the time of a rank's core ([`external`]): then the
//! kernel finds better places than a fixed one. Oversubscribed ranks are told of external load, because it decides how
//! they wait.

mod balance;
mod external;
mod times;
mod watch;

pub(crate) use watch::Load;
