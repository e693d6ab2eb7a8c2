// SPDX-License-Identifier: MIT OR Apache-2.0
//! The module `mpi_f08`: handles and statuses have types, `ierror` may be left out, and buffers are descriptors.

use super::callbacks::{CALLBACKS, add_callbacks};
use super::constants::{SENTINELS, add_integers, handles};
use super::descriptors::descriptor_symbol;
use super::faces::{HEAD, add_any, module_symbol, result_type};
use super::lines::Lines;
use super::procedure::{Argument, Life, Procedure, Role, procedures};
use crate::table::Intent;

/// Functions that MPI deprecated before it had this module.
const LEFT_OUT: &[&str] = &[
    "MPI_Attr_delete",
    "MPI_Attr_get",
    "MPI_Attr_put",
    "MPI_Keyval_create",
    "MPI_Keyval_free",
];

/// The text of the module `mpi_f08`.
pub fn mpi_f08_f90() -> String {
    let mut lines = Lines::new();
    lines.comment(HEAD);
    lines.comment(" The module mpi_f08 of MPI 5.0, generated from Rankpoint's table of the ABI.");
    lines.add("MODULE mpi_f08");
    lines.add("USE, INTRINSIC :: iso_c_binding, ONLY: c_ptr");
    lines.add("USE mpirp_types");
    lines.add("IMPLICIT NONE");
    add_integers(&mut lines, true);
    for (name, kind, value) in handles() {
        lines.add(&format!(
            "TYPE({kind}), PARAMETER :: {name} = {kind}({value})"
        ));
    }
    for (name, kind, shape) in SENTINELS {
        if *kind == "STATUS" {
            let label = module_symbol(name, "f08");
            lines.add(&format!(
                "TYPE(MPI_Status), BIND(C, NAME=\"{label}\"), TARGET :: {name}{shape}"
            ));
        }
    }
    add_callbacks(&mut lines);
    for (name, interface) in CALLBACKS {
        lines.add(&format!("PROCEDURE({interface}) :: {name}"));
    }
    let all = procedures();
    let wanted = |it: &&Procedure| !LEFT_OUT.contains(&it.function.name);
    for procedure in all.iter().filter(wanted).filter(|it| !it.is_large()) {
        let large = all
            .iter()
            .find(|it| it.function.base == procedure.function.name);
        for prefix in ["", "P"] {
            add_generic(&mut lines, procedure, large, prefix);
        }
    }
    for prefix in ["", "P"] {
        lines.add(&format!("INTERFACE {prefix}MPI_F_sync_reg"));
        lines.add(&format!(
            "SUBROUTINE {prefix}MPI_F_sync_reg_f08ts(buf) BIND(C, NAME=\"mpirp_f_sync_reg_cfi\")"
        ));
        lines.add("TYPE(*), DIMENSION(..), ASYNCHRONOUS :: buf");
        lines.add("END SUBROUTINE");
        lines.add("END INTERFACE");
    }
    lines.add("END MODULE mpi_f08");
    lines.into_text()
}

/// A procedure and its form with large counts, under one name if a compiler can tell them apart.
fn add_generic(lines: &mut Lines, procedure: &Procedure, large: Option<&Procedure>, prefix: &str) {
    let name = procedure.function.name;
    lines.add(&format!("INTERFACE {prefix}{name}"));
    add_specific(lines, procedure, prefix);
    let Some(large) = large else {
        lines.add("END INTERFACE");
        return;
    };
    let has_callback = large.arguments.iter().any(|it| it.role == Role::Callback);
    let differs = procedure.arguments.len() != large.arguments.len()
        || (procedure.arguments.iter().zip(&large.arguments))
            .any(|(one, other)| declared_type(one) != declared_type(other));
    if differs && !has_callback {
        add_specific(lines, large, prefix);
    }
    lines.add("END INTERFACE");
    if has_callback {
        lines.add(&format!("INTERFACE {prefix}{}", large.function.name));
        add_specific(lines, large, prefix);
        lines.add("END INTERFACE");
    }
}

