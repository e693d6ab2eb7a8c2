// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rust source text of the library: declarations of the C functions, and one entry point for each procedure.
//!
//! The including crate has the modules that the bodies name: `handle`, `logical`, `sentinel`, `status`, `text`, `topology`, and the
//! procedures of [`BY_HAND`].

use std::fmt::Write as _;

use super::constants::SENTINELS;
use super::descriptors::{add_descriptor_entry, raises_on};
use super::faces::{block_name, module_symbol};
use super::procedure::{Argument, HANDLES, Procedure, Role, procedures};
use super::used::used;
use crate::generate::declared;
use crate::table::Intent;

/// Procedures whose bodies are functions of the crate: name without `MPI_`, and the module. The function has the procedure's name in
/// lower case, and takes the C function and then all arguments and lengths.
const BY_HAND: &[(&str, &str)] = &[
    ("Comm_spawn", "spawn"),
    ("Comm_spawn_multiple", "spawn"),
    ("Info_get", "info"),
    ("Info_get_string", "info"),
    ("Session_get_nth_pset", "info"),
    ("Buffer_detach", "detach"),
    ("Comm_detach_buffer", "detach"),
    ("Session_detach_buffer", "detach"),
    ("Op_create", "callback::op"),
    ("Comm_create_errhandler", "callback::errhandler"),
    ("File_create_errhandler", "callback::errhandler"),
    ("Session_create_errhandler", "callback::errhandler"),
    ("Win_create_errhandler", "callback::errhandler"),
    ("Grequest_start", "callback::grequest"),
    ("Register_datarep", "callback::datarep"),
    ("Comm_create_keyval", "callback::keyval"),
    ("Type_create_keyval", "callback::keyval"),
    ("Win_create_keyval", "callback::keyval"),
    ("Keyval_create", "callback::keyval"),
    ("Comm_set_attr", "attribute"),
    ("Type_set_attr", "attribute"),
    ("Win_set_attr", "attribute"),
    ("Attr_put", "attribute"),
    ("Comm_get_attr", "attribute"),
    ("Type_get_attr", "attribute"),
    ("Win_get_attr", "attribute"),
    ("Attr_get", "attribute"),
];

/// Rust text that declares, for each C function, its type, and two modules `program` and `profiling` that call it by its two names.
pub fn library() -> String {
    let mut types = String::new();
    let mut modules = String::new();
    let functions: Vec<_> = crate::table::functions()
        .into_iter()
        .filter(|function| function.chapter != "mpi_t")
        .collect();
    for function in &functions {
        let (name, result) = (function.name, function.rust_result());
        let declared = declared(function);
        let kinds: Vec<_> = function.rust_parameters();
        let kinds: Vec<_> = kinds.iter().map(|(_, kind)| kind.as_str()).collect();
        let _ = writeln!(
            types,
            "/// `{name}`.\npub(crate) type {name} = unsafe extern \"C\" fn({}) -> {result};",
            kinds.join(", ")
        );
        let _ = writeln!(modules, "    {name}({declared}) -> {result};");
    }
    let count = functions.len();
    format!(
        "/// The C functions' types.\npub(crate) mod types {{\nuse mpi_abi_sys::types::*;\n{types}}}\n\
         c_functions! {{ {count};\n{modules}}}\n"
    )
}

/// Rust text of the data symbols that stand for sentinels: a row of a macro list each.
pub fn data_symbols() -> String {
    let mut text = String::from("sentinels! {\n");
    for (name, kind, _) in SENTINELS {
        let is_status = *kind == "STATUS";
        let modules: &[&str] = if is_status { &["mpi", "f08"] } else { &["any"] };
        let cell = match *kind {
            "STATUS" => "[i32; 8]",
            "CHARACTER" => "[u8; 1]",
            _ => "[i32; 1]",
        };
        let block = format!("{}_", block_name(name));
        let symbols = modules.iter().map(|module| module_symbol(name, module));
        for symbol in std::iter::once(block).chain(symbols) {
            let _ = writeln!(text, "    {symbol}: {cell} = {name};");
        }
    }
    text.push_str("}\n");
    text
}

