// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each kind of call promises.

use engine::p2p::Promises;

macro_rules! promises {
    ($($(#[$doc:meta])* $name:ident { $($promise:ident)* })*) => {
        $(
            $(#[$doc])*
            pub(super) struct $name;

            impl Promises for $name {
                $(const $promise: bool = true;)*
            }
        )*
    };
}

promises! {
    /// Calls `_global`.
    Global { GLOBAL }
    /// Calls `_npn`.
    NoProcNull { NO_PROC_NULL }
    /// Calls `_noreq`.
    NoRequest { NO_REQUEST }
    /// Calls `_nomatch`.
    NoMatch { NO_MATCH }
    /// The blocking call `_all_opts`.
    AllBlocking { GLOBAL NO_PROC_NULL NO_MATCH }
    /// Nonblocking calls `_all_opts`.
    All { GLOBAL NO_PROC_NULL NO_REQUEST NO_MATCH }
}
