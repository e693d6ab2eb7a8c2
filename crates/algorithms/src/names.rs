// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations and their algorithms: one row each.

/// The algorithms of one operation, as the values of the operation's enum.
pub trait Listed: Copy + Eq + std::fmt::Debug + Sized + 'static {
    /// The operation.
    const OPERATION: Operation;
    /// All algorithms, in the order of their indices.
    const ALL: &'static [Self];
    /// One that can do every case.
    const LAST_RESORT: Self;
}

macro_rules! operations {
    ($($operation:ident $word:literal $about:literal, $last:ident {
        $($algorithm:ident $name:literal $text:literal;)*
    })*) => {
        /// A collective operation, with its forms that are told apart by counts or buffers only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $(#[doc = $about] $operation,)*
        }

        impl Operation {
            /// All operations.
            pub const ALL: &'static [Self] = &[$(Self::$operation,)*];

            /// The name in tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$operation => $word,)* }
            }

            /// The operation of this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }

            /// The meaning of `bytes` in a rule.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$operation => $about,)* }
            }

            fn rows(self) -> &'static [(&'static str, &'static str)] {
                match self { $(Self::$operation => &[$(($name, $text),)*],)* }
            }
        }

        $(
            #[doc = concat!("Algorithms of `", $word, "`.")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $operation {
                $(#[doc = $text] $algorithm,)*
            }

            impl Listed for $operation {
                const OPERATION: Operation = Operation::$operation;
                const ALL: &'static [Self] = &[$(Self::$algorithm,)*];
                const LAST_RESORT: Self = Self::$last;
            }

            impl From<$operation> for Algorithm {
                fn from(algorithm: $operation) -> Self {
                    Self { operation: Operation::$operation, index: algorithm as u8 }
                }
            }
        )*
    };
}

operations! {
    Barrier "barrier" "MPI_Barrier: no bytes", Dissemination {
        Shared "shared" "Every member publishes a stamp in shared memory and reads those of the others.";
        Dissemination "dissemination" "Messages to the ranks at distances 1, 2, 4...";
        Hierarchical "hierarchical" "Within each node, then between one rank of each, then within each node.";
    }
    Bcast "bcast" "MPI_Bcast: bytes of the vector", Tree {
        Shared "shared" "The root publishes the vector in shared memory.";
        Tree "tree" "A binomial tree.";
        Knomial "knomial" "A tree in which each rank has up to degree - 1 children at each distance.";
        Linear "linear" "The root sends to every rank.";
        ScatterRing "scatter_ring" "Parts go down a binomial tree, then round a ring (van de Geijn).";
        ScatterDoubling "scatter_doubling" "Parts go down a binomial tree, then are exchanged at distances 1, 2, 4...";
        Chain "chain" "Segments go from rank to rank, several under way at once.";
        Hierarchical "hierarchical" "To one rank of each node, which passes it on within.";
    }
    Gather "gather" "MPI_Gather, MPI_Gatherv: bytes of one rank's block", Linear {
        Shared "shared" "Every member publishes its block in shared memory.";
        Tree "tree" "Packed blocks go up a binomial tree.";
        Linear "linear" "Every rank sends to the root.";
        Hierarchical "hierarchical" "To one rank within each node, which sends the blocks to the root in one message.";
    }
    Scatter "scatter" "MPI_Scatter, MPI_Scatterv: bytes of one rank's block", Linear {
        Shared "shared" "The root publishes the blocks in shared memory.";
        Tree "tree" "Packed blocks go down a binomial tree.";
        Linear "linear" "The root sends to every rank.";
        Hierarchical "hierarchical" "The blocks of each node in one message to one of its ranks, which passes them on within.";
    }
    Allgather "allgather" "MPI_Allgather, MPI_Allgatherv: bytes of the largest block", Ring {
        Shared "shared" "Every member publishes its block in shared memory.";
        Bruck "bruck" "The known blocks, packed, double in each step (Bruck).";
        RecursiveDoubling "recursive_doubling" "Pairs at distances 1, 2, 4... exchange what they know.";
        Ring "ring" "Each block goes once round a ring.";
        Linear "linear" "Every rank sends its block to every other, all at once.";
        Hierarchical "hierarchical" "Gathered within each node, exchanged between one rank of each, and published within.";
    }
    Alltoall "alltoall" "MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw: bytes of the largest block", Pairwise {
        Shared "shared" "Every member publishes its blocks in shared memory.";
        Bruck "bruck" "Packed blocks are forwarded along the bits of their distance (Bruck).";
        Pairwise "pairwise" "One block to one rank and one from another at a time.";
        Linear "linear" "Messages directly to their ranks, a window of them at once.";
    }
    Reduce "reduce" "MPI_Reduce: bytes of the vector", Chain {
        Shared "shared" "Every member publishes its operand in shared memory.";
        SharedParts "shared_parts" "Every member combines a part of all operands in shared memory.";
        Tree "tree" "A binomial tree in rank order.";
        Knomial "knomial" "A tree in which each rank has up to degree - 1 children at each distance.";
        Linear "linear" "Every rank sends to rank 0, which combines in rank order.";
        Chain "chain" "Segments go from the last rank to rank 0, several under way at once.";
        Rabenseifner "rabenseifner" "Halves are exchanged and combined, then gathered (Rabenseifner).";
        Hierarchical "hierarchical" "Combined within each node, then between one rank of each.";
    }
    Allreduce "allreduce" "MPI_Allreduce: bytes of the vector", Chain {
        Shared "shared" "Every member publishes its operand in shared memory.";
        SharedParts "shared_parts" "Every member combines a part of all operands in shared memory.";
        RecursiveDoubling "recursive_doubling" "Pairs at distances 1, 2, 4... exchange whole vectors.";
        Rabenseifner "rabenseifner" "Halves are exchanged and combined, then collected (Rabenseifner).";
        Ring "ring" "Parts go round a ring twice: to be combined, and to be collected.";
        Chain "chain" "Segments go from the last rank to rank 0, and the result down a binomial tree.";
        Hierarchical "hierarchical" "Combined within each node, then between one rank of each, and published within.";
    }
    ReduceScatter "reduce_scatter" "MPI_Reduce_scatter, MPI_Reduce_scatter_block: bytes of the largest part", Chain {
        Shared "shared" "Every member publishes its operand in shared memory.";
        RecursiveDoubling "recursive_doubling" "An allreduce by recursive doubling of which each rank keeps its part.";
        Rabenseifner "rabenseifner" "An allreduce of Rabenseifner's of which each rank keeps its part.";
        Pairwise "pairwise" "Every rank sends each other its part.";
        Ring "ring" "Parts go round a ring and are combined on the way.";
        Chain "chain" "Segments go from the last rank to rank 0, which sends each rank its part.";
    }
    Scan "scan" "MPI_Scan, MPI_Exscan: bytes of the vector", Direct {
        Shared "shared" "Every member publishes its operand in shared memory.";
        SharedChain "shared_chain" "From rank to rank in shared memory, in which those below run ahead.";
        RecursiveDoubling "recursive_doubling" "Ranks at distances 1, 2, 4... pass on what they have combined.";
        Linear "linear" "From rank to rank.";
        Direct "direct" "Every rank sends its operand to all above.";
    }
}

