// SPDX-License-Identifier: MIT OR Apache-2.0
//! The distance of two cores, and what can be compared because of it.
//!
//! A virtual machine may move its cores while a job runs; then everything that goes from core to core takes another time.
//!
//! ```text
//! ping_pong     two cores that send numbers to each other through cache lines: what a distance is
//! cache_line    the distance of two cores of this process, around a job
//! page          memory in which the ranks of a job measure it themselves
//! line_stream   what a line costs in a stream of lines
//! alike         which values were taken at one distance
//! comparable    rows that are repeated until they were
//! ```

pub mod alike;
pub mod cache_line;
pub mod comparable;
pub mod line_stream;
mod page;
pub mod ping_pong;

pub use page::SharedPage;
