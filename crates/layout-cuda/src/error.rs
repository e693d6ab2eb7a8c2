// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why something was not done on a GPU.

use std::fmt;

use layout::LayoutError;

/// Why something was not done on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaError {
    /// The driver's library cannot be opened.
    NoDriver {
        /// Its file.
        file: String,
        /// The message of the dynamic linker.
        reason: String,
    },
    /// The driver's library lacks a function.
    OldDriver {
        /// Its file.
        file: String,
        /// The function.
        symbol: &'static str,
    },
    /// The driver finds no GPU.
    NoDevice,
    /// The driver refused a call.
    Refused {
        /// The function that was called.
        call: &'static str,
        /// The argument that it was about, and its value.
        argument: String,
        /// The driver's number, name and sentence.
        code: i32,
        /// The driver's name for it.
        name: String,
        /// The driver's sentence.
        text: String,
        /// The messages of its compiler, where it ran.
        log: String,
    },
    /// The layout cannot be made into a table.
    Layout(LayoutError),
}

/// Answers of the driver after which its context answers nothing else: failures of kernels and of the device's memory.
const LASTING: [i32; 13] = [
    214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721,
];

impl CudaError {
    /// Whether all later calls fail in the same way, because a kernel or the GPU has failed.
    pub fn lasts(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if LASTING.contains(code))
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDriver { file, reason } if reason.contains("No such file") => {
                write!(f, "{file} not found")
            }
            Self::NoDriver { file, reason } => write!(f, "{file} cannot be opened: {reason}"),
            Self::OldDriver { file, symbol } => write!(f, "{file} has no function {symbol}"),
            Self::NoDevice => f.write_str("the driver finds no GPU"),
            Self::Refused {
                call,
                argument,
                code,
                name,
                text,
                log,
            } => {
                write!(f, "{call} with {argument}: {name} ({code}), {text}")?;
                if log.is_empty() {
                    Ok(())
                } else {
                    write!(f, ": {log}")
                }
            }
            Self::Layout(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CudaError {}

impl From<LayoutError> for CudaError {
    fn from(error: LayoutError) -> Self {
        Self::Layout(error)
    }
}
