// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading and writing lists of ranges: several with short gaps between them by one system call, where that is permitted.
//!
//! Gaps are written only under a lock of what is read and written back, and only while every writer of the file locks its ranges
//! (`view::set_view` decides that), so no byte that another rank writes meanwhile is lost.

use std::ops::Range;
use std::sync::Arc;

use file_plan::Costs;
use storage::{Done, Fault, Hold};

use crate::allocate;

/// Most ranges that one system call covers.
const MOST_RANGES: usize = 1 << 16;

/// How ranges are accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covering {
    /// The longest gap that is accessed with the ranges around it.
    gap: u64,
    /// Bytes that one system call covers; 0: no gap is accessed.
    most_bytes: u64,
    /// Whether writes lock their ranges.
    locks: bool,
}

impl Covering {
    /// Of reads that cover up to so many bytes.
    pub(super) fn of_read(costs: &Costs, most_bytes: u64) -> Self {
        Self {
            gap: costs.gap(),
            most_bytes,
            locks: false,
        }
    }

    /// Of writes that cover up to so many bytes, but only under a lock: that of each write, or one that is held.
    pub(super) fn of_write(costs: &Costs, most_bytes: u64, locks: bool, is_held: bool) -> Self {
        Self {
            gap: costs.write_gap(),
            most_bytes: if locks || is_held { most_bytes } else { 0 },
            locks,
        }
    }
}

/// Locks a range of a file for a write; `wait` is called between two attempts.
pub(super) fn lock(
    storage: &Arc<storage::File>,
    hold: Hold,
    range: Range<u64>,
    wait: &mut dyn FnMut(),
) -> Result<storage::Locked, Fault> {
    storage.lock(hold, range, || {
        wait();
        Ok(())
    })
}

/// Ranges that one system call accesses: where they are in the file and in memory.
struct Batch {
    how: Covering,
    ranges: Vec<(Range<u64>, usize)>,
}

impl Batch {
    /// Adds a range, unless it is too far from those that are there.
    fn take(&mut self, range: &Range<u64>, at: usize) -> bool {
        let Some((first, _)) = self.ranges.first() else {
            self.ranges.push((range.clone(), at));
            return true;
        };
        let (first, room) = (first.start, self.ranges.len() < MOST_RANGES);
        let Some((last, from)) = self.ranges.last_mut() else {
            return false;
        };
        if range.start == last.end && at == *from + (last.end - last.start) as usize {
            last.end = range.end;
            return true;
        }
        let is_near = range.start >= last.end
            && range.start - last.end <= self.how.gap
            && range.end - first <= self.how.most_bytes
            && room;
        if is_near {
            self.ranges.push((range.clone(), at));
        }
        is_near
    }

    /// From the first byte to the last one.
    fn covered(&self) -> Range<u64> {
        match (self.ranges.first(), self.ranges.last()) {
            (Some((first, _)), Some((last, _))) => first.start..last.end,
            _ => 0..0,
        }
    }
}

/// Zeroed memory of at least so many bytes.
fn grow(memory: &mut Vec<u8>, bytes: usize) -> Result<(), Fault> {
    if memory.len() < bytes {
        *memory = allocate::zeroed(bytes).map_err(|_| Fault::NO_MEMORY)?;
    }
    Ok(())
}

