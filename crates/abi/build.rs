// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the C entry points: one `MPI_` and one `PMPI_` symbol for each function of the ABI's table.
//!
//! A function is implemented when a file in `src/` defines `pub(crate) fn MPI_X(` (or `unsafe fn`), or names it in a row
//! of a macro's table (a line of words that starts with `MPI_` and ends with `;`); a large-count form uses
//! its base's body, whose count parameters are generic. The compiler checks that body and table agree. All others raise
//! MPI_ERR_UNSUPPORTED_OPERATION and stand in the list of missing functions. Functions that MPI-3.0 removed are exported, too.
//!
//! `mpi_abi_sys::generate` writes the text; bodies, refusals of null pointers and the list of missing functions are decided here. The
//! tests call every function with each pointer null that it refuses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mpi_abi_sys::generate::{self, Body, EntryPoints, NullCheck};
use mpi_abi_sys::table::{self, Function};

/// The calls with a fast path, and their large-count forms. A build without argument checks leaves out the null checks of these
/// calls only.
const FAST_PATH: [&str; 6] = [
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Wait",
    "MPI_Test",
    "MPI_Waitall",
    "MPI_Testall",
];

/// Whether errors of the function go to an error handler; the tool interface returns codes, also for null pointers.
fn has_handler(function: &Function) -> bool {
    function.chapter != "mpi_t"
}

fn is_fast_path(function: &Function) -> bool {
    FAST_PATH.contains(&function.name) || FAST_PATH.contains(&function.base)
}

/// The code that implements a function.
struct Implementation {
    /// The path of the module that has it.
    module: String,
    /// Whether it is a nonblocking collective: one of three forms in a row of a macro's table.
    is_nonblocking: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    let mut bodies = BTreeMap::new();
    scan(Path::new("src"), &mut bodies)?;
    let mut functions = table::functions();
    functions.extend(table::removed_functions());
    let known: Vec<&str> = functions.iter().map(|function| function.name).collect();
    if let Some((name, body)) = bodies
        .iter()
        .find(|(name, _)| !known.contains(&name.as_str()))
    {
        let module = &body.module;
        return Err(format!("{name} in {module} is not in the table of the ABI").into());
    }
    let mut entries = EntryPoints::of_library(
        "the C caller keeps the standard's rules for the arguments (crate head)",
    );
    let mut missing_names = String::new();
    let (mut nulls, mut missing_calls) = (String::new(), String::new());
    for function in &functions {
        match body_of(function, &functions, &bodies) {
            Some(body) => {
                entries.add(function, &implemented(function, body));
                if has_handler(function) {
                    null_calls(&mut nulls, function)?;
                }
            }
            None => {
                entries.add(function, &missing(function));
                let passed = passed(function, None);
                writeln!(
                    missing_calls,
                    "{}({}) = ({passed});",
                    function.name,
                    generate::declared(function)
                )?;
                missing_names.push_str(function.name);
                missing_names.push('\n');
            }
        }
    }
    let mut text = entries.into_text();
    writeln!(
        text,
        "/// Names of the functions that are not written yet, one a line.\npub const MISSING: &str = {missing_names:?};"
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

/// The body that implements a function: its own, or that of the form without large counts.
fn body_of<'a>(
    function: &Function,
    functions: &[Function],
    bodies: &'a BTreeMap<String, Implementation>,
) -> Option<(&'static str, &'a Implementation)> {
    let same_shape = |name: &&str| {
        let found = functions.iter().find(|other| other.name == *name);
        found.is_some_and(|found| found.parameters.len() == function.parameters.len())
    };
    let candidates = [function.name, function.base];
    let mut candidates = candidates.into_iter().filter(same_shape);
    candidates.find_map(|name| Some((name, bodies.get(name)?)))
}

/// Values, C types and names of the predefined handles.
fn predefined() -> Result<String, std::fmt::Error> {
    let mut rows = String::new();
    for row in table::constants() {
        if row.get("category") == "handle" && row.get("alias_of").is_empty() {
            let (value, kind, name) = (row.get("value"), row.get("c_type"), row.get("name"));
            writeln!(rows, "({value}, {kind:?}, {name:?}),")?;
        }
    }
    Ok(format!("&[\n{rows}]\n"))
}

fn is_name_or_space(c: char) -> bool {
    c.is_ascii_alphabetic() || "_ ;".contains(c)
}

/// Finds `fn MPI_X(` in all source files below a folder and remembers the module.
fn scan(
    folder: &Path,
    bodies: &mut BTreeMap<String, Implementation>,
) -> Result<(), Box<dyn std::error::Error>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            scan(&path, bodies)?;
            continue;
        }
        let module = module_of(&path);
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
                    let body = Implementation {
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
                let body = Implementation {
                    module: module.clone(),
                    is_nonblocking: false,
                };
                bodies.insert(format!("MPI_{name}"), body);
            }
        }
    }
    Ok(())
}

