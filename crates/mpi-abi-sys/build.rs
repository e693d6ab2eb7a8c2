// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes `mpi.h` and the Rust constants from the tables, and the entry points of the example `counters`.

#[expect(dead_code, unreachable_pub, reason = "shared with the library")]
#[path = "src/generate.rs"]
mod generate;
#[expect(dead_code, unreachable_pub, reason = "shared with the library")]
#[path = "src/table.rs"]
mod table;

use std::fmt::Write as _;
use std::path::PathBuf;

use generate::{Body, EntryPoints};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=table");
    println!("cargo:rerun-if-changed=src/table.rs");
    println!("cargo:rerun-if-changed=src/generate.rs");
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells a build script its folder this way"
    )]
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("mpi.h"), header()?)?;
    std::fs::write(out.join("constants.rs"), constants()?)?;
    std::fs::write(out.join("library.rs"), library()?)?;
    std::fs::write(out.join("counters.rs"), counters())?;
    Ok(())
}

/// A layer that counts the calls of each function and passes them on by its profiling name.
fn counters() -> String {
    let functions = table::functions();
    let mut layer = EntryPoints::of_layer("the caller keeps MPI's rules for the arguments");
    for (number, function) in functions.iter().enumerate() {
        let next = generate::call(function, &format!("P{}", function.name));
        let body = match function.name {
            "MPI_Finalize" => format!("{{ crate::count({number}); crate::report(); {next} }}"),
            _ => format!("{{ crate::count({number}); {next} }}"),
        };
        layer.add(function, &Body::new(body));
    }
    let names = functions.iter().map(|function| function.name);
    let names = names.collect::<Vec<_>>();
    let constant = format!("const NAMES: [&str; {}] = {names:?};\n", names.len());
    layer.into_text() + &generate::declarations("P", &functions) + &constant
}

fn header() -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "/* SPDX-License-Identifier: MIT OR Apache-2.0 */\n\
         /* The C interface of the MPI 5.0 standard ABI, generated from Rankpoint's table of it. */\n\
         #ifndef MPI_H_ABI\n#define MPI_H_ABI\n\n#include <stdint.h>\n\n\
         #if defined(__cplusplus)\nextern \"C\" {\n#endif\n\n",
    );
    write_types(&mut text)?;
    write_constants(&mut text)?;
    for prefix in ["", "P"] {
        for function in table::functions() {
            let parameters: Vec<String> = function
                .parameters
                .iter()
                .map(|declarator| as_pointer(declarator))
                .collect();
            let parameters = parameters.join(", ");
            let list = if parameters.is_empty() {
                "void"
            } else {
                &parameters
            };
            writeln!(
                text,
                "{} {prefix}{}({list});",
                function.returns, function.name
            )?;
        }
        text.push('\n');
    }
    text.push_str("#if defined(__cplusplus)\n}\n#endif\n\n");
    write_fortran_names(&mut text)?;
    text.push_str("\n#endif /* MPI_H_ABI */\n");
    Ok(text)
}

/// Names that the ABI replaced and C sources still use, as macros: libraries that also serve Fortran do not compile without.
/// An `INTEGER` is taken to be an `int`, as all compilers have it unless they are told otherwise.
fn write_fortran_names(text: &mut String) -> std::fmt::Result {
    text.push_str(
        "/* Not in the ABI: handles as Fortran's INTEGER, by the functions that took the place of these names. */\n\
         #ifndef MPI_Fint\ntypedef int MPI_Fint;\n#endif\n",
    );
    for function in table::functions() {
        let Some(kind) = function.name.strip_suffix("_toint") else {
            continue;
        };
        for (old, new) in [("c2f", "toint"), ("f2c", "fromint")] {
            // Who has helped himself keeps what he has.
            writeln!(text, "#ifndef {kind}_{old}")?;
            writeln!(text, "#define {kind}_{old}(handle) {kind}_{new}(handle)")?;
            writeln!(text, "#endif")?;
        }
    }
    text.push_str(
        "#define MPI_Status_c2f(from, to) (*(MPI_Status *)(to) = *(const MPI_Status *)(from), MPI_SUCCESS)\n\
         #define MPI_Status_f2c(from, to) (*(MPI_Status *)(to) = *(const MPI_Status *)(from), MPI_SUCCESS)\n",
    );
    Ok(())
}

