// SPDX-License-Identifier: MIT OR Apache-2.0
//! The socket to a server of PMI: whole lines and messages of a known length, until a time limit.

use std::fs::File;
use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use sys::socket;

/// Bytes of an answer at most.
const MOST_BYTES: usize = 64 << 10;

/// A connected socket, and what was read from it too early.
pub(crate) struct Stream {
    socket: File,
    unread: Vec<u8>,
    /// How long the server may let this process wait for an answer.
    limit: Duration,
}

impl Stream {
    /// A socket that this process inherited.
    ///
    /// # Errors
    /// When the descriptor is no connected stream socket.
    pub(crate) fn inherited(fd: i32, limit: Duration) -> io::Result<Self> {
        Ok(Self::new(socket::inherited_stream(fd)?, limit))
    }

    /// Connects to `HOST:PORT`.
    ///
    /// # Errors
    /// When no address of the host answers in time.
    pub(crate) fn connect(address: &str, limit: Duration) -> io::Result<Self> {
        let mut failure = io::Error::other("it is no address, expected HOST:PORT");
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, limit) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    return Ok(Self::new(socket.into(), limit));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    pub(crate) fn new(socket: OwnedFd, limit: Duration) -> Self {
        Self {
            socket: socket.into(),
            unread: Vec::new(),
            limit,
        }
    }

    /// Writes all bytes; a server that has gone is an error and no signal.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match socket::send(self.socket.as_fd(), bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a line, without its end.
    pub(crate) fn line(&mut self) -> io::Result<String> {
        let begin = Instant::now();
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.read_more(begin)?;
        }
    }

    /// Reads so many bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> io::Result<String> {
        let begin = Instant::now();
        while self.unread.len() < count {
            self.read_more(begin)?;
        }
        let bytes: Vec<u8> = self.unread.drain(..count).collect();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn read_more(&mut self, begin: Instant) -> io::Result<()> {
        if self.unread.len() > MOST_BYTES {
            return Err(io::Error::other(format!(
                "its answer is longer than {MOST_BYTES} bytes"
            )));
        }
        let rest = self.limit.saturating_sub(begin.elapsed());
        if !socket::wait_readable(self.socket.as_fd(), rest)? {
            let seconds = self.limit.as_secs_f32();
            return Err(io::Error::other(format!(
                "it has not answered for {seconds} s"
            )));
        }
        let mut bytes = [0; 4096];
        match self.socket.read(&mut bytes) {
            Ok(0) => Err(io::Error::other("it has closed the connection")),
            Ok(count) => {
                self.unread.extend_from_slice(&bytes[..count]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn answers_arrive_in_any_parts() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut stream = Stream::new(here.into(), Duration::from_millis(10));
        there.write_all(b"cmd=a\ncmd").unwrap();
        assert_eq!(stream.line().unwrap(), "cmd=a");
        let text = stream.line().unwrap_err().to_string();
        assert!(text.contains("has not answered"), "{text}");
        there.write_all(b"=b\n12").unwrap();
        assert_eq!(stream.line().unwrap(), "cmd=b");
        assert_eq!(stream.bytes(2).unwrap(), "12");
        drop(there);
        let text = stream.bytes(1).unwrap_err().to_string();
        assert!(text.contains("closed the connection"), "{text}");
        assert!(stream.write(b"cmd=c\n").is_err());
    }

    #[test]
    fn endless_lines_are_refused() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let writer = std::thread::spawn(move || there.write_all(&vec![b'x'; 1 << 20]).is_err());
        let mut stream = Stream::new(here.into(), Duration::from_secs(30));
        let text = stream.line().unwrap_err().to_string();
        assert!(text.contains("longer than"), "{text}");
        drop(stream);
        assert!(writer.join().unwrap());
    }
}
