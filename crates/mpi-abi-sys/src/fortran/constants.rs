// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constants of the three faces.

use super::lines::Lines;
use crate::table::{Row, constants};

/// A sentinel: its name, its type and its shape.
pub(super) const SENTINELS: &[(&str, &str, &str)] = &[
    ("MPI_BOTTOM", "INTEGER", ""),
    ("MPI_IN_PLACE", "INTEGER", ""),
    ("MPI_BUFFER_AUTOMATIC", "INTEGER", ""),
    ("MPI_UNWEIGHTED", "INTEGER", "(1)"),
    ("MPI_WEIGHTS_EMPTY", "INTEGER", "(1)"),
    ("MPI_ERRCODES_IGNORE", "INTEGER", "(1)"),
    ("MPI_ARGV_NULL", "CHARACTER", "(1)"),
    ("MPI_ARGVS_NULL", "CHARACTER", "(1,1)"),
    ("MPI_STATUS_IGNORE", "STATUS", ""),
    ("MPI_STATUSES_IGNORE", "STATUS", "(1)"),
];

/// The procedures that stand for predefined callbacks.
pub(super) const CALLBACKS: &[&str] = &[
    "MPI_NULL_COPY_FN",
    "MPI_DUP_FN",
    "MPI_NULL_DELETE_FN",
    "MPI_COMM_NULL_COPY_FN",
    "MPI_COMM_DUP_FN",
    "MPI_COMM_NULL_DELETE_FN",
    "MPI_TYPE_NULL_COPY_FN",
    "MPI_TYPE_DUP_FN",
    "MPI_TYPE_NULL_DELETE_FN",
    "MPI_WIN_NULL_COPY_FN",
    "MPI_WIN_DUP_FN",
    "MPI_WIN_NULL_DELETE_FN",
    "MPI_CONVERSION_FN_NULL",
    "MPI_CONVERSION_FN_NULL_C",
];

/// Constants that have no row, because C has others.
const OWN: &[(&str, &str)] = &[
    ("MPI_STATUS_SIZE", "8"),
    ("MPI_SOURCE", "1"),
    ("MPI_TAG", "2"),
    ("MPI_ERROR", "3"),
    ("MPI_ADDRESS_KIND", "8"),
    ("MPI_COUNT_KIND", "8"),
    ("MPI_OFFSET_KIND", "8"),
    ("MPI_INTEGER_KIND", "4"),
];

/// An integer constant with its value in Fortran.
fn value(row: &Row) -> Option<String> {
    let (category, value) = (row.get("category"), row.get("value"));
    let is_own = category.starts_with("tool") || category == "Fortran status layout";
    if is_own || row.get("c_type") != "int" {
        return None;
    }
    if category == "string length" {
        // Without the NUL.
        return Some((value.parse::<i64>().ok()? - 1).to_string());
    }
    Some(value.to_owned())
}

/// Adds the integer constants, which are the same in all faces; `is_modern` says whether buffers are descriptors, and declared to outlive calls.
pub(super) fn add_integers(lines: &mut Lines, is_modern: bool) {
    for (name, value) in OWN {
        lines.add(&format!("INTEGER, PARAMETER :: {name} = {value}"));
    }
    for row in constants() {
        if let Some(value) = value(&row) {
            let name = row.get("name");
            lines.add(&format!("INTEGER, PARAMETER :: {name} = {value}"));
        }
    }
    lines.add("INTEGER(KIND=8), PARAMETER :: MPI_DISPLACEMENT_CURRENT = -1");
    let value = if is_modern { ".TRUE." } else { ".FALSE." };
    for name in ["SUBARRAYS_SUPPORTED", "ASYNC_PROTECTS_NONBLOCKING"] {
        lines.add(&format!("LOGICAL, PARAMETER :: MPI_{name} = {value}"));
    }
}

/// The predefined handles: name, type and value.
pub(super) fn handles() -> Vec<(&'static str, &'static str, &'static str)> {
    let all = constants();
    let rows = all.iter().filter(|row| row.get("category") == "handle");
    rows.map(|row| (row.get("name"), row.get("c_type"), row.get("value")))
        .collect()
}
