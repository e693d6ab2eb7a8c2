// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the address of an instruction to the source lines that it comes from, and to what their annotations say.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use account::annotations::{Annotations, Purpose};
use account::attribution::{Found, Place};
use addr2line::Loader;

/// The library's line tables, and the annotations of the files that they name.
pub(super) struct Sources {
    library: PathBuf,
    built: SystemTime,
    loader: Loader,
    files: HashMap<String, Annotations>,
    found: HashMap<u64, Found>,
    /// Whether an address has led to a line.
    has_lines: bool,
}

impl Sources {
    /// Opens a library.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn open(library: &Path) -> Result<Self, String> {
        let told = |error: &dyn std::fmt::Display| {
            format!("cannot read the library {}: {error}", library.display())
        };
        let library = library.canonicalize().map_err(|error| told(&error))?;
        let built = fs::metadata(&library).and_then(|file| file.modified());
        let built = built.map_err(|error| told(&error))?;
        let loader = Loader::new(&library).map_err(|error| told(&error))?;
        Ok(Self {
            library,
            built,
            loader,
            files: HashMap::new(),
            found: HashMap::new(),
            has_lines: false,
        })
    }

    /// What the lines at an address of a program or a library are for.
    ///
    /// # Errors
    /// A source file that is not there any more, or has changed since the library was built; a wrong annotation.
    pub(super) fn find(&mut self, object: &str, address: u64) -> Result<Found, String> {
        if Path::new(object) != self.library {
            return Ok(Found::Caller);
        }
        if let Some(found) = self.found.get(&address) {
            return Ok(found.clone());
        }
        let found = self.look_up(address)?;
        self.found.insert(address, found.clone());
        Ok(found)
    }

    /// Goes outwards through inlined functions to the first line that says something.
    fn look_up(&mut self, address: u64) -> Result<Found, String> {
        let places = self.places(address);
        let broken = |error: Box<dyn std::error::Error>| {
            format!(
                "the line tables of {} cannot be read: {error}",
                self.library.display()
            )
        };
        let places = places.map_err(broken)?;
        for (file, line) in places {
            self.has_lines = true;
            if is_foreign(&file) {
                continue;
            }
            let purpose = self.annotations(&file)?.at(line);
            let place = Place {
                file: shown(&file).to_owned(),
                line,
            };
            match purpose {
                Some(Purpose::Of(category)) => return Ok(Found::Purpose(category, place)),
                Some(Purpose::Caller) => {}
                None => return Ok(Found::Unannotated(place)),
            }
        }
        Ok(Found::Caller)
    }

    /// Files and lines at an address, the innermost first.
    fn places(&self, address: u64) -> Result<Vec<(String, u32)>, Box<dyn std::error::Error>> {
        let mut places = Vec::new();
        let mut frames = self.loader.find_frames(address)?;
        while let Some(frame) = frames.next()? {
            let location = frame.location;
            // Line 0 is code that belongs to no line.
            let place = location.and_then(|at| Some((at.file?.to_owned(), at.line?)));
            places.extend(place.filter(|(_, line)| *line != 0));
        }
        Ok(places)
    }

    fn annotations(&mut self, file: &str) -> Result<&Annotations, String> {
        if !self.files.contains_key(file) {
            let library = self.library.display();
            let missing = |error: std::io::Error| {
                format!(
                    "{library} was built from {file}, which cannot be read: {error}; annotations are read where the library was built"
                )
            };
            let changed = fs::metadata(file).and_then(|file| file.modified());
            if changed.map_err(missing)? > self.built {
                return Err(format!(
                    "{file} has changed since {library} was built: build and install it again"
                ));
            }
            let text = fs::read_to_string(file).map_err(missing)?;
            let parsed = Annotations::parse(&text).map_err(|error| format!("{file}, {error}"))?;
            self.files.insert(file.to_owned(), parsed);
        }
        Ok(&self.files[file])
    }

    /// Whether the library has line tables.
    ///
    /// # Errors
    /// The library that has none, after instructions of it were looked up.
    pub(super) fn check_lines(&self) -> Result<(), String> {
        if self.has_lines {
            return Ok(());
        }
        Err(format!(
            "{} has no line tables, so that its instructions belong to no source lines: expected a library built with debug = \
             \"line-tables-only\", as the release profile is, and not stripped",
            self.library.display()
        ))
    }
}

/// Whether a file belongs to Rust's own library or a dependency.
fn is_foreign(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("/registry/src/") || file.contains("/rustlib/src/")
}

/// A path without the folder in which the library was built.
fn shown(file: &str) -> &str {
    match file.rfind("/crates/").or_else(|| file.rfind("/out/")) {
        Some(start) => &file[start + 1..],
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_dependencies_are_foreign() {
        assert!(is_foreign("/rustc/0123/library/core/src/ptr/mod.rs"));
        assert!(is_foreign(
            "/home/me/.cargo/registry/src/index/gimli-1/src/lib.rs"
        ));
        assert!(!is_foreign(
            "/home/me/rankpoint/crates/engine/src/p2p/fast.rs"
        ));
        assert_eq!(
            shown("/home/me/crates/engine/src/x.rs"),
            "crates/engine/src/x.rs"
        );
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let error = Sources::open(Path::new("/nowhere/libmpi_abi.so.1")).err();
        assert!(error.is_some_and(|text| text.contains("/nowhere/libmpi_abi.so.1")));
    }
}
