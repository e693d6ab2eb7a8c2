// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables that the launcher reads from its environment, and those that it sets for ranks.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fabric::capacity::{DEFAULT_RESERVE, MOST_RESERVE};

use crate::{LaunchError, words};

/// Set for each rank: its rank in MPI_COMM_WORLD, for scripts.
pub const RANK_VARIABLE: &str = "RANKPOINT_LAUNCH_RANK";
/// Set for each rank: the size of MPI_COMM_WORLD, for scripts.
pub const SIZE_VARIABLE: &str = "RANKPOINT_LAUNCH_SIZE";
/// As [`RANK_VARIABLE`] among the ranks of this node, under the name that other launchers use.
pub const LOCAL_RANK_VARIABLE: &str = "MPI_LOCALRANKID";
/// As [`SIZE_VARIABLE`] for this node, under the name that other launchers use.
pub const LOCAL_SIZE_VARIABLE: &str = "MPI_LOCALNRANKS";
/// Set for the ranks of a program for which `--initial-errhandler` is given; the library reads it.
pub const INITIAL_ERRHANDLER_VARIABLE: &str = "RANKPOINT_INITIAL_ERRHANDLER";
/// Set for the ranks of a program for which `-memory-alloc-kinds` is given; the library reads it.
pub const MEMORY_KINDS_VARIABLE: &str = "RANKPOINT_MEMORY_ALLOC_KINDS";
/// Read: milliseconds between asking the ranks to end and killing them.
pub const GRACE_VARIABLE: &str = "RANKPOINT_LAUNCH_GRACE_MS";
/// Read: seconds after which the job is ended, as for `--timeout`; the name that other launchers use.
pub const TIMEOUT_VARIABLE: &str = "MPIEXEC_TIMEOUT";
/// Read: the command that runs another one on a host, called as `COMMAND HOST PROGRAM...`; `--launcher` overrides it.
pub const LAUNCHER_VARIABLE: &str = "RANKPOINT_LAUNCH_EXEC";
/// Read: seconds that a host may take to answer at the start of a job.
pub const CONNECT_VARIABLE: &str = "RANKPOINT_LAUNCH_CONNECT";
/// Read: seconds after which a host counts as lost that does not answer while a job runs; 0 is never.
pub const HEARTBEAT_VARIABLE: &str = "RANKPOINT_LAUNCH_HEARTBEAT";
/// Set for ranks where `--interface` is given; the library reads it.
pub const INTERFACE_VARIABLE: &str = "RANKPOINT_INTERFACE";
/// Read: hosts that one command starts agents on; more are reached through branches; 0 reaches all directly.
pub const TREE_VARIABLE: &str = "RANKPOINT_LAUNCH_TREE";
/// Settings of libfabric's providers that ranks of a job of several hosts need, unless the user sets them: receive buffers that all peers
/// share (without them each peer takes some), messages that match in software where the network card runs out of entries, and memory of
/// the network that a child process does not share. libfabric reads them at its first call in a process.
const PROVIDER_SETTINGS: [(&str, &str); 3] = [
    ("FI_OFI_RXM_USE_SRX", "1"),
    ("FI_CXI_RX_MATCH_MODE", "hybrid"),
    ("RDMAV_FORK_SAFE", "1"),
];
/// libfabric's name for the number of ranks of a job, by which providers size their tables.
const UNIVERSE_VARIABLE: &str = "FI_UNIVERSE_SIZE";
/// What providers suppose where it is not set.
const UNIVERSE: u32 = 256;
/// Read: processes that can be added while a job runs, as the library reads it where no mpiexec started the job.
pub const RESERVE_VARIABLE: &str = "RANKPOINT_RESERVE_PROCESSES";
/// The only argument of an agent.
pub(crate) const AGENT_FLAG: &str = "--agent";
/// The only argument of a branch.
pub(crate) const BRANCH_FLAG: &str = "--branch";
/// How variables begin that are the launcher's.
const PREFIX: &str = "RANKPOINT_LAUNCH_";
/// All of these: read, set for ranks, which may start jobs themselves, and read by the compiler wrappers.
const NAMES: &[&str] = &[
    RANK_VARIABLE,
    SIZE_VARIABLE,
    GRACE_VARIABLE,
    LAUNCHER_VARIABLE,
    CONNECT_VARIABLE,
    HEARTBEAT_VARIABLE,
    TREE_VARIABLE,
    fabric::board::SPARE_VARIABLE,
    "RANKPOINT_LAUNCH_CC",
    "RANKPOINT_LAUNCH_CXX",
];
/// Grace when the environment does not say.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(2);
/// As [`CONNECT_VARIABLE`] when the environment does not say.
pub const DEFAULT_CONNECT: Duration = Duration::from_secs(8);
/// As [`HEARTBEAT_VARIABLE`] when the environment does not say.
pub const DEFAULT_HEARTBEAT: Duration = Duration::from_secs(5);
/// As [`TREE_VARIABLE`] when the environment does not say.
pub const DEFAULT_TREE: usize = 32;
/// Programs that have the launcher's command line as a command of their own, and that command.
const COMMANDS_WITHIN: [(&str, &str); 1] = [("rankpoint", "run")];

