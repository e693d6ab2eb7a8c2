// SPDX-License-Identifier: MIT OR Apache-2.0
//! The networks between hosts that libfabric offers here, and which of them is used; `rankpoint info --network` prints them.

use std::fmt::Write as _;

use fabric::ofi::offers;
use measure::network::Network;

/// The report.
///
/// # Errors
/// When libfabric cannot be loaded or does not answer.
pub(crate) fn report() -> Result<String, String> {
    let network = Network::open()?;
    let (library, chosen) = (&network.library, network.choose());
    let found = offers(library).map_err(|error| error.to_string())?;
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
