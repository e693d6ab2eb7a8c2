// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading the file of a profile, with all rules of its values.

use std::collections::HashSet;
use std::hash::Hash;
use std::path::Path;

use crate::axis::{Axis, Unit};
use crate::control::{Control, Skipped};
use crate::cost::Cost;
use crate::curve::{Curve, Point};
use crate::error::{Error, Kind};
use crate::host::Host;
use crate::matrix::Matrix;
use crate::place::{Place, PlaceKind};
use crate::profile::{HostLines, Profile, SCHEMA};
use crate::sample::Sample;
use crate::section::{Document, Section};
use crate::surface::Surface;

impl Profile {
    /// Reads the text of a file, whose name errors tell. Unknown keys are ignored.
    ///
    /// # Errors
    /// A text that is no TOML, a newer schema, and the first key that is missing or has a value that it may not have.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Error> {
        let document = Document::parse(text, file)?;
        let root = document.root();
        let schema = root.count("schema")?;
        if schema != SCHEMA {
            let (found, expected) = (schema.to_string(), SCHEMA.to_string());
            let error = root.error("schema", &found, &expected);
            return Err(if schema > SCHEMA {
                Error {
                    kind: Kind::Newer,
                    expected: format!("{expected}, the newest that this version reads"),
                    ..error
                }
            } else {
                error
            });
        }
        let places = each(&root, "places", place)?;
        let count = places.len();
        let machine = root.section("host")?;
        let lines = HostLines::KEYS.map(|key| (key, document.line(machine.spot(key))));
        let profile = Self {
            file: file.to_owned(),
            created: root.text("created")?,
            tool: root.text("tool")?,
            mode: root.text("mode")?,
            host: host(&machine)?,
            host_lines: HostLines(lines.to_vec()),
            controls: each(&root, "controls", control)?,
            places,
            costs: each(&root, "costs", cost)?,
            curves: each(&root, "curves", |section| curve(section, count))?,
            surfaces: each(&root, "surfaces", surface)?,
            matrices: each(&root, "matrices", |section| matrix(section, count))?,
            skipped: each(&root, "skipped", skipped)?,
        };
        unique(&root, "costs", profile.costs.iter().map(|cost| &cost.name))?;
        let names = profile.surfaces.iter().map(|surface| &surface.name);
        unique(&root, "surfaces", names)?;
        let names = profile.matrices.iter().map(|matrix| &matrix.name);
        unique(&root, "matrices", names)?;
        let curves = profile.curves.iter();
        let names = curves.map(|curve| (&curve.name, curve.from, curve.to));
        unique(&root, "curves", names)?;
        Ok(profile)
    }
}

