// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers for `rankpoint info`: missing functions, and settings; and for `rankpoint bench`: counters.

use core::ffi::c_char;
use std::cell::RefCell;
use std::ffi::CString;
use std::sync::OnceLock;

use engine::settings::{SETTINGS, Settings, TEXTS};

use crate::state;

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

/// The counters of this rank: name and value, tab-separated, one a line; no line outside MPI_Init and MPI_Finalize. The text lives until the
/// thread calls this again.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rankpoint_counters() -> *const c_char {
    thread_local! {
        static TEXT: RefCell<CString> = RefCell::default();
    }
    let process = state::process().filter(|_| state::is_active());
    let counters = process.into_iter().flat_map(|process| process.counters());
    let lines: Vec<String> = counters
        .map(|(name, value)| format!("{name}\t{value}"))
        .collect();
    let text = CString::new(lines.join("\n")).unwrap_or_default();
    TEXT.with_borrow_mut(|kept| {
        *kept = text;
        kept.as_ptr()
    })
}
