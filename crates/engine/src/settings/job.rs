// SPDX-License-Identifier: MIT OR Apache-2.0
//! The place in a job that `mpiexec` gives a process (`RANKPOINT_JOB`), and what to do with one that is taken.
//!
//! A program that a rank starts inherits the variable but not the place: it runs as a job of its own, with a notice. All
//! other conflicts are errors, because processes that each believe to be alone compute nonsense together.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use fabric::board::JOB_VARIABLE;
use fabric::observe::NodeFile;

/// The format of the value.
const EXPECTED: &str = "1:<descriptor of the node segment>:<rank>:<size>, as mpiexec sets it";
/// Ancestors that are looked at.
const MOST_ANCESTORS: usize = 64;
/// How the kernel calls the file of a node segment.
const SEGMENT_LINK: &str = "/memfd:rankpoint-node";
/// EBADF: the number of a descriptor that is not open.
const NOT_OPEN: i32 = 9;

/// The place of this process.
pub(crate) enum Assignment {
    /// No launcher says anything.
    None,
    /// A rank of a job.
    Rank(Assigned),
    /// A program that a rank started: a job of its own, after this notice.
    StartedByRank(String),
}

/// Which rank of which job this process is.
#[derive(Debug)]
pub(crate) struct Assigned {
    /// The node segment.
    pub(crate) file: OwnedFd,
    /// Rank in MPI_COMM_WORLD.
    pub(crate) rank: u32,
    /// Size of MPI_COMM_WORLD.
    pub(crate) size: u32,
    /// The process of the job that is rank 0 in it: 0, but for processes that are added to a running job.
    pub(crate) first: u32,
}

/// The rank that the launcher assigned to this process, if any.
///
/// # Errors
/// With a sentence that names the variable, its value and what was expected.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn job_from_environment() -> Result<Assignment, String> {
    let value = std::env::var_os(JOB_VARIABLE);
    assignment(value.map(|value| value.to_string_lossy().into_owned()))
}

fn assignment(value: Option<String>) -> Result<Assignment, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(Assignment::None);
    };
    let (fd, rank, size) = parse(&value)?;
    let node = match NodeFile::inherited(fd) {
        Ok(node) => node,
        Err(error) => return without_segment(&value, fd, rank, &error),
    };
    if size != node.job_ranks() {
        return Err(malformed(
            &value,
            &format!("the job of descriptor {fd} has {} ranks", node.job_ranks()),
        ));
    }
    let owner = node.board(rank).map_or(0, |board| board.pid);
    if owner == 0 {
        let file = node.into_file();
        return Ok(Assignment::Rank(Assigned {
            file,
            rank,
            size,
            first: 0,
        }));
    }
    if ancestors().contains(&owner) {
        return Ok(started_by_rank(&value, rank, owner));
    }
    Err(format!(
        "{JOB_VARIABLE} is '{value}', but process {owner} has that place: a process cannot take it that rank {rank} did \
         not start, nor one that follows it (unset {JOB_VARIABLE} to run this program alone)"
    ))
}

fn parse(value: &str) -> Result<(i32, u32, u32), String> {
    let parts: Vec<&str> = value.split(':').collect();
    let [version, fd, rank, size] = parts[..] else {
        return Err(malformed(value, "it does not have four parts"));
    };
    if version != "1" {
        return Err(malformed(value, "its version is not 1"));
    }
    let fd = fd.parse::<i32>().ok().filter(|&fd| fd >= 0);
    let (Some(fd), Ok(rank), Ok(size)) = (fd, rank.parse::<u32>(), size.parse::<u32>()) else {
        return Err(malformed(value, "one of its parts is no number"));
    };
    if rank >= size {
        return Err(malformed(value, "the rank is not below the size"));
    }
    Ok((fd, rank, size))
}

fn malformed(value: &str, why: &str) -> String {
    format!("{JOB_VARIABLE} is '{value}', expected {EXPECTED}: {why}")
}

/// The descriptor is closed, or something else. A rank closes it for programs that it starts.
fn without_segment(
    value: &str,
    fd: i32,
    rank: u32,
    error: &io::Error,
) -> Result<Assignment, String> {
    let ancestors = ancestors();
    let owners = ancestors
        .iter()
        .filter_map(|pid| owner_seen_by(*pid, fd, rank));
    if let Some(owner) = owners.into_iter().find(|owner| ancestors.contains(owner)) {
        return Ok(started_by_rank(value, rank, owner));
    }
    Err(match error.raw_os_error() {
        Some(NOT_OPEN) => format!(
            "{JOB_VARIABLE} is '{value}', but descriptor {fd} is not open; something between mpiexec and this program \
             closed it"
        ),
        _ => malformed(
            value,
            &format!("descriptor {fd} is no node segment ({error})"),
        ),
    })
}

