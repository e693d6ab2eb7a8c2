// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run is told by.

use std::time::Duration;

use rankpoint::{Op, Threads};
use serde_json::json;

use super::job::Job;
use super::mode::Mode;
use super::tally::{Tally, Times};
use crate::outcome::MORE;
use crate::{Failure, Told};

/// Sums over all threads of all ranks, the same on each rank.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was run.
    pub about: String,
    /// The mode.
    pub mode: &'static str,
    /// What the threads of a process communicate with.
    pub objects: &'static str,
    /// How many of these each process created.
    pub communicators: usize,
    /// Sums of what threads counted; times are those of the slowest thread in each part.
    pub total: Tally,
    /// Whether all values of the serial computation were at hand.
    pub is_whole: bool,
}

impl Outcome {
    /// Sums up. Called by all ranks.
    pub(super) fn of<T: Threads>(job: &Job<'_, T>, tallies: &[Tally]) -> Result<Self, Failure> {
        let (mut sums, mut longest) = ([0u64; 8], [0u64; 5]);
        for tally in tallies {
            let all = sums.iter_mut().zip(tally.counts());
            all.for_each(|(sum, count)| *sum = sum.wrapping_add(count));
            let all = longest.iter_mut().zip(tally.times.nanoseconds());
            all.for_each(|(longest, time)| *longest = time.max(*longest));
        }
        job.world.all_reduce_in_place(&mut sums, Op::SUM)?;
        job.world.all_reduce_in_place(&mut longest, Op::MAX)?;
        let mut total = Tally {
            first_wrong: tallies.iter().find_map(|tally| tally.first_wrong.clone()),
            times: Times::of_nanoseconds(longest),
            ..Tally::of_counts(sums)
        };
        let steps = job.options.steps;
        let reference = job.reference.checksum(steps);
        if job.options.verify
            && reference.is_some_and(|expected| expected != total.checksum)
            && total.wrong == 0
        {
            total.wrong = 1;
            total.first_wrong =
                Some("the checksum is not that of the serial computation".to_owned());
        }
        let threads = job.domain.grid.thread_count();
        let (objects, communicators) = match job.mode() {
            Mode::Window => ("windows", threads),
            Mode::Endpoint => ("endpoints", job.plan.objects()),
            _ if job.app.has_windows() => ("windows", 1),
            _ => ("communicators", job.comms.len()),
        };
        Ok(Self {
            about: about(job),
            mode: job.mode().name(),
            objects,
            communicators,
            total,
            is_whole: reference.is_some(),
        })
    }

    /// What a program tells of it.
    pub(super) fn told(&self, as_json: bool) -> Told {
        Told {
            text: if as_json { self.json() } else { self.text() },
            wrong: self.total.first_wrong.clone(),
            is_right: self.total.wrong == 0,
        }
    }

    /// The outcome as lines of text.
    pub fn text(&self) -> String {
        let total = &self.total;
        let ms = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
        let checked = match (total.verified, self.is_whole) {
            (0, _) => "nothing compared".to_owned(),
            (cells, true) => format!(
                "{cells} cells compared with the serial computation, {} differ",
                total.wrong
            ),
            (cells, false) => format!(
                "{cells} cells of the start compared, {} differ; the field is too large for more",
                total.wrong
            ),
        };
        let (away, flags) = match total.flags {
            0 => ("messages between processes", String::new()),
            flags => (
                "borders got from other processes",
                format!(", {flags} flags put"),
            ),
        };
        format!(
            "{}\n\
             exact  {} {away}, {} bytes{flags}\n\
             exact  {} borders within processes, {} bytes\n\
             exact  {} {} created\n\
             real   issue {}, completion {}, compute {}, barrier {}, sum {} (slowest thread of each)\n\
             exact  {checked}\n\
             {MORE}\n\
             checksum {:016x}\n",
            self.about,
            total.messages_away,
            total.bytes_away,
            total.messages_inside,
            total.bytes_inside,
            self.communicators,
            self.objects,
            ms(total.times.issue),
            ms(total.times.completion),
            ms(total.times.compute),
            ms(total.times.barrier),
            ms(total.times.sum),
            total.checksum
        )
    }

    /// The outcome as JSON.
    pub fn json(&self) -> String {
        let total = &self.total;
        let seconds = |time: Duration| time.as_secs_f64();
        let all = json!({
            "about": self.about, "mode": self.mode,
            "exact": {
                "messages_away": total.messages_away, "bytes_away": total.bytes_away, "flags_put": total.flags,
                "messages_inside": total.messages_inside, "bytes_inside": total.bytes_inside,
                "communicators": self.communicators, "verified": total.verified, "wrong": total.wrong,
                "compared_with_serial": self.is_whole, "checksum": format!("{:016x}", total.checksum),
            },
            "real_s": {
                "issue": seconds(total.times.issue), "completion": seconds(total.times.completion),
                "compute": seconds(total.times.compute), "barrier": seconds(total.times.barrier),
                "sum": seconds(total.times.sum),
            },
        });
        format!("{all:#}\n")
    }
}

fn about<T: Threads>(job: &Job<'_, T>) -> String {
    let (grid, options) = (&job.domain.grid, job.options);
    let axes = grid.stencil().axes();
    let plan = match job.mode() {
        Mode::Comm => format!(" (plan {})", options.plan.name()),
        _ => String::new(),
    };
    let depth = match options.depth {
        1 => String::new(),
        depth => format!(" halos {depth} cells deep,"),
    };
    format!(
        "{}, mode {}{plan}, {} points, {:?} threads in each of {:?} processes, {} cells along each axis of a patch,{depth} {} steps",
        job.app.name(),
        job.mode().name(),
        options.stencil(job.app).points(),
        &grid.threads()[..axes],
        &grid.processes()[..axes],
        options.size,
        options.steps
    )
}
