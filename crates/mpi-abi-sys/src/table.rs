// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of the MPI 5.0 ABI as data: the single source of `mpi.h`, of the declarations and of the C entry points.

const FUNCTIONS: &str = include_str!("../table/functions.tsv");
const REMOVED: &str = include_str!("../table/removed.tsv");
const CONSTANTS: &str = include_str!("../table/constants.tsv");
const TYPES: &str = include_str!("../table/types.tsv");
const HANDLES: &str = include_str!("../table/handles.md");

/// A row of a table, by column name.
#[derive(Clone)]
pub struct Row {
    columns: Vec<&'static str>,
    cells: Vec<&'static str>,
}

impl Row {
    /// The cell of a column; empty if there is none.
    pub fn get(&self, column: &str) -> &'static str {
        let position = self.columns.iter().position(|name| *name == column);
        position
            .and_then(|index| self.cells.get(index))
            .copied()
            .unwrap_or("")
    }
}

fn rows(text: &'static str) -> Vec<Row> {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap_or("").split('\t').collect();
    lines
        .map(|line| Row {
            columns: columns.clone(),
            cells: line.split('\t').collect(),
        })
        .collect()
}

/// All constants.
pub fn constants() -> Vec<Row> {
    rows(CONSTANTS)
}

/// All types.
pub fn types() -> Vec<Row> {
    rows(TYPES)
}

/// A predefined datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredefinedDatatype {
    /// Name with the prefix `MPI_`.
    pub name: &'static str,
    /// Packed bytes, on x86-64 Linux.
    pub size: usize,
    /// Bytes from one element to the next.
    pub extent: usize,
    /// What it is in its language: `double`, or `{double, int}` for a pair.
    pub language_type: &'static str,
}

/// All predefined datatypes.
pub fn datatypes() -> Vec<PredefinedDatatype> {
    HANDLES.lines().filter_map(predefined_datatype).collect()
}

fn predefined_datatype(line: &'static str) -> Option<PredefinedDatatype> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    // Empty cells stand before the first bar and behind the last one; the size is its own extent where the code holds it.
    let (size, extent, name, language_type) = match cells[..] {
        [_, _, _, size, extent, name, language_type, _] => (size, extent, name, language_type),
        [_, _, _, size, name, language_type, _] => (size, size, name, language_type),
        _ => return None,
    };
    Some(PredefinedDatatype {
        name: Some(name).filter(|name| name.starts_with("MPI_"))?,
        size: size.parse().ok()?,
        extent: extent.parse().ok()?,
        language_type,
    })
}

/// A function of the ABI.
#[derive(Clone)]
pub struct Function {
    /// Name with the prefix `MPI_`.
    pub name: &'static str,
    /// C type of the result.
    pub returns: &'static str,
    /// C declarators of the parameters as the standard has them; empty for `void`.
    pub parameters: Vec<&'static str>,
    /// The function whose large-count form this is; empty if none.
    pub base: &'static str,
    /// MPI version that deprecated it; empty if none.
    pub deprecated_in: &'static str,
    /// Chapter of the standard, as the table's README abbreviates it.
    pub chapter: &'static str,
    /// Kind and direction (`in`, `out`, `inout`) of each parameter, as far as the table knows it.
    kinds: Vec<(&'static str, &'static str)>,
    /// Name and length of the parameters that are arrays.
    lengths: Vec<(&'static str, &'static str)>,
}

/// A parameter that may not be a null pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotNull {
    /// The name that the Rust declaration has.
    pub name: String,
    /// The parameter that must be above 0 for this to hold, if it is an array.
    pub length: Option<String>,
    /// What the call expects there.
    pub expected: String,
}

/// Whether a function reads or stores what a parameter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Reads only, or the table has no direction.
    In,
    /// Stores only.
    Out,
    /// Both.
    InOut,
}

/// A parameter of a function, as an entry point declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The standard's name, with `_` behind where that is a word of Rust.
    pub name: String,
    /// Type with the same representation as the C type.
    pub rust_type: String,
    /// Kind, such as `COMMUNICATOR`, `BUFFER` or `POLYXFER_NUM_ELEM_NNI` (the README of the tables); empty where the table has none.
    pub kind: &'static str,
    /// Intent.
    pub intent: Intent,
    /// Length of an array as the standard gives it: a parameter's name, a constant, or `*`.
    pub length: Option<&'static str>,
}