/// The process that has a rank's place, by a segment that process `pid` has open as `fd`.
fn owner_seen_by(pid: u32, fd: i32, rank: u32) -> Option<u32> {
    let path = format!("/proc/{pid}/fd/{fd}");
    // To open anything else might wait.
    let target = fs::read_link(&path).ok()?;
    if !target.to_string_lossy().starts_with(SEGMENT_LINK) {
        return None;
    }
    let node = NodeFile::new(fs::File::open(path).ok()?.into()).ok()?;
    node.board(rank).ok().map(|board| board.pid)
}

/// An ancestor of this process that is a rank of a job and has these variables with these values.
pub(super) fn rank_with(variables: &[(&str, Option<String>)]) -> Option<u32> {
    let mut ancestors = ancestors().into_iter();
    ancestors.find(|&pid| has_segment(pid) && has_variables(pid, variables))
}

/// Whether a process has the segment of a node open.
fn has_segment(pid: u32) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    let mut links = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.any(|link| link.to_string_lossy().starts_with(SEGMENT_LINK))
}

/// Whether a process was started with these variables.
fn has_variables(pid: u32, variables: &[(&str, Option<String>)]) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
        return false;
    };
    let given: Vec<_> = environment.split(|&byte| byte == 0).collect();
    variables.iter().all(|(name, value)| {
        let value = value.as_deref().unwrap_or("");
        given.contains(&format!("{name}={value}").as_bytes())
    })
}

fn started_by_rank(value: &str, rank: u32, owner: u32) -> Assignment {
    Assignment::StartedByRank(format!(
        "{JOB_VARIABLE} is '{value}', but rank {rank} is process {owner}, which started this program; it runs alone, \
         with one rank (unset {JOB_VARIABLE} for it to silence this notice)"
    ))
}

/// The process that started this one, the one that started that, and so on.
fn ancestors() -> Vec<u32> {
    let mut pids = vec![std::os::unix::process::parent_id()];
    while let Some(parent) = pids.last().and_then(|&pid| parent_of(pid)) {
        if parent == 0 || pids.len() == MOST_ANCESTORS {
            break;
        }
        pids.push(parent);
    }
    pids
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything. The state stands before the parent.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(value: &str) -> String {
        match assignment(Some(value.to_owned())) {
            Err(text) => text,
            Ok(_) => panic!("{value} is accepted"),
        }
    }

    #[test]
    fn malformed_places_are_named_with_what_was_expected() {
        let too_large = i32::MAX.to_string();
        for (value, why) in [
            ("1:2:0", "four parts"),
            ("2:3:0:1", "version is not 1"),
            ("1:x:0:1", "no number"),
            ("1:-1:0:1", "no number"),
            ("1:3:4:4", "not below the size"),
            ("nonsense", "four parts"),
        ] {
            let text = refused(value);
            for part in [&format!("RANKPOINT_JOB is '{value}', expected 1:"), why] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        let text = refused(&format!("1:{too_large}:0:1"));
        assert!(text.contains("is not open"), "{text}");
    }

    #[test]
    fn descriptors_that_are_no_segment_are_named_and_stay_open() {
        use std::os::fd::AsRawFd;
        for file in ["/dev/null", "/proc/self/exe", "/"] {
            let file = fs::File::open(file).unwrap();
            let fd = file.as_raw_fd();
            let text = refused(&format!("1:{fd}:0:1"));
            let part = format!("RANKPOINT_JOB is '1:{fd}:0:1', expected 1:");
            assert!(text.contains(&part), "{text}");
            assert!(text.contains(&format!("descriptor {fd} is no node segment")));
            assert!(!text.contains("fill whole buffer"), "{text}");
            assert!(file.metadata().is_ok());
        }
    }

    #[test]
    fn no_variable_and_an_empty_one_are_the_same() {
        assert!(matches!(assignment(None), Ok(Assignment::None)));
        assert!(matches!(
            assignment(Some(String::new())),
            Ok(Assignment::None)
        ));
    }

    #[test]
    fn init_is_the_last_ancestor() {
        let ancestors = ancestors();
        assert_eq!(ancestors[0], std::os::unix::process::parent_id());
        assert!(ancestors.len() < MOST_ANCESTORS);
    }
}
