// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine profile that commands read: where it is, and whether it is this machine's.

use std::path::PathBuf;

use clap::Args;
use machine_profile::{Foreign, Host, Kind, Profile};
use measure::settings;

/// Which profile is read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ProfileOptions {
    /// Machine profile (default: RANKPOINT_PROFILE, or the one that `rankpoint scope` has written for this machine)
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Use the profile even if it is that of another machine, or of another kernel
    #[arg(long)]
    pub(crate) foreign_profile: bool,
}

impl ProfileOptions {
    /// The profile, which there must be.
    ///
    /// # Errors
    /// When it cannot be read, or is that of another machine or kernel and that is not allowed.
    pub(crate) fn load(&self) -> Result<Profile, String> {
        let here = ::scope::here();
        let file = self.file(&here)?;
        self.checked(
            Profile::read(&file).map_err(|error| error.to_string())?,
            &here,
        )
    }

    /// The profile, if there is one. One that the user names must be there.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub(crate) fn load_if_any(&self) -> Result<Option<Profile>, String> {
        let here = ::scope::here();
        let Ok(file) = self.file(&here) else {
            return Ok(None);
        };
        match Profile::read(&file) {
            Ok(profile) => self.checked(profile, &here).map(Some),
            Err(error) if error.kind == Kind::File && !self.is_named() && !file.exists() => {
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// The file that is read, and that `rankpoint scope` writes.
    ///
    /// # Errors
    /// When nobody says where a user's configuration is.
    pub(crate) fn file(&self, here: &Host) -> Result<PathBuf, String> {
        if let Some(file) = &self.profile {
            return Ok(file.clone());
        }
        if let Some(file) = set("RANKPOINT_PROFILE") {
            return Ok(file);
        }
        let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
        let folder = folder.ok_or(
            "no place for the machine profile: expected --profile, RANKPOINT_PROFILE, XDG_CONFIG_HOME or HOME",
        )?;
        let name = format!("{}.toml", here.fingerprint());
        Ok(folder.join("rankpoint").join("profiles").join(name))
    }

    /// Whether the user says which profile it is.
    pub(crate) fn is_named(&self) -> bool {
        self.profile.is_some() || set("RANKPOINT_PROFILE").is_some()
    }

    fn checked(&self, profile: Profile, here: &Host) -> Result<Profile, String> {
        let foreign = match self.foreign_profile {
            true => Foreign::Allow,
            false => Foreign::Refuse,
        };
        let checked = profile.check_host(here, foreign);
        checked.map_err(|error| error.to_string())?;
        Ok(profile)
    }
}

fn set(variable: &str) -> Option<PathBuf> {
    let value = settings::variable(variable)?;
    (!value.is_empty()).then(|| PathBuf::from(value))
}
