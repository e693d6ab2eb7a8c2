// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided operations of several threads at once, each on the memory of its partner in another process, which waits for a message
//! meanwhile. On a fabric that carries nothing they are messages that do not arrive.

use std::sync::Barrier;
use std::time::Instant;

use super::Mode;
use super::mode::NUMBER_BYTES;
use super::rates::{CHECKED, Place, Span};
use crate::mpi::{OneSided, RmaStream, WindowSharing};
use crate::pattern::fill;
use crate::rows::pair::{check_slots, slots};

/// Memory of threads of one process lies in cache lines of its own.
const LINE: usize = 128;
/// The tag of thread 0; others follow.
const FIRST_TAG: i32 = 100;

impl Place<'_> {
    /// Measures one-sided operations, or says why the library cannot have them so.
    pub(crate) fn measure_one_sided(&self, operation: OneSided) -> Result<(), String> {
        let sharing = match self.plan.mode {
            Mode::Processes | Mode::Serial => WindowSharing::One,
            Mode::Windows => WindowSharing::Own,
            Mode::Endpoints => WindowSharing::Endpoints,
            Mode::Hints => WindowSharing::Hinted,
            Mode::Communicators | Mode::Partitioned => {
                return Err("one-sided operations have windows".to_owned());
            }
        };
        self.check_size()?;
        let (threads, alone) = (self.plan.threads_of_rank(), self.is_alone());
        let bytes = slots(self.plan.size_bytes, self.plan.window).len().max(1);
        let bytes = bytes.next_multiple_of(LINE);
        let streams = self
            .mpi
            .rma_streams(sharing, threads, bytes, self.peer, alone)?;
        self.repeat(|windows| {
            let together = Barrier::new(threads);
            self.on_threads(|thread| {
                self.operate(operation, &streams[thread], thread, windows, &together)
            })
        })?;
        if sharing == WindowSharing::Endpoints {
            // Members of one window free it together.
            std::thread::scope(|scope| {
                for stream in streams {
                    scope.spawn(|| stream.free());
                }
            });
        } else {
            // The first stream of a shared window ends it.
            streams.into_iter().for_each(RmaStream::free);
        }
        Ok(())
    }

    /// Refuses what an operation does not have.
    fn check_size(&self) -> Result<(), String> {
        let operation = self.plan.operation;
        match operation.refusal(self.plan.size_bytes) {
            Some(why) => Err(why),
            None if operation.is_answered() && self.is_alone() => Err(format!(
                "{} needs an answer, which this fabric does not carry",
                operation.function()
            )),
            None => Ok(()),
        }
    }

    /// A thread's part of a repetition.
    fn operate(
        &self,
        operation: OneSided,
        stream: &RmaStream<'_>,
        thread: usize,
        windows: u64,
        together: &Barrier,
    ) -> Span {
        let (size, count, alone) = (self.plan.size_bytes, self.plan.window, self.is_alone());
        let (mut data, mut found) = (vec![1; size], slots(size, count));
        let mut verified = |message: u64| {
            fill(&mut data, message);
            if self.sends {
                self.hear(thread);
                found.fill(0);
                stream.start_window(operation, &data, &mut found, count);
                match operation {
                    OneSided::Get => check_slots(self.mpi, &found, size, message),
                    // A fetch returns the sum before it, which lacks the last addition.
                    OneSided::Fetch => self.check_sums(&found, &data, 1),
                    _ => {}
                }
                self.tell(thread);
                self.hear(thread);
            } else {
                found.fill(0);
                if operation == OneSided::Get {
                    let slots = found.chunks_mut(size.max(1));
                    slots.for_each(|slot| slot.copy_from_slice(&data));
                }
                stream.write(&found);
                self.tell(thread);
                self.hear(thread);
                stream.read(&mut found);
                match operation {
                    OneSided::Accumulate | OneSided::Fetch => self.check_sums(&found, &data, 0),
                    _ => check_slots(self.mpi, &found, size, message),
                }
                self.tell(thread);
            }
        };
        let first = thread as u64 * 2 * CHECKED;
        let checked = match self.plan.verify && !alone {
            true => CHECKED,
            false => 0,
        };
        (first..first + checked).for_each(&mut verified);
        let (same, mut results) = (vec![1; size], slots(size, count));
        together.wait();
        let start = Instant::now();
        if self.sends {
            (0..windows).for_each(|_| stream.start_window(operation, &same, &mut results, count));
        }
        let span = (start, Instant::now());
        // A partner that waits here advances what comes by messages.
        if self.sends {
            self.tell(thread);
        } else {
            self.hear(thread);
        }
        together.wait();
        if checked > 0 {
            verified(first + CHECKED);
        }
        span
    }

    /// Ends the job unless each slot of zeros has got the numbers of `data` as often as a window adds them there, but for the last
    /// `missing` times.
    fn check_sums(&self, slots: &[u8], data: &[u8], missing: usize) {
        let numbers = |bytes: &[u8]| -> Vec<i64> {
            let eight = bytes.as_chunks::<NUMBER_BYTES>().0;
            eight.iter().map(|&one| i64::from_ne_bytes(one)).collect()
        };
        let (added, count) = (numbers(data), self.plan.window);
        let all = slots.len() / data.len().max(1);
        for (index, slot) in slots.chunks_exact(data.len().max(1)).enumerate() {
            let times = count / all + usize::from(index < count % all) - missing;
            let expected = added.iter().map(|one| one.wrapping_mul(times as i64));
            if !expected.eq(numbers(slot)) {
                self.mpi.abort(&format!(
                    "wrong sums: slot {index} of {} bytes is not what was added {times} times",
                    data.len()
                ));
            }
        }
    }

    /// Sends the partner of a thread the empty message that it waits for.
    fn tell(&self, thread: usize) {
        if !self.is_alone() {
            self.mpi.send(&[], self.peer, FIRST_TAG + thread as i32);
        }
    }

    /// Waits for the partner of a thread.
    fn hear(&self, thread: usize) {
        if !self.is_alone() {
            self.mpi
                .receive(&mut [], self.peer, FIRST_TAG + thread as i32);
        }
    }
}
