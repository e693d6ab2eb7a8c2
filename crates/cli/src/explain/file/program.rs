// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a program under `mpiexec` and collects how its ranks accessed files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use measure::{settings, temporary};
use serde::Serialize;

use super::options::FileOptions;

/// Accesses to a file that were done alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Accesses {
    pub(super) file: String,
    pub(super) costs: String,
    /// A rank by itself, or all ranks in a collective access.
    pub(super) scope: String,
    pub(super) action: String,
    pub(super) name: String,
    pub(super) rule: String,
    pub(super) accesses: u64,
    pub(super) bytes: u64,
    /// As the costs predict it.
    pub(super) ns: u64,
}

/// Runs the program; returns how its files were accessed, and how it ended.
///
/// # Errors
/// When it cannot be started, or no rank reported.
pub(super) fn watched(options: &FileOptions) -> Result<(Vec<Accesses>, ExitStatus), String> {
    if settings::is_rank() {
        return Err("explain file starts its job itself: run it without mpiexec".to_owned());
    }
    let folder = Folder(temporary::folder("file")?);
    let mut command = Command::new(settings::this_program()?);
    command.arg("run").args(&options.program);
    command.env("RANKPOINT_FILE_REPORT", &folder.0);
    let status = command.status();
    let status = status.map_err(|error| format!("cannot start mpiexec: {error}"))?;
    let all = read(&folder.0)?;
    if all.is_empty() {
        return Err(format!(
            "no rank reported: the program accessed no file through MPI, or used another MPI library; mpiexec ended with {status}"
        ));
    }
    Ok((all, status))
}

/// All reports of a folder, those of several ranks added up. All ranks report a collective access; that of rank 0 counts.
fn read(folder: &Path) -> Result<Vec<Accesses>, String> {
    let cannot = |error: String| format!("cannot read {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(|error| cannot(error.to_string()))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry.map_err(|error| cannot(error.to_string()))?.path());
    }
    files.sort();
    let mut sums: BTreeMap<[String; 6], (u64, u64, u64)> = BTreeMap::new();
    for file in files {
        let is_first = file.ends_with("rank-0.tsv");
        let text = fs::read_to_string(&file).map_err(|error| cannot(error.to_string()))?;
        for line in text.lines() {
            let row = parsed(line).ok_or_else(|| cannot(format!("what is '{line}'?")))?;
            if row.0[2] == "all" && !is_first {
                continue;
            }
            let sum = sums.entry(row.0).or_default();
            *sum = (sum.0 + row.1[0], sum.1 + row.1[1], sum.2 + row.1[2]);
        }
    }
    let all = sums.into_iter().map(
        |([file, costs, scope, action, name, rule], (accesses, bytes, ns))| Accesses {
            file,
            costs,
            scope,
            action,
            name,
            rule,
            accesses,
            bytes,
            ns,
        },
    );
    Ok(all.collect())
}

/// The six texts and the three numbers of a line.
fn parsed(line: &str) -> Option<([String; 6], [u64; 3])> {
    let words: Vec<&str> = line.split('\t').collect();
    let (texts, numbers) = words.split_first_chunk::<6>()?;
    let numbers: [u64; 3] = match numbers {
        [one, two, three] => [one.parse().ok()?, two.parse().ok()?, three.parse().ok()?],
        _ => return None,
    };
    Some((texts.map(str::to_owned), numbers))
}

/// A folder that only this user can read, and that goes with this value.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays among the temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_ranks_are_added_up_and_collective_ones_counted_once() {
        let folder = Folder(temporary::folder("file-test").unwrap());
        let rank = "x\tcall=1\trank\twrite\tlist\ta rule\t2\t30\t400\n";
        let all = "x\tcall=1\tall\twrite\tdirect\ta rule\t1\t60\t700\n";
        for number in 0..2 {
            let file = folder.0.join(format!("rank-{number}.tsv"));
            fs::write(file, format!("{rank}{all}")).unwrap();
        }
        let found = read(&folder.0).unwrap();
        let numbers = |row: &Accesses| (row.scope.clone(), row.accesses, row.bytes, row.ns);
        let numbers: Vec<_> = found.iter().map(numbers).collect();
        assert_eq!(
            numbers,
            [
                ("all".to_owned(), 1, 60, 700),
                ("rank".to_owned(), 4, 60, 800)
            ]
        );
        fs::write(folder.0.join("rank-2.tsv"), "x\ty\n").unwrap();
        assert!(read(&folder.0).is_err());
    }
}
