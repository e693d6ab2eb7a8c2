// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Fortran procedures and the roles of their arguments.

use crate::table::{Function, Intent, Parameter, functions};

/// What an argument is to the library, which decides how it is declared and converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A choice buffer.
    Buffer,
    /// An address that the call stores.
    Address,
    /// The buffer of a detach call: its address, which only `mpi_f08` stores.
    Detached,
    /// The value of an attribute.
    Attribute,
    /// The state of callbacks.
    ExtraState,
    /// A procedure of the program.
    Callback,
    /// A CHARACTER argument.
    Text,
    /// An array of them, or of arrays.
    Texts,
    /// A status or an array of statuses.
    Status,
    /// A LOGICAL or an array of them.
    Logical,
    /// A handle or an array of handles.
    Handle,
    /// Indices that start at 1.
    Index,
    /// Weights of edges, which a program may leave out.
    Weight,
    /// Any other INTEGER, of whatever kind.
    Integer,
}

/// An argument of a procedure.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The keyword, in lower case.
    pub name: String,
    /// The parameter of the C function.
    pub c: Parameter,
    /// Role.
    pub role: Role,
    /// Whether it is an array.
    pub is_array: bool,
    /// The first word of the C declarator, behind `const`.
    declared_type: String,
}

impl Argument {
    /// The C type without pointers and `const`, as Rust spells it: `i32`, `MPI_Comm`.
    pub fn base_type(&self) -> &str {
        let kind = self.c.rust_type.rsplit(' ').next().unwrap_or("");
        match kind.strip_suffix(']') {
            // A row of three.
            Some(_) => "i32",
            None => kind,
        }
    }

    /// Bytes of the INTEGER that stands for one entry.
    pub fn bytes(&self) -> usize {
        match self.base_type() {
            "MPI_Aint" | "MPI_Count" | "MPI_Offset" => 8,
            _ if matches!(self.role, Role::Address | Role::Detached) => 8,
            _ if matches!(self.role, Role::Attribute | Role::ExtraState) => {
                let is_small = ["ATTRIBUTE_VAL_10", "EXTRA_STATE2"].contains(&self.c.kind);
                if is_small { 4 } else { 8 }
            }
            _ => 4,
        }
    }

    /// The name of its handles' kind, such as `Comm`.
    pub fn handle_kind(&self) -> &str {
        self.base_type().trim_start_matches("MPI_")
    }

    /// The name of a callback's C type, which is that of its interface in Fortran.
    pub fn callback_type(&self) -> &str {
        &self.declared_type
    }

    /// Whether it is a number of items of a datatype.
    pub(super) fn is_count(&self) -> bool {
        self.role == Role::Integer && !self.is_array && self.name.contains("count")
    }

    /// Whether it is one datatype.
    pub(super) fn is_datatype(&self) -> bool {
        self.base_type() == "MPI_Datatype" && !self.is_array
    }

    /// Whether the call stores something there.
    pub fn is_stored(&self) -> bool {
        self.c.intent != Intent::In
    }
}

/// How long a call uses its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until it returns.
    Call,
    /// Until the request that it makes is complete.
    Request,
    /// From each start of the request that it makes until that is complete.
    Persistent,
    /// Until the other half of a split collective call on the file.
    Split,
    /// Until the window is synchronised.
    Epoch,
    /// Until the program takes the memory back.
    Memory,
    /// Not at all: the call takes the address.
    Address,
}

/// A Fortran procedure.
#[derive(Clone)]
pub struct Procedure {
    /// The C function.
    pub function: Function,
    /// Its arguments without `ierror`.
    pub arguments: Vec<Argument>,
    /// What `ierror` is called.
    pub(super) error_name: &'static str,
}

impl Procedure {
    /// The same with arguments that are called by single letters, so that a statement with all of them is short.
    pub(super) fn with_letters(&self) -> Self {
        let mut other = self.clone();
        for (argument, letter) in other.arguments.iter_mut().zip('a'..) {
            argument.name = letter.to_string();
        }
        other.error_name = "z";
        other
    }

