// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of what layers have done, for the statistics.

use std::sync::atomic::Ordering::Relaxed;

use crate::sync::AtomicU64;

/// Defines the numbers of a layer as `/// doc NAME "layer.name";`, and `lines`, which has all of them by name, also those that are
/// calculated by `=> "layer.name" value;`.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident $text:literal;)* $(=> $other:literal $value:expr;)*) => {
        $($(#[$doc])* pub(super) static $name: $crate::sync::AtomicU64 = $crate::sync::AtomicU64::new(0);)*

        /// All numbers, by name.
        pub(crate) fn lines() -> Vec<(&'static str, u64)> {
            vec![
                $(($text, $name.load(std::sync::atomic::Ordering::Relaxed)),)*
                $(($other, $value),)*
            ]
        }
    };
}

pub(crate) use counts;

/// Adds to a number.
pub(crate) fn add(count: &AtomicU64, number: u64) {
    count.fetch_add(number, Relaxed);
}
