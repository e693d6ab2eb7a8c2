// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of flags that are words of their own.

use std::ffi::OsString;

use crate::plan::Input;
use crate::{LaunchError, binding, settings};

/// The value of `-stdin`.
///
/// # Errors
/// When it is none.
pub(crate) fn reader_of_input(text: &str) -> Result<Input, LaunchError> {
    match text {
        "all" => return Ok(Input::All),
        "none" => return Ok(Input::None),
        _ => {}
    }
    let list: Option<Vec<_>> = text.split(',').map(binding::entry).collect();
    match list.map(|list| list.concat()).as_deref() {
        Some([rank]) => Ok(Input::Rank(*rank)),
        Some(ranks) => Ok(Input::Ranks(ranks.to_vec())),
        None => Err(LaunchError::usage(format!(
            "-stdin wants a rank, ranks such as 0,2-4, all or none, but got '{text}'"
        ))),
    }
}

/// The value of `--initial-errhandler`, as the variable that gives it to the library.
///
/// # Errors
/// When it is none.
pub(crate) fn initial_handler(text: &str) -> Result<(OsString, OsString), LaunchError> {
    let names = [
        "mpi_errors_are_fatal",
        "mpi_errors_abort",
        "mpi_errors_return",
    ];
    let choice = names.iter().position(|&name| name == text).ok_or_else(|| {
        LaunchError::usage(format!(
            "--initial-errhandler wants {}, but got '{text}'",
            names.join(", ")
        ))
    })?;
    let name = settings::INITIAL_ERRHANDLER_VARIABLE.into();
    Ok((name, choice.to_string().into()))
}
