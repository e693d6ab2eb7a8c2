// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures entries one after the other.

use std::time::{Duration, Instant};

use machine_profile::{Control, Host, Profile, Sample, Skipped};

use crate::entry::Entry;
use crate::groups::yardstick;
use crate::guard::SteadyClock;
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
    session: &mut Session,
    host: Host,
    entries: &[&Entry],
    limit: Duration,
    progress: &dyn Progress,
) -> Profile {
    let deadline = Instant::now() + limit;
    session.deadline = Some(deadline);
    let session = &*session;
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
        let outcome = if Instant::now() < deadline {
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
        let is_late = session
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        if is_stable || outcome.is_err() {
            return outcome;
        }
        if attempt == AGAIN || is_late {
            moved.push(entry.name.clone());
            return outcome;
        }
        attempt += 1;
    }
}

/// Adds values, rounded to the digits that they have: tables, CSV and files then agree.
fn add(profile: &mut Profile, found: Found) {
    match found {
        Found::Cost(mut cost) => {
            round_sample(&mut cost.sample);
            profile.costs.push(cost);
        }
        Found::Curve(mut curve) => {
            let points = curve.points.iter_mut();
            points.for_each(|point| round_sample(&mut point.sample));
            profile.curves.push(curve);
        }
        Found::Surface(mut surface) => {
            let values = surface.ns.iter_mut().chain(&mut surface.mad).flatten();
            values.for_each(round);
            profile.surfaces.push(surface);
        }
        Found::Matrix(mut matrix) => {
            let values = matrix.values.iter_mut().chain(&mut matrix.mad);
            values.flatten().flatten().for_each(round);
            profile.matrices.push(matrix);
        }
    }
}

fn round_sample(sample: &mut Sample) {
    let values = [&mut sample.ns, &mut sample.trimean, &mut sample.mad];
    values.into_iter().for_each(round);
}

/// Rounds to five digits.
fn round(value: &mut f64) {
    const DIGITS: i32 = 5;
    if *value > 0.0 && value.is_finite() {
        let places = DIGITS - 1 - value.log10().floor() as i32;
        // Multiplying by a power of ten that is no whole number would leave more digits than it removes.
        *value = if places >= 0 {
            let scale = 10f64.powi(places);
            (*value * scale).round() / scale
        } else {
            let scale = 10f64.powi(-places);
            (*value / scale).round() * scale
        };
    }
}

/// Under which conditions everything was measured.
fn controls(session: &Session, distances: &[f64], moved: &[String]) -> Vec<Control> {
    let (dropped, values) = session.disturbed();
    let clock = session.clock.as_ref();
    let mut controls = clock.map_or_else(Vec::new, SteadyClock::controls);
    controls.push(Control {
        name: "undisturbed".to_owned(),
        asked: "values during which the thread had no page fault and kept its core".to_owned(),
        held: format!("{dropped} of {values} values dropped"),
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_five_digits() {
        let rounded = |mut value: f64| {
            round(&mut value);
            value.to_string()
        };
        assert_eq!(rounded(123.456_789), "123.46");
        assert_eq!(rounded(1_234_567.0), "1234600");
        assert_eq!(rounded(0.000_123_456_7), "0.00012346");
        assert_eq!(rounded(0.0), "0");
    }
}