/// Rust text of the entry points, for the names with a prefix (`""` or `"P"`). `api` names the module with the C functions.
pub fn entries(prefix: &str) -> String {
    let mut text = String::new();
    for procedure in procedures() {
        add_entry(&mut text, &procedure, prefix);
        if procedure.takes_descriptors() {
            add_descriptor_entry(&mut text, &procedure, prefix);
        }
    }
    if prefix.is_empty() {
        text.push_str("handle_comparisons! {\n");
        for kind in HANDLES {
            let kind = kind.to_lowercase();
            let _ = writeln!(text, "    mpirp_equal_{kind}_ mpirp_differ_{kind}_;");
        }
        text.push_str("}\n");
    }
    text
}

/// The Rust type of an argument as Fortran passes it.
pub(super) fn rust_type(argument: &Argument) -> &'static str {
    match argument.role {
        Role::Buffer | Role::Detached => "*mut c_void",
        Role::Callback => "usize",
        Role::Text | Role::Texts => "*mut u8",
        Role::Status => "*mut MPI_Status",
        _ if argument.bytes() == 8 => "*mut i64",
        _ => "*mut i32",
    }
}

/// A Rust name that no keyword and no local of the bodies has.
pub(super) fn rust_name(argument: &Argument) -> String {
    format!("a_{}", argument.name)
}

fn add_entry(text: &mut String, procedure: &Procedure, prefix: &str) {
    let short = procedure.short_name().to_lowercase();
    let base = format!("{}mpi_{short}", prefix.to_lowercase());
    let mut declared: Vec<String> = (procedure.arguments.iter())
        .map(|argument| format!("{}: {}", rust_name(argument), rust_type(argument)))
        .collect();
    if procedure.has_ierror() {
        declared.push("ierror: *mut i32".to_owned());
    }
    for argument in &procedure.arguments {
        if matches!(argument.role, Role::Text | Role::Texts) {
            declared.push(format!("l_{}: usize", argument.name));
        }
    }
    let result = match procedure.function.returns {
        "double" => " -> f64",
        "MPI_Aint" => " -> i64",
        _ => "",
    };
    let declared = declared.join(", ");
    let (test, apart) = unallocated(procedure, &base, &declared, prefix);
    text.push_str(&apart);
    let whole = format!("{test}{}", body(procedure));
    let inside = match quick(procedure, prefix) {
        Some((test, call)) => {
            let passed = passed_with_error(procedure);
            let _ = writeln!(
                text,
                "#[inline(never)]\nunsafe extern \"C\" fn {base}_rest({declared}) {{\n    {PROMISE}\n    unsafe {{\n{whole}    }}\n}}"
            );
            format!(
                "        if {test} {{\n{call}            return;\n        }}\n        {base}_rest({passed});\n"
            )
        }
        None => whole,
    };
    let _ = writeln!(
        text,
        "#[unsafe(export_name = \"{base}_\")]\npub(crate) unsafe extern \"C\" fn {base}({declared}){result} {{\n    \
         {PROMISE}\n    unsafe {{\n{inside}    }}\n}}"
    );
    let upper = base.to_uppercase();
    let names = match procedure.is_large() {
        // Only `mpi_f08` has it.
        true => vec![],
        false => vec![format!("{base}__"), base.clone(), upper],
    };
    let modern = match base.strip_suffix("_c") {
        Some(stem) if procedure.is_large() => format!("{stem}_c_f08_"),
        _ => format!("{base}_f08_"),
    };
    let pointer = (procedure.arguments.iter())
        .any(|argument| argument.role == Role::Address)
        .then(|| format!("{base}_cptr_"));
    let is_modern = !procedure.has_buffer() || procedure.has_text();
    let detaches = procedure
        .arguments
        .iter()
        .any(|it| it.role == Role::Detached);
    let modern = (is_modern && !detaches).then_some(modern);
    for name in names.into_iter().chain(modern).chain(pointer) {
        let _ = writeln!(text, "jump!({name:?} {base});");
    }
}

/// What stands above the body of an entry point.
const PROMISE: &str = "// SAFETY: the caller keeps MPI's rules for the arguments.";