    /// The name without `MPI_`.
    pub fn short_name(&self) -> &'static str {
        self.function.name.trim_start_matches("MPI_")
    }

    /// Whether it is a function: it has no `ierror` then.
    pub fn is_function(&self) -> bool {
        self.function.returns != "int"
    }

    /// Whether it has an `ierror`.
    pub fn has_ierror(&self) -> bool {
        !self.is_function() && self.function.name != "MPI_Pcontrol"
    }

    /// Whether it is a form with large counts, which only `mpi_f08` has.
    pub fn is_large(&self) -> bool {
        !self.function.base.is_empty()
    }

    /// Whether an argument is a choice buffer.
    pub fn has_buffer(&self) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.role == Role::Buffer)
    }

    /// Whether `mpi_f08` passes its buffers by descriptor. Compilers cannot do that beside a CHARACTER.
    pub fn takes_descriptors(&self) -> bool {
        self.has_buffer() && !self.has_text()
    }

    /// How long the call uses its buffers.
    pub fn life(&self) -> Life {
        let name = self.function.name;
        let has_any = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let makes_request = (self.arguments.iter())
            .any(|argument| argument.base_type() == "MPI_Request" && argument.is_stored());
        if has_any(&["Get_address", "Free_mem", "Win_detach", "_end"]) {
            return Life::Address;
        }
        match self.function.chapter {
            "part" | "abi" => Life::Memory,
            _ if has_any(&["attach", "Win_create"]) => Life::Memory,
            "io" if name.contains("_begin") => Life::Split,
            _ if makes_request && name.contains("_init") => Life::Persistent,
            _ if makes_request => Life::Request,
            "rma" => Life::Epoch,
            _ => Life::Call,
        }
    }

    /// The count and the datatype that describe all of a buffer, so that a datatype may stand for a section in a call that goes on
    /// behind its return.
    pub fn description_of(&self, buffer: &Argument) -> Option<[&Argument; 2]> {
        let name = self.function.name;
        let is_whole =
            ["pt2pt", "rma", "io"].contains(&self.function.chapter) || name.contains("cast");
        let lasts = matches!(
            self.life(),
            Life::Request | Life::Persistent | Life::Split | Life::Epoch
        );
        let [count, datatype, ..] = self.behind(buffer) else {
            return None;
        };
        // MPICH 5.0.2 and Intel MPI 2021.19 store only a part of what MPI_Isendrecv_replace receives into a datatype with gaps.
        let is_stored_apart = name.contains("_replace");
        (is_whole && !is_stored_apart && lasts && count.is_count() && datatype.is_datatype())
            .then_some([count, datatype])
    }

    /// Whether a buffer may be `MPI_IN_PLACE`.
    pub(super) fn takes_in_place(&self, buffer: &Argument) -> bool {
        let name = self.function.name.to_lowercase();
        self.function.chapter == "coll"
            && !name.contains("neighbor")
            && (buffer.name == "sendbuf"
                || (buffer.name == "recvbuf"
                    && name.contains("scatter")
                    && !name.contains("reduce")))
    }

    /// The arguments behind a buffer.
    pub(super) fn behind(&self, buffer: &Argument) -> &[Argument] {
        let place = (self.arguments.iter()).position(|it| it.name == buffer.name);
        place.map_or(&[], |place| &self.arguments[place + 1..])
    }

    /// The argument of a name.
    pub(super) fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Whether an argument is a CHARACTER.
    pub fn has_text(&self) -> bool {
        let is_text = |argument: &Argument| matches!(argument.role, Role::Text | Role::Texts);
        self.arguments.iter().any(is_text)
    }
}

/// All procedures that have a C function, in the table's order.
pub fn procedures() -> Vec<Procedure> {
    let all = functions().into_iter().filter(|function| {
        let is_standard = !["MPI_Psend_init_c", "MPI_Precv_init_c"].contains(&function.name);
        function.chapter != "mpi_t" && function.chapter != "convert" && is_standard
    });
    all.map(procedure).collect()
}

fn procedure(function: Function) -> Procedure {
    let parameters = function.typed_parameters().into_iter().enumerate();
    let arguments = parameters.filter_map(|(position, c)| {
        // Fortran programs pass no command line.
        if ["ARGUMENT_COUNT", "ARGUMENT_LIST"].contains(&c.kind) {
            return None;
        }
        let declarator = function.parameters[position];
        let name = c.name.trim_end_matches('_').to_lowercase();
        let is_array = declarator.contains('[') || name.starts_with("array_of_");
        Some(Argument {
            role: role(&function, &c),
            name: if name == "indx" {
                "index".to_owned()
            } else {
                name
            },
            is_array,
            declared_type: first_word(declarator),
            c,
        })
    });
    let arguments = arguments.collect();
    Procedure {
        function,
        arguments,
        error_name: "ierror",
    }
}

fn first_word(declarator: &str) -> String {
    let mut words = declarator.split([' ', '*']).filter(|word| *word != "const");
    words.next().unwrap_or("").to_owned()
}

pub(super) const HANDLES: &[&str] = &[
    "MPI_Comm",
    "MPI_Group",
    "MPI_Datatype",
    "MPI_Op",
    "MPI_Request",
    "MPI_Message",
    "MPI_Info",
    "MPI_Errhandler",
    "MPI_Win",
    "MPI_File",
    "MPI_Session",
];

fn role(function: &Function, c: &Parameter) -> Role {
    let base = c.rust_type.rsplit(' ').next().unwrap_or("");
    match c.kind {
        "BUFFER" | "LOGICAL_VOID" => Role::Buffer,
        "C_BUFFER" => Role::Address,
        "C_BUFFER2" => Role::Detached,
        "ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" => Role::Attribute,
        "EXTRA_STATE" | "EXTRA_STATE2" => Role::ExtraState,
        "STRING" => Role::Text,
        "STRING_ARRAY" | "STRING_2DARRAY" => Role::Texts,
        "LOGICAL" | "LOGICAL_BOOLEAN" => Role::Logical,
        "WEIGHT" => Role::Weight,
        "INDEX" if function.chapter == "request" && c.intent == Intent::Out => Role::Index,
        _ if base == "Callback" => Role::Callback,
        _ if base == "MPI_Status" => Role::Status,
        _ if HANDLES.contains(&base) => Role::Handle,
        // Attached buffers and window memory have kinds of their own in no row: they are choice buffers.
        _ if base.ends_with("c_void") => Role::Buffer,
        _ => Role::Integer,
    }
}
