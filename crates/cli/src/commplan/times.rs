// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the messages of a process take, by the machine profile.
//!
//! Each message takes half a round trip of as many bytes between two ranks of this node. One thread sends them one after the other; threads
//! that share no object do so at once, at best.

use std::fmt::Write as _;

use commplan::{ByClass, Grid};
use machine_profile::Profile;
use serde_json::{Value, json};

use super::answer::{Row, float};

/// The curve of half round trips by bytes.
pub(crate) const MESSAGES: &str = "mpi/latency";
/// Bytes of a face of 16 x 16 cells of 8 bytes.
pub(crate) const FACE_BYTES: f64 = 2048.0;

/// Times of patches with so many cells along each axis.
struct OfSize {
    size: u64,
    /// Nanoseconds of a face, an edge and a corner; `*` follows what was extrapolated.
    each: [(f64, bool); 3],
    /// Nanoseconds of all messages that leave an interior process, one after the other.
    all: f64,
}

/// Times of all sizes.
pub(super) struct Times {
    /// The file of the profile.
    source: String,
    cell_bytes: u64,
    has_edges: bool,
    sizes: Vec<OfSize>,
}

impl Times {
    /// The times by a profile.
    ///
    /// # Errors
    /// When it has no times of messages.
    pub(super) fn of(
        profile: &Profile,
        grid: &Grid,
        sizes: &[u64],
        cell_bytes: u64,
    ) -> Result<Self, String> {
        let curve = profile.curves_of(MESSAGES).next();
        let Some(curve) = curve else {
            // Asking by name tells whether it was skipped, and why.
            let missing = profile.curve(MESSAGES, None, None).err();
            return Err(missing.map_or_else(String::new, |error| error.to_string()));
        };
        let has_edges = grid.stencil().axes() == 3;
        let leaving = grid.leaving();
        let of_size = |&size: &u64| {
            let (size_bytes, cell) = ((size * cell_bytes) as f64, cell_bytes as f64);
            let face = if has_edges {
                size_bytes * size as f64
            } else {
                size_bytes
            };
            let each = [face, size_bytes, cell].map(|bytes| {
                let found = curve.at(bytes);
                (found.ns, found.is_extrapolated())
            });
            let counts = by_class(leaving);
            let all = counts.iter().zip(each);
            let all = all.map(|(&count, (ns, _))| float(count.into()) * ns).sum();
            OfSize { size, each, all }
        };
        Ok(Self {
            source: profile.file.display().to_string(),
            cell_bytes,
            has_edges,
            sizes: sizes.iter().map(of_size).collect(),
        })
    }

    /// The rows: a name, and nanoseconds of each size with whether they were extrapolated.
    fn rows(&self, plans: &[Row]) -> Vec<(String, Vec<(f64, bool)>)> {
        let mut rows = Vec::new();
        for (class, name) in ["a face", "an edge", "a corner"].into_iter().enumerate() {
            if class != 1 || self.has_edges {
                let each = self.sizes.iter().map(|of| of.each[class]);
                rows.push((name.to_owned(), each.collect()));
            }
        }
        let together = |threads: usize| {
            let all = self.sizes.iter().map(|of| {
                let is_extrapolated = of.each.iter().any(|(_, is)| *is);
                (of.all / float(threads as u128), is_extrapolated)
            });
            all.collect()
        };
        rows.push(("all, by one thread".to_owned(), together(1)));
        let exposed = plans.iter().filter_map(|row| Some((row, row.exposed?)));
        for (row, exposed) in exposed.filter(|(_, exposed)| exposed.independent > 0) {
            let threads = exposed.independent;
            rows.push((
                format!("{}, {threads} at once", row.kind.name()),
                together(threads),
            ));
        }
        rows
    }

    pub(super) fn text(&self, plans: &[Row], text: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\nMicroseconds of messages to other processes, cells of {} bytes, by {MESSAGES} of {}",
            self.cell_bytes, self.source
        );
        let heads = self.sizes.iter();
        let heads = heads.map(|of| format!("{:>12}", format!("n = {}", of.size)));
        let _ = writeln!(text, "{:<24}{}", "", heads.collect::<String>());
        let rows = self.rows(plans);
        for (name, values) in &rows {
            let cells = values.iter().map(|(ns, is_extrapolated)| {
                let mark = if *is_extrapolated { '*' } else { ' ' };
                format!("{:>11.2}{mark}", ns / 1e3)
            });
            let line = format!("  {name:<22}{}", cells.collect::<String>());
            let _ = writeln!(text, "{}", line.trim_end());
        }
        if rows
            .iter()
            .any(|(_, values)| values.iter().any(|(_, is)| *is))
        {
            let _ = writeln!(text, "* extrapolated beyond the sizes that were measured");
        }
    }

    pub(super) fn json(&self, plans: &[Row]) -> Value {
        let rows = self.rows(plans).into_iter().map(|(name, values)| {
            let ns = values.iter().map(|(ns, _)| ns);
            let extrapolated = values.iter().map(|(_, is)| is);
            json!({ "of": name, "ns": ns.collect::<Vec<_>>(), "extrapolated": extrapolated.collect::<Vec<_>>() })
        });
        let sizes = self.sizes.iter().map(|of| of.size);
        json!({
            "profile": self.source, "entry": MESSAGES, "cell_bytes": self.cell_bytes,
            "sizes": sizes.collect::<Vec<_>>(), "rows": rows.collect::<Vec<_>>(),
        })
    }
}

const fn by_class(counts: ByClass) -> [u64; 3] {
    [counts.faces, counts.edges, counts.corners]
}
