// SPDX-License-Identifier: MIT OR Apache-2.0
//! The module `mpirp_types`, below `mpi` and `mpi_f08`: the types of handles and statuses, and what else both have.

use super::constants::SENTINELS;
use super::faces::{HEAD, module_symbol};
use super::lines::Lines;
use super::procedure::HANDLES;

/// The text of the module `mpirp_sentinels`: the constants that are recognised by their addresses and have one type in both modules.
pub fn sentinels_f90() -> String {
    let mut lines = Lines::new();
    lines.comment(HEAD);
    lines.comment(" Variables of the modules mpi and mpi_f08 that stand for constants.");
    lines.add("MODULE mpirp_sentinels");
    lines.add("USE, INTRINSIC :: iso_c_binding, ONLY: c_char");
    lines.add("IMPLICIT NONE");
    lines.add("PRIVATE :: c_char");
    for (name, kind, shape) in SENTINELS {
        let kind = match *kind {
            "STATUS" => continue,
            "CHARACTER" => "CHARACTER(KIND=c_char)",
            kind => kind,
        };
        let label = module_symbol(name, "any");
        lines.add(&format!(
            "{kind}, BIND(C, NAME=\"{label}\"), TARGET :: {name}{shape}"
        ));
    }
    lines.add("END MODULE mpirp_sentinels");
    lines.into_text()
}

/// The text of the module `mpirp_types`. It has no variables, so that the object made from it, which holds what gfortran refers to where a
/// handle becomes a CLASS(*), defines none of the library's symbols.
pub fn types_f90() -> String {
    let mut lines = Lines::new();
    lines.comment(HEAD);
    lines.comment(" What the modules mpi and mpi_f08 have in common.");
    lines.add("MODULE mpirp_types");
    lines.add("USE, INTRINSIC :: iso_c_binding, ONLY: mpirp_c_ptr => c_ptr");
    lines.add("USE mpirp_sentinels");
    lines.add("IMPLICIT NONE");
    for kind in HANDLES {
        lines.add(&format!("TYPE, BIND(C) :: {kind}"));
        lines.add("INTEGER :: MPI_VAL");
        lines.add("END TYPE");
    }
    lines.add("TYPE, BIND(C) :: MPI_Status");
    lines.add("INTEGER :: MPI_SOURCE");
    lines.add("INTEGER :: MPI_TAG");
    lines.add("INTEGER :: MPI_ERROR");
    lines.add("INTEGER, PRIVATE :: mpirp_internal(5)");
    lines.add("END TYPE");
    for (operator, word) in [("==", "equal"), ("/=", "differ")] {
        lines.add(&format!("INTERFACE OPERATOR({operator})"));
        for kind in HANDLES {
            let name = format!("mpirp_{word}_{}", kind.to_lowercase());
            lines.add(&format!("ELEMENTAL FUNCTION {name}(a, b) RESULT(value)"));
            lines.add(&format!("IMPORT :: {kind}"));
            lines.add(&format!("TYPE({kind}), INTENT(IN) :: a, b"));
            lines.add("LOGICAL value");
            lines.add("END FUNCTION");
        }
        lines.add("END INTERFACE");
    }
    add_procedures(&mut lines);
    lines.add("END MODULE mpirp_types");
    lines.into_text()
}

/// Procedures that both modules have.
fn add_procedures(lines: &mut Lines) {
    for prefix in ["", "P"] {
        for (name, from, to) in [
            (
                "MPI_Status_f2f08",
                "INTEGER, INTENT(IN) :: f_status(8)",
                "TYPE(MPI_Status), INTENT(OUT) :: f08_status",
            ),
            (
                "MPI_Status_f082f",
                "TYPE(MPI_Status), INTENT(IN) :: f08_status",
                "INTEGER, INTENT(OUT) :: f_status(8)",
            ),
        ] {
            let list = if name.ends_with("f08") {
                "f_status, f08_status"
            } else {
                "f08_status, f_status"
            };
            lines.add("INTERFACE");
            lines.add(&format!("SUBROUTINE {prefix}{name}({list}, ierror)"));
            lines.add("IMPORT :: MPI_Status");
            lines.add(from);
            lines.add(to);
            lines.add("INTEGER, OPTIONAL, INTENT(OUT) :: ierror");
            lines.add("END SUBROUTINE");
            lines.add("END INTERFACE");
        }
        let name = format!("{prefix}MPI_Sizeof");
        lines.add(&format!("INTERFACE {name}"));
        lines.add(&format!(
            "SUBROUTINE mpirp_{prefix}sizeof(x, size, ierror) BIND(C, NAME=\"mpirp_sizeof_cfi\")"
        ));
        lines.add("TYPE(*), DIMENSION(..), INTENT(IN) :: x");
        lines.add("INTEGER, INTENT(OUT) :: size");
        lines.add("INTEGER, OPTIONAL, INTENT(OUT) :: ierror");
        lines.add("END SUBROUTINE");
        lines.add("END INTERFACE");
    }
}
