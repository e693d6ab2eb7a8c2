// SPDX-License-Identifier: MIT OR Apache-2.0
//! A library: how programs are compiled for it and started.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::Peer;
use crate::shell;

/// A library that runs apps.
pub(crate) struct Library {
    /// Its name in tables.
    pub(crate) name: &'static str,
    /// A peer, or Rankpoint.
    peer: Option<&'static Peer>,
    /// Rankpoint's, whose compiler wrapper serves peers that have none.
    prefix: PathBuf,
}

/// Where ranks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    /// On a core each, while there are enough.
    OneEach,
    /// Anywhere.
    Any,
}

impl Library {
    /// Rankpoint, as it is installed.
    pub(crate) fn ours(prefix: &Path) -> Self {
        Self {
            name: "Rankpoint",
            peer: None,
            prefix: prefix.to_path_buf(),
        }
    }

    /// A peer, which is fetched unless it is there.
    pub(crate) fn peer(peer: &'static Peer, prefix: &Path) -> Result<Self, String> {
        peer.fetch()?;
        Ok(Self {
            name: peer.name,
            peer: Some(peer),
            prefix: prefix.to_path_buf(),
        })
    }

    /// Whether it has the calls of `mpi_rankpoint.h`.
    pub(crate) fn has_extensions(&self) -> bool {
        self.peer.is_none()
    }

    /// Compiles a C program into the target folder.
    pub(crate) fn compile(&self, source: &str, name: &str) -> Result<PathBuf, String> {
        let folder = shell::target().join("apps");
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = folder.join(format!("{name}-{}", self.name.replace(' ', "-")));
        let ours = self.prefix.join("bin/mpicc");
        match self.peer {
            Some(peer) => peer.compile(&ours, source, &program)?,
            None => shell::compile(&ours, source, &program)?,
        }
        Ok(program)
    }

    /// A job of so many ranks, which may take so many seconds. Ranks of threads are not bound to a core each.
    pub(crate) fn job(&self, program: &Path, ranks: usize, on: Cores, limit_s: &str) -> Command {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (launcher, folder) = match (self.peer, on) {
            (Some(peer), Cores::Any) => (peer.unbound_launcher(), peer.library_folder()),
            (Some(peer), Cores::OneEach) => (peer.launcher(ranks > cores), peer.library_folder()),
            (None, on) => {
                let mpiexec = self.prefix.join("bin/mpiexec").display().to_string();
                let mut launcher = vec![mpiexec];
                if on == Cores::Any {
                    launcher.extend(["--bind-to", "none"].map(str::to_owned));
                }
                (launcher, self.prefix.join("lib"))
            }
        };
        let mut command = shell::limited(limit_s, &launcher[0]);
        command.args(&launcher[1..]);
        command.args(["-n", &ranks.to_string()]).arg(program);
        command.env("LD_LIBRARY_PATH", folder);
        command
    }
}
