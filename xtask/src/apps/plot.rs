// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plot of a sweep: what was measured, and the model that was fitted, on logarithmic axes.

use std::path::Path;

use plotters::prelude::*;

use super::catalog::Values;
use super::fit::Fit;
use super::series::{Sample, Series, fit};

/// Pixels of a plot.
const SIZE: (u32, u32) = (860, 480);
const LABEL: (&str, i32) = ("sans-serif", 16);
/// Colours that differ also for the colour-blind (after Okabe and Ito).
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// What is drawn in one colour.
struct Curve {
    title: String,
    samples: Vec<Sample>,
    fit: Option<Fit>,
}

/// Writes the plot of the series on most ranks.
pub(super) fn write(file: &Path, all: &[&Series<'_>]) -> Result<(), String> {
    let ranks = all.iter().map(|series| series.ranks).max().unwrap_or(0);
    let most = all.iter().filter(|series| series.ranks == ranks);
    let curve = |series: &&Series<'_>| Curve {
        title: series.title(),
        samples: series.medians(),
        fit: fit(&[*series]),
    };
    let curves: Vec<Curve> = most.map(curve).collect();
    let Some(app) = all.first().map(|series| series.app) else {
        return Ok(());
    };
    let Values::Sweep { counted, turn } = app.values else {
        return Ok(());
    };
    let title = format!("{}, {ranks} ranks: time of {turn}", app.name);
    let text = drawn(&title, &format!("{counted} of a rank"), &curves)
        .map_err(|error| format!("cannot draw {}: {error}", file.display()))?;
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn drawn(title: &str, across: &str, curves: &[Curve]) -> Result<String, String> {
    let samples = || curves.iter().flat_map(|curve| &curve.samples);
    // Whole powers of ten have labels.
    let around = |pick: fn(&Sample) -> f64| {
        let values = || samples().map(pick);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(0.0, f64::max);
        10.0_f64.powf(low.log10().floor())..10.0_f64.powf(high.log10().floor() + 1.0)
    };
    if samples().next().is_none() {
        return Err("nothing was measured".to_owned());
    }
    let mut text = String::new();
    {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(|error| told(&error))?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(92)
            .build_cartesian_2d(
                around(|it| it.per_rank).log_scale(),
                around(|it| 1e6 * it.seconds).log_scale(),
            )
            .map_err(|error| told(&error))?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(across).y_desc("us").label_style(LABEL);
        mesh.x_label_formatter(&|value| label(*value));
        mesh.y_label_formatter(&|value| label(*value));
        mesh.draw().map_err(|error| told(&error))?;
        for (curve, color) in curves.iter().zip(COLORS.iter().cycle()) {
            let at = |it: &Sample| (it.per_rank, 1e6 * it.seconds);
            let marks = curve.samples.iter().map(at);
            chart
                .draw_series(marks.map(|at| Circle::new(at, 4, color.filled())))
                .map_err(|error| told(&error))?
                .label(&curve.title)
                .legend(move |(x, y)| Circle::new((x + 9, y), 4, color.filled()));
            if let Some(fit) = curve.fit {
                let line = curve.samples.iter().map(|it| it.per_rank);
                let line = line.map(|size| (size, 1e6 * fit.at(size)));
                let line = line.filter(|at| at.1 > 0.0);
                chart
                    .draw_series(LineSeries::new(line, color.stroke_width(2)))
                    .map_err(|error| told(&error))?;
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.4))
            .label_font(LABEL)
            .draw()
            .map_err(|error| told(&error))?;
        area.present().map_err(|error| told(&error))?;
    }
    Ok(text)
}

fn label(value: f64) -> String {
    if value >= 1.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_measured_and_a_line_is_the_model() {
        let samples = [27.0, 108.0, 864.0].map(|per_rank| Sample {
            per_rank,
            seconds: 1e-6 + 5e-9 * per_rank,
            share: 0.5,
        });
        let curve = |fit| Curve {
            title: "Rankpoint (promises)".to_owned(),
            samples: samples.to_vec(),
            fit,
        };
        let model = Fit::of(&samples.map(|it| (it.per_rank, it.seconds)));
        let text = drawn("mass_cg", "points of a rank", &[curve(model)]).unwrap();
        // One mark more, and the name, stand in the legend.
        assert_eq!(text.matches("<circle").count(), 4);
        assert_eq!(text.matches("stroke-width=\"2\"").count(), 1);
        let words: Vec<&str> = text.lines().map(str::trim).collect();
        for word in [
            "Rankpoint (promises)",
            "points of a rank",
            "1",
            "10",
            "1000",
        ] {
            assert!(words.contains(&word), "{word}");
        }
        assert!(drawn("mass_cg", "points", &[]).is_err());
    }
}
