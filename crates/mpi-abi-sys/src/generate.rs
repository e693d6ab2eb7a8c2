// SPDX-License-Identifier: MIT OR Apache-2.0
//! C entry points of the MPI ABI as Rust source text, for build scripts (feature `generate`).
//!
//! A build script walks [`table::functions`](crate::table::functions), gives each function a body, and writes the text to a file
//! that the crate includes. The body is a Rust expression; the parameters are in scope under the names of
//! [`Function::typed_parameters`], where they hide functions of the same name: a body names its own by path. The including module needs
//! `use mpi_abi_sys::types::*`.
//!
//! * [`EntryPoints::of_library`] exports `MPI_X` and `PMPI_X`, each with a copy of the body;
//!   [`EntryPoints::of_layer`] exports `MPI_X` only, for a library that stands between a program and an MPI library.
//! * [`Body::refuse_null`] adds null checks in front of a body, [`Body::reset_handles`] stores null handles when it fails.
//! * [`declarations`] declares the functions that a layer calls.
//!
//! ```
//! use mpi_abi_sys::generate::{Body, EntryPoints, call, declarations};
//! use mpi_abi_sys::table;
//!
//! // A layer that counts the calls of every function and passes them on.
//! let functions = table::functions();
//! let mut layer = EntryPoints::of_layer("the caller keeps MPI's rules for the arguments");
//! for (number, function) in functions.iter().enumerate() {
//!     let next = call(function, &format!("P{}", function.name));
//!     layer.add(function, &Body::new(format!("{{ crate::count({number}); {next} }}")));
//! }
//! let text = layer.into_text() + &declarations("P", &functions);
//! assert!(text.contains("MPI_Barrier(comm: MPI_Comm) -> i32 = { crate::count("));
//! ```
//!
//! `tests/generate.rs` compares the text for a function of each kind with `tests/golden/`; the example `counters` is the layer
//! above as a library that can be preloaded.

use std::fmt::Write as _;

use crate::table::{Function, NotNull};

/// What an entry point does.
pub struct Body {
    expression: String,
    /// Checks in front of the expression: a condition, and the expression that takes its place.
    checks: Vec<(String, String)>,
}

/// A null check of an entry point.
pub struct NullCheck {
    /// The function.
    pub call: &'static str,
    /// The parameter's name in the standard.
    pub argument: String,
    /// What the function expects there, such as `the address of a variable of type int`.
    pub expected: String,
}

impl Body {
    /// A body of one Rust expression of the function's result type.
    pub fn new(expression: impl Into<String>) -> Self {
        Self {
            expression: expression.into(),
            checks: Vec::new(),
        }
    }

    /// Stores a null handle in each handle that the function makes when the expression gives an error code, so that a program
    /// cannot free or wait for what stood there before. `constants` is the path of the module with the null handles.
    #[must_use]
    pub fn reset_handles(mut self, function: &Function, constants: &str) -> Self {
        let mut resets = String::new();
        let needed = function.not_null();
        for argument in function.typed_parameters() {
            let is_one = |row: &NotNull| row.name == argument.name && row.length.is_none();
            if let Some(null) = argument.null_handle().filter(|_| needed.iter().any(is_one)) {
                resets.push_str(&format!("*{} = {constants}::{null}; ", argument.name));
            }
        }
        if !resets.is_empty() {
            let expression = self.expression;
            self.expression = format!("let code = {expression}; if code != 0 {{ {resets}}} code");
        }
        self
    }

