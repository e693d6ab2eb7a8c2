// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whom to measure: a library, its launcher, and the program that plays the ranks.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::hosts::HostOptions;
use crate::settings;

/// First word of the command line that makes a command a rank of the job that it measures.
pub const RANK_COMMAND: &str = "bench-rank";

/// Flags of Rankpoint's mpiexec for ranks on several hosts.
const OWN_HOSTS: [&str; 4] = ["-hosts", "{slots}", "--map-by", "node"];

/// Level of thread support that ranks initialise a library with.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InitLevel {
    /// `MPI_Init`, which gives MPI_THREAD_SINGLE.
    #[default]
    Single,
    /// `MPI_Init_thread` with MPI_THREAD_MULTIPLE.
    Multiple,
}

/// A library to measure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name in tables.
    pub name: String,
    /// Launcher with its flags, while there is a core for each rank.
    pub launcher: Vec<String>,
    /// Launcher with its flags for oversubscribed jobs; the same if empty.
    #[serde(default)]
    pub oversubscribed_launcher: Vec<String>,
    /// Launcher with its flags for ranks whose threads choose their cores; `launcher` if empty.
    #[serde(default)]
    pub unbound_launcher: Vec<String>,
    /// Launcher with its flags for ranks on several hosts, in turn: `{hosts}` stands for their names with commas between them, and
    /// `{slots}` for the same with `:4096` behind each. Without it the library cannot be measured with `--hosts`.
    #[serde(default)]
    pub hosts_launcher: Vec<String>,
    /// Variables for the launcher and, through it, the ranks.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What is set besides for a thread that makes progress meanwhile; empty if there is none. Measured by `--overlap`.
    #[serde(default)]
    pub progress: BTreeMap<String, String>,
    /// Program of the ranks with its first words; this one if empty.
    #[serde(default)]
    pub program: Vec<String>,
    /// Thread level that its ranks ask for; the option `--threads` sets it.
    #[serde(skip)]
    pub threads: InitLevel,
    /// The value of `RANKPOINT_RENDEZVOUS` that it is measured with, if several are.
    #[serde(skip)]
    pub rendezvous: Option<&'static str>,
}

impl Target {
    /// Has the first half of so many ranks run on the first host, and the other half on the second one.
    pub fn spread(&mut self, hosts: &HostOptions, ranks: u32) {
        let half = (ranks / 2).max(1);
        let slots = hosts
            .hosts
            .iter()
            .take(2)
            .map(|host| format!("{host}:{half}"));
        let slots: Vec<String> = slots.collect();
        self.launcher.extend(["-hosts".to_owned(), slots.join(",")]);
        self.oversubscribed_launcher.clear();
        self.reach_by(hosts);
    }

    /// Sets the command that reaches hosts, if one is given.
    fn reach_by(&mut self, hosts: &HostOptions) {
        let variable = launch::settings::LAUNCHER_VARIABLE.to_owned();
        let command = hosts
            .launcher
            .iter()
            .map(|command| (variable.clone(), command.clone()));
        self.environment.extend(command);
    }

    /// The launcher's command line for so many ranks.
    pub fn launcher(&self, ranks: u32) -> &[String] {
        if ranks > sys::cores::usable_cores() && !self.oversubscribed_launcher.is_empty() {
            &self.oversubscribed_launcher
        } else {
            &self.launcher
        }
    }
}

/// Gives the targets the launchers that run ranks on several hosts, if there are several.
pub fn settle(targets: &mut [Target], hosts: &HostOptions) -> Result<(), String> {
    if hosts.hosts.is_empty() {
        return Ok(());
    }
    for target in targets {
        if target.hosts_launcher.is_empty() {
            return Err(format!(
                "{} does not say how it is launched on several hosts: {{hosts}} or {{slots}} in --mpiexec, or in the key \
                 hosts_launcher of the file of --peers",
                target.name
            ));
        }
        target.launcher = hosts.fill(&target.hosts_launcher);
        target.oversubscribed_launcher.clear();
        target.reach_by(hosts);
    }
    Ok(())
}

/// The library of a launcher and a folder, and the peers of a file.
pub fn with_peers(
    mpiexec: Option<&str>,
    folder: Option<&Path>,
    peers: Option<&Path>,
) -> Result<Vec<Target>, String> {
    let mut targets = vec![library(mpiexec, folder)?];
    if let Some(file) = peers {
        let shown = file.display();
        let text =
            sys::files::read_text(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let peers: Vec<Target> =
            serde_json::from_str(&text).map_err(|error| format!("{shown}: {error}"))?;
        targets.extend(peers);
    }
    for target in &mut targets {
        if target.launcher.is_empty() {
            return Err(format!("{} has no launcher", target.name));
        }
        if target.program.is_empty() {
            target.program = this_as_rank()?;
        }
    }
    Ok(targets)
}

/// The words that start this program as a rank.
fn this_as_rank() -> Result<Vec<String>, String> {
    let this = settings::this_program()?.display().to_string();
    Ok(vec![this, RANK_COMMAND.to_owned()])
}

/// The library that was installed with this program, or another one, with its launcher.
pub fn library(mpiexec: Option<&str>, folder: Option<&Path>) -> Result<Target, String> {
    let launcher: Vec<String> = match (mpiexec, settings::installed_launcher()) {
        (Some(words), _) => words.split_whitespace().map(str::to_owned).collect(),
        (None, Some(installed)) => vec![installed.display().to_string()],
        (None, None) => vec![
            settings::this_program()?.display().to_string(),
            "run".to_owned(),
        ],
    };
    let folder = match folder {
        Some(folder) => Some(checked(folder)?),
        None => settings::library_folder().map(|folder| folder.display().to_string()),
    };
    let thread = ("RANKPOINT_PROGRESS_THREAD".to_owned(), "1".to_owned());
    let progress = mpiexec.is_none().then_some(thread);
    let environment = folder.map(|folder| ("LD_LIBRARY_PATH".to_owned(), folder));
    Ok(Target {
        name: if mpiexec.is_some() {
            "this MPI"
        } else {
            "Rankpoint"
        }
        .to_owned(),
        unbound_launcher: match mpiexec {
            Some(_) => Vec::new(),
            None => [&launcher[..], &["--bind-to".to_owned(), "none".to_owned()]].concat(),
        },
        hosts_launcher: match mpiexec {
            Some(words) if !words.contains("{hosts}") && !words.contains("{slots}") => Vec::new(),
            Some(_) => launcher.clone(),
            None => [&launcher[..], &OWN_HOSTS.map(str::to_owned)].concat(),
        },
        launcher,
        oversubscribed_launcher: Vec::new(),
        environment: environment.into_iter().collect(),
        progress: progress.into_iter().collect(),
        program: this_as_rank()?,
        threads: InitLevel::Single,
        rendezvous: None,
    })
}

fn checked(folder: &Path) -> Result<String, String> {
    if folder.join(settings::LIBRARY).exists() {
        return Ok(folder.display().to_string());
    }
    Err(format!("{} has no {}", folder.display(), settings::LIBRARY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_the_ranks_are_on_two_hosts() {
        let mut own: Target = serde_json::from_str(r#"{"name": "a", "launcher": ["x"]}"#).unwrap();
        let hosts = HostOptions {
            hosts: ["h1", "h2", "h3"].map(str::to_owned).to_vec(),
            launcher: Some("rsh".to_owned()),
        };
        own.spread(&hosts, 8);
        assert_eq!(own.launcher(8), ["x", "-hosts", "h1:4,h2:4"]);
        assert_eq!(own.environment[launch::settings::LAUNCHER_VARIABLE], "rsh");
    }
}
