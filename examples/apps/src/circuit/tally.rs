// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task thread or a polling thread counts.

use std::time::Duration;

use super::message::Traffic;
use crate::outcome::{self, Figures, Findings};

/// Upper ends of the classes of times of events, and their names.
const CLASSES: [(Duration, &str); 4] = [
    (Duration::from_nanos(250), "below 250 ns"),
    (Duration::from_micros(1), "below 1 us"),
    (Duration::from_micros(4), "below 4 us"),
    (Duration::from_micros(16), "below 16 us"),
];
/// The class of all others.
const LONGER: &str = "longer";

/// What a thread counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) traffic: Traffic,
    /// Commands whose handler has run.
    pub(super) handled: u64,
    pub(super) charges: u64,
    pub(super) voltages: u64,
    /// Times of a task: computing, sending, and waiting for events and other tasks.
    pub(super) compute: Duration,
    pub(super) send: Duration,
    pub(super) wait: Duration,
    /// The time of the poller in handlers.
    pub(super) handle: Duration,
    /// Events by their time from a successful poll to the end of the handler.
    classes: [u64; CLASSES.len() + 1],
    pub(super) findings: Findings,
}

impl Tally {
    /// An event has taken some time.
    pub(super) fn event(&mut self, time: Duration) {
        let class = CLASSES.iter().position(|(end, _)| time < *end);
        self.classes[class.unwrap_or(CLASSES.len())] += 1;
        self.handle += time;
        self.handled += 1;
    }
}

impl outcome::Tally for Tally {
    fn counts(&self) -> Figures {
        vec![
            ("commands", self.traffic.commands),
            ("payloads", self.traffic.payloads),
            ("bytes", self.traffic.bytes),
            ("handled", self.handled),
            ("charges", self.charges),
            ("voltages", self.voltages),
        ]
    }

    fn times(&self) -> Vec<(&'static str, Duration)> {
        vec![
            ("compute", self.compute),
            ("send", self.send),
            ("wait", self.wait),
            ("handle", self.handle),
        ]
    }

    fn histogram(&self) -> Figures {
        let names = CLASSES.iter().map(|(_, name)| *name).chain([LONGER]);
        names.zip(self.classes).collect()
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}