/// Whether a quick way to the call is worth its size.
fn is_often_called(procedure: &Procedure, prefix: &str) -> bool {
    let (name, chapter) = (procedure.function.name, procedure.function.chapter);
    prefix.is_empty()
        && !procedure.is_large()
        && ["pt2pt", "coll", "rma"].contains(&chapter)
        && !name.contains("_init")
}

/// A test that no argument needs more than its value in C, and the call then. Nothing is called before that, so the arguments stay in the
/// registers where C expects them. `None` for procedures of which an argument always needs more.
pub(super) fn quick(procedure: &Procedure, prefix: &str) -> Option<(String, String)> {
    if !is_often_called(procedure, prefix)
        || !procedure.has_ierror()
        || by_hand(procedure).is_some()
        || ends_split(procedure)
    {
        return None;
    }
    let mut tests = Vec::new();
    for argument in &procedure.arguments {
        let name = rust_name(argument);
        match argument.role {
            Role::Buffer => tests.push(format!("sentinel::is_address({name})")),
            Role::Handle if !argument.c.rust_type.starts_with('*') => {
                let kind = argument.handle_kind();
                tests.push(format!("handle::is_constant::<handle::{kind}>(*{name})"));
            }
            Role::Handle if !argument.is_array && argument.c.intent == Intent::Out => {}
            Role::Status if !argument.is_array && argument.c.intent == Intent::Out => {
                tests.push(format!("let Some({name}) = sentinel::quick_status({name})"));
            }
            Role::Integer => {}
            _ => return None,
        }
    }
    if !procedure.has_buffer() {
        return None;
    }
    let steps = Steps {
        is_quick: true,
        ..Steps::default()
    };
    Some((tests.join(" && "), steps.around_call(procedure)))
}

/// A test whether a buffer is not allocated, which C would take for MPI_BOTTOM, or `MPI_IN_PLACE` where that has no meaning, and the
/// function that it leads to: that one calls the entry point again with an address in the place of a buffer of which the call uses
/// nothing.
fn unallocated(
    procedure: &Procedure,
    base: &str,
    declared: &str,
    prefix: &str,
) -> (String, String) {
    let known: Vec<(&Argument, String)> = (procedure.arguments.iter())
        .filter(|argument| argument.role == Role::Buffer)
        .filter_map(|argument| Some((argument, used(procedure, argument)?)))
        .collect();
    if known.is_empty() {
        return (String::new(), String::new());
    }
    // Tools that call profiling names pass what a program passed.
    let takes_all = |argument: &Argument| !prefix.is_empty() || procedure.takes_in_place(argument);
    let tests: Vec<String> = (known.iter())
        .map(|(argument, _)| match takes_all(argument) {
            true => format!("{}.is_null()", rust_name(argument)),
            false => format!("sentinel::is_no_buffer({})", rust_name(argument)),
        })
        .collect();
    let passed = passed_with_error(procedure);
    let test = format!(
        "        if {} {{\n            return {base}_unallocated({passed});\n        }}\n",
        tests.join(" || ")
    );
    let mut apart = format!(
        "#[cold]\n#[inline(never)]\nunsafe fn {base}_unallocated({declared}) {{\n    // SAFETY: as below.\n    unsafe {{\n"
    );
    for (argument, used) in &known {
        let (name, keyword) = (rust_name(argument), &argument.name);
        let function = match takes_all(argument) {
            true => "allocated",
            false => "allocated_elsewhere",
        };
        let _ = writeln!(
            apart,
            "        let {name} = match section::{function}({name}, \"{}\", {}, \"{keyword}\", || {used}) {{\n            \
             Ok(address) => address,\n            Err(code) => return status::set(ierror, code),\n        }};",
            procedure.function.name,
            raises_on(procedure)
        );
    }
    let _ = writeln!(apart, "        {base}({passed});\n    }}\n}}");
    (test, apart)
}

/// All arguments of an entry point that has an `ierror`.
pub(super) fn passed_with_error(procedure: &Procedure) -> String {
    let mut all: Vec<String> = procedure.arguments.iter().map(rust_name).collect();
    all.push("ierror".to_owned());
    for argument in &procedure.arguments {
        if matches!(argument.role, Role::Text | Role::Texts) {
            all.push(format!("l_{}", argument.name));
        }
    }
    all.join(", ")
}

