// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures entries one after the other.

use std::time::{Duration, Instant};

use machine_profile::{Control, Host, Profile, Skipped};

use crate::entry::Entry;
use crate::groups::yardstick;
use crate::session::{Effort, Found, Session};

/// How often an entry on two cores is measured again because the distance of the cores changed meanwhile.
const AGAIN: usize = 2;
/// By how much of itself the distance may change.
const CHANGE: f64 = 0.25;

/// What is told while entries are measured.
pub trait Progress {
    /// An entry begins.
    fn begin(&self, entry: &Entry);
    /// An entry has ended.
    fn end(&self, entry: &Entry);
}

/// Measures entries and makes a profile of them. Entries that begin after `limit` are skipped.
pub fn measure(
    session: &Session,
    host: Host,
    entries: &[&Entry],
    limit: Duration,
    progress: &dyn Progress,
) -> Profile {
    let start = Instant::now();
    let mut profile = Profile::new(host);
    profile.places = session.places.clone();
    profile.mode = match session.effort {
        Effort::Quick => "quick",
        Effort::Full => "full",
    }
    .to_owned();
    let (mut distances, mut moved) = (Vec::new(), Vec::new());
    for entry in entries {
        progress.begin(entry);
        let outcome = if start.elapsed() < limit {
            one(session, entry, &mut distances, &mut moved)
        } else {
            let seconds = limit.as_secs();
            Err(format!("{seconds} s were over; --minutes gives more"))
        };
        match outcome {
            Ok(found) => found.into_iter().for_each(|found| add(&mut profile, found)),
            Err(reason) => profile.skipped.push(Skipped {
                name: entry.name.clone(),
                reason,
            }),
        }
        progress.end(entry);
    }
    profile
        .controls
        .extend(controls(session, &distances, &moved));
    profile
}

/// An entry, again when the cores were moved meanwhile.
fn one(
    session: &Session,
    entry: &Entry,
    distances: &mut Vec<f64>,
    moved: &mut Vec<String>,
) -> crate::session::Outcome {
    let first = &session.cores()[..1];
    let bound = if entry.is_outside {
        session.cores()
    } else {
        first
    };
    if !sys::cores::run_on(bound) {
        return Err(format!(
            "the system refuses to bind a thread to cores {bound:?}"
        ));
    }
    if !entry.has_two_ends {
        return entry.measure(session);
    }
    let mut attempt = 0;
    loop {
        let before = yardstick(session);
        let outcome = entry.measure(session);
        let after = yardstick(session);
        distances.extend(before.into_iter().chain(after));
        let is_stable = match (before, after) {
            (Some(before), Some(after)) => (after / before - 1.0).abs() <= CHANGE,
            _ => true,
        };
        if is_stable || outcome.is_err() {
            return outcome;
        }
        if attempt == AGAIN {
            moved.push(entry.name.clone());
            return outcome;
        }
        attempt += 1;
    }
}

fn add(profile: &mut Profile, found: Found) {
    match found {
        Found::Cost(cost) => profile.costs.push(cost),
        Found::Curve(curve) => profile.curves.push(curve),
        Found::Surface(surface) => profile.surfaces.push(surface),
        Found::Matrix(matrix) => profile.matrices.push(matrix),
    }
}

/// Under which conditions everything was measured.
fn controls(session: &Session, distances: &[f64], moved: &[String]) -> Vec<Control> {
    let (dropped, values) = session.disturbed();
    let mut controls = vec![Control {
        name: "undisturbed".to_owned(),
        asked: "values during which the thread had no page fault and kept its core".to_owned(),
        held: format!("{dropped} of {values} values dropped"),
    }];
    if !distances.is_empty() {
        let low = distances.iter().copied().fold(f64::INFINITY, f64::min);
        let high = distances.iter().copied().fold(0.0, f64::max);
        let but = match moved {
            [] => String::new(),
            some => format!("; changed by more during {}", some.join(", ")),
        };
        controls.push(Control {
            name: "core-distance".to_owned(),
            asked: "the same within 25 % before and after each entry on two cores".to_owned(),
            held: format!("{low:.1} to {high:.1} ns{but}"),
        });
    }
    controls
}
