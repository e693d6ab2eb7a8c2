// SPDX-License-Identifier: MIT OR Apache-2.0
//! A matrix as colours.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::frame::LABEL;
use super::picture::{Picture, number_label};

/// Pixels of a cell, of the margins, and most of the whole.
const CELL: u32 = 64;
const MARGIN: u32 = 90;
const MOST: u32 = 1600;
/// Pixels of a cell from which it has its value, and its row a name.
const WITH_VALUE: i32 = 48;
const WITH_NAME: i32 = 16;

/// A matrix whose rows and columns have the same names. The larger a value, the darker its cell; cells without one are grey.
pub struct HeatMap<'a> {
    /// Its title, with the unit.
    pub title: String,
    /// Names of rows and columns.
    pub names: Vec<&'a str>,
    /// Values, row by row.
    pub values: &'a [Vec<Option<f64>>],
}

impl HeatMap<'_> {
    fn cell(&self) -> u32 {
        let count = self.names.len().max(1) as u32;
        CELL.min((MOST - MARGIN) / count).max(1)
    }

    /// Pixels of the picture.
    pub fn size(&self) -> (u32, u32) {
        let side = self.cell() * self.names.len() as u32;
        // Room for the title beside small matrices.
        ((side + 2 * MARGIN).max(420), side + 2 * MARGIN)
    }

    fn range(&self) -> (f64, f64) {
        let all = || self.values.iter().flatten().flatten().copied();
        let low = all().fold(f64::INFINITY, f64::min);
        (low, all().fold(low, f64::max))
    }
}

impl Picture for HeatMap<'_> {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        area.fill(&WHITE)?;
        let style = TextStyle::from(LABEL).color(&BLACK);
        area.draw_text(&self.title, &style, (12, 12))?;
        let (low, high) = self.range();
        let (cell, left, top) = (self.cell() as i32, MARGIN as i32, MARGIN as i32);
        for (row, (values, name)) in self.values.iter().zip(&self.names).enumerate() {
            let y = top + row as i32 * cell;
            if cell >= WITH_NAME {
                area.draw_text(name, &style, (8, y + cell / 2 - 8))?;
            }
            for (column, value) in values.iter().enumerate() {
                let x = left + column as i32 * cell;
                if row == 0 && cell >= WITH_VALUE {
                    area.draw_text(self.names[column], &style, (x, top - 22))?;
                }
                let part =
                    value.map(|value| ((value - low) / (high - low).max(1e-9)).clamp(0.0, 1.0));
                let color = part.map_or(RGBColor(220, 220, 220), shade);
                let corners = [(x, y), (x + cell - 1, y + cell - 1)];
                area.draw(&Rectangle::new(corners, color.filled()))?;
                if let Some(value) = value.filter(|_| cell >= WITH_VALUE) {
                    let is_dark = part.unwrap_or(0.0) > 0.5;
                    let ink = if is_dark { &WHITE } else { &BLACK };
                    let style = TextStyle::from(LABEL).color(ink);
                    area.draw_text(&number_label(value), &style, (x + 6, y + cell / 2 - 8))?;
                }
            }
        }
        area.present()
    }
}

/// From a light yellow to a dark blue: darker is larger, also without colours.
fn shade(part: f64) -> RGBColor {
    let mix = |low: f64, high: f64| (low + (high - low) * part).round() as u8;
    RGBColor(mix(255.0, 8.0), mix(247.0, 48.0), mix(188.0, 107.0))
}
