// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use std::path::PathBuf;

use super::catalog::{APPS, App};
use crate::shell;

/// What is to be compared.
#[derive(Debug)]
pub(super) struct Options {
    /// Whether the peers run, too.
    pub(super) peers: bool,
    /// Whether problems are tiny, and run once.
    pub(super) quick: bool,
    /// Whether the tables go into the page of this machine.
    pub(super) write: bool,
    /// Whether only the table of modes is written, and nothing runs.
    pub(super) table: bool,
    /// Where tables, JSON and plots go.
    pub(super) folder: PathBuf,
    /// The apps that were named, or all.
    pub(super) apps: Vec<&'static App>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            peers: false,
            quick: false,
            write: false,
            table: false,
            folder: shell::target().join("apps-compared"),
            apps: Vec::new(),
        };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--peers" => options.peers = true,
                "--quick" => options.quick = true,
                "--write" => options.write = true,
                "--table" => options.table = true,
                "--folder" => {
                    let folder = words.next().ok_or("--folder: expected a folder")?;
                    options.folder = PathBuf::from(folder);
                }
                name => options.apps.push(named(name)?),
            }
        }
        if options.apps.is_empty() {
            options.apps = APPS.iter().collect();
        }
        if options.write && options.quick {
            return Err("--write: times of --quick say nothing that a page could hold".to_owned());
        }
        Ok(options)
    }
}

fn named(name: &str) -> Result<&'static App, String> {
    let found = APPS.iter().find(|app| app.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = APPS.iter().map(|app| app.name).collect();
        let names = names.join(", ");
        format!(
            "{name}: expected --peers, --quick, --write, --table, --folder DIR, or one of {names}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn named_apps_run_or_all() {
        assert_eq!(parsed("--peers").unwrap().apps.len(), APPS.len());
        let one = parsed("uintah --quick").unwrap();
        assert!(one.quick && !one.peers && one.apps.len() == 1);
        assert!(parsed("--table").unwrap().table);
        for wrong in ["nekbone", "--folder", "--write --quick"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
