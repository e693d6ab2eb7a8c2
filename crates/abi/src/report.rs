// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers for `rankpoint info`: missing functions, and settings.

use core::ffi::c_char;
use std::ffi::CString;
use std::sync::OnceLock;

use engine::settings::{SETTINGS, Settings, TEXTS};

/// Names of the functions that are not written yet, one a line (for `rankpoint info --missing`).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rankpoint_missing_functions() -> *const c_char {
    static TEXT: OnceLock<CString> = OnceLock::new();
    TEXT.get_or_init(|| CString::new(crate::MISSING).unwrap_or_default())
        .as_ptr()
}

/// The settings: name, value in force, unit and text, tab-separated, one a line (for `rankpoint info`).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rankpoint_settings() -> *const c_char {
    static TEXT: OnceLock<CString> = OnceLock::new();
    let build = || {
        let (settings, warnings) = Settings::from_environment();
        // Lines with two cells, the first of them empty.
        let warnings = warnings.iter().map(|text| format!("\t{text}"));
        let texts = TEXTS.iter().zip(settings.texts());
        let texts = texts
            .map(|(row, value)| format!("{}\t{value}\t\t{}\t\t{}", row.name, row.unit, row.text));
        let lines: Vec<String> = SETTINGS
            .iter()
            .zip(settings.values())
            .map(|(row, value)| {
                format!(
                    "{}\t{value}\t{}\t{}\t{}..{}\t{}",
                    row.name, row.default, row.unit, row.min, row.max, row.text
                )
            })
            .chain(texts)
            .chain(warnings)
            .collect();
        CString::new(lines.join("\n")).unwrap_or_default()
    };
    TEXT.get_or_init(build).as_ptr()
}
