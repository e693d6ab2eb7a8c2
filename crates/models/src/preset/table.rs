// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of presets.

use crate::{Error, Model};

/// Names and texts of the models that are shipped.
pub const PRESETS: [(&str, &str); 3] = [
    ("tx2-cx4", include_str!("tx2-cx4.toml")),
    ("node", include_str!("node.toml")),
    ("strong-scaling", include_str!("strong-scaling.toml")),
];

/// A model that is shipped, by name.
///
/// # Errors
/// [`Error::Unknown`], with the names there are.
pub fn preset(name: &str) -> Result<Model, Error> {
    match PRESETS.iter().find(|(own, _)| *own == name) {
        Some((own, text)) => Model::parse(own, text),
        None => Err(Error::Unknown {
            what: "preset",
            name: name.to_owned(),
            known: PRESETS.iter().map(|(own, _)| (*own).to_owned()).collect(),
        }),
    }
}