/// The arguments of a body by hand, or of another entry point: all that the entry point has.
fn passed(procedure: &Procedure) -> String {
    let mut all: Vec<String> = procedure.arguments.iter().map(rust_name).collect();
    for argument in &procedure.arguments {
        if matches!(argument.role, Role::Text | Role::Texts) {
            all.push(format!("l_{}", argument.name));
        }
    }
    all.join(", ")
}

/// The module of a body by hand.
fn by_hand(procedure: &Procedure) -> Option<&'static str> {
    let short = procedure.short_name();
    let stem = short.strip_suffix("_c").filter(|_| procedure.is_large());
    let found = BY_HAND
        .iter()
        .find(|(other, _)| *other == stem.unwrap_or(short));
    found.map(|(_, module)| *module)
}

fn body(procedure: &Procedure) -> String {
    if let Some(module) = by_hand(procedure) {
        return format!(
            "        let code = crate::{module}::{}(api::{}, {});\n        status::set(ierror, code);\n",
            procedure.short_name().to_lowercase(),
            procedure.function.name,
            passed(procedure)
        );
    }
    Steps::default().around_call(procedure)
}

/// Whether it is the other half of a split collective call on a file.
fn ends_split(procedure: &Procedure) -> bool {
    procedure.function.chapter == "io" && procedure.function.name.ends_with("_end")
}

/// What happens around the call of the C function.
#[derive(Default)]
struct Steps {
    before: Vec<String>,
    given: Vec<String>,
    after: Vec<String>,
    last: Vec<String>,
    /// Whether tests have shown that buffers and handles are what C has.
    is_quick: bool,
}

impl Steps {
    /// Rust text of the conversions and of the call.
    fn around_call(mut self, procedure: &Procedure) -> String {
        let name = procedure.function.name;
        for argument in &procedure.arguments {
            self.convert(procedure, argument);
        }
        if ends_split(procedure) {
            self.last.push("section::ended(*a_fh, code);".to_owned());
        }
        let mut given = self.given.into_iter();
        // The C function may have parameters that the procedure has not.
        let parameters = procedure.function.typed_parameters();
        let all: Vec<String> = (parameters.iter())
            .filter(|parameter| parameter.kind != "VARARGS")
            .map(|parameter| match parameter.kind {
                "ARGUMENT_COUNT" if parameter.rust_type == "i32" => "0".to_owned(),
                "ARGUMENT_COUNT" | "ARGUMENT_LIST" => "core::ptr::null_mut()".to_owned(),
                _ => given.next().unwrap_or_default(),
            })
            .collect();
        let all = all.join(", ");
        let call = format!("api::{name}({all})");
        if procedure.is_function() {
            let cast = if procedure.function.returns == "double" {
                ""
            } else {
                " as i64"
            };
            return format!("        {call}{cast}\n");
        }
        let mut text = String::new();
        for step in self.before {
            let _ = writeln!(text, "        {step}");
        }
        let _ = writeln!(text, "        let code = {call};");
        for step in self.after.iter().chain(&self.last) {
            let _ = writeln!(text, "        {step}");
        }
        text.push_str(if procedure.has_ierror() {
            "        status::set(ierror, code);\n"
        } else {
            "        let _ = code;\n"
        });
        text
    }

    fn convert(&mut self, procedure: &Procedure, argument: &Argument) {
        let name = rust_name(argument);
        match argument.role {
            Role::Buffer if self.is_quick => self.given.push(name),
            Role::Buffer => self.buffer(procedure, &name),
            Role::Weight => self.given.push(format!("sentinel::weights({name})")),
            Role::Address | Role::ExtraState | Role::Attribute | Role::Detached => {
                self.given.push(format!("{name}.cast()"));
            }
            Role::Status if self.is_quick => self.given.push(name),
            Role::Status => self
                .given
                .push(match (argument.c.intent, argument.is_array) {
                    (Intent::Out, true) => format!("sentinel::statuses({name})"),
                    (Intent::Out, false) => format!("sentinel::status({name})"),
                    _ => name,
                }),
            Role::Handle => self.handle(procedure, argument, &name),
            Role::Logical => self.logical(procedure, argument, &name),
            Role::Index => self.index(procedure, argument, &name),
            Role::Text => self.text(procedure, argument, &name),
            Role::Integer => self.integer(procedure, argument, &name),
            // Bodies by hand have these.
            Role::Callback | Role::Texts => self.given.push(name),
        }
    }