    /// Evaluates `refuse(check)` instead of the body where a pointer of [`Function::not_null`] is null. A check runs only if
    /// `guard`, a Rust condition, holds; an empty one always does.
    #[must_use]
    pub fn refuse_null(
        mut self,
        function: &Function,
        guard: &str,
        refuse: impl Fn(&NullCheck) -> String,
    ) -> Self {
        let arguments = function.typed_parameters();
        for NotNull {
            name,
            length,
            expected,
        } in function.not_null()
        {
            let is_callback = (arguments.iter())
                .any(|argument| argument.name == name && argument.rust_type == "Callback");
            let is_null = match length {
                Some(length) => format!("{name}.is_null() && {length} > 0"),
                None if is_callback => format!("{name} == 0"),
                None => format!("{name}.is_null()"),
            };
            let condition = match guard {
                "" => is_null,
                guard => format!("{guard} && {is_null}"),
            };
            let check = NullCheck {
                call: function.name,
                argument: name.trim_end_matches('_').to_owned(),
                expected,
            };
            self.checks.push((condition, refuse(&check)));
        }
        self
    }

    fn text(&self) -> String {
        if self.checks.is_empty() && !self.expression.starts_with("let ") {
            return self.expression.clone();
        }
        let checks = self.checks.iter();
        // A line of its own for each check, because lines have one annotation.
        let checks = checks.map(|(condition, refusal)| {
            format!("\n    if {condition} {{ {refusal} }} else // account: argument-checks")
        });
        checks.collect::<String>() + &format!("\n    {{ {} }}\n", self.expression)
    }
}

/// Entry points, one after the other.
pub struct EntryPoints {
    text: String,
}

impl EntryPoints {
    /// Entry points of a library: `MPI_X` and `PMPI_X`. `safety` is the sentence that the unsafe blocks around the bodies state.
    pub fn of_library(safety: &str) -> Self {
        Self::new(&[("exported", ""), ("profiled", "P")], safety)
    }

    /// Entry points of a layer: `MPI_X` only. `safety` is the sentence that the unsafe blocks around the bodies state.
    pub fn of_layer(safety: &str) -> Self {
        Self::new(&[("exported", "")], safety)
    }

    fn new(exports: &[(&str, &str)], safety: &str) -> Self {
        let mut text = String::from(
            "// account: function-call\nmacro_rules! entry {\n    ($name:ident($($argument:ident: $kind:ty),*) -> $result:ty = $body:expr;) => {\n        \
             const _: () = {\n",
        );
        for (name, prefix) in exports {
            text.push_str(&format!(
                "            #[unsafe(export_name = concat!({prefix:?}, stringify!($name)))]\n            \
                 extern \"C\" fn {name}($($argument: $kind),*) -> $result {{\n                \
                 // SAFETY: {safety}.\n                \
                 #[allow(unused_unsafe, clippy::allow_attributes, reason = \"some bodies are safe\")]\n                \
                 unsafe {{ $body }}\n            }}\n"
            ));
        }
        text.push_str("        };\n    };\n}\n");
        Self { text }
    }

    /// Adds a function.
    pub fn add(&mut self, function: &Function, body: &Body) {
        let (declared, result) = (declared(function), function.rust_result());
        let (name, body) = (function.name, body.text());
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.text,
            "entry! {{ {name}({declared}) -> {result} = {body}; }}"
        );
    }

    /// The text of all of them.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Names and Rust types of a function's parameters, as a declaration has them.
pub fn declared(function: &Function) -> String {
    let arguments = function.typed_parameters();
    let declared = arguments
        .iter()
        .map(|argument| format!("{}: {}", argument.name, argument.rust_type));
    declared.collect::<Vec<_>>().join(", ")
}

/// A call of the function at a path with the entry point's own parameters.
pub fn call(function: &Function, path: &str) -> String {
    let arguments = function.typed_parameters();
    let names: Vec<&str> = arguments
        .iter()
        .map(|argument| argument.name.as_str())
        .collect();
    format!("{path}({})", names.join(", "))
}

/// Declarations of functions that another library exports, with a prefix (`P` for the profiling names).
pub fn declarations(prefix: &str, functions: &[Function]) -> String {
    let mut text = String::from("unsafe extern \"C\" {\n");
    for function in functions {
        let (name, result) = (function.name, function.rust_result());
        text.push_str(&format!(
            "    fn {prefix}{name}({}) -> {result};\n",
            declared(function)
        ));
    }
    text + "}\n"
}
