// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ranks' output on its way through the launcher: whole lines, each behind its rank.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// Longer lines are broken, so that a rank that never ends its line cannot take all memory.
const MAX_LINE_BYTES: usize = 1 << 20;
/// With more than this waiting to be written, the ranks' output is not read, so that they wait as they would for a
/// reader of their own.
const MAX_QUEUE_BYTES: usize = 1 << 20;
/// Bytes that a pipe that polls as writable takes without waiting.
const PIPE_PIECE_BYTES: usize = 4096;

/// Collects one rank's output on one stream until a line is complete.
#[derive(Debug)]
pub(crate) struct LineBuffer {
    label: Vec<u8>,
    partial: Vec<u8>,
}

impl LineBuffer {
    pub(crate) fn new(rank: usize) -> Self {
        Self {
            label: format!("[{rank}] ").into_bytes(),
            partial: Vec::new(),
        }
    }

    /// Takes bytes of the rank and gives the lines that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], lines: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial.len() >= MAX_LINE_BYTES {
                self.finish(lines);
            }
        }
    }

    /// Gives what there is of the last line.
    pub(crate) fn finish(&mut self, lines: &mut Vec<u8>) {
        if self.partial.is_empty() {
            return;
        }
        lines.extend_from_slice(&self.label);
        lines.append(&mut self.partial);
        if !lines.ends_with(b"\n") {
            lines.push(b'\n');
        }
    }
}

/// What waits to be written to one of the launcher's own streams.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    queue: Vec<u8>,
    written: usize,
    /// Nobody reads any more.
    broken: bool,
}

impl Sink {
    pub(crate) fn queue(&mut self) -> &mut Vec<u8> {
        &mut self.queue
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.len() == self.written || self.broken
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() - self.written > MAX_QUEUE_BYTES
    }

    /// Writes what `stream` takes without making the launcher wait.
    pub(crate) fn write_to(&mut self, stream: &impl AsFd) {
        while !self.is_empty() && takes_more(stream) {
            let rest = &self.queue[self.written..];
            let piece = &rest[..rest.len().min(PIPE_PIECE_BYTES)];
            match rustix::io::write(stream, piece) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::INTR | Errno::AGAIN) => break,
                Err(_) => self.broken = true,
            }
        }
        if self.is_empty() {
            self.queue.clear();
            self.written = 0;
        } else if self.written > MAX_QUEUE_BYTES {
            self.queue.drain(..self.written);
            self.written = 0;
        }
    }
}

fn takes_more(stream: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(stream, PollFlags::OUT)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // Whatever the answer is but "not yet", the write tells.
    rustix::event::poll(&mut fds, Some(&now)) != Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let mut lines = Vec::new();
        let (mut a, mut b) = (LineBuffer::new(0), LineBuffer::new(11));
        a.push(b"hel", &mut lines);
        b.push(b"one\ntwo\nthr", &mut lines);
        a.push(b"lo\n\n", &mut lines);
        b.finish(&mut lines);
        b.finish(&mut lines);
        assert_eq!(lines, b"[11] one\n[11] two\n[0] hello\n[0] \n[11] thr\n");
    }

    #[test]
    fn endless_lines_are_broken() {
        let mut lines = Vec::new();
        let mut buffer = LineBuffer::new(1);
        for _ in 0..3 {
            buffer.push(&vec![b'x'; MAX_LINE_BYTES], &mut lines);
        }
        assert_eq!(lines.split(|&byte| byte == b'\n').count(), 4);
    }
}
