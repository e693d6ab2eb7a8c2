// SPDX-License-Identifier: MIT OR Apache-2.0
//! A picture as a file, SVG or PNG, as the file's name says.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::raster::Raster;

/// Something that can be drawn with any backend.
pub trait Picture {
    /// Draws it on an area of the size that [`render`] is given.
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>>;
}

/// The bytes of a file with a picture.
pub fn render(picture: &impl Picture, size: (u32, u32), file: &Path) -> Result<Vec<u8>, String> {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => {
            let mut text = String::new();
            let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
            picture.draw(&area).map_err(|error| failed(file, &error))?;
            drop(area);
            Ok(text.into_bytes())
        }
        Some("png") => {
            let mut raster = Raster::new(size);
            let area = (&mut raster).into_drawing_area();
            picture.draw(&area).map_err(|error| failed(file, &error))?;
            drop(area);
            raster.png().map_err(|error| failed(file, &error))
        }
        _ => Err(format!(
            "{}: expected a name in .svg or .png",
            file.display()
        )),
    }
}

fn failed(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("cannot draw {}: {error}", file.display())
}

/// A number of bytes at an axis.
pub fn bytes_label(size: f64) -> String {
    match size {
        size if size < 1.0 => "0".to_owned(),
        size if size >= 1_048_576.0 => format!("{:.0}M", size / 1_048_576.0),
        size if size >= 1024.0 => format!("{:.0}K", size / 1024.0),
        _ => format!("{size:.0}"),
    }
}

/// A number at an axis or in a cell, with two to three digits.
pub fn number_label(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
