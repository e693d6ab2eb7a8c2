// SPDX-License-Identifier: MIT OR Apache-2.0
//! A whole profile, and what is asked of it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::control::{Control, Skipped};
use crate::cost::Cost;
use crate::curve::Curve;
use crate::error::{Error, Kind};
use crate::host::{Foreign, Host};
use crate::matrix::Matrix;
use crate::place::Place;
use crate::surface::Surface;

/// The schema that this version writes, and the newest that it reads.
pub const SCHEMA: u64 = 1;

/// Lines of the keys of `[host]` in a file, for errors. Profiles that say the same are equal wherever it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostLines(pub(crate) Vec<(&'static str, usize)>);

impl PartialEq for HostLines {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl HostLines {
    /// The keys that a machine is compared by.
    pub(crate) const KEYS: [&'static str; 8] = [
        "cpu",
        "architecture",
        "cores",
        "l3_bytes",
        "numa_nodes",
        "page_bytes",
        "virtual",
        "kernel",
    ];

    fn of(&self, key: &str) -> Option<usize> {
        let found = self.0.iter().find(|(known, _)| *known == key);
        found.map(|(_, line)| *line)
    }
}

/// What a machine's communication costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// The file that it was read from; empty for one that was just measured. Errors name it, the file does not contain it.
    #[serde(skip)]
    pub file: PathBuf,
    /// When it was measured, as `2026-01-31T12:00:00Z`.
    pub created: String,
    /// Program and version that measured it.
    pub tool: String,
    /// How much was measured: `quick`, `full` or `selected`.
    pub mode: String,
    /// The machine.
    pub host: Host,
    #[serde(skip)]
    pub(crate) host_lines: HostLines,
    /// Conditions.
    pub controls: Vec<Control>,
    /// Places that values name by their position here.
    pub places: Vec<Place>,
    /// Single costs; their names differ.
    pub costs: Vec<Cost>,
    /// Curves; no two have the same name and places.
    pub curves: Vec<Curve>,
    /// Surfaces; their names differ.
    pub surfaces: Vec<Surface>,
    /// Matrices; their names differ.
    pub matrices: Vec<Matrix>,
    /// Entries that were not measured.
    pub skipped: Vec<Skipped>,
}

impl Profile {
    /// An empty profile of a machine.
    pub fn new(host: Host) -> Self {
        Self {
            file: PathBuf::new(),
            created: String::new(),
            tool: String::new(),
            mode: String::new(),
            host,
            host_lines: HostLines::default(),
            controls: Vec::new(),
            places: Vec::new(),
            costs: Vec::new(),
            curves: Vec::new(),
            surfaces: Vec::new(),
            matrices: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, and those of [`Self::parse`].
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file).map_err(|error| {
            let expected = "a profile: `rankpoint scope` writes one".to_owned();
            Error::of_file(
                Kind::File,
                file,
                format!("cannot be read: {error}"),
                expected,
            )
        })?;
        Self::parse(&text, file)
    }