impl Parameter {
    /// Name of the null handle of an argument through which the function stores a handle that it makes.
    pub fn null_handle(&self) -> Option<&'static str> {
        if self.intent != Intent::Out {
            return None;
        }
        Some(match self.kind {
            "COMMUNICATOR" => "MPI_COMM_NULL",
            "GROUP" => "MPI_GROUP_NULL",
            "DATATYPE" => "MPI_DATATYPE_NULL",
            "OPERATION" => "MPI_OP_NULL",
            "ERRHANDLER" => "MPI_ERRHANDLER_NULL",
            "INFO" => "MPI_INFO_NULL",
            "MESSAGE" => "MPI_MESSAGE_NULL",
            "REQUEST" => "MPI_REQUEST_NULL",
            "SESSION" => "MPI_SESSION_NULL",
            "WINDOW" => "MPI_WIN_NULL",
            "FILE" => "MPI_FILE_NULL",
            _ => return None,
        })
    }
}

impl Function {
    /// The parameters; a variadic tail is left out.
    pub fn typed_parameters(&self) -> Vec<Parameter> {
        let parameters = self.rust_parameters().into_iter().enumerate();
        let argument = |(position, (name, rust_type))| {
            let (kind, direction) = self.kind(position);
            let declared = declared_name(self.parameters[position]);
            let mut lengths = self.lengths.iter();
            Parameter {
                name,
                rust_type,
                kind,
                intent: match direction {
                    "out" => Intent::Out,
                    "inout" => Intent::InOut,
                    _ => Intent::In,
                },
                length: (lengths.find(|(array, _)| *array == declared)).map(|(_, length)| *length),
            }
        };
        parameters.map(argument).collect()
    }

    /// Parameter names and Rust types; a variadic tail is left out.
    pub fn rust_parameters(&self) -> Vec<(String, String)> {
        self.parameters
            .iter()
            .filter(|p| **p != "...")
            .map(|p| rust_parameter(p))
            .collect()
    }

    /// Kind and direction of the parameter at a position; empty where the table has none.
    pub fn kind(&self, position: usize) -> (&'static str, &'static str) {
        self.kinds.get(position).copied().unwrap_or_default()
    }

    /// The parameters through which the function reads or stores something it cannot do without: results, handles that it
    /// changes, texts, functions of operations and error handlers, and arrays where they have entries.
    ///
    /// Not among them: buffers, whose datatype may hold addresses; statuses that are ignored; arrays of requests, which have
    /// an error class of their own; arrays whose length only the call knows; weights; `argc` and `argv`; texts of info
    /// objects, with classes of their own; and room for texts that a program may ask the length of first.
    pub fn not_null(&self) -> Vec<NotNull> {
        if self.returns != "int" || self.chapter == "convert" {
            return Vec::new();
        }
        let parameters = self.rust_parameters();
        let checked = parameters.iter().enumerate();
        let checked = checked.filter(|(_, (_, rust))| rust.starts_with('*') || rust == "Callback");
        checked
            .filter_map(|(position, (name, _))| self.needed(position, name))
            .collect()
    }

    /// The row of [`Self::not_null`] for a pointer.
    fn needed(&self, position: usize, name: &str) -> Option<NotNull> {
        let declarator = self.parameters[position];
        let declared = declared_name(declarator);
        let length = self.lengths.iter().find(|(array, _)| *array == declared);
        let length = length.map_or("", |(_, length)| length);
        let is_text = self.kind(position).0 == "STRING";
        let entries = match length.trim_start_matches('[').split(',').next() {
            // The indices of completed requests are as many as there are requests.
            Some("*") if declared == "array_of_indices" => "incount",
            Some(length) => length,
            None => "",
        };
        let is_array = !entries.is_empty() && !is_text;
        let is_needed = match self.kind(position) {
            ("BUFFER" | "ARGUMENT_COUNT" | "ARGUMENT_LIST" | "WEIGHT" | "EXTRA_STATE", _) => false,
            ("STATUS", direction) => direction != "out" && !is_array,
            ("REQUEST", _) if is_array => false,
            ("STRING", "in") => self.chapter != "info",
            ("STRING", _) => entries.starts_with("MPI_MAX") || self.name == "MPI_Info_get_nthkey",
            ("ERROR_CODE", _) if declared == "array_of_errcodes" => false,
            ("FUNCTION_SMALL" | "POLYFUNCTION", _) => ["op", "errhan"].contains(&self.chapter),
            ("LOGICAL_VOID", _) => true,
            ("REQUEST", "in") => true,
            (_, "in") => is_array,
            (_, "out" | "inout") => true,
            _ => false,
        };
        if !is_needed || (is_array && entries == "*") {
            return None;
        }
        let c_type = declarator.trim_start_matches("const ");
        let c_type = c_type.split([' ', '*']).next().unwrap_or("");
        let expected = if is_array {
            format!("an array of '{entries}' entries")
        } else if self.kind(position).0.contains("FUNCTION") {
            format!("a function of type {c_type}")
        } else if is_text {
            "the address of a text".to_owned()
        } else if self.kind(position).0 == "LOGICAL_VOID" {
            "the address of a LOGICAL".to_owned()
        } else if c_type == "void" {
            "the address of a pointer".to_owned()
        } else {
            format!("the address of a variable of type {c_type}")
        };
        Some(NotNull {
            name: name.to_owned(),
            length: is_array.then(|| entries.to_owned()),
            expected,
        })
    }

