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
    for (name, value) in OWN.iter().chain(KINDS) {
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

/// Whether the mantissa of REAL and DOUBLE PRECISION has more than 30, 60 or 80 bits, and thus whether they have 4, 8 or 16 bytes: 1 or 0.
/// Old programs call variables and procedures like intrinsic functions, so no expression names one; and compilers warn of integer
/// division.
const KINDS: &[(&str, &str)] = &[
    ("MPIRP_R30", "(1.0+2.0**(-30)-1.0)*2.0**30"),
    ("MPIRP_R60", "(1.0+2.0**(-60)-1.0)*2.0**60"),
    ("MPIRP_R80", "(1.0+2.0**(-80)-1.0)*2.0**80"),
    ("MPIRP_D60", "(1D0+2D0**(-60)-1D0)*2D0**60"),
    ("MPIRP_D80", "(1D0+2D0**(-80)-1D0)*2D0**80"),
    ("MPIRP_R4", "1-MPIRP_R30"),
    ("MPIRP_R8", "MPIRP_R30-MPIRP_R60"),
    ("MPIRP_R16", "MPIRP_R80"),
    ("MPIRP_D8", "1-MPIRP_D60"),
    ("MPIRP_D16", "MPIRP_D80"),
];

/// Datatypes of REAL and DOUBLE PRECISION, whose sizes options of compilers change, with the one for each kind. Where there is none, the
/// sum is 0, which is no handle.
const SIZED: &[(&str, &[(&str, &str)])] = &[
    (
        "MPI_REAL",
        &[
            ("MPI_REAL", "R4"),
            ("MPI_REAL8", "R8"),
            ("MPI_REAL16", "R16"),
        ],
    ),
    (
        "MPI_COMPLEX",
        &[
            ("MPI_COMPLEX", "R4"),
            ("MPI_COMPLEX16", "R8"),
            ("MPI_COMPLEX32", "R16"),
        ],
    ),
    (
        "MPI_2REAL",
        &[("MPI_2REAL", "R4"), ("MPI_2DOUBLE_PRECISION", "R8")],
    ),
    (
        "MPI_DOUBLE_PRECISION",
        &[("MPI_DOUBLE_PRECISION", "D8"), ("MPI_REAL16", "D16")],
    ),
    (
        "MPI_DOUBLE_COMPLEX",
        &[("MPI_DOUBLE_COMPLEX", "D8"), ("MPI_COMPLEX32", "D16")],
    ),
    ("MPI_2DOUBLE_PRECISION", &[("MPI_2DOUBLE_PRECISION", "D8")]),
];

/// The predefined handles: name, type and value.
pub(super) fn handles() -> Vec<(&'static str, &'static str, String)> {
    let all = constants();
    let rows: Vec<&Row> = (all.iter())
        .filter(|row| row.get("category") == "handle")
        .collect();
    let value = |name: &str| {
        let found = rows.iter().find(|row| row.get("name") == name);
        found.map_or("0", |row| row.get("value"))
    };
    let handle = |row: &&Row| {
        let (name, kind) = (row.get("name"), row.get("c_type"));
        let sized = SIZED.iter().find(|(other, ..)| *other == name);
        let value = match sized {
            Some((_, sizes)) => {
                let term = |(name, kind): &(&str, &str)| format!("{}*MPIRP_{kind}", value(name));
                sizes.iter().map(term).collect::<Vec<_>>().join("+")
            }
            None => value(name).to_owned(),
        };
        (name, kind, value)
    };
    rows.iter().map(handle).collect()
}