/// Settings of libfabric for the ranks of a job of several hosts.
pub(crate) fn of_providers(job_ranks: u32) -> impl Iterator<Item = (&'static str, String)> {
    let fixed = PROVIDER_SETTINGS.map(|(name, value)| (name, value.to_owned()));
    let universe = (UNIVERSE_VARIABLE, job_ranks.max(UNIVERSE).to_string());
    fixed.into_iter().chain([universe])
}

/// The time between asking the ranks to end and killing them.
///
/// # Errors
/// When the environment holds something that is no number.
pub(crate) fn grace() -> Result<Duration, LaunchError> {
    let Some(text) = read_non_empty(GRACE_VARIABLE) else {
        return Ok(DEFAULT_GRACE);
    };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.map(Duration::from_millis).ok_or_else(|| {
        LaunchError::usage(format!(
            "{GRACE_VARIABLE} is {text:?}, expected a number of milliseconds"
        ))
    })
}

/// The longest time that the job may take, if the environment says.
///
/// # Errors
/// When the environment holds something that is no number of seconds above 0.
pub(crate) fn timeout() -> Result<Option<Duration>, LaunchError> {
    let Some(text) = read_non_empty(TIMEOUT_VARIABLE) else {
        return Ok(None);
    };
    seconds(TIMEOUT_VARIABLE, &text.to_string_lossy()).map(Some)
}

/// The words of the command that runs another one on a host, if the environment says.
///
/// # Errors
/// When a quote in it has no end.
pub(crate) fn launcher() -> Result<Option<Vec<OsString>>, LaunchError> {
    let text = read_non_empty(LAUNCHER_VARIABLE);
    text.map(|text| words::of_command(LAUNCHER_VARIABLE, &text.to_string_lossy()))
        .transpose()
}

/// How long a host may take to answer at the start of a job.
///
/// # Errors
/// When the environment holds something that is no number of seconds above 0.
pub(crate) fn connect() -> Result<Duration, LaunchError> {
    let text = read_non_empty(CONNECT_VARIABLE);
    let time = text.map(|text| seconds(CONNECT_VARIABLE, &text.to_string_lossy()));
    time.unwrap_or(Ok(DEFAULT_CONNECT))
}

/// After how long a silent host counts as lost; `None` is never.
///
/// # Errors
/// When the environment holds something that is no number of seconds.
pub(crate) fn heartbeat() -> Result<Option<Duration>, LaunchError> {
    match read_non_empty(HEARTBEAT_VARIABLE) {
        None => Ok(Some(DEFAULT_HEARTBEAT)),
        Some(text) if text == "0" => Ok(None),
        Some(text) => seconds(HEARTBEAT_VARIABLE, &text.to_string_lossy()).map(Some),
    }
}

/// How many hosts one command starts agents on; `None` is any number.
///
/// # Errors
/// When the environment holds something that is no number.
pub(crate) fn tree() -> Result<Option<usize>, LaunchError> {
    let Some(text) = read_non_empty(TREE_VARIABLE) else {
        return Ok(Some(DEFAULT_TREE));
    };
    match text.to_str().and_then(|text| text.parse().ok()) {
        Some(0) => Ok(None),
        Some(1) | None => Err(LaunchError::usage(format!(
            "{TREE_VARIABLE} is {text:?}, expected a number of hosts from 2, or 0 to reach all directly"
        ))),
        number => Ok(number),
    }
}

