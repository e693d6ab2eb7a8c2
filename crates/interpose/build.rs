// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes what there is once for each function of the ABI: a field of `Functions`, the exported entries, the wrappers that call
//! profiling tools, and those that measure calls.

use std::fmt::Write as _;
use std::path::PathBuf;

use mpi_abi_sys::generate::{call, declared};
use mpi_abi_sys::table::{self, Function, Intent, Parameter};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    let mut functions = table::functions();
    functions.extend(table::removed_functions());
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo passes a build script its folder this way"
    )]
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("functions.rs"), tables(&functions)?)?;
    std::fs::write(out.join("entries.rs"), entries(&functions)?)?;
    std::fs::write(out.join("wrappers.rs"), wrappers(&functions)?)?;
    std::fs::write(out.join("timed.rs"), timed(&functions)?)?;
    std::fs::write(out.join("refusals.rs"), refusals(&functions)?)?;
    std::fs::write(out.join("sizes.rs"), sizes()?)?;
    Ok(())
}

fn tables(functions: &[Function]) -> Result<String, std::fmt::Error> {
    let mut text = format!(
        "/// Number of functions.\npub(crate) const COUNT: usize = {};\n",
        functions.len()
    );
    text.push_str("/// Their names, in the order of all tables.\npub(crate) static NAMES: [&CStr; COUNT] = [\n");
    for function in functions {
        writeln!(text, "    c{:?},", function.name)?;
    }
    text.push_str(
        "];\n/// An implementation of every function.\n#[derive(Clone, Copy)]\n#[repr(C)]\npub(crate) struct Functions {\n",
    );
    for function in functions {
        let (name, result) = (function.name, function.rust_result());
        writeln!(
            text,
            "    pub(crate) {name}: unsafe extern \"C\" fn({}) -> {result},",
            declared(function)
        )?;
    }
    text.push_str("}\n");
    text.push_str("missing! {\n");
    for (number, function) in functions.iter().enumerate() {
        writeln!(text, "    {number} {};", function.name)?;
    }
    text.push_str("}\n");
    Ok(text)
}

fn entries(functions: &[Function]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for (macro_name, prefix) in [("program_entries", ""), ("profiling_entries", "P")] {
        writeln!(text, "{macro_name}! {{")?;
        for (number, Function { name, .. }) in functions.iter().enumerate() {
            writeln!(text, "    {number} {name} \"{prefix}{name}\";")?;
        }
        text.push_str("}\n");
    }
    Ok(text)
}

fn wrappers(functions: &[Function]) -> Result<String, std::fmt::Error> {
    let mut text = String::from("wrappers! {\n");
    for (number, function) in functions.iter().enumerate() {
        let (name, result) = (function.name, function.rust_result());
        let (parameters, passed) = (declared(function), call(function, ""));
        writeln!(
            text,
            "    {number} {name}({parameters}) -> {result} = {passed};"
        )?;
    }
    text.push_str("}\n");
    Ok(text)
}

/// The data that a call names first: buffer, number of elements, and their type.
fn elements(function: &Function) -> Option<[String; 3]> {
    let parameters = function.typed_parameters();
    let at = parameters.iter().position(|one| one.kind == "DATATYPE")?;
    let [.., buffer, count] = &parameters[..at] else {
        return None;
    };
    let is_number = count.kind.contains("NUM_ELEM") && !count.rust_type.starts_with('*');
    let names = [buffer, count, &parameters[at]].map(|one| one.name.clone());
    (buffer.kind == "BUFFER" && is_number && !parameters[at].rust_type.starts_with('*'))
        .then_some(names)
}

/// The functions that are timed, with the bytes of their data where a call names them.
fn timed(functions: &[Function]) -> Result<String, std::fmt::Error> {
    let mut text = String::from("timed! {\n");
    for (number, function) in functions.iter().enumerate() {
        let (name, result) = (function.name, function.rust_result());
        let (parameters, passed) = (declared(function), call(function, ""));
        let bytes = elements(function).map_or("None".to_owned(), |[buffer, count, datatype]| {
            format!("bytes({buffer}, {count}, {datatype})")
        });
        writeln!(
            text,
            "    {number} {name}({parameters}) -> {result} = {passed} [{bytes}];"
        )?;
    }
    text.push_str("}\n");
    Ok(text)
}

/// How an argument is looked at that may be a communicator, a request or a message, or several.
fn handle(parameter: &Parameter) -> Option<String> {
    let is_handle = ["COMMUNICATOR", "REQUEST", "MESSAGE"].contains(&parameter.kind);
    if !is_handle || parameter.intent == Intent::Out {
        return None;
    }
    let name = &parameter.name;
    if !parameter.rust_type.starts_with('*') {
        return Some(format!("ours({name})"));
    }
    let count = parameter.length.unwrap_or("1");
    Some(format!("ours_behind({name}, {count})"))
}

/// The functions that take communicators, requests or messages. Conversions of handles have no error codes.
fn refusals(functions: &[Function]) -> Result<String, std::fmt::Error> {
    let mut text = String::from("refusals! {\n");
    for function in functions {
        let handles = function.typed_parameters();
        let handles: Vec<String> = handles.iter().filter_map(handle).collect();
        if handles.is_empty() || function.chapter == "convert" || function.returns != "int" {
            continue;
        }
        let (name, handles) = (function.name, handles.join(", "));
        let (parameters, passed) = (declared(function), call(function, ""));
        writeln!(
            text,
            "    {name} c{name:?} ({parameters}) {passed} [{handles}];"
        )?;
    }
    text.push_str("}\n");
    Ok(text)
}

/// Sizes and extents of predefined datatypes.
fn sizes() -> Result<String, std::fmt::Error> {
    let mut text = String::from("static TABLE: &[(MPI_Datatype, u8, u8)] = &[\n");
    for datatype in table::datatypes() {
        let (name, size, extent) = (datatype.name, datatype.size, datatype.extent);
        writeln!(text, "    (mpi::{name}, {size}, {extent}),")?;
    }
    text.push_str("];\n");
    Ok(text)
}
