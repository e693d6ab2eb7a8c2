// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both directions at once through memory that is not pinned. A call returns when its bytes have left, so each direction has a
//! thread; their clock is one, and tells how long both moved bytes.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use machine_profile::Sample;
use machine_profile::statistics::{mad, median, trimean};
use measure::threads::{CacheLine, duo, sample_here};

use crate::gpu::{Done, Stream, Unit};
use crate::memory::Mapping;
use crate::session::Session;
use crate::timing::{Interval, TwoWay};

/// Most overlaps that are kept.
const MOST: usize = 10_000;

/// The whole time, and that of the overlap.
pub(super) fn both(
    session: &Session,
    unit: &Unit,
    bytes: usize,
) -> Result<(Sample, Sample), String> {
    let (_, spots) = session.two()?;
    let base = Instant::now();
    let ends = [CacheLine::default(), CacheLine::default()];
    let (ends, plan) = (&ends, session.plan());
    let mut overlaps = Vec::with_capacity(MOST);
    let kept = &mut overlaps;
    let failed = Mutex::new(None);
    let fail = |reason: String| {
        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    };
    let found = duo(
        spots,
        |[to, from]| {
            let mut side = Side::new(unit, bytes).map_err(&fail);
            let mut number = 1;
            sample_here(&plan, |repetitions| {
                let mut whole = 0.0;
                for _ in 0..repetitions {
                    let Ok(own) = &side else {
                        return plan.value_ns;
                    };
                    number += 2;
                    to.publish(number);
                    from.wait_for(number);
                    let mine = own.interval(base, Side::copy_in).map_err(&fail);
                    to.publish(number + 1);
                    from.wait_for(number + 1);
                    if from.has_ended() {
                        side = Err(());
                        return plan.value_ns;
                    }
                    let other = interval([ends[0].number(), ends[1].number()]);
                    let times = TwoWay::of(mine.map_or(other, interval), other);
                    whole += times.whole_ns;
                    if kept.len() < MOST {
                        kept.push(times.overlap_ns);
                    }
                }
                whole
            })
        },
        |[from, to]| {
            let Ok(side) = Side::new(unit, bytes).map_err(&fail) else {
                return;
            };
            let mut last = 0;
            while let Ok(number) = from.next(last) {
                to.publish(number);
                let Ok(own) = side.interval(base, Side::copy_out).map_err(&fail) else {
                    return;
                };
                ends[0].publish(own[0]);
                ends[1].publish(own[1]);
                let Ok(done) = from.next(number) else {
                    return;
                };
                last = done;
                to.publish(done);
            }
        },
    )?;
    if let Some(reason) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(reason);
    }
    let sample = session.count(found);
    let overlap = overlap_of(&overlaps, &sample);
    Ok((sample, overlap))
}

/// The overlaps of the moves that a sample counts.
fn overlap_of(overlaps: &[f64], whole: &Sample) -> Sample {
    Sample {
        ns: median(overlaps),
        trimean: trimean(overlaps),
        mad: mad(overlaps),
        n: overlaps.len() as u64,
        iid: whole.iid,
    }
}

fn interval([start, end]: [u64; 2]) -> Interval {
    Interval {
        start: start as f64,
        end: end as f64,
    }
}

/// What a thread copies between.
struct Side<'u> {
    unit: &'u Unit,
    stream: Stream<'u>,
    host: Mapping,
    device: layout_cuda::DeviceMemory,
    bytes: usize,
}

impl<'u> Side<'u> {
    /// Memory and a stream of the calling thread, whose context is the GPU's from now on.
    fn new(unit: &'u Unit, bytes: usize) -> Result<Self, String> {
        let host = Mapping::touched(bytes)?;
        let told = |error: layout_cuda::CudaError| error.to_string();
        unit.stay().map_err(told)?;
        Ok(Self {
            unit,
            stream: unit.stream().map_err(told)?,
            host,
            device: unit.gpu.allocate(bytes).map_err(told)?,
            bytes,
        })
    }

    /// Begin and end of a copy in nanoseconds since `base`.
    fn interval(&self, base: Instant, copy: fn(&Self) -> Done) -> Result<[u64; 2], String> {
        let now = || base.elapsed().as_nanos() as u64;
        let start = now();
        let copied = copy(self).and_then(|()| self.stream.synchronize());
        copied.map_err(|error| error.to_string())?;
        Ok([start, now()])
    }

    fn copy_in(&self) -> Done {
        let (host, device) = (self.host.start(), self.device.address());
        // SAFETY: both are as long, and the thread waits for the stream before it uses them again.
        unsafe {
            self.unit
                .copy_in_later(device, host, self.bytes, self.stream.handle)
        }
    }

    fn copy_out(&self) -> Done {
        let (host, device) = (self.host.start(), self.device.address());
        // SAFETY: as above.
        unsafe {
            self.unit
                .copy_out_later(host, device, self.bytes, self.stream.handle)
        }
    }
}