/// Writes ranges of a file.
pub(super) struct Writer<'a> {
    storage: &'a Arc<storage::File>,
    bytes: &'a [u8],
    batch: Batch,
    covering: Vec<u8>,
    done: Done,
    wait: &'a mut dyn FnMut(),
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        storage: &'a Arc<storage::File>,
        bytes: &'a [u8],
        how: Covering,
        wait: &'a mut dyn FnMut(),
    ) -> Self {
        Self {
            storage,
            bytes,
            batch: Batch {
                how,
                ranges: Vec::new(),
            },
            covering: Vec::new(),
            done: Done::well(0),
            wait,
        }
    }

    /// Writes a range whose bytes are in memory from `at` on, sooner or later.
    pub(super) fn add(&mut self, range: &Range<u64>, at: usize) {
        if !self.batch.take(range, at) {
            self.flush();
            self.batch.take(range, at);
        }
    }

    /// Writes what is left; returns how many bytes of all ranges were written, in order.
    pub(super) fn finish(mut self) -> Done {
        self.flush();
        self.done
    }

    fn flush(&mut self) {
        if self.done.fault.is_none() && !self.batch.ranges.is_empty() {
            let (bytes, fault) = match self.write() {
                Ok(done) => (done.bytes, done.fault),
                Err(fault) => (0, Some(fault)),
            };
            self.done.bytes += bytes;
            self.done.fault = fault;
        }
        self.batch.ranges.clear();
    }

    /// Writes the ranges of the batch.
    fn write(&mut self) -> Result<Done, Fault> {
        let covered = self.batch.covered();
        let locks = self.batch.how.locks;
        let locked = locks
            .then(|| lock(self.storage, Hold::Exclusive, covered.clone(), self.wait))
            .transpose()?;
        let done = match &self.batch.ranges[..] {
            [(range, at)] => {
                let length = (range.end - range.start) as usize;
                self.storage
                    .write_at(range.start, &self.bytes[*at..*at + length])
            }
            _ => self.write_covering(&covered)?,
        };
        drop(locked);
        Ok(done)
    }

    /// Reads what covers the ranges, changes them, and writes all of it. The caller holds the lock.
    fn write_covering(&mut self, covered: &Range<u64>) -> Result<Done, Fault> {
        let length = (covered.end - covered.start) as usize;
        grow(&mut self.covering, length)?;
        let covering = &mut self.covering[..length];
        let read = self.storage.read_at(covered.start, covering);
        if let Some(fault) = read.fault {
            return Err(fault);
        }
        // Behind the end of the file there is nothing but zeros.
        covering[read.bytes as usize..].fill(0);
        for (range, at) in &self.batch.ranges {
            let (from, length) = (
                (range.start - covered.start) as usize,
                (range.end - range.start) as usize,
            );
            covering[from..from + length].copy_from_slice(&self.bytes[*at..*at + length]);
        }
        let written = self.storage.write_at(covered.start, covering);
        let limit = covered.start + written.bytes;
        let before =
            |(range, _): &(Range<u64>, usize)| limit.clamp(range.start, range.end) - range.start;
        Ok(Done {
            bytes: self.batch.ranges.iter().map(before).sum(),
            fault: written.fault,
        })
    }
}

/// Reads ranges of a file.
pub(super) struct Reader<'a> {
    storage: &'a storage::File,
    target: &'a mut [u8],
    batch: Batch,
    covering: Vec<u8>,
    done: Done,
    /// Whether the end of the file was met.
    ended: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(storage: &'a storage::File, target: &'a mut [u8], how: Covering) -> Self {
        Self {
            storage,
            target,
            batch: Batch {
                how,
                ranges: Vec::new(),
            },
            covering: Vec::new(),
            done: Done::well(0),
            ended: false,
        }
    }

    /// Reads a range to memory from `at` on, sooner or later.
    pub(super) fn add(&mut self, range: &Range<u64>, at: usize) {
        if !self.batch.take(range, at) {
            self.flush();
            self.batch.take(range, at);
        }
    }

    /// Reads what is left; returns how many bytes of all ranges were read, in order.
    pub(super) fn finish(mut self) -> Done {
        self.flush();
        self.done
    }

    fn flush(&mut self) {
        let is_over = self.done.fault.is_some() || self.ended || self.batch.ranges.is_empty();
        if !is_over && let Err(fault) = self.read() {
            self.done.fault = Some(fault);
        }
        self.batch.ranges.clear();
    }

    /// Reads the ranges of the batch.
    fn read(&mut self) -> Result<(), Fault> {
        let covered = self.batch.covered();
        let length = (covered.end - covered.start) as usize;
        if let [(_, at)] = &self.batch.ranges[..] {
            let target = &mut self.target[*at..*at + length];
            let done = self.storage.read_at(covered.start, target);
            self.done.bytes += done.bytes;
            self.done.fault = done.fault;
            self.ended = done.bytes < length as u64;
            return Ok(());
        }
        grow(&mut self.covering, length)?;
        let covering = &mut self.covering[..length];
        let done = self.storage.read_at(covered.start, covering);
        let end = covered.start + done.bytes;
        for (range, at) in &self.batch.ranges {
            let there = range.end.min(end).saturating_sub(range.start) as usize;
            let from = (range.start - covered.start) as usize;
            self.target[*at..*at + there].copy_from_slice(&covering[from..from + there]);
            self.done.bytes += there as u64;
            if range.end > end {
                break;
            }
        }
        self.done.fault = done.fault;
        self.ended = done.bytes < length as u64;
        Ok(())
    }
}
