// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures of values: the axes, colours and legends that all commands share.
//!
//! ```text
//! chart      lines over an axis, on logarithmic or linear axes, one chart below another
//! heat_map   a matrix as colours
//! frame      title, margins and legend of every chart
//! picture    anything that can be drawn, as an SVG or a PNG file
//! raster     the pixels of a PNG file
//! ```
//!
//! A command makes a [`Chart`] of names and points and gives it to [`render`]; another kind of chart is a [`Picture`] that draws in
//! a `frame`.

mod chart;
mod frame;
mod heat_map;
mod picture;
mod raster;

pub use chart::{AxisText, Chart, Charts, Line, Look, Scale};
pub use frame::COLORS;
pub use heat_map::HeatMap;
pub use picture::{Picture, bytes_label, number_label, render};
