// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server as its clients see it, whatever it speaks: a key space, a barrier, an end.

use std::time::Duration;

use crate::access::Access;
use crate::packets::Packets;
use crate::pmix::Session;
use crate::stream::Stream;
use crate::text::Text;
use crate::welcome::Welcome;

/// A connection to a server.
pub(crate) enum Client {
    /// PMI-1.
    Text(Text),
    /// PMI-2.
    Packets(Packets),
    /// PMIx.
    Session(Box<Session>),
}

impl Client {
    /// Connects to a server that may take so long for each answer; `library` is the file of PMIx's library.
    ///
    /// # Errors
    /// With a sentence that names the variable or command and what was expected.
    pub(crate) fn connect(
        access: &Access,
        library: &str,
        limit: Duration,
    ) -> Result<(Self, Welcome), String> {
        match access {
            Access::Inherited { fd, rank, size } => {
                let stream = Stream::inherited(*fd, limit).map_err(|error| {
                    format!("PMI_FD is {fd}, expected the launcher's socket: {error}")
                })?;
                Self::begin(stream, *rank, *size)
            }
            Access::Port { address, id } => {
                let mut stream = Stream::connect(address, limit)
                    .map_err(|error| format!("PMI_PORT is '{address}': {error}"))?;
                let (rank, size) = Text::introduce(&mut stream, *id)?;
                Self::begin(stream, rank, size)
            }
            Access::Library { rank, .. } => {
                let (session, welcome) = Session::open(library, *rank, limit)?;
                Ok((Self::Session(Box::new(session)), welcome))
            }
        }
    }

    /// Begins with PMI-1, which all servers speak that are known, and goes on with PMI-2 where that is refused.
    pub(crate) fn begin(
        mut stream: Stream,
        rank: u32,
        size: u32,
    ) -> Result<(Self, Welcome), String> {
        if Text::is_spoken(&mut stream)? {
            let (text, welcome) = Text::start(stream, rank, size)?;
            return Ok((Self::Text(text), welcome));
        }
        let (packets, welcome) = Packets::start(stream, rank, size)?;
        Ok((Self::Packets(packets), welcome))
    }

    /// Puts a value for all ranks, who see it after [`Self::fence`]. It has at most [`Self::room`] bytes, and neither blanks nor
    /// semicolons.
    pub(crate) fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self {
            Self::Text(text) => text.put(key, value),
            Self::Packets(packets) => packets.put(key, value),
            Self::Session(session) => session.put(key, value),
        }
    }

    /// Waits until all ranks have come here.
    pub(crate) fn fence(&mut self) -> Result<(), String> {
        match self {
            Self::Text(text) => text.barrier(),
            Self::Packets(packets) => packets.fence(),
            Self::Session(session) => session.fence(),
        }
    }

    /// The value that rank `owner` has put for a key.
    pub(crate) fn get(&mut self, owner: u32, key: &str) -> Result<String, String> {
        let value = match self {
            Self::Text(text) => text.get(key)?,
            Self::Packets(packets) => packets.get(key)?,
            Self::Session(session) => Some(session.get(owner, key)?),
        };
        value.ok_or_else(|| {
            format!("the launcher has no value for key {key}, which rank {owner} puts in MPI_Init")
        })
    }

    /// Bytes of the value of a key at most.
    pub(crate) fn room(&self, key: &str) -> usize {
        match self {
            Self::Text(text) => text.room(key),
            Self::Packets(packets) => packets.room(key),
            Self::Session(_) => Session::room(),
        }
    }

    /// Ends all ranks of the job.
    pub(crate) fn abort(&mut self, code: i32) {
        match self {
            Self::Text(text) => text.abort(code),
            Self::Packets(packets) => packets.abort(code),
            Self::Session(session) => session.abort(code),
        }
    }

    /// This process may end from now on.
    pub(crate) fn finalize(&mut self) -> Result<(), String> {
        match self {
            Self::Text(text) => text.finalize(),
            Self::Packets(packets) => packets.finalize(),
            Self::Session(session) => session.finalize(),
        }
    }
}
