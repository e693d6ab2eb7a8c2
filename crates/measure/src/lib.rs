// SPDX-License-Identifier: MIT OR Apache-2.0
//! The instruments: what every command that measures needs, whatever it measures.
//!
//! ```text
//! settings        environment variables, and the files that are installed beside the command
//! hosts, target   where ranks run, and whose library and launcher they use
//! job             one job of a target: starts it, collects what rank 0 prints, gives it up
//! network         libfabric, and which of its networks the settings name
//! yardstick       how far two cores are from each other, and which values may stand side by side
//! threads         pairs and teams of bound threads
//! sampling        how often something runs, and which of its values count
//! conditions      processor, command line, and what other programs took meanwhile
//! statistics      median, quantiles, spread
//! sizes           message sizes as they are written on command lines
//! columns, table  text in columns; tables for a terminal and as Markdown
//! plot            charts and heat maps, as SVG or PNG
//! progress        bars that show how far a run is
//! output          standard output, standard error, and files that are whole at any time
//! temporary       folders for what a command passes to the programs that it starts
//! ```
//!
//! The crate knows no measurement: a command says what is measured, `bench-rank` has what the ranks of a job do. Tests stand beside
//! the code.

pub mod columns;
pub mod conditions;
pub mod hosts;
pub mod job;
pub mod network;
pub mod output;
pub mod plot;
pub mod progress;
pub mod sampling;
pub mod settings;
pub mod sizes;
mod sync;
pub mod table;
pub mod target;
pub mod temporary;
pub mod threads;
pub mod yardstick;

pub use machine_profile::statistics;
