// SPDX-License-Identifier: MIT OR Apache-2.0
//! Standard input for the ranks.
//!
//! A single reader of a file or pipe simply inherits the descriptor: nothing is copied, and its end is seen as ever.
//! A terminal cannot be inherited, because the ranks are not its foreground group; and several readers need a copy
//! each. Then the launcher pumps: it reads a piece, gives it to every reader, and reads on when all have taken it.

use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Stdio;

use rustix::io::Errno;

use crate::plan::Input;

/// Bytes that are read at once.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Copies this process's standard input to ranks.
pub(crate) struct InputPump {
    plan: Input,
    terminal: bool,
    pumps: bool,
    /// Whether more can come.
    open: bool,
    piece: Vec<u8>,
    readers: Vec<Reader>,
}

struct Reader {
    pipe: PipeWriter,
    /// Bytes of the piece that it has.
    taken: usize,
}

impl InputPump {
    pub(crate) fn new(plan: Input, ranks: u32, terminal: bool) -> Self {
        let pumps = match &plan {
            Input::Rank(_) => terminal,
            Input::Ranks(readers) => terminal || readers.len() > 1,
            Input::All => terminal || ranks > 1,
            Input::None => false,
        };
        Self {
            plan,
            terminal,
            pumps,
            open: true,
            piece: Vec::new(),
            readers: Vec::new(),
        }
    }

    /// For ranks whose input is put in by [`Self::put`].
    pub(crate) fn fed(plan: Input) -> Self {
        Self {
            pumps: true,
            ..Self::new(plan, 1, false)
        }
    }

    /// The standard input of rank `rank`.
    pub(crate) fn reader_for(&mut self, rank: u32) -> io::Result<Stdio> {
        if !reads_input(&self.plan, rank) {
            return empty_input();
        }
        if !self.pumps {
            return Ok(Stdio::inherit());
        }
        let (reader, pipe) = io::pipe()?;
        set_nonblocking(&pipe)?;
        self.readers.push(Reader { pipe, taken: 0 });
        Ok(reader.into())
    }

    /// The pump, if there is anything to pump.
    pub(crate) fn into_used(self) -> Option<Self> {
        (!self.readers.is_empty()).then_some(self)
    }

    /// Whether there is nobody left to read, or nothing left to give.
    pub(crate) fn is_done(&self) -> bool {
        self.readers.is_empty()
    }

    /// Whether the next piece should be read when there is one.
    pub(crate) fn wants_source(&self) -> bool {
        self.open && self.is_taken() && (!self.terminal || in_foreground())
    }

    /// The readers that have not taken all of the piece.
    pub(crate) fn waiting_readers(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let behind = |reader: &Reader| reader.taken < self.piece.len();
        let readers = self.readers.iter().enumerate();
        readers
            .filter(move |(_, reader)| behind(reader))
            .map(|(at, reader)| (at, reader.pipe.as_fd()))
    }

    /// Whether all readers have taken all of the piece.
    pub(crate) fn is_taken(&self) -> bool {
        self.waiting_readers().next().is_none()
    }

    /// Reads the next piece; to be called when standard input is readable.
    pub(crate) fn read_source(&mut self) {
        self.piece.resize(PIECE_BYTES, 0);
        match rustix::io::read(io::stdin(), &mut self.piece[..]) {
            Ok(0) => self.close(),
            Ok(bytes) => {
                self.piece.truncate(bytes);
                self.readers.iter_mut().for_each(|reader| reader.taken = 0);
                self.give();
            }
            // The job went to the background of the terminal: the next poll tells.
            Err(Errno::INTR | Errno::AGAIN) => self.piece.clear(),
            Err(Errno::IO) if self.terminal && !in_foreground() => self.piece.clear(),
            Err(_) => self.close(),
        }
    }

    /// The next piece, from elsewhere; the readers must have taken the one before it.
    pub(crate) fn put(&mut self, bytes: Vec<u8>) {
        self.piece = bytes;
        self.readers.iter_mut().for_each(|reader| reader.taken = 0);
        self.give();
    }

    /// Gives the piece to the readers that take it now.
    pub(crate) fn give(&mut self) {
        let piece = &self.piece;
        self.readers.retain_mut(|reader| {
            while reader.taken < piece.len() {
                match reader.pipe.write(&piece[reader.taken..]) {
                    Ok(bytes) => reader.taken += bytes,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // It has closed its input.
                    Err(_) => return false,
                }
            }
            true
        });
    }

    /// Nothing more comes.
    pub(crate) fn close(&mut self) {
        self.open = false;
        self.piece.clear();
        self.readers.clear();
    }
}

pub(crate) fn in_foreground() -> bool {
    let stdin = io::stdin();
    rustix::termios::tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Makes one end of a pipe of ours return instead of waiting. The other end is not touched.
pub(crate) fn set_nonblocking(end: &impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(end)?;
    Ok(rustix::fs::fcntl_setfl(
        end,
        flags | rustix::fs::OFlags::NONBLOCK,
    )?)
}

/// Something to read that is empty.
fn empty_input() -> io::Result<Stdio> {
    match File::open("/dev/null") {
        Ok(file) => Ok(file.into()),
        // Without /dev, a pipe that nobody writes to.
        Err(_) => io::pipe().map(|(reader, _)| reader.into()),
    }
}

/// Whether an input plan lets this rank read anything.
pub(crate) fn reads_input(input: &Input, rank: u32) -> bool {
    match input {
        Input::Rank(reader) => *reader == rank,
        Input::Ranks(readers) => readers.contains(&rank),
        Input::All => true,
        Input::None => false,
    }
}
