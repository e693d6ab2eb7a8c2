// SPDX-License-Identifier: MIT OR Apache-2.0
//! What several threads do, and the ways in which they communicate.

use clap::ValueEnum;
use serde::Serialize;

/// Bytes of a number of MPI_Accumulate and MPI_Fetch_and_op.
pub(crate) const NUMBER_BYTES: usize = 8;

/// The operation that threads start.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// MPI_Isend to a thread that receives
    Isend,
    /// MPI_Put into the memory of a thread that waits
    Put,
    /// MPI_Get of such memory
    Get,
    /// MPI_Accumulate of MPI_INT64_T with MPI_SUM to such memory
    Accumulate,
    /// MPI_Fetch_and_op of MPI_INT64_T with MPI_SUM on such memory
    Fetch,
}

impl Operation {
    /// The word for it on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Isend => "isend",
            Self::Put => "put",
            Self::Get => "get",
            Self::Accumulate => "accumulate",
            Self::Fetch => "fetch",
        }
    }

    /// Why messages of a size are none of this operation's; `None` if they are.
    pub fn refusal(self, size_bytes: usize) -> Option<String> {
        let name = self.function();
        match self {
            Self::Fetch if size_bytes != NUMBER_BYTES => {
                Some(format!("{name} has {NUMBER_BYTES} bytes, not {size_bytes}"))
            }
            Self::Accumulate if size_bytes == 0 || !size_bytes.is_multiple_of(NUMBER_BYTES) => {
                Some(format!(
                    "{name} adds numbers of {NUMBER_BYTES} bytes, which {size_bytes} bytes are not"
                ))
            }
            _ => None,
        }
    }

    /// Whether an answer has to come back.
    pub const fn is_answered(self) -> bool {
        matches!(self, Self::Get | Self::Fetch)
    }

    /// The function that is measured.
    pub const fn function(self) -> &'static str {
        match self {
            Self::Isend => "MPI_Isend",
            Self::Put => "MPI_Put",
            Self::Get => "MPI_Get",
            Self::Accumulate => "MPI_Accumulate",
            Self::Fetch => "MPI_Fetch_and_op",
        }
    }
}

/// A way in which several threads communicate.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A rank for each thread, at MPI_THREAD_SINGLE: what the others are compared with
    Processes,
    /// All threads on one communicator, told apart by tags, or on one window
    Serial,
    /// A communicator for each thread
    Communicators,
    /// A window for each thread
    Windows,
    /// An endpoint for each thread
    Endpoints,
    /// One communicator with hints that let the library tell threads apart by tags, or one window with hints
    Hints,
    /// One partitioned message of all threads for each window
    Partitioned,
}

impl Mode {
    /// The word for it on command lines and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Serial => "serial",
            Self::Communicators => "communicators",
            Self::Windows => "windows",
            Self::Endpoints => "endpoints",
            Self::Hints => "hints",
            Self::Partitioned => "partitioned",
        }
    }

    /// Whether an operation can be done so: messages have no windows, and one-sided operations no communicators and partitions.
    pub const fn has(self, operation: Operation) -> bool {
        match self {
            Self::Processes | Self::Serial | Self::Endpoints | Self::Hints => true,
            Self::Communicators | Self::Partitioned => matches!(operation, Operation::Isend),
            Self::Windows => !matches!(operation, Operation::Isend),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_modes_of_its_own() {
        let of = |operation| {
            let all = Mode::value_variants()
                .iter()
                .filter(|mode| mode.has(operation));
            all.map(|mode| mode.name()).collect::<Vec<_>>().join(" ")
        };
        let sends = "processes serial communicators endpoints hints partitioned";
        assert_eq!(of(Operation::Isend), sends);
        for operation in [
            Operation::Put,
            Operation::Get,
            Operation::Accumulate,
            Operation::Fetch,
        ] {
            assert_eq!(of(operation), "processes serial windows endpoints hints");
        }
    }
}
