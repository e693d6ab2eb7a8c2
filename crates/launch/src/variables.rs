// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags that change the environment of the ranks.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::plan::Environment;
use crate::{LaunchError, layers, settings};

/// `-x NAME`, `-x NAME=VALUE` and `-x NAME*`. A name that is not set passes nothing on.
pub(crate) fn exported(value: &OsStr) -> Vec<(OsString, OsString)> {
    let bytes = value.as_bytes();
    match (
        bytes.iter().position(|&byte| byte == b'='),
        bytes.strip_suffix(b"*"),
    ) {
        (Some(at), _) => vec![(
            OsString::from_vec(bytes[..at].to_vec()),
            OsString::from_vec(bytes[at + 1..].to_vec()),
        )],
        (None, Some(_)) => settings::all()
            .filter(|(name, _)| is_named(name, value))
            .collect(),
        (None, None) => settings::read(value)
            .map(|found| (value.to_owned(), found))
            .into_iter()
            .collect(),
    }
}

/// Names between commas.
pub(crate) fn names(text: &str) -> Vec<OsString> {
    text.split(',').map(OsString::from).collect()
}

/// Whether `name` is what a flag calls `pattern`: the same, or its beginning and a star.
pub(crate) fn is_named(name: &OsStr, pattern: &OsStr) -> bool {
    match pattern.as_bytes().strip_suffix(b"*") {
        Some(beginning) => name.as_bytes().starts_with(beginning),
        None => name == pattern,
    }
}

/// `--append-env NAME[:] VALUE` and `--prepend-env`.
///
/// # Errors
/// When there is no separator in brackets.
pub(crate) fn join(
    environment: &mut Environment,
    flag: &OsStr,
    name: &str,
    value: &OsStr,
    at_end: bool,
) -> Result<(), LaunchError> {
    let parts = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once('['))
        .filter(|(name, _)| !name.is_empty());
    let Some((name, separator)) = parts else {
        return Err(LaunchError::usage(format!(
            "{0} wants a name and its separator, such as {0} LD_LIBRARY_PATH[:] DIR, but got '{name}'",
            flag.display()
        )));
    };
    let name = OsString::from(name);
    let given = environment.set.iter().rev().find(|(set, _)| *set == name);
    let old = given.map_or_else(|| settings::read(&name), |(_, value)| Some(value.clone()));
    let joined = match old {
        None => value.to_owned(),
        Some(old) => {
            let (first, last) = if at_end {
                (&*old, value)
            } else {
                (value, &*old)
            };
            [first, separator.as_ref(), last].into_iter().collect()
        }
    };
    environment.set.push((name, joined));
    Ok(())
}

/// `--layers LAYER,...`: layers between the ranks and their MPI library.
///
/// # Errors
/// When a name is not a layer's, or the library that has them is not installed beside this program.
pub(crate) fn layers(environment: &mut Environment, names: &str) -> Result<(), LaunchError> {
    layers::check(names.split(',')).map_err(LaunchError::usage)?;
    environment
        .set
        .push(("RANKPOINT_INTERPOSE".into(), names.into()));
    interpose(environment)
}

/// `--tools FILE,...`: profiling tools there.
///
/// # Errors
/// When a file is not there, or the library that loads them is not installed beside this program.
pub(crate) fn tools(environment: &mut Environment, files: &str) -> Result<(), LaunchError> {
    let absolute = |file: &str| {
        let found = Path::new(file).canonicalize();
        let found = found.map(PathBuf::into_os_string);
        found.map_err(|error| LaunchError::usage(format!("--tools {file}: {error}")))
    };
    let files = files.split(',').map(absolute);
    let files: Vec<OsString> = files.collect::<Result<_, _>>()?;
    environment
        .set
        .push(("RANKPOINT_TOOLS".into(), files.join(OsStr::new(","))));
    interpose(environment)
}

/// Has the ranks load the library that stands between them and their MPI library.
fn interpose(environment: &mut Environment) -> Result<(), LaunchError> {
    let library = settings::interposer()?;
    let library = library.as_os_str();
    let is_loaded = environment.set.iter().any(|(name, value)| {
        name == "LD_PRELOAD" && value.as_bytes().starts_with(library.as_bytes())
    });
    match is_loaded {
        true => Ok(()),
        false => join(environment, OsStr::new(""), "LD_PRELOAD[:]", library, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_joined_to_what_is_there() {
        let mut environment = Environment::default();
        let mut add = |name, value: &str, at_end| {
            join(
                &mut environment,
                "--append-env".as_ref(),
                name,
                value.as_ref(),
                at_end,
            )
        };
        add("RANKPOINT_NOT_SET[:]", "b", true).unwrap();
        add("RANKPOINT_NOT_SET[:]", "c", true).unwrap();
        add("RANKPOINT_NOT_SET[, ]", "a", false).unwrap();
        assert!(
            add("X", "y", true)
                .unwrap_err()
                .text
                .contains("LD_LIBRARY_PATH[:]")
        );
        assert_eq!(environment.set.last().unwrap().1, "a, b:c");
        assert!(is_named("ABC".as_ref(), "AB*".as_ref()));
        assert!(!is_named("ABC".as_ref(), "AB".as_ref()));
    }
}
