// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model that is asked: a preset, or a file.

use std::path::Path;

use models::{Model, PRESETS, Values, preset};

use super::options::Common;

/// The model and its values.
pub(super) fn read(common: &Common) -> Result<(Model, Values), String> {
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
    let values = model.values_given(&common.given);
    let values = values.map_err(|error| error.to_string())?;
    Ok((model, values))
}
