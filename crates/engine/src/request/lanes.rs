// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitioned requests whose partitions are spread over several VCIs.
//!
//! Such a request has a *lane* on each VCI: a partitioned request of its own, with a block of the sender's partitions. Threads that
//! use partitions of different lanes enter different VCIs. The request itself has no messages, and is complete when its lanes are.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use sys::sync::{AtomicU32, Mutex, Ordering};

use super::slab::RequestId;
use crate::identity::VciIndex;

/// The lanes of a partitioned request.
pub(crate) struct RequestLanes {
    /// The VCI of the request itself.
    home: VciIndex,
    /// Partitions of the sender.
    sent: u32,
    count: u32,
    /// Set once, before any lane is started.
    ids: OnceLock<Box<[RequestId]>>,
    /// For each partition of a receive the first and the last lane that bring its data. Empty of a send.
    needed: Box<[(u32, u32)]>,
    /// Lanes of this round that are not complete.
    outstanding: AtomicU32,
    /// Class and text of the first error of this round.
    failure: Mutex<Option<(i32, String)>>,
}

/// The block of partitions of a lane.
#[derive(Clone)]
pub(crate) struct Block {
    pub(crate) lanes: Arc<RequestLanes>,
    /// Numbers of the sender's partitions.
    pub(crate) numbers: Range<usize>,
}

impl RequestLanes {
    /// `count` lanes, at most as many as the `sent` partitions of the sender.
    pub(crate) fn new(home: VciIndex, sent: u32, count: u32, needed: Box<[(u32, u32)]>) -> Self {
        Self {
            home,
            sent,
            count,
            ids: OnceLock::new(),
            needed,
            outstanding: AtomicU32::new(0),
            failure: Mutex::new(None),
        }
    }

    /// Partitions of the sender.
    pub(crate) const fn sent(&self) -> u32 {
        self.sent
    }

    /// The lane of a partition of the sender. Neighbours share a lane: a thread usually has a block of partitions.
    pub(crate) const fn lane_of(sent: u32, count: u32, number: usize) -> u32 {
        (number as u64 * count as u64 / sent as u64) as u32
    }

    /// The partitions of the sender that a lane has: all for which [`Self::lane_of`] is this one.
    pub(crate) fn numbers(sent: u32, count: u32, lane: u32) -> Range<usize> {
        let first = |lane: u32| (u64::from(lane) * u64::from(sent)).div_ceil(count.into()) as usize;
        first(lane)..first(lane + 1)
    }

    /// Partitions of a receive.
    pub(crate) const fn received(&self) -> u32 {
        self.needed.len() as u32
    }

    /// Sets the requests of the lanes.
    pub(crate) fn set_ids(&self, ids: Box<[RequestId]>) {
        // They are made once.
        let _ = self.ids.set(ids);
    }

    /// The requests of the lanes.
    pub(crate) fn ids(&self) -> &[RequestId] {
        self.ids.get().map_or(&[], |ids| ids)
    }

    /// The request that has a partition of the sender, if there is one with this number.
    pub(crate) fn id_of(&self, partition: i32) -> Option<RequestId> {
        let number = u32::try_from(partition)
            .ok()
            .filter(|&number| number < self.sent)?;
        let lane = Self::lane_of(self.sent, self.count, number as usize);
        self.ids().get(lane as usize).copied()
    }

    /// The requests that bring data of a partition of a receive, if there is one with this number.
    pub(crate) fn ids_for(&self, partition: i32) -> Option<&[RequestId]> {
        let number = usize::try_from(partition).ok()?;
        let &(first, last) = self.needed.get(number)?;
        self.ids().get(first as usize..=last as usize)
    }

    /// Begins a round.
    pub(crate) fn begin(&self) {
        self.outstanding.store(self.count, Ordering::Relaxed);
    }

    /// Notes that a lane is complete, and its error if it has one. The VCI of the request if the lane is the last one.
    pub(crate) fn note_complete(&self, failure: Option<(i32, String)>) -> Option<VciIndex> {
        if failure.is_some()
            && let Ok(mut first) = self.failure.lock()
            && first.is_none()
        {
            *first = failure;
        }
        // PAIRS: partitioned.lanes
        let is_last = self.outstanding.fetch_sub(1, Ordering::AcqRel) == 1;
        is_last.then_some(self.home)
    }

    /// Whether all lanes are complete.
    pub(crate) fn are_complete(&self) -> bool {
        // PAIRS: partitioned.lanes
        self.outstanding.load(Ordering::Acquire) == 0
    }

    /// Takes class and text of the first error of this round.
    pub(crate) fn take_failure(&self) -> Option<(i32, String)> {
        self.failure.lock().ok()?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_has_one_lane_and_each_lane_a_partition() {
        for sent in 1..40 {
            for count in 1..=sent {
                let mut next = 0;
                for lane in 0..count {
                    let numbers = RequestLanes::numbers(sent, count, lane);
                    assert_eq!(numbers.start, next);
                    assert!(!numbers.is_empty());
                    next = numbers.end;
                    for number in numbers {
                        assert_eq!(RequestLanes::lane_of(sent, count, number), lane);
                    }
                }
                assert_eq!(next, sent as usize);
            }
        }
    }

    #[test]
    fn the_last_lane_tells_the_end_and_the_first_error_stays() {
        let lanes = RequestLanes::new(VciIndex::FIRST, 6, 3, Box::new([]));
        for round in 0..2 {
            lanes.begin();
            assert_eq!(lanes.note_complete(None), None);
            assert_eq!(lanes.note_complete(Some((round, "first".to_owned()))), None);
            assert!(!lanes.are_complete());
            let last = lanes.note_complete(Some((9, "second".to_owned())));
            assert_eq!(last, Some(VciIndex::FIRST));
            assert!(lanes.are_complete());
            assert_eq!(lanes.take_failure(), Some((round, "first".to_owned())));
            assert_eq!(lanes.take_failure(), None);
        }
    }
}
