// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model that is asked: a preset, or a file; with values of a machine profile where it has components of one.

use std::path::Path;

use machine_profile::Profile;
use models::{BYTES, Model, PRESETS, Values, preset};

use super::options::{Common, Format};
use super::report::Report;

/// A model, its values, and what a reader must know of them.
pub(super) struct Asked {
    pub(super) model: Model,
    pub(super) values: Values,
    pub(super) remarks: Vec<String>,
}

impl Asked {
    /// An answer with the remarks.
    pub(super) fn show(self, mut report: Report, format: Format) -> String {
        report.remarks.extend(self.remarks);
        report.show(format)
    }
}

/// The model and its values.
pub(super) fn read(common: &Common) -> Result<Asked, String> {
    let name = &common.model;
    let model = if PRESETS.iter().any(|(own, _)| own == name) {
        preset(name)
    } else {
        let text = sys::files::read_text(Path::new(name)).map_err(|error| {
            let presets: Vec<&str> = PRESETS.iter().map(|(own, _)| *own).collect();
            let presets = presets.join(", ");
            format!("--model {name}: {error}: expected a TOML file, or a preset: {presets}")
        })?;
        Model::parse(name, &text)
    };
    let model = model.map_err(|error| error.to_string())?;
    let (mut given, remarks) = of_profile(&model, common)?;
    // What the user says counts more than what the machine says.
    given.extend(common.given.iter().cloned());
    let values = model.values_given(&given);
    let values = values.map_err(|error| error.to_string())?;
    Ok(Asked {
        model,
        values,
        remarks,
    })
}

type Given = Vec<(String, f64)>;

/// Components that a machine profile gives, and a sentence about them.
fn of_profile(model: &Model, common: &Common) -> Result<(Given, Vec<String>), String> {
    let rows = model.components().iter();
    let rows = rows.filter_map(|row| row.profile().map(|(entry, is_open)| (row, entry, is_open)));
    let is_told = |name: &str| common.given.iter().any(|(given, _)| given == name);
    let rows: Vec<_> = rows.filter(|(row, ..)| !is_told(row.name())).collect();
    let (mut given, mut remarks) = (Vec::new(), Vec::new());
    if rows.is_empty() {
        return match common.profile.profile.is_some() {
            true => Err(format!(
                "--profile: no component of model {} is taken from a machine profile, expected one such as --model node",
                model.name()
            )),
            false => Ok((given, remarks)),
        };
    }
    let needs_one = rows.iter().any(|(_, _, is_open)| *is_open);
    let profile = match needs_one {
        true => Some(common.profile.load()?),
        false => common.profile.load_if_any()?,
    };
    let Some(profile) = profile else {
        return Ok((given, remarks));
    };
    let told = common.given.iter().rev().find(|(name, _)| name == BYTES);
    let bytes = told.map(|(_, value)| *value);
    let bytes = bytes.or_else(|| model.parameters().get(BYTES).copied());
    let mut sources = Vec::new();
    for (row, entry, is_open) in rows {
        match value(&profile, entry, bytes.unwrap_or(0.0)) {
            Ok((ns, extrapolated)) => {
                given.push((row.name().to_owned(), ns));
                sources.push(format!("{} ({entry})", row.name()));
                remarks.extend(extrapolated.map(|how| format!("{}: {how}.", row.name())));
            }
            Err(reason) if is_open => return Err(reason),
            // The model's own value stands.
            Err(_) => {}
        }
    }
    if !sources.is_empty() {
        let file = profile.file.display();
        remarks.insert(0, format!("From {file}: {}.", sources.join(", ")));
    }
    Ok((given, remarks))
}

/// The value of an entry, and how it was extrapolated, if it was.
fn value(profile: &Profile, entry: &str, bytes: f64) -> Result<(f64, Option<String>), String> {
    if let Some(curve) = profile.curves_of(entry).next() {
        let found = curve.at(bytes);
        let how = found.is_extrapolated().then(|| found.to_string());
        return Ok((found.ns, how));
    }
    let cost = profile.cost(entry).map_err(|error| error.to_string())?;
    Ok((cost.sample.ns, None))
}