/// The path of a file's module.
fn module_of(path: &Path) -> String {
    let inside = path.strip_prefix("src").unwrap_or(path).with_extension("");
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("::")
}

/// The body of a function that a file in `src/` implements.
///
/// Its null handles for failed calls are stored by the entry point, but for calls with a fast path and nonblocking collectives, which
/// store them themselves: code behind the call costs a stack frame.
fn implemented(function: &Function, (name, found): (&str, &Implementation)) -> Body {
    let path = format!("crate::{}::{name}", found.module);
    let body = Body::new(generate::call(function, &path));
    if !has_handler(function) {
        return body;
    }
    let body = if is_fast_path(function) || found.is_nonblocking {
        body
    } else {
        body.reset_handles(function, "mpi_abi_sys::constants")
    };
    let guard = if is_fast_path(function) {
        "engine::p2p::CHECKED"
    } else {
        ""
    };
    body.refuse_null(function, guard, |check| refusal(function, check))
}

/// The expression that reports a null pointer to the error handler of the function's session, window, file or communicator, or to the one
/// that it is given.
fn refusal(function: &Function, check: &NullCheck) -> String {
    let owners = [
        ("MPI_Session", "env::session::refuse_null"),
        ("MPI_Win", "error::window::refuse_null"),
        ("MPI_File", "error::file::refuse_null"),
        ("MPI_Comm", "error::raise::refuse_null"),
        ("MPI_Errhandler", "error::handlers::refuse_null"),
    ];
    let found_in = |(kind, refuse)| Some((refuse, name_of(function, kind)?));
    // Of those without a file, the handler of MPI_FILE_NULL gets the errors, also where there is a communicator.
    let without_file = function.chapter == "io" && name_of(function, "MPI_File").is_none();
    let found = if without_file {
        Some(("error::file::refuse_null", "0".to_owned()))
    } else {
        None
    };
    let found = found.or_else(|| owners.into_iter().find_map(found_in));
    let (refuse, owner) = found.unwrap_or(("error::raise::refuse_null", "0".to_owned()));
    let NullCheck {
        call,
        argument,
        expected,
    } = check;
    format!(
        "crate::{refuse}(const {{ &crate::error::raise::Null {{ call: \"{call}\", argument: \"{argument}\", expected: \"{expected}\" }} }}, \
         {owner})"
    )
}

/// Name of the first parameter of a Rust type.
fn name_of(function: &Function, rust_type: &str) -> Option<String> {
    let mut arguments = function.typed_parameters().into_iter();
    let found = arguments.find(|argument| argument.rust_type == rust_type);
    found.map(|argument| argument.name)
}

/// The body of a function that is not written yet. It needs only the communicator among its arguments, to find the error handler; those of
/// the tool interface have none.
fn missing(function: &Function) -> Body {
    let name = function.name;
    if function.chapter == "mpi_t" {
        let code = tool_code(function);
        return Body::new(format!(
            "crate::tool::absent(mpi_abi_sys::constants::{code})"
        ));
    }
    let comm = name_of(function, "MPI_Comm").unwrap_or_else(|| "0".to_owned());
    let conversion = if function.rust_result() == "i32" {
        ""
    } else {
        " as _"
    };
    Body::new(format!(
        "crate::error::raise::missing(\"{name}\", {comm}){conversion}"
    ))
}

/// The code of a function of the tool interface that is given a name, an index or a handle of something, of which there is nothing.
fn tool_code(function: &Function) -> &'static str {
    let indices = [
        "cvar_index",
        "pvar_index",
        "cat_index",
        "event_index",
        "source_index",
    ];
    let is_index =
        |(name, kind): &(String, String)| kind == "i32" && indices.contains(&name.as_str());
    if function.name.ends_with("_get_index") {
        "MPI_T_ERR_INVALID_NAME"
    } else if function.rust_parameters().iter().any(is_index) {
        "MPI_T_ERR_INVALID_INDEX"
    } else {
        "MPI_T_ERR_INVALID_HANDLE"
    }
}

/// For the tests: a call of the function with each pointer null that it refuses.
fn null_calls(text: &mut String, function: &Function) -> std::fmt::Result {
    for null in function.not_null() {
        writeln!(
            text,
            "{}({}) null {} = ({});",
            function.name,
            generate::declared(function),
            null.name,
            passed(function, Some(&null.name))
        )?;
    }
    Ok(())
}

/// For the tests: the arguments of a call, one of them null.
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
