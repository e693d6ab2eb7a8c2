// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every entry runs here or says why not, and what it gives is a profile that can be read.

use std::time::Duration;

use machine_profile::Profile;
use scope::{Effort, Entry, Progress, Session};

struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _entry: &Entry) {}
    fn end(&self, _entry: &Entry) {}
}

#[test]
fn every_entry_gives_values_or_a_reason() {
    let entries = scope::entries();
    let mut session = Session::new(Effort::Quick, scope::places(), Vec::new()).unwrap();
    let all: Vec<&Entry> = entries.iter().filter(|entry| entry.is_quick).collect();
    let limit = Duration::from_secs(60);
    let mut profile = scope::measure(&mut session, scope::here(), &all, limit, &Quiet);
    profile.created = "2026-01-31T12:00:00Z".to_owned();
    for entry in &all {
        let name = &entry.name;
        let has_it = |found: &str| found == name || found.starts_with(&format!("{name}/"));
        let has_values = profile.costs.iter().any(|cost| has_it(&cost.name))
            || profile.curves.iter().any(|curve| has_it(&curve.name))
            || profile.surfaces.iter().any(|surface| has_it(&surface.name))
            || profile.matrices.iter().any(|matrix| has_it(&matrix.name));
        let reason = profile.skipped.iter().find(|skipped| skipped.name == *name);
        assert_ne!(has_values, reason.is_some(), "{name}: {reason:?}");
    }
    let text = profile.to_toml();
    assert_eq!(Profile::parse(&text, "".as_ref()).unwrap(), profile);
}
