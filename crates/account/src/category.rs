// SPDX-License-Identifier: MIT OR Apache-2.0
//! What instructions of an MPI call are for.

macro_rules! categories {
    ($($variant:ident $name:literal $label:literal, $doc:literal;)*) => {
        /// What an instruction is for. The parts are those of Raffenetti et al., "Why Is MPI So Slow?" (SC'17), tables 1 and sections 3.1
        /// to 3.6, with the rest of what they call mandatory divided into the write to the fabric and all else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Category {
            $(#[doc = $doc] $variant,)*
        }

        impl Category {
            /// All, in the order in which tables show them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in annotations and in JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The name in tables and pictures.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label),* }
            }
        }
    };
}

categories! {
    FunctionCall "function-call" "function call", "Passing arguments and the result, saving registers, returning.";
    ArgumentChecks "argument-checks" "argument checks", "Finding arguments that the standard does not allow.";
    ThreadSafety "thread-safety" "thread safety", "Locks, and finding out whether one is needed.";
    Communicator "communicator" "communicator or window", "From the handle of a communicator or window to its object.";
    RankTranslation "rank-translation" "rank or address translation", "From a rank to the link to its process, from a displacement to an address.";
    ProcNull "proc-null" "MPI_PROC_NULL", "The compare that finds ranks without a process.";
    Datatype "datatype" "datatype", "From count and datatype to bytes.";
    Request "request" "request", "Making, finding, completing, storing and freeing requests.";
    MatchBits "match-bits" "match bits", "Making the word of source, tag and communicator, and searching for it.";
    Fabric "fabric" "fabric", "Credits, writing and reading cells, doorbells, counters; copies of data.";
    Progress "progress" "progress", "Which rings are polled, for how long, and what else runs meanwhile.";
    Other "other" "other", "All else.";
}

impl Category {
    /// The category with a name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|category| category.name() == name)
    }
}
