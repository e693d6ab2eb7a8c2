// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mpif.h` and the module `mpi`: INTEGER handles, buffers of any type and rank by the compilers' own directives.

use super::constants::{CALLBACKS, SENTINELS, add_integers, handles};
use super::lines::Lines;
use super::procedure::{Argument, Procedure, Role, procedures};

/// What the first lines of each file say.
pub(super) const HEAD: &str = " SPDX-License-Identifier: MIT OR Apache-2.0";

/// The text of `mpif.h`, in fixed and free source form at once. No statement is continued, because no continuation is both fixed form of
/// any length of lines and free form. Without interfaces it is for programs that define MPI procedures themselves or declare them
/// EXTERNAL.
pub fn mpif_h(has_interfaces: bool) -> String {
    let mut lines = Lines::new();
    lines.comment(HEAD);
    lines.comment(" MPI 5.0 for Fortran, generated from Rankpoint's table of the ABI. Its lines");
    lines.comment(" are fixed and free source form.");
    add_integers(&mut lines, false);
    add_handles(&mut lines);
    for (name, kind, shape) in SENTINELS {
        lines.add(&match *kind {
            "STATUS" => format!("INTEGER {name}{}", status_shape(shape)),
            kind => format!("{kind} {name}{shape}"),
        });
        let block = block_name(name);
        lines.add(&format!("COMMON /{block}/ {name}"));
        // Programs without SAVE need not name it.
        lines.add(&format!("SAVE /{block}/"));
    }
    for name in CALLBACKS {
        lines.add(&format!("EXTERNAL {name}"));
    }
    for procedure in functions_of(&procedures()) {
        for prefix in ["", "P"] {
            let name = procedure.function.name;
            let kind = result_type(procedure);
            lines.add(&format!("{kind} {prefix}{name}"));
            lines.add(&format!("EXTERNAL {prefix}{name}"));
        }
    }
    if !has_interfaces {
        return lines.into_text();
    }
    lines.add("INTERFACE");
    for procedure in procedures().iter().filter(|it| is_in_old_faces(it)) {
        if !procedure.is_function() {
            add_interface(
                &mut lines,
                &with_short_head(procedure),
                "",
                procedure.function.name,
                true,
                None,
            );
        }
    }
    add_sync(&mut lines);
    lines.add("END INTERFACE");
    lines.into_text()
}

/// The text of the module `mpi`.
pub fn mpi_f90() -> String {
    let mut lines = Lines::new();
    lines.comment(HEAD);
    lines.comment(" The module mpi of MPI 5.0, generated from Rankpoint's table of the ABI.");
    lines.add("MODULE mpi");
    lines.add("USE mpirp_types");
    lines.add("IMPLICIT NONE");
    add_integers(&mut lines, false);
    add_handles(&mut lines);
    for (name, kind, shape) in SENTINELS {
        if *kind == "STATUS" {
            let label = module_symbol(name, "mpi");
            let shape = status_shape(shape);
            lines.add(&format!(
                "INTEGER, BIND(C, NAME=\"{label}\"), TARGET :: {name}{shape}"
            ));
        }
    }
    for name in CALLBACKS {
        lines.add(&format!("EXTERNAL {name}"));
    }
    for procedure in procedures().iter().filter(|it| is_in_old_faces(it)) {
        for prefix in ["", "P"] {
            add_module_interface(&mut lines, procedure, prefix);
        }
    }
    lines.add("INTERFACE");
    add_sync(&mut lines);
    lines.add("END INTERFACE");
    lines.add("END MODULE mpi");
    lines.into_text()
}

/// A procedure whose first statement fits into a line, if need be by letters for names.
fn with_short_head(procedure: &Procedure) -> Procedure {
    let names = procedure.arguments.iter().map(|it| it.name.len() + 1);
    let head = "SUBROUTINE ()ierror".len() + procedure.function.name.len();
    if Lines::fits(head + names.sum::<usize>()) {
        procedure.clone()
    } else {
        procedure.with_letters()
    }
}

/// Whether the two old faces have a procedure.
fn is_in_old_faces(procedure: &Procedure) -> bool {
    !procedure.is_large()
}

fn functions_of(all: &[Procedure]) -> impl Iterator<Item = &Procedure> {
    all.iter()
        .filter(|procedure| procedure.is_function() && is_in_old_faces(procedure))
}

/// The common block of a sentinel.
pub(super) fn block_name(sentinel: &str) -> String {
    sentinel.to_lowercase().replacen("mpi_", "mpirp_", 1)
}

/// The symbol of a sentinel in a module.
pub(super) fn module_symbol(sentinel: &str, module: &str) -> String {
    sentinel
        .to_lowercase()
        .replacen("mpi_", &format!("mpirp_{module}_"), 1)
}

fn status_shape(shape: &str) -> String {
    if shape.is_empty() {
        "(8)".to_owned()
    } else {
        "(8,1)".to_owned()
    }
}

fn add_handles(lines: &mut Lines) {
    for (name, _, value) in handles() {
        lines.add(&format!("INTEGER {name}"));
        lines.add(&format!("PARAMETER ({name}={value})"));
    }
}

