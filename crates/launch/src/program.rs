// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a program's name to its file, and sentences about why there is none.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::words;
use crate::plan::Program;
use crate::{LaunchError, settings};

/// Ranks of all programs together.
///
/// # Errors
/// When there are none, or more than can be counted.
pub(crate) fn count_ranks(programs: &[Program]) -> Result<u32, LaunchError> {
    let total = programs
        .iter()
        .try_fold(0u32, |sum, program| sum.checked_add(program.ranks));
    total
        .filter(|&total| total > 0)
        .ok_or_else(|| LaunchError::usage("a job has between 1 and 4294967295 ranks"))
}

/// The same for ranks that all run on this node.
///
/// # Errors
/// As for [`count_ranks`], or when there are more than this node can run.
pub(crate) fn total_ranks(programs: &[Program]) -> Result<u32, LaunchError> {
    let total = count_ranks(programs)?;
    let most = settings::most_processes();
    if total > most {
        return Err(LaunchError::usage(format!(
            "a job of {total} ranks is too large for this node, which runs at most {most} processes (kernel.pid_max)"
        )));
    }
    Ok(total)
}

/// The file that `program` names, looked up once for all of these ranks.
///
/// # Errors
/// 127 when there is none, 126 when it is not executable, each with the sentence for the user.
pub(crate) fn locate(program: &Program, ranks: &[u32]) -> Result<PathBuf, LaunchError> {
    let directory = match &program.directory {
        Some(directory) if !directory.is_dir() => {
            let text = format!(
                "the working directory {} does not exist",
                directory.display()
            );
            return Err(LaunchError {
                text,
                exit_code: 127,
            });
        }
        Some(directory) => directory.as_path(),
        None => Path::new("."),
    };
    let name = Path::new(&program.program);
    let candidate = if program.program.as_bytes().contains(&b'/') {
        Some(name.to_owned())
    } else {
        let own = program
            .environment
            .set
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH");
        let path = own.map_or_else(settings::search_path, |(_, value)| value.clone());
        let directories = program.search.iter().flat_map(std::env::split_paths);
        let mut found = directories
            .chain(std::env::split_paths(&path))
            .map(|at| at.join(name))
            .filter(|file| is_program(&directory.join(file)));
        // Scripts write `mpiexec a.out` where the shell wants `./a.out`.
        found.next().or_else(|| {
            Some(Path::new(".").join(name)).filter(|file| directory.join(file).exists())
        })
    };
    let ranks = ranks_text(ranks);
    let failure = |why: &str, exit_code| LaunchError {
        text: format!(
            "cannot start {} on {ranks}: {why}",
            program.program.display()
        ),
        exit_code,
    };
    let Some(file) = candidate else {
        return Err(failure(
            "no such program in PATH or in the working directory",
            127,
        ));
    };
    let there = directory.join(&file);
    match there.metadata() {
        Err(error) => Err(failure(&error.to_string(), 127)),
        Ok(data) if data.is_dir() => Err(failure("it is a directory", 126)),
        Ok(_) if !is_program(&there) => Err(failure("it is not executable", 126)),
        Ok(_) => Ok(file),
    }
}

/// `rank 3`, `ranks 3-5`, or `ranks 3, 5 and more`.
fn ranks_text(ranks: &[u32]) -> String {
    match ranks {
        [rank] => format!("rank {rank}"),
        [first, .., last] if (last - first) as usize + 1 == ranks.len() => {
            format!("ranks {first}-{last}")
        }
        [first, second] => format!("ranks {first} and {second}"),
        [first, second, ..] => format!("ranks {first}, {second} and more"),
        [] => "no rank".to_owned(),
    }
}

fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Adds what the kernel's answer to `exec` means for a user.
pub(crate) fn explain(program: &OsStr, error: &std::io::Error) -> LaunchError {
    let why = match error.raw_os_error() {
        Some(8) => {
            "it is neither a binary for this node's processor nor a script with an interpreter line"
                .to_owned()
        }
        Some(2) => "the interpreter or loader that it names does not exist".to_owned(),
        _ => words(error),
    };
    LaunchError {
        text: format!("cannot start {}: {why}", program.display()),
        exit_code: 126,
    }
}
