// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layers: what this library does itself between a program and its MPI library.
//!
//! A layer is a table of functions over the next one: those that it has no part in are the next layer's. So a call costs one jump for
//! each layer that has it.

use crate::settings::Settings;
use crate::table::Functions;
use crate::{datatypes, endpoints, placement};

/// A layer: its functions over the next ones.
type Layer = fn(&Settings, Functions) -> Functions;

/// All layers by name, the one that a program's call enters first in front.
static LAYERS: &[(&str, Layer)] = &[
    ("placement", placement::over),
    ("endpoints", endpoints::over),
    ("datatypes", datatypes::over),
];

/// Those that read the program's datatypes.
const READERS: [&str; 2] = ["endpoints", "datatypes"];

/// The layers that the settings name, over these functions.
///
/// # Errors
/// A name that is not a layer's.
pub(crate) fn over(settings: &Settings, next: Functions) -> Result<Functions, String> {
    let is_known = |name: &&String| LAYERS.iter().any(|(known, _)| known == name);
    if let Some(name) = settings.layers.iter().find(|name| !is_known(name)) {
        let known: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
        let known = known.join(", ");
        return Err(format!(
            "RANKPOINT_INTERPOSE: {name} is not a layer; there is {known}"
        ));
    }
    let is_named = |name: &str| settings.layers.iter().any(|named| named == name);
    let next = match READERS.into_iter().any(is_named) {
        true => datatypes::reading(next),
        false => next,
    };
    let wanted = LAYERS.iter().filter(|(name, _)| is_named(name));
    Ok(wanted
        .rev()
        .fold(next, |next, (_, layer)| layer(settings, next)))
}

/// The functions of a program's calls by profiling names: those of the library, but for layers that keep operations in progress or
/// have handles of their own.
pub(crate) fn profiling(settings: &Settings, real: Functions) -> Functions {
    let functions = datatypes::of_requests(real);
    match settings.layers.iter().any(|name| name == "endpoints") {
        true => endpoints::profiling(functions),
        false => functions,
    }
}