/// The type of a function's result.
pub(super) fn result_type(procedure: &Procedure) -> &'static str {
    match procedure.function.returns {
        // Not DOUBLE PRECISION, whose size an option of the compiler changes.
        "double" => "REAL(KIND=8)",
        _ => "INTEGER(KIND=8)",
    }
}

/// MPI_F_sync_reg, which has no C function.
fn add_sync(lines: &mut Lines) {
    lines.add("SUBROUTINE MPI_F_sync_reg(buf)");
    add_any(lines, "buf");
    lines.add("END SUBROUTINE");
}

/// Lets an argument be of any type and rank.
pub(super) fn add_any(lines: &mut Lines, name: &str) {
    lines.comment(&format!("GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}"));
    lines.comment(&format!("DIR$ IGNORE_TKR {name}"));
    lines.add(&format!("INTEGER {name}(*)"));
}

/// A procedure of the module: generic where a buffer's address may also be a C_PTR.
fn add_module_interface(lines: &mut Lines, procedure: &Procedure, prefix: &str) {
    let name = procedure.function.name;
    // Most libraries check nothing in calls with a buffer, and programs have come to rely on that.
    let is_lax = procedure.has_buffer();
    let takes_address = |argument: &Argument| argument.role == Role::Address;
    if !procedure.arguments.iter().any(takes_address) {
        lines.add("INTERFACE");
        add_interface(lines, procedure, prefix, name, is_lax, None);
        lines.add("END INTERFACE");
        return;
    }
    lines.add(&format!("INTERFACE {prefix}{name}"));
    add_interface(lines, procedure, prefix, name, is_lax, None);
    let pointer = "TYPE(mpirp_c_ptr)";
    add_interface(
        lines,
        procedure,
        prefix,
        &format!("{name}_cptr"),
        is_lax,
        Some(pointer),
    );
    lines.add("END INTERFACE");
}

/// Whether old programs pass something of another rank for an argument, such as a scalar for an array of one entry.
fn is_lax(argument: &Argument) -> bool {
    let is_integer = matches!(
        argument.role,
        Role::Status | Role::Handle | Role::Integer | Role::Index | Role::Weight
    );
    is_integer && argument.bytes() == 4 && (argument.is_array || argument.role == Role::Handle)
        || argument.role == Role::Status
}

/// The interface of a procedure. `is_old` is for old programs ([`is_lax`]); `address` is the type
/// of addresses that the call stores, if it is not an INTEGER.
fn add_interface(
    lines: &mut Lines,
    procedure: &Procedure,
    prefix: &str,
    name: &str,
    is_old: bool,
    address: Option<&str>,
) {
    let mut names: Vec<&str> = (procedure.arguments.iter())
        .map(|argument| argument.name.as_str())
        .collect();
    if procedure.has_ierror() {
        names.push(procedure.error_name);
    }
    let list = names.join(",");
    if procedure.is_function() {
        lines.add(&format!("FUNCTION {prefix}{name}({list}) RESULT(value)"));
        lines.add(&format!("{} value", result_type(procedure)));
    } else {
        lines.add(&format!("SUBROUTINE {prefix}{name}({list})"));
    }
    if address.is_some() {
        lines.add("IMPORT :: mpirp_c_ptr");
    }
    for argument in &procedure.arguments {
        let name = &argument.name;
        match (argument.role, address) {
            (Role::Buffer | Role::Detached, _) => add_any(lines, name),
            _ if is_old && is_lax(argument) => add_any(lines, name),
            (Role::Callback, _) => lines.add(&format!("EXTERNAL {name}")),
            (Role::Address, Some(kind)) => lines.add(&format!("{kind} {name}")),
            _ => lines.add(&format!(
                "{} {name}{}",
                plain_type(argument),
                shape(argument)
            )),
        }
    }
    if procedure.has_ierror() {
        lines.add(&format!("INTEGER(KIND=4) {}", procedure.error_name));
    }
    let end = if procedure.is_function() {
        "END FUNCTION"
    } else {
        "END SUBROUTINE"
    };
    lines.add(end);
}

/// With the library's sizes, so that a compiler refuses a program that options give others.
fn plain_type(argument: &Argument) -> String {
    match argument.role {
        Role::Logical => "LOGICAL(KIND=4)".to_owned(),
        Role::Text | Role::Texts => "CHARACTER(LEN=*)".to_owned(),
        _ if argument.bytes() == 8 => "INTEGER(KIND=8)".to_owned(),
        _ => "INTEGER(KIND=4)".to_owned(),
    }
}

/// The dimensions of an argument in the two old faces.
pub(super) fn shape(argument: &Argument) -> &'static str {
    match (argument.role, argument.is_array) {
        (Role::Status, false) => "(8)",
        (Role::Status, true) => "(8,*)",
        (Role::Texts, _) => "(*)",
        (Role::Text, _) => "",
        (_, true) if argument.c.rust_type.contains("[i32; 3]") => "(3,*)",
        (_, true) => "(*)",
        _ => "",
    }
}