    fn buffer(&mut self, procedure: &Procedure, name: &str) {
        if ends_split(procedure) {
            self.given
                .push(format!("sentinel::buffer(section::begun(*a_fh, {name}))"));
            return;
        }
        self.given.push(format!("sentinel::buffer({name})"));
    }

    /// What happens to the copies of sections that requests have.
    fn sections(&mut self, procedure: &Procedure, argument: &Argument, name: &str) {
        let short = procedure.short_name();
        let length = if argument.is_array {
            length(procedure, argument)
        } else {
            "1".to_owned()
        };
        match short {
            "Request_free" => self.before.push(format!("section::released(*{name});")),
            "Start" | "Startall" => {
                self.before
                    .push(format!("section::starting({name}, {length});"));
            }
            _ if ["Wait", "Test", "Request_get_status"]
                .iter()
                .any(|head| short.starts_with(head)) =>
            {
                self.before.push(format!(
                    "let k_sections = section::completing({name}, {length});"
                ));
                self.last
                    .push(format!("section::settle(k_sections, {name});"));
            }
            _ => {}
        }
    }

    fn handle(&mut self, procedure: &Procedure, argument: &Argument, name: &str) {
        if argument.handle_kind() == "Request" {
            self.sections(procedure, argument, name);
        }
        let kind = argument.handle_kind();
        let by_value = !argument.c.rust_type.starts_with('*');
        if by_value && self.is_quick {
            self.given.push(format!("handle::constant(*{name})"));
            return;
        }
        if by_value {
            self.given
                .push(format!("handle::find::<handle::{kind}>(*{name})"));
            return;
        }
        let local = format!("c_{}", argument.name);
        if argument.is_array {
            return self.handles(procedure, argument, name);
        }
        self.given.push(format!("&mut {local}"));
        match argument.c.intent {
            Intent::Out => {
                self.before.push(format!(
                    "let mut {local} = handle::null::<handle::{kind}>();"
                ));
                self.after.push(format!(
                    "*{name} = handle::made::<handle::{kind}>(code, {local});"
                ));
            }
            intent => {
                self.before.push(format!(
                    "let mut {local} = handle::find::<handle::{kind}>(*{name});"
                ));
                if intent == Intent::InOut {
                    self.before
                        .push(format!("let o_{} = {local};", argument.name));
                    self.after.push(format!(
                        "handle::change::<handle::{kind}>({name}, o_{}, {local});",
                        argument.name
                    ));
                }
            }
        }
    }

    fn handles(&mut self, procedure: &Procedure, argument: &Argument, name: &str) {
        let (kind, local) = (argument.handle_kind(), format!("c_{}", argument.name));
        let mut length = length(procedure, argument);
        if argument.c.length == Some("*") {
            let side = if argument.name.starts_with("send") {
                "send"
            } else {
                "receive"
            };
            let short = procedure.short_name().to_lowercase();
            let place = if short.contains("neighbor") {
                format!("topology::neighbours(*a_comm).{side}")
            } else {
                "topology::peers(*a_comm)".to_owned()
            };
            let used = if side == "send" {
                "!sentinel::is_in_place(a_sendbuf)"
            } else {
                "true"
            };
            length = format!("if {used} {{ {place} }} else {{ 0 }}");
            if short.starts_with('i') || short.contains("_init") {
                // The call goes on behind its return.
                self.given
                    .push(format!("handle::kept_types({name}, {length})"));
                return;
            }
        }
        let (make, give) = match argument.c.intent {
            Intent::In => (format!("given({name}, {length})"), None),
            Intent::InOut => (
                format!("given({name}, {length})"),
                Some(format!("{local}.give_changed({name});")),
            ),
            Intent::Out => (
                format!("room({length})"),
                Some(format!("{local}.give(code, {name});")),
            ),
        };
        self.before.push(format!(
            "let mut {local} = handle::Array::<handle::{kind}>::{make};"
        ));
        self.given.push(format!("{local}.as_mut_ptr()"));
        self.after.extend(give);
    }

