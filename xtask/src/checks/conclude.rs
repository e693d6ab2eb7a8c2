// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a check ends.

use crate::shell;

/// The outcome of a check: how many things it covered, or every complaint.
pub(super) fn conclude(
    name: &str,
    covered: usize,
    what: &str,
    wrong: &[String],
) -> Result<usize, String> {
    shell::say(&format!("{name}: {covered} {what}"));
    if !wrong.is_empty() {
        return Err(format!("{name}:\n  {}", wrong.join("\n  ")));
    }
    if covered == 0 {
        return Err(format!("{name}: nothing was checked"));
    }
    Ok(covered)
}
