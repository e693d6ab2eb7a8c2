// SPDX-License-Identifier: MIT OR Apache-2.0
//! The socket at which the ranks of a node meet: the lowest one hands the node segment to the others.
//!
//! It takes place on an abstract Unix socket, whose name is made of the user, the job step and the node. Each other rank connects and
//! says who it is and which processors it may use. When all have come, the lowest rank makes the segment and sends its descriptor.
//! Ranks share a node if the descriptor arrives, whatever their hosts are called. Processes of other users are not heard.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use sys::socket;

/// Begins what a rank says.
const GREETING: u32 = 0x5250_6d31;
/// Words of it before the processors.
const HEAD_WORDS: usize = 4;
/// Time for a rank that has connected to say who it is.
const GREETING_LIMIT: Duration = Duration::from_secs(5);
/// Between two attempts.
const PAUSE: Duration = Duration::from_micros(500);

/// The ranks of a node, as one of them sees them.
pub(crate) struct NodeSocket<'a> {
    /// The rank of this process.
    pub(crate) me: u32,
    /// Ranks of the job.
    pub(crate) size: u32,
    /// The job step, as the launcher names it.
    pub(crate) step: &'a str,
    /// The number of the node.
    pub(crate) node: u32,
    /// The ranks of the node, in order.
    pub(crate) ranks: &'a [u32],
    /// The name of the host.
    pub(crate) host: &'a str,
    /// How long a rank may let others wait.
    pub(crate) limit: Duration,
}

