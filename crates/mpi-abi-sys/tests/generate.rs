// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of entry points: a function of each kind against `golden/`, and properties of all of them.
//!
//! After a wanted change, `RANKPOINT_GOLDEN=write cargo test -p rankpoint-mpi-abi-sys --test generate` writes the files anew.

use std::path::Path;

use mpi_abi_sys::generate::{Body, EntryPoints, call, declarations};
use mpi_abi_sys::table::{self, Function, Intent};

/// One function of each kind that the generator treats differently.
const KINDS: [&str; 13] = [
    "MPI_Barrier",               // nothing to check
    "MPI_Send_c",                // large count
    "MPI_Isend",                 // stores a request
    "MPI_Comm_dup",              // stores a handle
    "MPI_Waitall",               // arrays of handles and statuses
    "MPI_Group_range_incl",      // array of triples
    "MPI_Op_create",             // callback, stores a handle
    "MPI_Session_get_num_psets", // belongs to a session
    "MPI_Get_processor_name",    // text that is stored
    "MPI_Type_create_struct",    // arrays with a length
    "MPI_Wtime",                 // no parameters, result no error code
    "MPI_Comm_toint",            // conversion
    "MPI_Pcontrol",              // variadic
];

fn function(name: &str) -> Option<Function> {
    table::functions()
        .into_iter()
        .find(|function| function.name == name)
}

/// The text for all kinds as a library or as a layer generates it.
fn text(mut entries: EntryPoints, body: impl Fn(&Function) -> Body) -> String {
    for function in KINDS.into_iter().filter_map(function) {
        entries.add(&function, &body(&function));
    }
    entries.into_text()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a variable says that the files are to be written anew"
)]
fn compare(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var("RANKPOINT_GOLDEN").is_ok_and(|word| word == "write") {
        assert!(std::fs::write(&file, text).is_ok(), "cannot write");
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(text == golden, "{} differs from:\n{text}", file.display());
}

#[test]
fn entry_points_of_a_library_are_as_they_were() {
    let body = |function: &Function| {
        Body::new(call(function, &format!("crate::{}", function.name)))
            .reset_handles(function, "mpi_abi_sys::constants")
            .refuse_null(function, "", |check| {
                format!(
                    "crate::refuse({:?}, {:?}, {:?})",
                    check.call, check.argument, check.expected
                )
            })
    };
    compare(
        "library.txt",
        &text(
            EntryPoints::of_library("the caller keeps MPI's rules"),
            body,
        ),
    );
}

#[test]
fn entry_points_of_a_layer_are_as_they_were() {
    let body = |function: &Function| Body::new(call(function, &format!("P{}", function.name)));
    let layer = text(EntryPoints::of_layer("the caller keeps MPI's rules"), body);
    let functions: Vec<Function> = KINDS.into_iter().filter_map(function).collect();
    compare("layer.txt", &(layer + &declarations("P", &functions)));
}

#[test]
fn guards_stand_before_each_null_check() {
    let isend = function("MPI_Isend").unwrap();
    let body = Body::new("0").refuse_null(&isend, "CHECKED", |_| "1".to_owned());
    let mut entries = EntryPoints::of_layer("it is a test");
    entries.add(&isend, &body);
    let text = entries.into_text();
    assert!(
        text.contains(
            "if CHECKED && request.is_null() { 1 } else // account: argument-checks\n    { 0 }\n"
        ),
        "{text}"
    );
}

#[test]
fn parameters_have_types_kinds_and_directions() {
    let dup = function("MPI_Comm_dup").unwrap().typed_parameters();
    assert_eq!(
        (dup[0].name.as_str(), dup[0].rust_type.as_str()),
        ("comm", "MPI_Comm")
    );
    assert_eq!((dup[1].kind, dup[1].intent), ("COMMUNICATOR", Intent::Out));
    assert_eq!(dup[1].null_handle(), Some("MPI_COMM_NULL"));
    assert_eq!(dup[0].null_handle(), None);
    let all = function("MPI_Waitall").unwrap().typed_parameters();
    assert_eq!(
        (all[1].length, all[1].intent),
        (Some("count"), Intent::InOut)
    );
}

#[test]
fn every_null_handle_is_a_constant() {
    let constants = table::constants();
    let mut handles = 0;
    for argument in table::functions()
        .iter()
        .flat_map(Function::typed_parameters)
    {
        if let Some(null) = argument.null_handle() {
            assert!(
                constants.iter().any(|row| row.get("name") == null),
                "{null}"
            );
            handles += 1;
        }
    }
    assert!(handles > 100, "{handles}");
}
