// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile as pictures: curves of related entries in one plot each, and matrices as heat maps.

use std::path::Path;

use machine_profile::{Axis, Curve, Profile};
use measure::output::write;
use measure::plot::{
    AxisText, Chart, Charts, HeatMap, Line, Look, Scale, bytes_label, number_label, render,
};

use super::options::Format;

/// A plot of curves: file, title, and which curves by the begin and end of their names.
type Plot = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const PLOTS: [Plot; 9] = [
    (
        "copy-cached",
        "Copies in the caches",
        &[("copy/", "/cached")],
    ),
    (
        "copy-flushed",
        "Copies out of memory",
        &[("copy/", "/flushed")],
    ),
    (
        "cache-effect",
        "memcpy by where its bytes are",
        &[("copy/memcpy/", "")],
    ),
    (
        "processes",
        "From one process to another",
        &[
            ("single/load", ""),
            ("single/store", ""),
            ("double/", ""),
            ("cma/", ""),
        ],
    ),
    (
        "both-ways",
        "One way and both ways at once",
        &[("single/load", ""), ("single/both", "")],
    ),
    (
        "memory",
        "Latency of dependent loads",
        &[("memory/chase", "")],
    ),
    (
        "atomics",
        "Read-modify-write on one word",
        &[("atomic/", "")],
    ),
    (
        "network",
        "Half round trips",
        &[("mpi/latency", ""), ("network/", "")],
    ),
    ("gpu", "Transfers of GPUs", &[("gpu/", "")]),
];

/// Writes all plots for which there are values into a folder.
pub(super) fn write_all(profile: &Profile, folder: &Path, format: Format) -> Result<(), String> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    let file = |name: &str| folder.join(name).with_extension(format.ending());
    for (name, title, wanted) in PLOTS {
        let is_wanted = |curve: &&Curve| {
            let is_one = |(start, end): &(&str, &str)| {
                curve.name.starts_with(start) && curve.name.ends_with(end)
            };
            wanted.iter().any(is_one)
        };
        let curves: Vec<&Curve> = profile.curves.iter().filter(is_wanted).collect();
        let Some(first) = curves.first() else {
            continue;
        };
        let axis = first.axis;
        let curves = curves.into_iter().filter(|curve| curve.axis == axis);
        // Rates say more of copies, times of everything that has no bytes or one word.
        let is_rate = axis == Axis::Bytes && name != "memory" && name != "network";
        let label = move |x: f64| match axis {
            Axis::Bytes => bytes_label(x),
            _ => format!("{x:.0}"),
        };
        let charts = Charts(vec![Chart {
            title: title.to_owned(),
            x: AxisText::new(axis.unit(), label),
            y: AxisText::new(if is_rate { "GB/s" } else { "ns" }, number_label),
            scale: Scale::Logarithmic,
            lines: curves.map(|curve| line(curve, is_rate)).collect(),
        }]);
        let file = file(name);
        write(&file, &render(&charts, charts.size(), &file)?)?;
    }
    for matrix in &profile.matrices {
        let names = matrix
            .places
            .iter()
            .map(|&place| profile.places[place].name.as_str());
        let map = HeatMap {
            title: format!(
                "{} [{}], from row to column",
                matrix.name,
                matrix.unit.name()
            ),
            names: names.collect(),
            values: &matrix.values,
        };
        let file = file(&matrix.name.replace('/', "-"));
        write(&file, &render(&map, map.size(), &file)?)?;
    }
    Ok(())
}

fn line(curve: &Curve, is_rate: bool) -> Line {
    let points = curve.points.iter().map(|point| {
        let (x, ns) = (point.x as f64, point.sample.ns.max(1e-3));
        (x, if is_rate { x / ns } else { ns })
    });
    Line {
        name: curve.name.clone(),
        points: points.collect(),
        look: Look::Marked,
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::profile;
    use super::*;

    #[test]
    fn every_plot_is_a_picture_of_its_values() {
        let folder = std::env::temp_dir().join(format!("rankpoint-plots-{}", std::process::id()));
        for (format, start) in [(Format::Svg, &b"<svg"[..]), (Format::Png, b"\x89PNG")] {
            write_all(&profile(1.0), &folder, format).unwrap();
            for name in ["copy-cached", "both-ways", "line-matrix"] {
                let file = folder.join(name).with_extension(format.ending());
                assert!(
                    std::fs::read(&file).unwrap().starts_with(start),
                    "{}",
                    file.display()
                );
            }
        }
        let text = std::fs::read_to_string(folder.join("line-matrix.svg")).unwrap();
        assert!(text.contains("core 1") && text.contains("60.0"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