/// One procedure under its specific name.
fn add_specific(lines: &mut Lines, procedure: &Procedure, prefix: &str) {
    let mut names: Vec<&str> = (procedure.arguments.iter())
        .map(|argument| argument.name.as_str())
        .collect();
    if procedure.has_ierror() {
        names.push("ierror");
    }
    let list = names.join(", ");
    let name = format!("{prefix}{}", procedure.function.name);
    let by_descriptor = procedure.takes_descriptors();
    if procedure.is_function() {
        lines.add(&format!("FUNCTION {name}_f08({list}) RESULT(value)"));
    } else if by_descriptor {
        let symbol = descriptor_symbol(procedure, prefix);
        lines.add(&format!(
            "SUBROUTINE {name}_f08ts({list}) BIND(C, NAME=\"{symbol}\")"
        ));
    } else {
        lines.add(&format!("SUBROUTINE {name}_f08({list})"));
    }
    lines.add("IMPORT");
    for argument in &procedure.arguments {
        if argument.role == Role::Buffer && !by_descriptor {
            add_any(lines, &argument.name);
            continue;
        }
        lines.add(&declaration(procedure, argument));
    }
    if procedure.is_function() {
        lines.add(&format!("{} value", result_type(procedure)));
        lines.add("END FUNCTION");
        return;
    }
    if procedure.has_ierror() {
        lines.add("INTEGER, OPTIONAL, INTENT(OUT) :: ierror");
    }
    lines.add("END SUBROUTINE");
}

fn declaration(procedure: &Procedure, argument: &Argument) -> String {
    let mut text = declared_type(argument);
    if argument.role == Role::Buffer {
        text.push_str(", DIMENSION(..)");
    }
    let intent = match argument.c.intent {
        // Statuses, weights and error codes may be constants that stand for none of them.
        _ if matches!(argument.role, Role::Callback) => None,
        Intent::Out if matches!(argument.role, Role::Status | Role::Weight) => None,
        Intent::Out if argument.name == "array_of_errcodes" => None,
        Intent::Out | Intent::InOut if argument.role == Role::Buffer => None,
        Intent::In => Some("IN"),
        Intent::Out => Some("OUT"),
        Intent::InOut => Some("INOUT"),
    };
    if let Some(intent) = intent {
        text.push_str(&format!(", INTENT({intent})"));
    }
    let is_vector = argument.is_array && !argument.is_stored();
    if procedure.life() != Life::Call
        && outlives(procedure)
        && (argument.role == Role::Buffer || is_vector)
    {
        text.push_str(", ASYNCHRONOUS");
    }
    format!("{text} :: {}{}", argument.name, shape(argument))
}

/// Whether a call may look at its arrays behind its return.
fn outlives(procedure: &Procedure) -> bool {
    procedure.has_buffer()
}

/// The type of an argument, with what tells it from another one.
fn declared_type(argument: &Argument) -> String {
    match argument.role {
        Role::Buffer => "TYPE(*)".to_owned(),
        Role::Address | Role::Detached => "TYPE(c_ptr)".to_owned(),
        Role::Status => "TYPE(MPI_Status)".to_owned(),
        Role::Handle => format!("TYPE({})", argument.base_type()),
        Role::Logical => "LOGICAL".to_owned(),
        Role::Text | Role::Texts => "CHARACTER(LEN=*)".to_owned(),
        Role::Callback => format!("PROCEDURE({})", argument.callback_type()),
        _ if argument.bytes() == 8 => "INTEGER(KIND=8)".to_owned(),
        _ => "INTEGER".to_owned(),
    }
}

fn shape(argument: &Argument) -> &'static str {
    match (argument.role, argument.is_array) {
        (Role::Status, false) => "",
        (Role::Status, true) => "(*)",
        _ => super::faces::shape(argument),
    }
}
