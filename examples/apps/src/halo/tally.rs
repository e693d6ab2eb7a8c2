// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads count and measure.

use std::time::Duration;

/// Time of a thread, by what it did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Packing, and starting sends and receives.
    pub issue: Duration,
    /// Waiting for messages, and unpacking.
    pub completion: Duration,
    /// Updating cells.
    pub compute: Duration,
    /// Waiting for threads, and for ranks where that is asked for.
    pub barrier: Duration,
    /// Sums over all cells, with the waiting that they take.
    pub sum: Duration,
}

/// What a thread counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Messages sent to other processes, or borders got from them.
    pub messages_away: u64,
    /// Their bytes.
    pub bytes_away: u64,
    /// Flags put into mailboxes.
    pub flags: u64,
    /// Borders given to threads of the same process.
    pub messages_inside: u64,
    /// Their bytes.
    pub bytes_inside: u64,
    /// Cells compared with their owner's values.
    pub verified: u64,
    /// Cells that differed.
    pub wrong: u64,
    /// The first of them, in a sentence.
    pub first_wrong: Option<String>,
    /// The patch's part of the field's checksum.
    pub checksum: u64,
    /// Where the time went.
    pub times: Times,
}

impl Times {
    pub(super) fn nanoseconds(&self) -> [u64; 5] {
        let parts = [
            self.issue,
            self.completion,
            self.compute,
            self.barrier,
            self.sum,
        ];
        parts.map(|part| u64::try_from(part.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn of_nanoseconds(parts: [u64; 5]) -> Self {
        let [issue, completion, compute, barrier, sum] = parts.map(Duration::from_nanos);
        Self {
            issue,
            completion,
            compute,
            barrier,
            sum,
        }
    }
}

impl Tally {
    pub(super) const fn counts(&self) -> [u64; 8] {
        [
            self.messages_away,
            self.bytes_away,
            self.messages_inside,
            self.bytes_inside,
            self.verified,
            self.wrong,
            self.checksum,
            self.flags,
        ]
    }

    pub(super) fn of_counts(counts: [u64; 8]) -> Self {
        let [
            messages_away,
            bytes_away,
            messages_inside,
            bytes_inside,
            verified,
            wrong,
            checksum,
            flags,
        ] = counts;
        Self {
            messages_away,
            bytes_away,
            messages_inside,
            bytes_inside,
            verified,
            wrong,
            checksum,
            flags,
            ..Self::default()
        }
    }
}
