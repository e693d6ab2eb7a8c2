// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers behind a gate: a kernel that waits until everything is queued, and events around what follows it.

use layout_cuda::{CudaError, Handle};

use super::calls::Done;
use super::unit::{Event, Stream, Unit};
use crate::timing::Device;

/// A transfer: the GPU whose stream it is given to, and the call that does so.
pub(crate) struct Way<'a> {
    pub(crate) unit: &'a Unit,
    pub(crate) issue: Box<dyn FnMut(Handle) -> Done + 'a>,
}

/// Transfers that begin at the same time. Their time ends with the last one.
pub(crate) struct Gate<'a> {
    lanes: Vec<Lane<'a>>,
    start: Event<'a>,
    stop: Event<'a>,
}

/// A transfer and its stream.
struct Lane<'a> {
    way: Way<'a>,
    stream: Stream<'a>,
    begun: Event<'a>,
    done: Event<'a>,
}

impl<'a> Gate<'a> {
    /// A gate before transfers, of which there is at least one.
    pub(crate) fn new(ways: Vec<Way<'a>>) -> Result<Self, String> {
        let lane = |way: Way<'a>| -> Done<Lane<'a>> {
            let unit = way.unit;
            let parts = unit
                .gpu
                .inside(|| Ok((unit.stream()?, unit.event()?, unit.event()?)));
            let (stream, begun, done) = parts?;
            Ok(Lane {
                way,
                stream,
                begun,
                done,
            })
        };
        let lanes: Done<Vec<Lane<'a>>> = ways.into_iter().map(lane).collect();
        let lanes = lanes.map_err(|error| error.to_string())?;
        let first = lanes.first().ok_or("no transfer")?.way.unit;
        let events = first.gpu.inside(|| Ok((first.event()?, first.event()?)));
        let (start, stop) = events.map_err(|error: CudaError| error.to_string())?;
        Ok(Self { lanes, start, stop })
    }

    /// Nanoseconds of all transfers as they were timed before gates: the longest of all times from a begin to an end.
    pub(crate) fn ungated(&mut self) -> Done<f64> {
        for lane in &mut self.lanes {
            let Lane {
                way,
                stream,
                begun,
                done,
            } = lane;
            way.unit.gpu.inside(|| {
                begun.record(stream)?;
                (way.issue)(stream.handle)?;
                done.record(stream)
            })?;
        }
        let mut longest = 0.0f64;
        for lane in &self.lanes {
            lane.done.wait()?;
        }
        for begin in &self.lanes {
            // Events of two GPUs have no common clock.
            let same = |end: &&Lane<'_>| std::ptr::eq(begin.way.unit, end.way.unit);
            for end in self.lanes.iter().filter(same) {
                longest = longest.max(begin.begun.ns_until(&end.done)?);
            }
        }
        Ok(longest)
    }
}

impl Device for Gate<'_> {
    type Error = CudaError;

    fn queue(&mut self, wait_cycles: u64) -> Done {
        let (first, others) = self.lanes.split_at_mut(1);
        let first = &mut first[0];
        let unit = first.way.unit;
        unit.gpu.inside(|| {
            unit.wait_busily(wait_cycles, &first.stream)?;
            self.start.record(&first.stream)
        })?;
        for lane in &mut *others {
            let Lane {
                way, stream, done, ..
            } = lane;
            way.unit.gpu.inside(|| {
                stream.wait_for(&self.start)?;
                (way.issue)(stream.handle)?;
                done.record(stream)
            })?;
        }
        unit.gpu.inside(|| {
            (first.way.issue)(first.stream.handle)?;
            for lane in others {
                first.stream.wait_for(&lane.done)?;
            }
            self.stop.record(&first.stream)
        })
    }

    fn has_started(&mut self) -> Done<bool> {
        self.start.has_fired()
    }

    fn finish(&mut self) -> Done<f64> {
        self.stop.wait()?;
        self.start.ns_until(&self.stop)
    }
}
