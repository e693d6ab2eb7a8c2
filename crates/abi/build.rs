// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the C entry points: one `MPI_` and one `PMPI_` symbol for each function of the ABI's table.
//!
//! A function is implemented when a file in `src/` defines `pub(crate) fn MPI_X(` (or `unsafe fn`), or names it in a row
//! of a macro's table (a line of words that starts with `MPI_` and ends with `;`); a large-count form uses
//! its base's body, whose count parameters are generic. The compiler checks that body and table agree. All others raise
//! MPI_ERR_UNSUPPORTED_OPERATION and stand in the list of missing functions.
//!
//! Before the body the entry point refuses null pointers where the table says that there is something to read or to store
//! ([`Function::not_null`]). The tests call all of them with each of these pointers null.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mpi_abi_sys::table::{self, Function, NotNull};

/// The calls, with their large-count forms, of which each instruction counts. A build that checks no arguments checks no addresses of
/// theirs.
const SHORT: [&str; 6] = [
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Wait",
    "MPI_Test",
    "MPI_Waitall",
    "MPI_Testall",
];

fn is_short(function: &Function) -> bool {
    SHORT.contains(&function.name) || SHORT.contains(&function.base)
}

/// What implements a function.
struct Body {
    /// The file in `src/` that has it.
    module: String,
    /// Whether it is a nonblocking collective: one of three forms in a row of a macro's table.
    is_nonblocking: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    let mut bodies = BTreeMap::new();
    scan(Path::new("src"), &mut bodies)?;
    let functions = table::functions();
    let known: Vec<&str> = functions.iter().map(|function| function.name).collect();
    if let Some((name, body)) = bodies
        .iter()
        .find(|(name, _)| !known.contains(&name.as_str()))
    {
        let module = &body.module;
        return Err(format!("{name} in src/{module}.rs is not in the table of the ABI").into());
    }
    let mut text = String::new();
    let mut missing = String::new();
    let (mut nulls, mut missing_calls) = (String::new(), String::new());
    for function in &functions {
        let same_shape = |name: &&str| {
            let base = functions.iter().find(|other| other.name == *name);
            base.is_some_and(|base| base.parameters.len() == function.parameters.len())
        };
        let candidates = [function.name, function.base].into_iter();
        let body = candidates
            .filter(same_shape)
            .find(|name| bodies.contains_key(*name));
        match body {
            Some(body) => {
                implemented(&mut text, function, (body, &bodies[body]))?;
                null_calls(&mut nulls, function)?;
            }
            None => {
                stub(&mut text, function)?;
                let passed = passed(function, None);
                writeln!(
                    missing_calls,
                    "{}({}) = ({passed});",
                    function.name,
                    declared(function)
                )?;
                missing.push_str(function.name);
                missing.push('\n');
            }
        }
    }
    writeln!(
        text,
        "/// Names of the functions that are not written yet, one a line.\npub const MISSING: &str = {missing:?};"
    )?;
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells a build script its folder this way"
    )]
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("entries.rs"), text)?;
    std::fs::write(out.join("predefined.rs"), predefined()?)?;
    std::fs::write(
        out.join("null_calls.rs"),
        format!("null_calls! {{\n{nulls}}}\n"),
    )?;
    std::fs::write(
        out.join("missing_calls.rs"),
        format!("missing_calls! {{\n{missing_calls}}}\n"),
    )?;
    Ok(())
}

/// The names of the predefined handles.
fn predefined() -> Result<String, std::fmt::Error> {
    let mut rows = String::new();
    for row in table::constants() {
        if row.get("category") == "handle" && row.get("alias_of").is_empty() {
            writeln!(rows, "({}, {:?}),", row.get("value"), row.get("name"))?;
        }
    }
    Ok(format!("&[\n{rows}]\n"))
}

fn is_name_or_space(c: char) -> bool {
    c.is_ascii_alphabetic() || "_ ;".contains(c)
}

/// Finds `fn MPI_X(` in all source files and remembers the module.
fn scan(
    folder: &Path,
    bodies: &mut BTreeMap<String, Body>,
) -> Result<(), Box<dyn std::error::Error>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let module = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for line in std::fs::read_to_string(&path)?.lines() {
            let trimmed = line.trim();
            if trimmed.starts_with("MPI_")
                && trimmed.ends_with(';')
                && trimmed.chars().all(is_name_or_space)
            {
                let names: Vec<&str> = trimmed
                    .trim_end_matches(';')
                    .split_whitespace()
                    .filter(|word| word.starts_with("MPI_"))
                    .collect();
                for (position, name) in names.iter().enumerate() {
                    let body = Body {
                        module: module.clone(),
                        is_nonblocking: (names.len(), position) == (3, 1),
                    };
                    bodies.insert((*name).to_owned(), body);
                }
            }
            let start = line.trim_start().strip_prefix("pub(crate) ");
            let start = start
                .map(|s| s.strip_prefix("unsafe ").unwrap_or(s))
                .and_then(|s| s.strip_prefix("fn MPI_"));
            if let Some(rest) = start {
                let name = rest.split(['(', '<']).next().unwrap_or("");
                let body = Body {
                    module: module.clone(),
                    is_nonblocking: false,
                };
                bodies.insert(format!("MPI_{name}"), body);
            }
        }
    }
    Ok(())
}

