// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output that passes through the launcher: bytes of ranks become whole lines, with labels where they are wanted.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

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
    partial: Vec<u8>,
    /// Whether a line that lacks its end gets one; without, the bytes pass as they are.
    completes: bool,
}

impl LineBuffer {
    pub(crate) const fn new(completes: bool) -> Self {
        Self {
            partial: Vec::new(),
            completes,
        }
    }

    /// Takes bytes of the rank and gives the lines that they complete, each behind `label`.
    pub(crate) fn push(&mut self, bytes: &[u8], label: &[u8], lines: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial.len() >= MAX_LINE_BYTES {
                self.finish(label, lines);
            }
        }
    }

    /// Gives what there is of the last line.
    pub(crate) fn finish(&mut self, label: &[u8], lines: &mut Vec<u8>) {
        if self.partial.is_empty() {
            return;
        }
        lines.extend_from_slice(label);
        lines.append(&mut self.partial);
        if self.completes && !lines.ends_with(b"\n") {
            lines.push(b'\n');
        }
    }
}

/// Where a sink's bytes go.
#[derive(Debug)]
pub(crate) enum Target {
    /// The launcher's own standard output.
    Out,
    /// The launcher's own standard error.
    Error,
    /// A file, and its name.
    File(File, PathBuf),
}

impl Target {
    /// Its descriptor; the launcher's own streams are handed in.
    pub(crate) fn descriptor<'a>(
        &'a self,
        out: &'a io::Stdout,
        error: &'a io::Stderr,
    ) -> BorrowedFd<'a> {
        match self {
            Self::Out => out.as_fd(),
            Self::Error => error.as_fd(),
            Self::File(file, _) => file.as_fd(),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Out => f.write_str("standard output"),
            Self::Error => f.write_str("standard error"),
            Self::File(_, path) => path.display().fmt(f),
        }
    }
}

/// The queue of one of the launcher's own streams, or of a file.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) target: Target,
    queue: Vec<u8>,
    written: usize,
    /// Why nothing can be written any more.
    broken: Option<Errno>,
}

impl Sink {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            queue: Vec::new(),
            written: 0,
            broken: None,
        }
    }

    pub(crate) fn queue(&mut self) -> &mut Vec<u8> {
        &mut self.queue
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.len() == self.written || self.broken.is_some()
    }

    pub(crate) fn broken(&self) -> Option<Errno> {
        self.broken
    }

    pub(crate) fn is_full(&self) -> bool {
        self.broken.is_none() && self.queue.len() - self.written > MAX_QUEUE_BYTES
    }

    /// Writes what the target takes without making the launcher wait.
    pub(crate) fn write(&mut self) {
        while !self.is_empty() {
            let rest = &self.queue[self.written..];
            let piece = &rest[..piece_length(rest)];
            let (out, error) = (io::stdout(), io::stderr());
            let stream = self.target.descriptor(&out, &error);
            if !takes_more(stream) {
                break;
            }
            match rustix::io::write(stream, piece) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::INTR | Errno::AGAIN) => break,
                Err(error) => self.broken = Some(error),
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

/// Bytes of a queue to be written at once. A pipe takes so few whole (PIPE_BUF), so that lines stay whole which others write
/// to the same pipe: the launcher's other stream, or another job.
fn piece_length(queue: &[u8]) -> usize {
    let most = queue.len().min(PIPE_PIECE_BYTES);
    let end = queue[..most].iter().rposition(|&byte| byte == b'\n');
    end.map_or(most, |end| end + 1)
}

fn takes_more(stream: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(stream, PollFlags::OUT)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // After any answer but "not yet", the write reports errors.
    rustix::event::poll(&mut fds, Some(&now)) != Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let mut lines = Vec::new();
        let (mut a, mut b) = (LineBuffer::new(true), LineBuffer::new(true));
        let (zero, eleven) = (b"[0] ", b"[11] ");
        a.push(b"hel", zero, &mut lines);
        b.push(b"one\ntwo\nthr", eleven, &mut lines);
        a.push(b"lo\n\n", zero, &mut lines);
        b.finish(eleven, &mut lines);
        b.finish(eleven, &mut lines);
        assert_eq!(lines, b"[11] one\n[11] two\n[0] hello\n[0] \n[11] thr\n");
    }

    #[test]
    fn bytes_without_labels_pass_as_they_are() {
        let mut lines = Vec::new();
        let mut buffer = LineBuffer::new(false);
        buffer.push(b"one\ntwo", b"", &mut lines);
        assert_eq!(lines, b"one\n");
        buffer.finish(b"", &mut lines);
        assert_eq!(lines, b"one\ntwo");
    }

    #[test]
    fn pieces_end_with_a_line_where_one_ends() {
        let long = vec![b'x'; PIPE_PIECE_BYTES];
        assert_eq!(piece_length(b"one\ntwo\nthr"), 8);
        assert_eq!(piece_length(b"one"), 3);
        assert_eq!(piece_length(&[&long[..], b"\n"].concat()), PIPE_PIECE_BYTES);
        assert_eq!(piece_length(&[b"a\n", &long[..], b"\n"].concat()), 2);
    }

    #[test]
    fn endless_lines_are_broken() {
        let mut lines = Vec::new();
        let mut buffer = LineBuffer::new(true);
        for _ in 0..3 {
            buffer.push(&vec![b'x'; MAX_LINE_BYTES], b"", &mut lines);
        }
        assert_eq!(lines.split(|&byte| byte == b'\n').count(), 4);
    }
}
