// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the collective calls: a request names the call that made it, and ranks compare their calls by number.

pub use fabric::call::CallName;