fn write_types(text: &mut String) -> std::fmt::Result {
    for row in table::types() {
        let (name, definition) = (row.get("name"), row.get("definition"));
        match row.get("kind") {
            "struct" => {
                writeln!(text, "typedef struct {name} {{")?;
                for field in definition.split("; ") {
                    writeln!(text, "    {field};")?;
                }
                writeln!(text, "}} {name};")?;
            }
            "field" => {}
            "enum" => {
                // The type's row tells the names, the constants' rows their values.
                let of_type = |constant: &table::Row| constant.get("enum_type") == name;
                let values: Vec<String> = table::constants()
                    .iter()
                    .filter(|constant| of_type(constant))
                    .map(|constant| {
                        format!("    {} = {}", constant.get("name"), constant.get("hex"))
                    })
                    .collect();
                writeln!(
                    text,
                    "typedef enum {name} {{\n{}\n}} {name};",
                    values.join(",\n")
                )?;
            }
            "callback" => {
                let (result, arguments) = definition.split_once(' ').unwrap_or((definition, ""));
                writeln!(text, "typedef {result} {name}{arguments};")?;
            }
            _ => writeln!(text, "typedef {definition} {name};")?,
        }
    }
    text.push('\n');
    Ok(())
}

/// `const int weights[]` as `const int *weights`, which is the same to the language. Compilers take the first for a promise
/// that there are elements, and warn of constants such as MPI_UNWEIGHTED.
fn as_pointer(declarator: &str) -> String {
    let text = declarator.trim();
    match text
        .strip_suffix("[]")
        .and_then(|text| text.rsplit_once(' '))
    {
        Some((kind, name)) => {
            let stars = name.chars().take_while(|&c| c == '*').count();
            let (stars, name) = name.split_at(stars);
            format!("{kind} {stars}*{name}")
        }
        None => text.to_owned(),
    }
}

fn write_constants(text: &mut String) -> std::fmt::Result {
    for row in table::constants() {
        let (name, kind) = (row.get("name"), row.get("c_type"));
        if !row.get("enum_type").is_empty() {
            continue;
        }
        let value = if kind == "int" {
            row.get("value")
        } else {
            row.get("hex")
        };
        match row.get("form") {
            "enumerator" => writeln!(text, "enum {{ {name} = {value} }};")?,
            _ if kind == "int" => writeln!(text, "#define {name} {value}")?,
            _ => writeln!(text, "#define {name} (({kind}) {})", row.get("value"))?,
        }
    }
    text.push('\n');
    Ok(())
}

fn constants() -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for row in table::constants() {
        let (name, kind, value) = (row.get("name"), row.get("c_type"), row.get("value"));
        let rust = match kind {
            "int" => "i32",
            "MPI_Offset" => "i64",
            _ => "usize",
        };
        writeln!(
            text,
            "/// {} ({}).\npub const {name}: {rust} = {value};",
            row.get("category"),
            kind
        )?;
    }
    Ok(text)
}

fn library() -> Result<String, std::fmt::Error> {
    let mut text = String::from("functions! {\n");
    for function in table::functions() {
        let parameters: Vec<String> = function
            .rust_parameters()
            .into_iter()
            .map(|(name, kind)| format!("{name}: {kind}"))
            .collect();
        writeln!(
            text,
            "    {}({}) -> {};",
            function.name,
            parameters.join(", "),
            function.rust_result()
        )?;
    }
    text.push_str("}\n");
    Ok(text)
}