    /// The Rust type of the result.
    pub fn rust_result(&self) -> String {
        rust_type(self.returns)
    }
}

/// All functions.
pub fn functions() -> Vec<Function> {
    rows(FUNCTIONS).iter().map(function).collect()
}

/// The functions that MPI-3.0 removed and libraries of the ABI export for old programs. `mpi.h` does not declare them.
pub fn removed_functions() -> Vec<Function> {
    rows(REMOVED).iter().map(function).collect()
}

fn function(row: &Row) -> Function {
    let standard = row.get("standard_parameters");
    let text = if standard.is_empty() {
        row.get("parameters")
    } else {
        standard
    };
    let parameters = text
        .split(';')
        .map(str::trim)
        .filter(|p| !p.is_empty() && *p != "void")
        .collect();
    let base = match row.get("name") {
        "MPI_Psend_init_c" => "MPI_Psend_init",
        "MPI_Precv_init_c" => "MPI_Precv_init",
        _ => row.get("large_count_form_of"),
    };
    Function {
        name: row.get("name"),
        returns: row.get("returns"),
        parameters,
        base,
        deprecated_in: row.get("deprecated_in"),
        chapter: row.get("chapter"),
        kinds: cells(row.get("parameter_kinds"))
            .filter_map(|cell| cell.split_once(':')?.1.split_once(':'))
            .collect(),
        lengths: cells(row.get("array_lengths"))
            .filter_map(|cell| cell.split_once(':'))
            .collect(),
    }
}

/// The parts of a cell that lists parameters.
fn cells(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// The name in a C declarator such as `const int counts[]`.
fn declared_name(declarator: &str) -> &str {
    let text = declarator.split('[').next().unwrap_or("").trim_end();
    let start = text.rfind(|c: char| !(c.is_alphanumeric() || c == '_'));
    &text[start.map_or(0, |at| at + 1)..]
}

/// Name and Rust type of a C declarator such as `const int counts[]`.
fn rust_parameter(declarator: &str) -> (String, String) {
    let mut text = declarator.trim().to_owned();
    let mut pointers = 0;
    while let Some(open) = text.rfind('[') {
        text.truncate(open);
        pointers += 1;
    }
    let split = text
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| at + 1);
    let name = text[split..].to_owned();
    let mut kind = rust_type(&text[..split]);
    if pointers > 0 {
        // int ranges[][3] is a pointer to its rows; only the first dimension decays.
        let constant = text[..split].contains("const");
        let inner = if pointers == 2 {
            format!("[{kind}; 3]")
        } else {
            kind
        };
        kind = format!("*{} {inner}", if constant { "const" } else { "mut" });
    }
    let name = if ["type", "in", "ref", "box", "move"].contains(&name.as_str()) {
        format!("{name}_")
    } else {
        name
    };
    (name, kind)
}

/// The Rust type with the same representation as a C type. Handles are addresses, callbacks are nullable addresses.
pub fn rust_type(c: &str) -> String {
    let mut constant = false;
    let mut pointers = 0;
    let mut base = "";
    for word in c.split_whitespace().flat_map(split_stars) {
        match word {
            "const" => constant = true,
            "*" => pointers += 1,
            "enum" | "struct" | "unsigned" => {}
            other => base = other,
        }
    }
    let mut kind = match base {
        "int" => "i32".to_owned(),
        "double" => "f64".to_owned(),
        "char" => "core::ffi::c_char".to_owned(),
        "void" if pointers == 0 => "()".to_owned(),
        "void" => "core::ffi::c_void".to_owned(),
        other => other.to_owned(),
    };
    if base.ends_with("_function") || base.ends_with("_function_c") || base.ends_with("_fn") {
        pointers -= 1;
        kind = "Callback".to_owned();
    }
    for depth in 0..pointers {
        let shared = constant && depth == 0;
        kind = format!("*{} {kind}", if shared { "const" } else { "mut" });
    }
    kind
}

fn split_stars(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some(at) = rest.find('*') {
        if at > 0 {
            parts.push(&rest[..at]);
        }
        parts.push("*");
        rest = &rest[at + 1..];
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}
