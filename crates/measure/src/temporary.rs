// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders for what a command passes to the programs that it starts.

use std::fs::DirBuilder;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

/// Names that are tried.
const TRIES: u32 = 1000;

/// A new folder that only this user can read, among the temporary files. A killed command may have left one of the name that this
/// process would take.
///
/// # Errors
/// When no folder can be made.
pub fn folder(name: &str) -> Result<PathBuf, String> {
    let parent = std::env::temp_dir();
    let process = std::process::id();
    for number in 0..TRIES {
        let folder = parent.join(format!("rankpoint-{name}-{process}-{number}"));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot(&folder, &error)),
        }
    }
    Err(cannot(&parent, &Error::from(ErrorKind::AlreadyExists)))
}

fn cannot(folder: &std::path::Path, error: &Error) -> String {
    format!("cannot make a folder in {}: {error}", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_not_in_the_way() {
        let (one, other) = (folder("left"), folder("left"));
        let (one, other) = (one.expect("a folder"), other.expect("another one"));
        assert_ne!(one, other);
        for folder in [one, other] {
            std::fs::remove_dir(folder).expect("a folder of our own");
        }
    }
}