/// A number that an algorithm takes in a rule: `use=NAME:NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its kind.
    pub name: &'static str,
    /// Smallest value.
    pub least: u64,
    /// Largest value.
    pub most: u64,
    /// Value where a rule gives none.
    pub default: u64,
}

/// An algorithm of any operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    operation: Operation,
    index: u8,
}

impl Algorithm {
    /// The algorithms of an operation.
    pub fn of(operation: Operation) -> impl Iterator<Item = Self> {
        (0..operation.rows().len()).map(move |index| Self {
            operation,
            index: index as u8,
        })
    }

    /// The operation.
    pub const fn operation(self) -> Operation {
        self.operation
    }

    /// The place among the operation's algorithms.
    pub const fn index(self) -> u8 {
        self.index
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        self.operation.rows()[self.index as usize].0
    }

    /// Whether it goes through memory that the members share, without messages.
    pub fn is_shared(self) -> bool {
        self.name().starts_with("shared")
    }

    /// One sentence on how it works.
    pub fn about(self) -> &'static str {
        self.operation.rows()[self.index as usize].1
    }

    /// The number it takes, if it takes one.
    pub fn parameter(self) -> Option<Parameter> {
        let (name, least, most, default) = match (self.operation, self.name()) {
            (_, "knomial") => ("degree", 2, 1 << 16, 4),
            (_, "chain") => ("segment bytes", 1, 1 << 40, 32 << 10),
            (Operation::Alltoall, "linear") => ("messages at once", 1, 1 << 20, 8),
            _ => return None,
        };
        Some(Parameter {
            name,
            least,
            most,
            default,
        })
    }

    /// The operation's enum value, if the operation is `A`'s.
    pub fn typed<A: Listed>(self) -> Option<A> {
        (self.operation == A::OPERATION).then(|| A::ALL[self.index as usize])
    }
}