impl NodeSocket<'_> {
    /// Meets the other ranks; the segment that the lowest rank makes with `make`, which gets the number of cores that the ranks may use.
    ///
    /// # Errors
    /// With a sentence that names the rank, the host and the job step.
    pub(crate) fn hold(
        &self,
        processors: &[u32],
        make: impl FnOnce(u32) -> io::Result<OwnedFd>,
    ) -> Result<OwnedFd, String> {
        match self.ranks.first() {
            Some(&first) if first == self.me => self.host(processors, make),
            Some(&first) => self.attend(first, processors),
            None => Err(format!("rank {} is on no node", self.me)),
        }
    }

    /// The part of the lowest rank.
    fn host(
        &self,
        processors: &[u32],
        make: impl FnOnce(u32) -> io::Result<OwnedFd>,
    ) -> Result<OwnedFd, String> {
        let mut all: BTreeSet<u32> = processors.iter().copied().collect();
        let others = match self.ranks.len() {
            1 => Vec::new(),
            _ => self.gather(&mut all)?,
        };
        let cores = u32::try_from(all.len()).unwrap_or(u32::MAX).max(1);
        let segment = make(cores)
            .map_err(|error| self.refuse(&format!("create the node segment: {error}")))?;
        for (rank, other) in others {
            socket::send_descriptor(&other, segment.as_fd()).map_err(|error| {
                self.refuse(&format!("hand the node segment to rank {rank}: {error}"))
            })?;
        }
        Ok(segment)
    }

    /// Waits for the other ranks of the node.
    fn gather(&self, processors: &mut BTreeSet<u32>) -> Result<Vec<(u32, UnixStream)>, String> {
        let name = self.name();
        let listener = SocketAddr::from_abstract_name(&name)
            .and_then(|address| UnixListener::bind_addr(&address))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let listener = listener.map_err(|error| {
            self.refuse(&format!(
                "take the abstract socket '{}' (does another job have the same name?): {error}",
                String::from_utf8_lossy(&name)
            ))
        })?;
        let begin = Instant::now();
        let mut others: Vec<(u32, UnixStream)> = Vec::new();
        loop {
            let missing = self.ranks[1..]
                .iter()
                .find(|rank| others.iter().all(|(known, _)| known != *rank));
            let Some(missing) = missing else {
                return Ok(others);
            };
            match listener.accept() {
                Ok((other, _)) => {
                    if let Some((rank, usable)) = self.heard(&other)
                        && self.ranks[1..].contains(&rank)
                        && others.iter().all(|(known, _)| *known != rank)
                    {
                        processors.extend(usable);
                        others.push((rank, other));
                    }
                }
                Err(_) if begin.elapsed() > self.limit => {
                    return Err(self.refuse(&format!(
                        "meet rank {missing}, which is on this node by the launcher's word, within {} s: it has not \
                         called MPI_Init, or does not share this node's network namespace",
                        self.limit.as_secs_f32()
                    )));
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// The rank of this job that has connected, and the processors that it may use; none for any other process.
    fn heard(&self, other: &UnixStream) -> Option<(u32, Vec<u32>)> {
        if socket::peer_user(other).ok()? != socket::user() {
            return None;
        }
        other.set_nonblocking(false).ok()?;
        other.set_read_timeout(Some(GREETING_LIMIT)).ok()?;
        let [greeting, size, rank, count] = words::<HEAD_WORDS>(other)?;
        if greeting != GREETING || size != self.size || count as usize > sys::cores::MOST_PROCESSORS
        {
            return None;
        }
        let processors = (0..count).map(|_| words::<1>(other).map(|[word]| word));
        Some((rank, processors.collect::<Option<_>>()?))
    }

    /// The part of the other ranks.
    fn attend(&self, first: u32, processors: &[u32]) -> Result<OwnedFd, String> {
        let name = self.name();
        let begin = Instant::now();
        let mut greeting = vec![GREETING, self.size, self.me, processors.len() as u32];
        greeting.extend(processors);
        let greeting: Vec<u8> = greeting.into_iter().flat_map(u32::to_ne_bytes).collect();
        loop {
            let why = match self.try_attend(&name, &greeting, begin) {
                Ok(segment) => return Ok(segment),
                Err(error) => error,
            };
            if begin.elapsed() > self.limit {
                return Err(self.refuse(&format!(
                    "get the node segment from rank {first}, which is on this node by the launcher's word, within {} s: \
                     it has not called MPI_Init, or does not share this node's network namespace ({why})",
                    self.limit.as_secs_f32()
                )));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn try_attend(&self, name: &[u8], greeting: &[u8], begin: Instant) -> io::Result<OwnedFd> {
        let address = SocketAddr::from_abstract_name(name)?;
        let host = UnixStream::connect_addr(&address)?;
        if socket::peer_user(&host)? != socket::user() {
            return Err(io::Error::other("another user has taken its socket"));
        }
        let mut rest = greeting;
        while !rest.is_empty() {
            rest = &rest[socket::send(host.as_fd(), rest)?..];
        }
        // Others may let the lowest rank wait as long.
        let limit = (2 * self.limit).saturating_sub(begin.elapsed());
        if !socket::wait_readable(host.as_fd(), limit)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket::receive_descriptor(&host)
    }

    /// The name of the socket. Abstract names are short, so the step's is replaced by a hash where it is long.
    fn name(&self) -> Vec<u8> {
        let step = match self.step.len() {
            ..=48 => self.step.to_owned(),
            _ => format!("{:016x}", hash(self.step.as_bytes())),
        };
        let (user, node, size) = (socket::user(), self.node, self.size);
        format!("rankpoint-{user}-{node}-{size}-{step}").into_bytes()
    }

    fn refuse(&self, what: &str) -> String {
        format!(
            "rank {} on host {} (job step {}) cannot {what}",
            self.me, self.host, self.step
        )
    }
}

/// So many numbers from a socket.
fn words<const COUNT: usize>(mut socket: &UnixStream) -> Option<[u32; COUNT]> {
    let mut words = [0; COUNT];
    for word in &mut words {
        let mut bytes = [0; 4];
        socket.read_exact(&mut bytes).ok()?;
        *word = u32::from_ne_bytes(bytes);
    }
    Some(words)
}

/// The FNV-1a hash, which is the same in all builds.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn node_socket<'a>(me: u32, step: &'a str, limit_ms: u64) -> NodeSocket<'a> {
        NodeSocket {
            me,
            size: 7,
            step,
            node: 1,
            ranks: &[2, 4, 5],
            host: "here",
            limit: Duration::from_millis(limit_ms),
        }
    }

    fn step(name: &str) -> String {
        format!("{name}-{}", sys::random::random_word().unwrap())
    }

    #[test]
    fn all_ranks_get_the_file_of_the_lowest() {
        for long in ["", &"x".repeat(250)] {
            let step = step(&format!("together{long}"));
            let files: Vec<_> = std::thread::scope(|threads| {
                // A client that says nothing, and one that says nonsense.
                let name = node_socket(2, &step, 0).name();
                threads.spawn(move || {
                    let address = SocketAddr::from_abstract_name(name).unwrap();
                    let mut connected = 0;
                    // The ranks may have met before.
                    let begin = Instant::now();
                    while connected < 2 && begin.elapsed() < Duration::from_secs(1) {
                        if let Ok(mut socket) = UnixStream::connect_addr(&address) {
                            let _ = socket.write_all(&[7; 16]);
                            connected += 1;
                        }
                    }
                });
                let ranks = [5, 4, 2].map(|me| {
                    let step = &step;
                    threads.spawn(move || {
                        let make = |cores| {
                            assert_eq!((me, cores), (2, 4));
                            sys::memory::memory_file(c"node segment", 4096)
                        };
                        let processors = [me, 100];
                        node_socket(me, step, 30_000)
                            .hold(&processors, make)
                            .unwrap()
                    })
                });
                ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            let inode = |file: &OwnedFd| {
                let file = File::from(file.try_clone().unwrap());
                file.metadata().unwrap().ino()
            };
            assert_eq!(inode(&files[0]), inode(&files[1]));
            assert_eq!(inode(&files[0]), inode(&files[2]));
        }
    }

    #[test]
    fn ranks_that_do_not_come_are_named() {
        let step = step("alone");
        let make = |_| -> io::Result<OwnedFd> { unreachable!() };
        let text = node_socket(2, &step, 20).hold(&[0], make).unwrap_err();
        for part in ["rank 2 on host here", &step, "cannot meet rank 4"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = node_socket(5, &step, 20).hold(&[0], make).unwrap_err();
        for part in [
            "rank 5 on host here",
            &step,
            "cannot get the node segment from rank 2",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_name_that_is_taken_is_told() {
        let step = step("taken");
        let address = SocketAddr::from_abstract_name(node_socket(2, &step, 0).name()).unwrap();
        let _other = UnixListener::bind_addr(&address).unwrap();
        let make = |_| -> io::Result<OwnedFd> { unreachable!() };
        let text = node_socket(2, &step, 20).hold(&[0], make).unwrap_err();
        assert!(
            text.contains("does another job have the same name"),
            "{text}"
        );
    }
}
