// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rust source text of the entry points whose buffers are descriptors. Each calls the one whose buffers are addresses.
//!
//! If the elements of all buffers follow each other, their addresses are all that the other entry point needs. Else a cold function
//! finds what it passes in the place of each section (`section::Buffers` of the including crate).

use std::fmt::Write as _;

use super::entries::{quick, rust_name, rust_type};
use super::procedure::{Argument, Life, Procedure, Role};
use super::used::used;

/// The symbol of an entry point whose buffers are descriptors.
pub(super) fn descriptor_symbol(procedure: &Procedure, prefix: &str) -> String {
    let short = procedure.short_name().to_lowercase();
    format!("{}mpirp_{short}_cfi", prefix.to_lowercase())
}

/// Writes the entry point, and its cold half.
pub(super) fn add_descriptor_entry(text: &mut String, procedure: &Procedure, prefix: &str) {
    let short = procedure.short_name().to_lowercase();
    let base = format!("{}mpi_{short}", prefix.to_lowercase());
    let symbol = descriptor_symbol(procedure, prefix);
    let declared: Vec<String> = (procedure.arguments.iter())
        .map(|argument| {
            let kind = match argument.role {
                Role::Buffer => "*const section::Descriptor",
                _ => rust_type(argument),
            };
            format!("{}: {kind}", rust_name(argument))
        })
        .chain(["ierror: *mut i32".to_owned()])
        .collect();
    let names: Vec<String> = (procedure.arguments.iter())
        .map(rust_name)
        .chain(["ierror".to_owned()])
        .collect();
    let (names, declared) = (names.join(", "), declared.join(", "));
    let buffers: Vec<&Argument> = (procedure.arguments.iter())
        .filter(|argument| argument.role == Role::Buffer)
        .collect();
    let _ = writeln!(
        text,
        "#[unsafe(export_name = \"{symbol}\")]\nunsafe extern \"C\" fn {base}_by_descriptor({declared}) {{\n    \
         // SAFETY: the caller keeps MPI's rules for the arguments; compilers pass descriptors of the buffers.\n    unsafe {{"
    );
    if procedure.life() != Life::Address {
        let tests: Vec<String> = (buffers.iter())
            .map(|buffer| format!("section::is_section({})", rust_name(buffer)))
            .collect();
        let _ = writeln!(
            text,
            "        if {} {{\n            return {base}_of_sections({names});\n        }}",
            tests.join(" || ")
        );
    }
    for buffer in &buffers {
        let name = rust_name(buffer);
        let _ = writeln!(text, "        let {name} = section::address({name});");
    }
    let rest = match quick(procedure, prefix) {
        Some((test, call)) => {
            let _ = writeln!(
                text,
                "        if {test} {{\n{call}            return;\n        }}"
            );
            format!("{base}_rest")
        }
        None => base.clone(),
    };
    let _ = writeln!(text, "        {rest}({names});\n    }}\n}}");
    if procedure.life() != Life::Address {
        let _ = writeln!(
            text,
            "#[cold]\nunsafe fn {base}_of_sections({declared}) {{\n    \
             // SAFETY: as above.\n    unsafe {{\n{}    }}\n}}",
            cold_body(procedure, &base, &buffers)
        );
    }
}

/// What finds the buffers for the other entry point, calls it, and brings back or keeps what it used.
fn cold_body(procedure: &Procedure, base: &str, buffers: &[&Argument]) -> String {
    let life = procedure.life();
    let mut text = format!(
        "        let mut buffers = section::Buffers::new(\"{}\", {}, section::Life::{life:?});\n",
        procedure.function.name,
        raises_on(procedure)
    );
    // Names in the place of arguments.
    let mut replaced: Vec<(String, String)> = Vec::new();
    for buffer in buffers {
        let (rust, keyword) = (rust_name(buffer), &buffer.name);
        let used = match used(procedure, buffer) {
            Some(used) => format!("|| {used}"),
            None => "|| section::used::UNKNOWN".to_owned(),
        };
        let given = format!("{rust}, \"{keyword}\", {}, {used}", buffer.is_stored());
        let find = match procedure.description_of(buffer) {
            Some([count, datatype]) => {
                let mut locals = Vec::new();
                for argument in [count, datatype] {
                    let (rust, local) = (rust_name(argument), format!("n_{}", argument.name));
                    let _ = writeln!(text, "        let mut {local} = *{rust};");
                    replaced.push((rust, format!("&mut {local}")));
                    locals.push(local);
                }
                format!("describe({given}, &mut {}, &mut {})", locals[0], locals[1])
            }
            None => format!("find({given})"),
        };
        let _ = writeln!(
            text,
            "        let b_{keyword} = match buffers.{find} {{\n            Ok(address) => address,\n            \
             Err(code) => return status::set(ierror, code),\n        }};"
        );
        replaced.push((rust, format!("b_{keyword}")));
    }
    let passed = procedure.arguments.iter().map(|argument| {
        let rust = rust_name(argument);
        let found = replaced.iter().find(|(name, _)| *name == rust);
        found.map_or(rust, |(_, instead)| instead.clone())
    });
    let passed: Vec<String> = passed.chain(["ierror".to_owned()]).collect();
    let _ = writeln!(text, "        {base}({});", passed.join(", "));
    let end = match life {
        Life::Call => "buffers.give_back();",
        Life::Request | Life::Persistent => "buffers.keep_for_request(*a_request);",
        Life::Split => "buffers.keep_for_file(*a_fh);",
        Life::Epoch | Life::Memory | Life::Address => return text,
    };
    let _ = writeln!(text, "        {end}");
    text
}

/// The object whose error handler a call invokes.
pub(super) fn raises_on(procedure: &Procedure) -> String {
    for (name, kind) in [("comm", "Comm"), ("win", "Win"), ("fh", "File")] {
        let found = procedure.argument(name);
        if found.is_some_and(|argument| !argument.is_stored()) {
            return format!("section::Object::{kind}(*a_{name})");
        }
    }
    "section::Object::None".to_owned()
}
