// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the programs and the library are built.

use std::path::PathBuf;

use crate::shell;

/// How the programs and the library are built.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Profile {
    /// All arguments are checked.
    Release,
    /// Short sends and receives trust their arguments.
    ReleaseFast,
}

impl Profile {
    /// What cargo calls it, and the folder it builds into.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::ReleaseFast => "release-fast",
        }
    }

    /// Where it is installed for this workspace's own use.
    pub(crate) fn folder(self) -> PathBuf {
        shell::target().join(match self {
            Self::Release => "prefix",
            Self::ReleaseFast => "prefix-fast",
        })
    }
}
