// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `cargo metadata` says.

use serde_json::Value;

use crate::shell;

/// What `cargo metadata` says.
pub(super) fn metadata(arguments: &[&str]) -> Result<Value, String> {
    let output = shell::output(
        shell::command(env!("CARGO"))
            .args(["metadata", "--format-version", "1"])
            .args(arguments),
    )?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}