fn each<T>(
    root: &Section<'_>,
    key: &str,
    read: impl Fn(&Section<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    root.sections(key)?.iter().map(read).collect()
}

/// Entries that would hide each other are an error.
fn unique<T: Eq + Hash>(
    root: &Section<'_>,
    key: &str,
    names: impl Iterator<Item = T>,
) -> Result<(), Error> {
    let mut known = HashSet::new();
    let sections = root.sections(key)?;
    for (section, name) in sections.iter().zip(names) {
        if !known.insert(name) {
            let name = section.text("name")?;
            let expected = "another name, or other places, than the entries above";
            return Err(section.error("name", &format!("'{name}'"), expected));
        }
    }
    Ok(())
}

fn host(section: &Section<'_>) -> Result<Host, Error> {
    let positive = |key: &str| match section.count(key)? {
        0 => Err(section.error(key, "0", "a whole number, 1 or larger")),
        count => Ok(count),
    };
    let host = Host {
        cpu: section.text("cpu")?,
        architecture: section.text("architecture")?,
        cores: positive("cores")?,
        l3_bytes: section.count("l3_bytes")?,
        numa_nodes: positive("numa_nodes")?,
        page_bytes: positive("page_bytes")?,
        is_virtual: section.truth("virtual")?,
        kernel: section.text("kernel")?,
    };
    let (told, computed) = (section.text("fingerprint")?, host.fingerprint());
    if told != computed {
        let expected =
            format!("'{computed}', which the other keys of [host] give: the file was changed");
        return Err(section.error("fingerprint", &format!("'{told}'"), &expected));
    }
    Ok(host)
}

fn control(section: &Section<'_>) -> Result<Control, Error> {
    Ok(Control {
        name: section.text("name")?,
        asked: section.text("asked")?,
        held: section.text("held")?,
    })
}

fn skipped(section: &Section<'_>) -> Result<Skipped, Error> {
    Ok(Skipped {
        name: section.text("name")?,
        reason: section.text("reason")?,
    })
}

fn place(section: &Section<'_>) -> Result<Place, Error> {
    Ok(Place {
        name: section.text("name")?,
        kind: section.name("kind", &PlaceKind::ALL, PlaceKind::name)?,
        index: section.count("index")?,
        l3: section.optional("l3", Section::count)?,
        numa: section.optional("numa", Section::count)?,
    })
}

fn sample(section: &Section<'_>) -> Result<Sample, Error> {
    let n = section.count("n")?;
    if n == 0 {
        return Err(section.error("n", "0", "a whole number, 1 or larger"));
    }
    Ok(Sample {
        ns: section.number("ns")?,
        trimean: section.number("trimean")?,
        mad: section.number("mad")?,
        n,
        iid: section.truth("iid")?,
    })
}

fn cost(section: &Section<'_>) -> Result<Cost, Error> {
    Ok(Cost {
        name: section.text("name")?,
        sample: sample(section)?,
    })
}

fn axis(section: &Section<'_>, key: &str) -> Result<Axis, Error> {
    section.name(key, &Axis::ALL, Axis::name)
}

/// A position among so many places.
fn position(section: &Section<'_>, key: &str, places: usize) -> Result<Option<usize>, Error> {
    let Some(position) = section.optional(key, Section::count)? else {
        return Ok(None);
    };
    match usize::try_from(position) {
        Ok(position) if position < places => Ok(Some(position)),
        _ => {
            let expected = format!("a position among the {places} [[places]], counted from 0");
            Err(section.error(key, &position.to_string(), &expected))
        }
    }
}

fn curve(section: &Section<'_>, places: usize) -> Result<Curve, Error> {
    let mut points: Vec<Point> = Vec::new();
    for part in section.sections("points")? {
        let (x, sample) = (part.count("x")?, sample(&part)?);
        if let Some(before) = points.last().filter(|before| before.x >= x) {
            let expected = format!("more than {}, the point before", before.x);
            return Err(part.error("x", &x.to_string(), &expected));
        }
        points.push(Point { x, sample });
    }
    if points.is_empty() {
        return Err(section.error("points", "none", "at least one point"));
    }
    Ok(Curve {
        name: section.text("name")?,
        axis: axis(section, "axis")?,
        from: position(section, "from", places)?,
        to: position(section, "to", places)?,
        points,
    })
}

/// Grid lines: at least one, ascending.
fn lines(section: &Section<'_>, key: &str) -> Result<Vec<u64>, Error> {
    let lines = section.counts(key)?;
    if lines.is_empty() || lines.windows(2).any(|pair| pair[0] >= pair[1]) {
        let found = format!("{lines:?}");
        return Err(section.error(
            key,
            &found,
            "at least one number, each larger than the one before",
        ));
    }
    Ok(lines)
}

/// Rows of a table with so many rows and columns.
fn table(
    section: &Section<'_>,
    key: &str,
    rows: usize,
    columns: usize,
) -> Result<Vec<Vec<Option<f64>>>, Error> {
    let cells = section.rows(key)?;
    if cells.len() != rows || cells.iter().any(|row| row.len() != columns) {
        let widths: Vec<usize> = cells.iter().map(Vec::len).collect();
        let found = format!("rows of lengths {widths:?}");
        let expected = format!("{rows} rows of {columns} numbers");
        return Err(section.error(key, &found, &expected));
    }
    Ok(cells)
}

fn surface(section: &Section<'_>) -> Result<Surface, Error> {
    let names = section.section("axes")?;
    let axes = [axis(&names, "x")?, axis(&names, "y")?];
    let (x, y) = (lines(section, "x")?, lines(section, "y")?);
    let whole = |key: &str| {
        let rows = table(section, key, x.len(), y.len())?;
        let rows = rows.into_iter().map(|row| row.into_iter().collect());
        let whole: Option<Vec<Vec<f64>>> = rows.collect();
        whole.ok_or_else(|| section.error(key, "nan", "a number in each place"))
    };
    Ok(Surface {
        name: section.text("name")?,
        axes,
        ns: whole("ns")?,
        mad: whole("mad")?,
        x,
        y,
    })
}

fn matrix(section: &Section<'_>, count: usize) -> Result<Matrix, Error> {
    let mut places = Vec::new();
    for place in section.counts("places")? {
        match usize::try_from(place) {
            Ok(place) if place < count && !places.contains(&place) => places.push(place),
            _ => {
                let expected = format!("positions among the {count} [[places]], each once");
                return Err(section.error("places", &place.to_string(), &expected));
            }
        }
    }
    let square = |key: &str| table(section, key, places.len(), places.len());
    Ok(Matrix {
        name: section.text("name")?,
        unit: section.name("unit", &Unit::ALL, Unit::name)?,
        values: square("values")?,
        mad: square("mad")?,
        places,
    })
}
