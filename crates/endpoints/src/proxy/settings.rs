// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment of the proxy.

use std::path::PathBuf;

use endpoints::area::VARIABLE;

/// The memory file of the job.
///
/// # Errors
/// Where the variable is not set.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn memory_file() -> Result<PathBuf, String> {
    let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
    path.map(PathBuf::from)
        .ok_or_else(|| format!("{VARIABLE} is not set: rankpoint endpoints starts this program"))
}