/// Processes that can be added while a job runs.
///
/// # Errors
/// When the environment holds something that is no such number.
pub(crate) fn reserve() -> Result<u32, LaunchError> {
    let Some(text) = read_non_empty(RESERVE_VARIABLE) else {
        return Ok(DEFAULT_RESERVE);
    };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number
        .filter(|&number| number <= MOST_RESERVE)
        .ok_or_else(|| {
            LaunchError::usage(format!(
                "{RESERVE_VARIABLE} is {text:?}, expected a number of processes, 0..{MOST_RESERVE}"
            ))
        })
}

/// The library between ranks and their MPI library, in the tree that this program is installed in; every host has it in the same place.
///
/// # Errors
/// When it is not there.
pub(crate) fn interposer() -> Result<PathBuf, LaunchError> {
    let file = std::env::current_exe()
        .map_err(|error| LaunchError::system("find the file of this program", &error))?;
    let prefix = file.parent().and_then(Path::parent);
    let library = prefix.map(|prefix| prefix.join("lib/rankpoint/interpose/libmpi_abi.so.1"));
    library.filter(|library| library.exists()).ok_or_else(|| {
        let file = file.display();
        LaunchError::usage(format!(
            "{file} was not installed with the library that --layers and --tools need"
        ))
    })
}

/// The command that becomes the agent of a node: this program, which every host has in the same place.
///
/// # Errors
/// When the system does not say which file this program is.
pub(crate) fn agent_command() -> Result<Vec<OsString>, LaunchError> {
    let file = std::env::current_exe()
        .map_err(|error| LaunchError::system("find the file of this program", &error))?;
    let within = COMMANDS_WITHIN
        .iter()
        .find(|(name, _)| file.file_name().is_some_and(|own| own == *name));
    let command = within.map(|(_, command)| command.into());
    Ok(std::iter::once(file.clone().into_os_string())
        .chain(command)
        .chain([AGENT_FLAG.into()])
        .collect())
}

/// A time in seconds, from a flag or a variable of this name.
pub(crate) fn seconds(name: &str, text: &str) -> Result<Duration, LaunchError> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|&number| number > 0.0)
        .and_then(|number| Duration::try_from_secs_f64(number).ok())
        .ok_or_else(|| {
            LaunchError::usage(format!(
                "{name} wants a number of seconds above 0, but got '{text}'"
            ))
        })
}

/// Directories in which programs are looked up.
pub(crate) fn search_path() -> OsString {
    read("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// The name that Slurm gives this node.
pub(crate) fn slurm_node() -> Option<String> {
    read("SLURMD_NODENAME")?.into_string().ok()
}

/// Threads that each rank is going to run, as far as the environment tells.
pub(crate) fn threads_per_rank() -> Option<u32> {
    // A list gives the levels of nesting; the first one counts.
    read("OMP_NUM_THREADS")?
        .to_str()?
        .split(',')
        .next()?
        .trim()
        .parse()
        .ok()
}

/// Processes that this node can run at once.
pub(crate) fn most_processes() -> u32 {
    let text = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    text.trim().parse().unwrap_or(u32::MAX)
}

/// Variables of the launcher's that nothing reads, and the name of its own that each may have meant.
pub(crate) fn unknown() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter_map(|name| unknown_name(&name)).collect()
}

fn unknown_name(name: &str) -> Option<String> {
    let is_known = !name.starts_with(PREFIX) || NAMES.contains(&name);
    (!is_known).then(|| {
        format!(
            "warning: unknown setting {name}; mpiexec reads {GRACE_VARIABLE}, {LAUNCHER_VARIABLE}, {CONNECT_VARIABLE}, \
             {HEARTBEAT_VARIABLE}, {TREE_VARIABLE} and {TIMEOUT_VARIABLE}"
        )
    })
}

/// All variables, for `-x NAME*` and for those that leave some out.
pub(crate) fn all() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// The value of a setting; an empty one is as good as none.
fn read_non_empty(name: &str) -> Option<OsString> {
    read(name).filter(|value| !value.is_empty())
}

/// The value of any variable, for `-x NAME`.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn read(name: impl AsRef<std::ffi::OsStr>) -> Option<OsString> {
    std::env::var_os(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nothing_reads_are_told() {
        assert_eq!(unknown_name(GRACE_VARIABLE), None);
        assert_eq!(unknown_name("RANKPOINT_EAGER_BYTES"), None);
        let told = unknown_name("RANKPOINT_LAUNCH_GRACE").unwrap();
        assert!(told.contains("RANKPOINT_LAUNCH_GRACE;"), "{told}");
    }
}