    /// Writes a file in one step: other programs see the old file or the whole new one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".{}", std::process::id()));
        let unfinished = PathBuf::from(name);
        let written = std::fs::write(&unfinished, self.to_toml())
            .and_then(|()| std::fs::rename(&unfinished, file));
        written.map_err(|error| {
            // What could not be written whole is of no use; the first error is the one that counts.
            drop(std::fs::remove_file(&unfinished));
            let found = format!("cannot be written: {error}");
            Error::of_file(Kind::File, file, found, String::new())
        })
    }

    /// Compares the profile's machine with the one that a program runs on, and the kernel: values may be others after an update.
    ///
    /// # Errors
    /// [`Kind::Foreign`], with all differences, at the first of them, or [`Kind::Stale`], unless the user allows either.
    pub fn check_host(&self, here: &Host, foreign: Foreign) -> Result<(), Error> {
        if foreign == Foreign::Allow {
            return Ok(());
        }
        if let Some(key) = self.host.first_differing_key(here) {
            let found = format!(
                "the profile of another machine ({} there, {} here: {})",
                self.host.fingerprint(),
                here.fingerprint(),
                self.host.differences(here).join("; ")
            );
            let expected = "this machine's: `rankpoint scope` measures it, --foreign-profile uses the other one";
            return Err(self.refused(Kind::Foreign, key, found, expected));
        }
        if self.host.kernel != here.kernel {
            let (there, kernel) = (&self.host.kernel, &here.kernel);
            let found = format!("measured under kernel {there}, and this is {kernel}");
            let expected = "this kernel's: `rankpoint scope` measures anew, --foreign-profile uses the old one";
            return Err(self.refused(Kind::Stale, "kernel", found, expected));
        }
        Ok(())
    }

    /// An error at a key of `[host]`.
    fn refused(&self, kind: Kind, key: &str, found: String, expected: &str) -> Error {
        Error {
            line: self.host_lines.of(key),
            key: format!("host.{key}"),
            ..Error::of_file(kind, &self.file, found, expected.to_owned())
        }
    }

    /// A cost by its name.
    ///
    /// # Errors
    /// [`Kind::Missing`] with the reason, if one is known, as for all the following.
    pub fn cost(&self, name: &str) -> Result<&Cost, Error> {
        let found = self.costs.iter().find(|cost| cost.name == name);
        found.ok_or_else(|| self.missing("cost", name, ""))
    }

    /// A curve by its name and places: positions in [`Self::places`], or none for a curve without places.
    ///
    /// # Errors
    /// As [`Self::cost`].
    pub fn curve(
        &self,
        name: &str,
        from: Option<usize>,
        to: Option<usize>,
    ) -> Result<&Curve, Error> {
        let mut named = self.curves_of(name);
        let found = named.find(|curve| (curve.from, curve.to) == (from, to));
        found.ok_or_else(|| {
            let place = |place: Option<usize>| match place {
                None => "nowhere".to_owned(),
                Some(place) => match self.places.get(place) {
                    Some(known) => known.name.clone(),
                    None => format!("place {place}"),
                },
            };
            let places = format!(" from {} to {}", place(from), place(to));
            let is_placed = from.is_some() || to.is_some();
            self.missing("curve", name, if is_placed { &places } else { "" })
        })
    }

    /// All curves of a name, whatever their places.
    pub fn curves_of<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p Curve> {
        self.curves.iter().filter(move |curve| curve.name == name)
    }

    /// A surface by its name.
    ///
    /// # Errors
    /// As [`Self::cost`].
    pub fn surface(&self, name: &str) -> Result<&Surface, Error> {
        let found = self.surfaces.iter().find(|surface| surface.name == name);
        found.ok_or_else(|| self.missing("surface", name, ""))
    }

    /// A matrix by its name.
    ///
    /// # Errors
    /// As [`Self::cost`].
    pub fn matrix(&self, name: &str) -> Result<&Matrix, Error> {
        let found = self.matrices.iter().find(|matrix| matrix.name == name);
        found.ok_or_else(|| self.missing("matrix", name, ""))
    }

    /// The position of a processor among the places.
    pub fn core(&self, processor: u64) -> Option<usize> {
        let is_it =
            |place: &Place| place.kind == crate::place::PlaceKind::Core && place.index == processor;
        self.places.iter().position(is_it)
    }

    fn missing(&self, kind: &str, name: &str, places: &str) -> Error {
        let skipped = self.skipped.iter().find(|skipped| skipped.name == name);
        let (found, expected) = match skipped {
            Some(Skipped { reason, .. }) => (
                format!("no {kind} '{name}'{places}, because it was skipped: {reason}"),
                String::new(),
            ),
            None => (
                format!("no {kind} '{name}'{places}"),
                format!("one: `rankpoint scope --only '^{name}'` measures it"),
            ),
        };
        Error::of_file(Kind::Missing, &self.file, found, expected)
    }
}
