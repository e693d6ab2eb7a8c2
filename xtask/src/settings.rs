// SPDX-License-Identifier: MIT OR Apache-2.0
//! What these tasks read from their environment.

use std::path::PathBuf;

/// The folder that cargo builds into, if it is not `target`.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn target_folder() -> Option<PathBuf> {
    std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from)
}

/// The package that cargo runs, if it does.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn package_folder() -> Option<PathBuf> {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)
}
