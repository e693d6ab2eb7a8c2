// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's settings of the processors' clock.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use machine_profile::Control;

/// The kernel's folder of processors.
pub(super) const FOLDER: &str = "/sys/devices/system/cpu";

/// Things that are set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Who chooses the clock's rate, for each processor.
    Governor,
    /// Whether the clock may exceed its nominal rate, for all processors.
    Boost,
}

/// A file with a setting.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Setting {
    pub(super) kind: Kind,
    pub(super) file: PathBuf,
    /// The value that keeps the clock steady.
    pub(super) steady: &'static str,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Governor, Self::Boost];

    /// Its name in a profile.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Governor => "governor",
            Self::Boost => "boost",
        }
    }

    /// What is asked for where the user wants a steady clock.
    pub(super) const fn wanted(self) -> &'static str {
        match self {
            Self::Governor => "performance",
            Self::Boost => "off",
        }
    }
}

impl Setting {
    /// The settings that a machine has, for so many of its processors.
    pub(super) fn all(folder: &Path, cores: &[u32]) -> Vec<Self> {
        let governor = |core: &u32| Self {
            kind: Kind::Governor,
            file: folder.join(format!("cpu{core}/cpufreq/scaling_governor")),
            steady: "performance",
        };
        let boost = [("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")];
        let boost = boost.map(|(name, steady)| Self {
            kind: Kind::Boost,
            file: folder.join(name),
            steady,
        });
        let all = cores.iter().map(governor).chain(boost);
        all.filter(|setting| setting.file.exists()).collect()
    }

    /// Its value, with all bytes.
    pub(super) fn read(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.file).map_err(|error| format!("{}: {error}", self.file.display()))
    }

    /// Opens its file for writing, which changes nothing yet.
    pub(super) fn open(&self) -> Result<File, String> {
        let file = OpenOptions::new().write(true).open(&self.file);
        file.map_err(|error| format!("{}: {error}", self.file.display()))
    }

    /// Its value in words.
    fn told(&self, value: &[u8]) -> String {
        let text = String::from_utf8_lossy(value).trim().to_owned();
        match self.kind {
            Kind::Governor => text,
            Kind::Boost if text == self.steady => "off".to_owned(),
            Kind::Boost => "on".to_owned(),
        }
    }
}

/// Writes a value. A file of the kernel takes it as a whole; another one gets nothing but the value.
pub(super) fn write(file: &Path, value: &[u8]) -> Result<(), String> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).truncate(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(value));
    written.map_err(|error| format!("{}: {error}", file.display()))
}

/// What holds now, as a profile tells it: one line for each kind. `asked` is what was asked for, and `refused` why it may not hold.
pub(super) fn controls(
    settings: &[Setting],
    asked: impl Fn(Kind) -> String,
    refused: impl Fn(Kind) -> Option<String>,
) -> Vec<Control> {
    let control = |kind: Kind| {
        let own = settings.iter().filter(|setting| setting.kind == kind);
        let mut counts: Vec<(String, usize)> = Vec::new();
        for setting in own {
            let value = setting.read();
            let told = value.map_or_else(|reason| reason, |value| setting.told(&value));
            match counts.iter_mut().find(|(text, _)| *text == told) {
                Some((_, count)) => *count += 1,
                None => counts.push((told, 1)),
            }
        }
        let held = match (&counts[..], kind) {
            ([], _) => "this system does not show it".to_owned(),
            ([(text, _)], _) => text.clone(),
            (several, _) => {
                let each = several
                    .iter()
                    .map(|(text, count)| format!("{text} ({count})"));
                each.collect::<Vec<_>>().join(", ")
            }
        };
        Control {
            name: kind.name().to_owned(),
            asked: asked(kind),
            held: match refused(kind) {
                Some(reason) => format!("{held}; {reason}"),
                None => held,
            },
        }
    };
    Kind::ALL.map(control).to_vec()
}