/// Names and Rust types of the parameters, as a declaration has them.
fn declared(function: &Function) -> String {
    let parameters = function.rust_parameters();
    let declared = parameters
        .iter()
        .map(|(name, kind)| format!("{name}: {kind}"));
    declared.collect::<Vec<_>>().join(", ")
}

/// The handles that a function makes, with the null handles that they become when it fails: what a program then frees or
/// waits for is no memory of before. Short calls and nonblocking collectives store them themselves: what an entry point does after its
/// body costs a stack frame.
fn handles(function: &Function, body: &Body) -> Vec<(String, &'static str)> {
    if is_short(function) || body.is_nonblocking {
        return Vec::new();
    }
    let needed = function.not_null();
    let parameters = function.rust_parameters().into_iter().enumerate();
    let made = parameters.filter_map(|(position, (name, _))| {
        let null = match function.kind(position) {
            ("COMMUNICATOR", "out") => "MPI_COMM_NULL",
            ("GROUP", "out") => "MPI_GROUP_NULL",
            ("DATATYPE", "out") => "MPI_DATATYPE_NULL",
            ("OPERATION", "out") => "MPI_OP_NULL",
            ("ERRHANDLER", "out") => "MPI_ERRHANDLER_NULL",
            ("INFO", "out") => "MPI_INFO_NULL",
            ("MESSAGE", "out") => "MPI_MESSAGE_NULL",
            ("REQUEST", "out") => "MPI_REQUEST_NULL",
            ("SESSION", "out") => "MPI_SESSION_NULL",
            _ => return None,
        };
        let is_one = |row: &&NotNull| row.name == name && row.length.is_none();
        needed.iter().find(is_one).map(|_| (name.clone(), null))
    });
    made.collect()
}

fn implemented(
    text: &mut String,
    function: &Function,
    (body_name, body): (&str, &Body),
) -> std::fmt::Result {
    let parameters = function.rust_parameters();
    let passed: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    let (name, result) = (function.name, function.rust_result());
    write!(
        text,
        "entry! {{ {name}({}) -> {result} = ",
        declared(function)
    )?;
    let owner = |kind| parameters.iter().find(|(_, found)| found == kind);
    for NotNull {
        name: pointer,
        length,
        expected,
    } in function.not_null()
    {
        let is_function = parameters
            .iter()
            .any(|(name, kind)| *name == pointer && kind == "Callback");
        let checked = if is_short(function) {
            "engine::p2p::CHECKED && "
        } else {
            ""
        };
        let condition = match length {
            Some(length) => format!("{pointer}.is_null() && {length} > 0"),
            None if is_function => format!("{pointer} == 0"),
            None => format!("{pointer}.is_null()"),
        };
        let (refuse, owner) = match (owner("MPI_Session"), owner("MPI_Comm")) {
            (Some((session, _)), _) => ("session::refuse_null", session.as_str()),
            (None, Some((comm, _))) => ("error::refuse_null", comm.as_str()),
            (None, None) => ("error::refuse_null", "0"),
        };
        let argument = pointer.trim_end_matches('_');
        write!(
            text,
            "if {checked}{condition} {{ crate::{refuse}(const {{ &crate::error::Null {{ call: \"{name}\", argument: \"{argument}\", \
             expected: \"{expected}\" }} }}, {owner}) }} else "
        )?;
    }
    let mut call = format!("crate::{}::{body_name}({})", body.module, passed.join(", "));
    let nulled: String = handles(function, body)
        .iter()
        .map(|(name, null)| format!("*{name} = mpi_abi_sys::constants::{null}; "))
        .collect();
    if !nulled.is_empty() {
        call = format!("let code = {call}; if code != 0 {{ {nulled}}} code");
    }
    if text.ends_with("else ") {
        writeln!(text, "{{ {call} }}; }}")
    } else {
        writeln!(text, "{call}; }}")
    }
}

/// For the tests: a call of the function with each pointer null that it refuses.
fn null_calls(text: &mut String, function: &Function) -> std::fmt::Result {
    for null in function.not_null() {
        writeln!(
            text,
            "{}({}) null {} = ({});",
            function.name,
            declared(function),
            null.name,
            passed(function, Some(&null.name))
        )?;
    }
    Ok(())
}

/// For the tests: what a function is called with, one of them null.
fn passed(function: &Function, null: Option<&str>) -> String {
    let argument = |(name, kind): (String, String)| match kind.as_str() {
        "Callback" if null == Some(&name) => "0",
        _ if null == Some(&name) => "core::ptr::null_mut()",
        "MPI_Comm" => "mpi_abi_sys::constants::MPI_COMM_SELF",
        "MPI_Session" => "session()",
        kind if kind.starts_with('*') => "scratch()",
        "f64" => "1.0",
        _ => "1",
    };
    let passed = function.rust_parameters().into_iter().map(argument);
    passed.collect::<Vec<_>>().join(", ")
}

/// A stub needs only the communicator among its arguments, to find the error handler.
fn stub(text: &mut String, function: &Function) -> std::fmt::Result {
    let parameters = function.rust_parameters();
    let comm = parameters
        .iter()
        .find(|(_, kind)| kind == "MPI_Comm")
        .map_or("0", |(name, _)| name.as_str());
    let (name, result) = (function.name, function.rust_result());
    let conversion = if result == "i32" { "" } else { " as _" };
    writeln!(
        text,
        "entry! {{ {name}({}) -> {result} = crate::error::missing(\"{name}\", {comm}){conversion}; }}",
        declared(function),
    )
}
