// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint info --network`: the networks between hosts that libfabric offers here, and which of them is used.

use std::ffi::OsString;
use std::fmt::Write as _;

use fabric::ofi::{Choice, Library, choose, offers};

use crate::settings;

/// The report.
///
/// # Errors
/// When libfabric cannot be loaded or does not answer.
pub(crate) fn report() -> Result<String, String> {
    let text = |name: &str| {
        let value = settings::variable(name)?;
        (!value.is_empty()).then(|| value.to_string_lossy().into_owned())
    };
    let file = text("RANKPOINT_LIBFABRIC").map(OsString::from);
    let library = Library::open(file.as_deref()).map_err(|error| error.to_string())?;
    let (provider, interface) = (text("RANKPOINT_PROVIDER"), text("RANKPOINT_INTERFACE"));
    let choice = Choice {
        provider: provider.as_deref(),
        interface: interface.as_deref(),
    };
    let chosen = choose(&library, &choice);
    let found = offers(&library).map_err(|error| error.to_string())?;
    let mut report = format!(
        "libfabric {}, interface version {}\n",
        library.path().display(),
        library.version_text()
    );
    for offer in &found {
        let is_used = chosen.as_ref().is_ok_and(|chosen| chosen.offer == *offer);
        let address = offer
            .address
            .map_or_else(String::new, |ip| format!(" {ip}"));
        let remark = match (is_used, offer.refused) {
            (true, _) => "used".to_owned(),
            (false, Some(why)) => format!("not used: {why}"),
            (false, None) => "not used: another one is preferred".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            report,
            "  {} on {}{address}: {remark}",
            offer.provider, offer.interface
        );
    }
    match chosen {
        Ok(_) => Ok(report),
        Err(error) => Err(format!("{report}{error}")),
    }
}