    fn logical(&mut self, procedure: &Procedure, argument: &Argument, name: &str) {
        let local = format!("c_{}", argument.name);
        if !argument.is_array {
            if !argument.is_stored() {
                self.given.push(format!("logical::given(*{name})"));
                return;
            }
            self.before.push(format!("let mut {local} = 0;"));
            self.given.push(format!("&mut {local}"));
            self.after
                .push(format!("*{name} = logical::taken({local});"));
            return;
        }
        let mut length = length(procedure, argument);
        if argument.c.length == Some("*") {
            length = "topology::dimensions(*a_comm)".to_owned();
        }
        if argument.is_stored() {
            let stored = format!("topology::dimensions(*a_comm).min({length})");
            self.given.push(name.to_owned());
            self.after
                .push(format!("logical::take_array(code, {name}, || {stored});"));
        } else {
            self.before.push(format!(
                "let {local} = logical::Array::given({name}, {length});"
            ));
            self.given.push(format!("{local}.as_ptr()"));
        }
    }

    fn index(&mut self, _: &Procedure, argument: &Argument, name: &str) {
        if argument.is_array {
            self.before
                .push("*a_outcount = mpi_abi_sys::constants::MPI_UNDEFINED;".to_owned());
            self.given.push(name.to_owned());
            self.after
                .push(format!("status::count_from_1({name}, *a_outcount);"));
            return;
        }
        let local = format!("c_{}", argument.name);
        self.before.push(format!(
            "let mut {local} = mpi_abi_sys::constants::MPI_UNDEFINED;"
        ));
        self.given.push(format!("&mut {local}"));
        self.after
            .push(format!("*{name} = status::from_1({local});"));
    }

    fn text(&mut self, procedure: &Procedure, argument: &Argument, name: &str) {
        let (local, size) = (
            format!("c_{}", argument.name),
            format!("l_{}", argument.name),
        );
        if !argument.is_stored() {
            let is_info = procedure.function.chapter == "info";
            let how = if is_info { "trimmed" } else { "given" };
            self.before
                .push(format!("let {local} = text::{how}({name}, {size});"));
            self.given.push(format!("{local}.as_ptr()"));
            return;
        }
        let most = match (argument.c.length, procedure.short_name()) {
            (Some(most), _) if most.starts_with("MPI_") => most,
            (_, "File_get_view") => "MPI_MAX_DATAREP_STRING",
            _ => "MPI_MAX_INFO_KEY",
        };
        self.before.push(format!(
            "let mut {local} = text::Room::<{{ mpi_abi_sys::constants::{most} as usize }}>::new();"
        ));
        self.given.push(format!("{local}.as_mut_ptr()"));
        self.after
            .push(format!("{local}.give(code, {name}, {size});"));
        if procedure.arguments.iter().any(|it| it.name == "resultlen") {
            self.after
                .push(format!("text::at_most(code, a_resultlen, {size});"));
        }
    }

    fn integer(&mut self, _: &Procedure, argument: &Argument, name: &str) {
        let is_pointer = argument.c.rust_type.starts_with('*');
        let is_row = argument.c.rust_type.contains('[');
        self.given.push(match (is_pointer, argument.base_type()) {
            (false, "MPI_Aint") => format!("*{name} as isize"),
            (false, _) => format!("*{name}"),
            (true, "MPI_Aint") => format!("{name}.cast()"),
            (true, _) if is_row => format!("{name}.cast()"),
            (true, _) => name.to_owned(),
        });
    }
}

/// The number of entries of an array, from the argument that holds it.
fn length(procedure: &Procedure, argument: &Argument) -> String {
    let name = argument.c.length.unwrap_or("");
    let found = procedure
        .arguments
        .iter()
        .find(|other| other.c.name == name);
    match found {
        Some(found) => format!("handle::count(i64::from(*{}))", rust_name(found)),
        None => "0".to_owned(),
    }
}
