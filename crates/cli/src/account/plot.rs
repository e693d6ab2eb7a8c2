// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accounts as stacked bars: a bar for each call and thread level, and one for the published counts of each group.

use std::path::Path;

use account::Category;
use measure::plot::{COLORS, Picture, render};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::calls::{Group, Level};
use super::published::published;
use super::report::Counted;

/// Pixels of the picture without its bars, and of a bar with the gap above it.
const MARGINS: (u32, u32) = (900, 150);
const BAR: u32 = 30;

/// Draws accounts; the file's name says in which format.
pub(super) fn draw(counted: &[Counted], file: &Path) -> Result<Vec<u8>, String> {
    let bars = bars(counted);
    let size = (MARGINS.0, MARGINS.1 + BAR * bars.len() as u32);
    render(&Bars { bars }, size, file)
}

struct Bar {
    label: String,
    parts: Vec<(Category, f64)>,
}

fn bars(counted: &[Counted]) -> Vec<Bar> {
    let mut bars = Vec::new();
    let mut last: Option<(Group, Level)> = None;
    let of_others = |group: Group| {
        let parts = published(group)?.iter();
        Some(Bar {
            label: "published, CH4".to_owned(),
            parts: parts.map(|part| (part.0, f64::from(part.1))).collect(),
        })
    };
    for one in counted {
        let group = (one.call.group, one.level);
        if last.is_some_and(|last| last != group) {
            bars.extend(last.and_then(|last| of_others(last.0)));
        }
        last = Some(group);
        let categories = Category::ALL.iter();
        bars.push(Bar {
            label: format!("{}, {}", one.call.function, one.level.word()),
            parts: categories.map(|&it| (it, one.account.of(it))).collect(),
        });
    }
    bars.extend(last.and_then(|last| of_others(last.0)));
    bars
}

struct Bars {
    bars: Vec<Bar>,
}

impl Picture for Bars {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        area.fill(&WHITE)?;
        let count = self.bars.len() as f64;
        let total = |bar: &Bar| bar.parts.iter().map(|part| part.1).sum::<f64>();
        let most = self.bars.iter().map(total).fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(area)
            .caption("Instructions of a call", ("sans-serif", 20))
            .margin(12)
            .margin_right(230)
            .x_label_area_size(44)
            .y_label_area_size(250)
            .build_cartesian_2d(0.0..most * 1.08, count..0.0)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_label_formatter(&|value| format!("{value:.0}"))
            .label_style(("sans-serif", 16))
            .draw()?;
        let ink = |size: u32| TextStyle::from(("sans-serif", size)).color(&BLACK);
        for (index, bar) in self.bars.iter().enumerate() {
            let (top, bottom) = (index as f64 + 0.15, index as f64 + 0.85);
            let mut start = 0.0;
            for &(category, value) in bar.parts.iter().filter(|part| part.1 > 0.0) {
                let corners = [(start, top), (start + value, bottom)];
                let style = color(category).filled();
                chart.draw_series([Rectangle::new(corners, style)])?;
                start += value;
            }
            let (x, y) = chart.backend_coord(&(start, top));
            area.draw_text(&format!("{start:.0}"), &ink(16), (x + 6, y + 2))?;
            let (_, y) = chart.backend_coord(&(0.0, top));
            area.draw_text(&bar.label, &ink(15), (8, y + 2))?;
        }
        let (width, _) = area.dim_in_pixel();
        let left = width as i32 - 220;
        for (index, &category) in Category::ALL.iter().enumerate() {
            let y = 40 + 20 * index as i32;
            let corners = [(left, y), (left + 14, y + 14)];
            area.draw(&Rectangle::new(corners, color(category).filled()))?;
            area.draw_text(category.label(), &ink(15), (left + 20, y - 1))?;
        }
        area.present()
    }
}

/// The colours of pictures, then darker ones.
fn color(category: Category) -> RGBColor {
    let place = Category::ALL.iter().position(|one| *one == category);
    let place = place.unwrap_or(0);
    let RGBColor(red, green, blue) = COLORS[place % COLORS.len()];
    let darker = |value: u8| match place / COLORS.len() {
        0 => value,
        _ => value / 2,
    };
    RGBColor(darker(red), darker(green), darker(blue))
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::counted;
    use super::*;

    #[test]
    fn a_picture_has_a_bar_for_each_call_and_one_for_the_published_counts() {
        let labels: Vec<String> = bars(&counted()).into_iter().map(|bar| bar.label).collect();
        let expected = [
            "MPI_Isend, single",
            "MPIX_Isend_global, single",
            "published, CH4",
        ];
        assert_eq!(labels, expected);
        let svg = draw(&counted(), Path::new("account.svg")).expect("a picture");
        let svg = String::from_utf8(svg).expect("text");
        assert!(
            svg.starts_with("<svg") && svg.contains("MPIX_Isend_global") && svg.contains("221")
        );
    }

    #[test]
    fn categories_have_colours_of_their_own() {
        let mut colors: Vec<_> = Category::ALL
            .iter()
            .map(|&it| color(it))
            .map(|it| (it.0, it.1, it.2))
            .collect();
        colors.sort_unstable();
        colors.dedup();
        assert_eq!(colors.len(), Category::ALL.len());
    }
}
