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
    /// The same, and no two threads are inside MPI at once.
    ReleaseSingle,
}

impl Profile {
    /// What cargo calls it, and the folder it builds into.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::ReleaseFast => "release-fast",
            Self::ReleaseSingle => "release-single",
        }
    }

    /// The profile with a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [Self::Release, Self::ReleaseFast, Self::ReleaseSingle];
        all.into_iter().find(|profile| profile.name() == name)
    }

    /// The features of the library's crate.
    pub(super) const fn features(self) -> Option<&'static str> {
        match self {
            Self::Release => None,
            Self::ReleaseFast => Some("rankpoint-abi/unchecked"),
            Self::ReleaseSingle => Some("rankpoint-abi/unchecked,rankpoint-abi/single"),
        }
    }

    /// Where it is installed for this workspace's own use.
    pub(crate) fn folder(self) -> PathBuf {
        shell::target().join(match self {
            Self::Release => "prefix",
            Self::ReleaseFast => "prefix-fast",
            Self::ReleaseSingle => "prefix-single",
        })
    }
}
