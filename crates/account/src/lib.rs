// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accounts of instructions: which part of an MPI call each one belongs to. No programs are run here, and no files of programs are read.
//!
//! A counted program makes each MPI call in a function of its own whose name starts with [`COUNTED`]. [`callgrind`] reads what
//! valgrind's tool of that name wrote about it: the [`Costs`](callgrind::Costs) of each call, or the [`Trace`](callgrind::Trace) of its
//! instructions. [`annotations`] reads the comments in the sources that say what lines are for, and [`attribution`] joins both into an
//! [`Account`](attribution::Account): instructions a [`Category`].
//!
//! ```
//! use account::annotations::{Annotations, Purpose};
//! use account::Category;
//!
//! let text = "fn send(dest: i32) {\n    // account: proc-null\n    if dest < 0 {\n        return;\n    }\n}\n";
//! let lines = Annotations::parse(text)?;
//! assert_eq!(lines.at(3), Some(Purpose::Of(Category::ProcNull)));
//! assert_eq!(lines.at(1), None);
//! # Ok::<(), String>(())
//! ```

#![forbid(unsafe_code)]

pub mod annotations;
pub mod attribution;
pub mod callgrind;
mod category;

pub use category::Category;

/// How the names of functions start whose calls are counted.
pub const COUNTED: &str = "counted_";
