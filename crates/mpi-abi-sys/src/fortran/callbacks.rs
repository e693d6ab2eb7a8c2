// SPDX-License-Identifier: MIT OR Apache-2.0
//! The abstract interfaces of callbacks in `mpi_f08`.

use super::lines::Lines;

/// Predefined callbacks and their interfaces.
pub(super) const CALLBACKS: &[(&str, &str)] = &[
    ("MPI_COMM_NULL_COPY_FN", "MPI_Comm_copy_attr_function"),
    ("MPI_COMM_DUP_FN", "MPI_Comm_copy_attr_function"),
    ("MPI_COMM_NULL_DELETE_FN", "MPI_Comm_delete_attr_function"),
    ("MPI_TYPE_NULL_COPY_FN", "MPI_Type_copy_attr_function"),
    ("MPI_TYPE_DUP_FN", "MPI_Type_copy_attr_function"),
    ("MPI_TYPE_NULL_DELETE_FN", "MPI_Type_delete_attr_function"),
    ("MPI_WIN_NULL_COPY_FN", "MPI_Win_copy_attr_function"),
    ("MPI_WIN_DUP_FN", "MPI_Win_copy_attr_function"),
    ("MPI_WIN_NULL_DELETE_FN", "MPI_Win_delete_attr_function"),
    ("MPI_CONVERSION_FN_NULL", "MPI_Datarep_conversion_function"),
    (
        "MPI_CONVERSION_FN_NULL_C",
        "MPI_Datarep_conversion_function_c",
    ),
];

const ADDRESS: &str = "INTEGER(KIND=8)";

/// An interface: its name and its dummy arguments with their types.
type Interface<'a> = (String, Vec<(&'a str, String)>);

fn interface<'a>(name: &str, arguments: &[(&'a str, &str)]) -> Interface<'a> {
    let arguments = arguments.iter();
    let arguments = arguments.map(|(name, kind)| (*name, (*kind).to_owned()));
    (name.to_owned(), arguments.collect())
}

/// Adds all of them.
pub(super) fn add_callbacks(lines: &mut Lines) {
    lines.add("ABSTRACT INTERFACE");
    for (name, arguments) in interfaces() {
        let names: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
        lines.add(&format!("SUBROUTINE {name}({})", names.join(", ")));
        lines.add("IMPORT");
        for (name, kind) in &arguments {
            lines.add(&format!("{kind} :: {name}"));
        }
        lines.add("END SUBROUTINE");
    }
    lines.add("END INTERFACE");
}

fn interfaces() -> Vec<Interface<'static>> {
    let mut all = Vec::new();
    add_data(&mut all);
    add_attributes(&mut all);
    add_others(&mut all);
    all
}

/// Operations and conversions, which get buffers.
fn add_data(all: &mut Vec<Interface<'static>>) {
    for (large, count) in [("", "INTEGER"), ("_c", ADDRESS)] {
        let operation = [
            ("invec", "TYPE(c_ptr), VALUE"),
            ("inoutvec", "TYPE(c_ptr), VALUE"),
            ("len", count),
            ("datatype", "TYPE(MPI_Datatype)"),
        ];
        all.push(interface(&format!("MPI_User_function{large}"), &operation));
        let conversion = [
            ("userbuf", "TYPE(c_ptr), VALUE"),
            ("datatype", "TYPE(MPI_Datatype)"),
            ("count", count),
            ("filebuf", "TYPE(c_ptr), VALUE"),
            ("position", ADDRESS),
            ("extra_state", ADDRESS),
            ("ierror", "INTEGER"),
        ];
        let name = format!("MPI_Datarep_conversion_function{large}");
        all.push(interface(&name, &conversion));
    }
}

fn add_attributes(all: &mut Vec<Interface<'static>>) {
    for (kind, object) in [("Comm", "comm"), ("Type", "datatype"), ("Win", "win")] {
        let handle = match kind {
            "Type" => "TYPE(MPI_Datatype)".to_owned(),
            kind => format!("TYPE(MPI_{kind})"),
        };
        let old = match kind {
            "Comm" => "oldcomm",
            "Type" => "oldtype",
            _ => "oldwin",
        };
        let copy = [
            (old, handle.as_str()),
            ("keyval", "INTEGER"),
            ("extra_state", ADDRESS),
            ("attribute_val_in", ADDRESS),
            ("attribute_val_out", ADDRESS),
            ("flag", "LOGICAL"),
            ("ierror", "INTEGER"),
        ];
        all.push(interface(&format!("MPI_{kind}_copy_attr_function"), &copy));
        let delete = [
            (object, handle.as_str()),
            ("keyval", "INTEGER"),
            ("attribute_val", ADDRESS),
            ("extra_state", ADDRESS),
            ("ierror", "INTEGER"),
        ];
        all.push(interface(
            &format!("MPI_{kind}_delete_attr_function"),
            &delete,
        ));
    }
}

/// Error handlers, generalised requests and extents of files' types.
fn add_others(all: &mut Vec<Interface<'static>>) {
    for (kind, object) in [
        ("Comm", "comm"),
        ("File", "file"),
        ("Session", "session"),
        ("Win", "win"),
    ] {
        let handle = format!("TYPE(MPI_{kind})");
        let handler = [(object, handle.as_str()), ("error_code", "INTEGER")];
        all.push(interface(
            &format!("MPI_{kind}_errhandler_function"),
            &handler,
        ));
    }
    let query = [
        ("extra_state", ADDRESS),
        ("status", "TYPE(MPI_Status)"),
        ("ierror", "INTEGER"),
    ];
    all.push(interface("MPI_Grequest_query_function", &query));
    let free = [("extra_state", ADDRESS), ("ierror", "INTEGER")];
    all.push(interface("MPI_Grequest_free_function", &free));
    let cancel = [
        ("extra_state", ADDRESS),
        ("complete", "LOGICAL"),
        ("ierror", "INTEGER"),
    ];
    all.push(interface("MPI_Grequest_cancel_function", &cancel));
    let extent = [
        ("datatype", "TYPE(MPI_Datatype)"),
        ("extent", ADDRESS),
        ("extra_state", ADDRESS),
        ("ierror", "INTEGER"),
    ];
    all.push(interface("MPI_Datarep_extent_function", &extent));
}
