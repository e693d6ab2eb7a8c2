// SPDX-License-Identifier: MIT OR Apache-2.0
//! The networks between hosts that libfabric offers here, and which of them the settings name.

use std::ffi::OsString;
use std::io;

use fabric::ofi::{Choice, Chosen, Library, choose};

use crate::settings;

/// libfabric, and which of its networks the settings name.
pub struct Network {
    /// libfabric.
    pub library: Library,
    provider: Option<String>,
    interface: Option<String>,
}

impl Network {
    /// Loads libfabric.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn open() -> Result<Self, String> {
        let text = |name: &str| {
            let value = settings::variable(name)?;
            (!value.is_empty()).then(|| value.to_string_lossy().into_owned())
        };
        let file = text("RANKPOINT_LIBFABRIC").map(OsString::from);
        Ok(Self {
            library: Library::open(file.as_deref()).map_err(|error| error.to_string())?,
            provider: text("RANKPOINT_PROVIDER"),
            interface: text("RANKPOINT_INTERFACE"),
        })
    }

    /// The provider and the interface that Rankpoint uses here.
    ///
    /// # Errors
    /// When none fits.
    pub fn choose(&self) -> io::Result<Chosen<'_>> {
        let choice = Choice {
            provider: self.provider.as_deref(),
            interface: self.interface.as_deref(),
        };
        choose(&self.library, &choice)
    }
}
