// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the C entry points: one `MPI_` and one `PMPI_` symbol for each function of the ABI's table.
//!
//! A function is implemented when a file in `src/` defines `pub(crate) fn MPI_X(` (or `unsafe fn`), or names it in a row
//! of a macro's table (a line of words that starts with `MPI_` and ends with `;`); a large-count form uses
//! its base's body, whose count parameters are generic. The compiler checks that body and table agree. All others raise
//! MPI_ERR_UNSUPPORTED_OPERATION and stand in the list of missing functions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mpi_abi_sys::table::{self, Function};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    let mut bodies = BTreeMap::new();
    scan(Path::new("src"), &mut bodies)?;
    let functions = table::functions();
    let known: Vec<&str> = functions.iter().map(|function| function.name).collect();
    if let Some((name, module)) = bodies
        .iter()
        .find(|(name, _)| !known.contains(&name.as_str()))
    {
        return Err(format!("{name} in src/{module}.rs is not in the table of the ABI").into());
    }
    let mut text = String::new();
    let mut missing = String::new();
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
            Some(body) => implemented(&mut text, function, body, &bodies[body])?,
            None => {
                stub(&mut text, function)?;
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
    Ok(())
}

fn is_name_or_space(c: char) -> bool {
    c.is_ascii_alphabetic() || "_ ;".contains(c)
}

/// Finds `fn MPI_X(` in all source files and remembers the module.
fn scan(
    folder: &Path,
    bodies: &mut BTreeMap<String, String>,
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
                let names = trimmed
                    .trim_end_matches(';')
                    .split_whitespace()
                    .filter(|word| word.starts_with("MPI_"));
                bodies.extend(names.map(|name| (name.to_owned(), module.clone())));
            }
            let start = line.trim_start().strip_prefix("pub(crate) ");
            let start = start
                .map(|s| s.strip_prefix("unsafe ").unwrap_or(s))
                .and_then(|s| s.strip_prefix("fn MPI_"));
            if let Some(rest) = start {
                let name = rest.split(['(', '<']).next().unwrap_or("");
                bodies.insert(format!("MPI_{name}"), module.clone());
            }
        }
    }
    Ok(())
}

fn implemented(
    text: &mut String,
    function: &Function,
    body: &str,
    module: &str,
) -> std::fmt::Result {
    let parameters = function.rust_parameters();
    let declared: Vec<String> = parameters
        .iter()
        .map(|(name, kind)| format!("{name}: {kind}"))
        .collect();
    let passed: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    let (name, result) = (function.name, function.rust_result());
    writeln!(
        text,
        "entry! {{ {name}({}) -> {result} = crate::{module}::{body}({}); }}",
        declared.join(", "),
        passed.join(", ")
    )
}

/// A stub needs only the communicator among its arguments, to find the error handler.
fn stub(text: &mut String, function: &Function) -> std::fmt::Result {
    let parameters = function.rust_parameters();
    let declared: Vec<String> = parameters
        .iter()
        .map(|(name, kind)| format!("{name}: {kind}"))
        .collect();
    let comm = parameters
        .iter()
        .find(|(_, kind)| kind == "MPI_Comm")
        .map_or("0", |(name, _)| name.as_str());
    let (name, result) = (function.name, function.rust_result());
    let conversion = if result == "i32" { "" } else { " as _" };
    writeln!(
        text,
        "entry! {{ {name}({}) -> {result} = crate::error::missing(\"{name}\", {comm}){conversion}; }}",
        declared.join(", "),
    )
}
