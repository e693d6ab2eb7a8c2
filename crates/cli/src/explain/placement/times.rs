// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a rank takes to send its messages one after the other, by the machine profile.

use machine_profile::{Curve, Profile};

use super::pattern::Message;

/// The curves of half round trips by bytes, within a node and between two.
pub(crate) const ENTRIES: [&str; 2] = ["mpi/latency", "network/mpi/latency"];

/// One of these curves.
///
/// # Errors
/// When the profile lacks it.
pub(crate) fn curve(profile: &Profile, entry: &str) -> Result<Curve, String> {
    let curve = profile.curves_of(entry).next().cloned();
    curve.ok_or_else(|| {
        // The lookup by name reports whether the measurement was skipped, and why.
        let missing = profile.curve(entry, None, None).err();
        let missing = missing.map_or_else(String::new, |error| error.to_string());
        format!("{missing}; `rankpoint scope --hosts a,b` measures between hosts, too")
    })
}

/// The time of a message by its bytes, within a node and between two nodes.
pub(super) struct Costs {
    /// The file of the profile.
    pub(super) source: String,
    within: Curve,
    between: Curve,
}

/// Times of the ranks of a placement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub(super) mean_ns: f64,
    pub(super) slowest_ns: f64,
}

impl Costs {
    /// The costs by a profile.
    ///
    /// # Errors
    /// When it has not the times of messages within a node and between two.
    pub(super) fn of(profile: &Profile) -> Result<Self, String> {
        let [within, between] = ENTRIES.map(|entry| curve(profile, entry));
        Ok(Self {
            source: profile.file.display().to_string(),
            within: within?,
            between: between?,
        })
    }

    /// The mean and the longest time that a rank needs to send its messages; `share_between` is the part of a message that goes to another node.
    pub(super) fn times(
        &self,
        messages: &[Message],
        ranks: usize,
        share_between: impl Fn(&Message) -> f64,
    ) -> Times {
        let mut sums = vec![0.0; ranks];
        for message in messages {
            let (share, bytes) = (share_between(message), message.2 as f64);
            sums[message.0 as usize] +=
                share * self.between.at(bytes).ns + (1.0 - share) * self.within.at(bytes).ns;
        }
        let senders = sums.iter().filter(|&&sum| sum > 0.0).count();
        Times {
            mean_ns: sums.iter().sum::<f64>() / senders.max(1) as f64,
            slowest_ns: sums.iter().copied().fold(0.0, f64::max),
        }
    }
}
