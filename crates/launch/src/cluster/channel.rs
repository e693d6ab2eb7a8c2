// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two streams that carry messages, neither of which makes this process wait; or the same within the streams of a branch.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::{self, Malformed, Received};
use crate::input::set_nonblocking;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// A pair of streams to an agent, or to the conductor.
#[derive(Debug)]
pub(super) struct Channel {
    reader: Reader,
    /// Closed, the other side sees the end of its input.
    writer: Writer,
    received: Received,
    queue: Vec<u8>,
    written: usize,
    piece: Vec<u8>,
    /// Whether the stream is closed once all is written.
    is_closing: bool,
}

#[derive(Debug)]
enum Reader {
    Stream(File),
    /// What a branch passes on is pushed.
    Branch {
        has_ended: bool,
    },
}

#[derive(Debug)]
enum Writer {
    Stream(File),
    /// What is queued is taken, and passed on to a branch.
    Branch,
    Closed,
}

/// Why a channel cannot be used any more.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Broken {
    /// The other side has closed its end.
    Closed,
    /// It sends what no agent and no conductor sends.
    Malformed(String),
}

impl From<Malformed> for Broken {
    fn from(fault: Malformed) -> Self {
        Self::Malformed(fault.0)
    }
}

impl Channel {
    /// # Errors
    /// The kernel's error.
    pub(super) fn new(reader: OwnedFd, writer: OwnedFd) -> io::Result<Self> {
        set_nonblocking(&reader)?;
        set_nonblocking(&writer)?;
        Ok(Self {
            reader: Reader::Stream(reader.into()),
            writer: Writer::Stream(writer.into()),
            ..Self::of_branch()
        })
    }

    /// A channel whose bytes a branch passes on.
    pub(super) fn of_branch() -> Self {
        Self {
            reader: Reader::Branch { has_ended: false },
            writer: Writer::Branch,
            received: Received::default(),
            queue: Vec::new(),
            written: 0,
            piece: Vec::new(),
            is_closing: false,
        }
    }

    /// Bytes that a branch has passed on.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.received.push(bytes);
    }

    /// The branch says that no more bytes follow, or is gone.
    pub(super) fn end(&mut self) {
        self.reader = Reader::Branch { has_ended: true };
    }

    /// Takes what a branch is to pass on; `None` when the stream is closed.
    pub(super) fn take_queue(&mut self) -> Option<Vec<u8>> {
        let queue = std::mem::take(&mut self.queue);
        (!matches!(self.writer, Writer::Closed)).then_some(queue)
    }

    /// The stream that is read; none within a branch.
    pub(super) fn reader(&self) -> Option<BorrowedFd<'_>> {
        match &self.reader {
            Reader::Stream(file) => Some(file.as_fd()),
            Reader::Branch { .. } => None,
        }
    }

    /// The writer, while anything waits to be written.
    pub(super) fn waiting_writer(&self) -> Option<BorrowedFd<'_>> {
        match &self.writer {
            Writer::Stream(file) if self.queued() > 0 => Some(file.as_fd()),
            _ => None,
        }
    }

    /// Bytes that wait to be written.
    pub(super) fn queued(&self) -> usize {
        self.queue.len() - self.written
    }

    /// Reads what has arrived, at most a few pieces, so that one side cannot keep the other from its work.
    ///
    /// # Errors
    /// When the stream has ended.
    pub(super) fn read(&mut self) -> Result<(), Broken> {
        let reader = match &self.reader {
            Reader::Stream(file) => file,
            Reader::Branch { has_ended: false } => return Ok(()),
            Reader::Branch { has_ended: true } => return Err(Broken::Closed),
        };
        self.piece.resize(PIECE_BYTES, 0);
        for _ in 0..4 {
            match rustix::io::read(reader, &mut self.piece[..]) {
                Ok(0) => return Err(Broken::Closed),
                Ok(bytes) => self.received.push(&self.piece[..bytes]),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(_) => return Err(Broken::Closed),
            }
        }
        Ok(())
    }

    /// The next message that has been read.
    ///
    /// # Errors
    /// When the bytes are none.
    pub(super) fn next<M: DeserializeOwned>(&mut self) -> Result<Option<M>, Broken> {
        Ok(self.received.message()?)
    }

    /// The next line that has been read, before messages begin.
    pub(super) fn next_line(&mut self) -> Option<Vec<u8>> {
        self.received.line()
    }

    /// Bytes that have been read and not taken.
    pub(super) fn unread(&self) -> usize {
        self.received.rest().len()
    }

    /// Queues a message, and writes what the stream takes.
    pub(super) fn send(&mut self, message: &impl Serialize) {
        if matches!(self.writer, Writer::Closed) {
            return;
        }
        match frame::encode(message, &mut self.queue) {
            Ok(()) => self.write(),
            // Without a message the other side would wait for ever; the end of the stream ends the job.
            Err(_) => self.close(),
        }
    }

    /// Queues bytes as they are.
    pub(super) fn send_line(&mut self, line: &str) {
        self.queue.extend_from_slice(line.as_bytes());
        self.queue.push(b'\n');
        self.write();
    }

    /// Writes what the stream takes. What a closed stream does not take is dropped: the reader learns of the end.
    pub(super) fn write(&mut self) {
        while let Writer::Stream(writer) = &self.writer
            && self.queued() > 0
        {
            match rustix::io::write(writer, &self.queue[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.close(),
            }
        }
        if self.queued() == 0 {
            self.queue.clear();
            self.written = 0;
            if self.is_closing {
                self.close();
            }
        }
    }

    /// Closes the stream to the other side once all that waits has been written.
    pub(super) fn close_when_written(&mut self) {
        self.is_closing = true;
        self.write();
    }

    /// Closes the stream to the other side.
    pub(super) fn close(&mut self) {
        self.writer = Writer::Closed;
        self.queue.clear();
        self.written = 0;
    }
}
