// SPDX-License-Identifier: MIT OR Apache-2.0
//! All output of a job that passes through the launcher: the ranks' streams, and the launcher's own sentences.

use std::io::{self, PipeReader, Read};

use crate::lines::{LineBuffer, Sink};
use crate::notices;
use crate::plan::Output;
use crate::supervise::Role;

/// Captured output of a rank beyond this many bytes is dropped from its beginning.
const MAX_CAPTURE_BYTES: usize = 8 << 20;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// One rank's standard output (or both, when captured) and error, where they come through the launcher.
pub(crate) type Streams = [Option<PipeReader>; 2];

/// The output of a job.
pub(crate) struct Outputs {
    mode: Output,
    role: Role,
    streams: Vec<Streams>,
    buffers: Vec<[LineBuffer; 2]>,
    /// Standard output and error of the launcher.
    sinks: [Sink; 2],
    /// What each rank wrote.
    pub(crate) captured: Vec<Vec<u8>>,
    /// What the launcher said.
    pub(crate) messages: Vec<String>,
}

impl Outputs {
    pub(crate) fn new(mode: Output, role: Role, streams: Vec<Streams>) -> Self {
        let buffers = |rank| [LineBuffer::new(rank), LineBuffer::new(rank)];
        Self {
            mode,
            role,
            buffers: (0..streams.len()).map(buffers).collect(),
            captured: vec![Vec::new(); streams.len()],
            streams,
            sinks: [Sink::default(), Sink::default()],
            messages: Vec::new(),
        }
    }

    /// Says something about the job, behind what the ranks have said.
    pub(crate) fn say(&mut self, text: &str) {
        self.messages.push(text.to_owned());
        if self.role == Role::Library {
            return;
        }
        if self.mode == Output::Label {
            let text = notices::marked(text);
            self.sinks[1].queue().extend_from_slice(text.as_bytes());
            self.write();
        } else {
            notices::say(text);
        }
    }

    /// Reads a piece of a rank's output; false when there is none at the moment.
    pub(crate) fn read(&mut self, rank: usize, which: usize) -> bool {
        let mut bytes = [0u8; PIECE_BYTES];
        let Some(stream) = &mut self.streams[rank][which] else {
            return false;
        };
        match stream.read(&mut bytes) {
            Ok(count) if count > 0 => {
                self.take(rank, which, &bytes[..count]);
                true
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                false
            }
            _ => {
                self.streams[rank][which] = None;
                false
            }
        }
    }

    /// Reads what a rank has written so far.
    pub(crate) fn drain(&mut self, rank: usize) {
        for which in 0..2 {
            while self.read(rank, which) {}
        }
    }

    /// Reads what a rank has written, and expects no more.
    pub(crate) fn close(&mut self, rank: usize) {
        self.drain(rank);
        for which in 0..2 {
            self.streams[rank][which] = None;
            self.buffers[rank][which].finish(self.sinks[which].queue());
        }
    }

    /// Writes what the launcher's own streams take.
    pub(crate) fn write(&mut self) {
        let [out, error] = &mut self.sinks;
        out.write_to(&io::stdout());
        error.write_to(&io::stderr());
    }

    /// Whether something waits to be written to standard output (0) or error (1).
    pub(crate) fn is_waiting(&self, which: usize) -> bool {
        !self.sinks[which].is_empty()
    }

    /// The streams that may be read: rank, which one, and its descriptor.
    pub(crate) fn readable(&self) -> impl Iterator<Item = (usize, usize, &PipeReader)> {
        let streams = self.streams.iter().enumerate().flat_map(|(rank, streams)| {
            streams
                .iter()
                .enumerate()
                .filter_map(move |(which, stream)| Some((rank, which, stream.as_ref()?)))
        });
        streams.filter(|&(_, which, _)| !self.sinks[which].is_full())
    }

    fn take(&mut self, rank: usize, which: usize, bytes: &[u8]) {
        if self.mode == Output::Capture {
            let captured = &mut self.captured[rank];
            captured.extend_from_slice(bytes);
            if captured.len() > MAX_CAPTURE_BYTES {
                captured.drain(..MAX_CAPTURE_BYTES / 2);
            }
            return;
        }
        self.buffers[rank][which].push(bytes, self.sinks[which].queue());
        self.write();
        if self.sinks[which].is_broken() {
            // Nobody reads ours, so nobody reads theirs: they learn it as they would without us.
            self.streams
                .iter_mut()
                .for_each(|streams| streams[which] = None);
        }
    }
}
