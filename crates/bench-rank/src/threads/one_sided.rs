// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts of several threads at once, each into the memory of its partner in another process, which waits for a message meanwhile. On a
//! fabric that carries nothing puts are messages that do not arrive.

use std::sync::Barrier;
use std::time::Instant;

use super::Mode;
use super::rates::{CHECKED, Place, Span};
use crate::mpi::{PutStream, WindowSharing};
use crate::pattern::fill;
use crate::rows::pair::{check_slots, slots};

/// Memory of threads of one process lies in cache lines of its own.
const LINE: usize = 128;
/// The tag of thread 0; others follow.
const FIRST_TAG: i32 = 100;

impl Place<'_> {
    /// Measures puts, or says why the library cannot have them so.
    pub(crate) fn measure_puts(&self) -> Result<(), String> {
        let sharing = match self.plan.mode {
            Mode::Processes | Mode::Serial => WindowSharing::One,
            Mode::Windows => WindowSharing::Own,
            Mode::Endpoints => WindowSharing::Endpoints,
            Mode::Hints => WindowSharing::Hinted,
            Mode::Communicators | Mode::Partitioned => {
                return Err("puts have windows".to_owned());
            }
        };
        let (threads, alone) = (self.plan.threads_of_rank(), self.is_alone());
        let bytes = slots(self.plan.size_bytes, self.plan.window).len().max(1);
        let bytes = bytes.next_multiple_of(LINE);
        let streams = self
            .mpi
            .put_streams(sharing, threads, bytes, self.peer, alone)?;
        self.repeat(|windows| {
            let together = Barrier::new(threads);
            self.on_threads(|thread| self.put(&streams[thread], thread, windows, &together))
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
            streams.into_iter().for_each(PutStream::free);
        }
        Ok(())
    }

    /// A thread's part of a repetition.
    fn put(&self, stream: &PutStream<'_>, thread: usize, windows: u64, together: &Barrier) -> Span {
        let (size, count, alone) = (self.plan.size_bytes, self.plan.window, self.is_alone());
        let (mut data, mut found) = (vec![1; size], slots(size, count));
        let mut verified = |message: u64| {
            if self.sends {
                fill(&mut data, message);
                stream.put_window(&data, count);
                self.tell(thread);
                self.hear(thread);
            } else {
                self.hear(thread);
                stream.read(&mut found);
                check_slots(self.mpi, &found, size, message);
                self.tell(thread);
            }
        };
        let first = thread as u64 * 2 * CHECKED;
        let checked = match self.plan.verify && !alone {
            true => CHECKED,
            false => 0,
        };
        (first..first + checked).for_each(&mut verified);
        let same = vec![1; size];
        together.wait();
        let start = Instant::now();
        if self.sends {
            (0..windows).for_each(|_| stream.put_window(&same, count));
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

    /// Tells the partner of a thread to go on.
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
