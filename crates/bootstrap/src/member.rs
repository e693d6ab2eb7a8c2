// SPDX-License-Identifier: MIT OR Apache-2.0
//! This process as a rank of a job that another launcher has started.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use fabric::identity::PeerIndex;
use fabric::nodes::{NodePlan, create_on_node};
use fabric::observe::NodeFile;
use fabric::segment::{self, Segment, SegmentPlan};
use sys::{cores, random};

use crate::access::Access;
use crate::cards::{NodeCards, from_hexadecimal};
use crate::client::Client;
use crate::node_socket::NodeSocket;
use crate::welcome::Welcome;

/// The key of what proves that a process belongs to the job.
const SECRET: &str = "rankpoint-secret";

/// A rank of a job of another launcher.
pub struct Member {
    rank: u32,
    size: u32,
    step: String,
    host: String,
    app_number: Option<i32>,
    universe_size: Option<u32>,
    /// How long the launcher and other ranks may let this process wait.
    limit: Duration,
    /// This process: its children share the connection, but are no ranks.
    pid: u32,
    /// `None` after the end.
    client: Mutex<Option<Client>>,
}

impl Member {
    /// Joins the job, and gets the node segment that all ranks of this node share. The launcher and the other ranks may let this
    /// process wait for `limit` in each step; `library` is the file of PMIx's library, where the launcher speaks PMIx.
    ///
    /// # Errors
    /// With a sentence that names the variable or command of the launcher and what was expected, or the rank, host and job step.
    pub fn join(
        access: &Access,
        library: &str,
        limit: Duration,
        reserve: u32,
    ) -> Result<(Self, OwnedFd), String> {
        let (client, welcome) = Client::connect(access, library, limit)
            .map_err(|why| format!("host {}: {why}", host_name()))?;
        Self::enter(client, welcome, limit, reserve)
    }

    /// As [`Self::join`], with a connection.
    pub(crate) fn enter(
        client: Client,
        welcome: Welcome,
        limit: Duration,
        reserve: u32,
    ) -> Result<(Self, OwnedFd), String> {
        let member = Self {
            rank: welcome.rank,
            size: welcome.size,
            step: welcome.step,
            host: host_name(),
            app_number: welcome.app_number,
            universe_size: welcome.universe_size,
            limit,
            pid: std::process::id(),
            client: Mutex::new(Some(client)),
        };
        let node = member
            .meet(&welcome.node_of, reserve)
            .and_then(|file| NodeFile::new(file).map_err(|error| error.to_string()))?;
        if node.job_ranks() != member.size {
            return Err(member.refuse(&format!(
                "the node segment is that of a job of {} ranks, expected {}",
                node.job_ranks(),
                member.size
            )));
        }
        Ok((member, node.into_file()))
    }

    /// Gets the segment, or makes it as the lowest rank of the node.
    fn meet(&self, node_of: &[u32], reserve: u32) -> Result<OwnedFd, String> {
        let node = node_of[self.rank as usize];
        let ranks: Vec<u32> = (0..)
            .zip(node_of)
            .filter(|&(_, &other)| other == node)
            .map(|(rank, _)| rank)
            .collect();
        let node_socket = NodeSocket {
            me: self.rank,
            size: self.size,
            step: &self.step,
            node,
            ranks: &ranks,
            host: &self.host,
            limit: self.limit,
        };
        let make = |cores| {
            let plan = SegmentPlan {
                local_ranks: ranks.len() as u32,
                job_ranks: self.size,
                reserve,
                cores,
                launcher_pid: 0,
            };
            if plan.local_ranks == plan.job_ranks {
                return segment::create(&plan);
            }
            // Names of other hosts come with their cards.
            let nodes = node_of.iter().max().map_or(0, |&last| last + 1);
            let hosts: Vec<_> = (0..nodes)
                .map(|other| match other == node {
                    true => self.host.clone(),
                    false => format!("of node {other}"),
                })
                .collect();
            let nodes = NodePlan {
                node,
                node_of,
                hosts: &hosts,
                secret: [0; 2],
            };
            create_on_node(&plan, &nodes)
        };
        node_socket.hold(&cores::usable_processors(), make)
    }

    /// Rank in MPI_COMM_WORLD.
    pub const fn rank(&self) -> u32 {
        self.rank
    }

    /// Size of MPI_COMM_WORLD.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// MPI_APPNUM, where the launcher tells it.
    pub const fn app_number(&self) -> Option<i32> {
        self.app_number
    }

    /// MPI_UNIVERSE_SIZE, where the launcher tells it.
    pub const fn universe_size(&self) -> Option<u32> {
        self.universe_size
    }

    /// Makes this node's cards known to the others, once the ranks of the node have published theirs. All ranks of the job call it.
    ///
    /// # Errors
    /// When a rank of the node does not publish its card, and as the launcher says.
    pub fn exchange_cards(&'static self, segment: &Segment) -> Result<(), String> {
        if !segment.has_other_nodes() {
            return Ok(());
        }
        let node = segment.job().node;
        let ranks = ranks_of(segment, node);
        let is_first = ranks.first() == Some(&self.rank);
        if is_first {
            self.await_cards(segment)?;
            let node_cards = NodeCards {
                host: self.host.clone(),
                cards: ranks
                    .iter()
                    .map(|&rank| segment.card(PeerIndex::new(rank)))
                    .collect(),
            };
            self.with_client(|client| {
                node_cards.put(client, node)?;
                if self.rank != 0 {
                    return Ok(());
                }
                let word = || random::random_word().map_err(|error| error.to_string());
                client.put(SECRET, &format!("{:016x}{:016x}", word()?, word()?))
            })?;
        }
        self.with_client(Client::fence)?;
        if is_first {
            let secret = self.with_client(|client| client.get(0, SECRET))?;
            segment.announce_cards(secret_of(&secret)?);
        }
        Ok(())
    }

    /// Brings the cards of the node of a rank into the segment.
    ///
    /// # Errors
    /// When the launcher does not have them.
    pub fn fetch_cards(&self, segment: &Segment, rank: u32) -> io::Result<()> {
        let node = segment.node_of(PeerIndex::new(rank));
        let ranks = ranks_of(segment, node);
        let owner = ranks.first().copied().unwrap_or(rank);
        let cards = self
            .with_client(|client| NodeCards::get(client, node, owner, ranks.len()))
            .map_err(io::Error::other)?;
        segment.put_host(node, &cards.host);
        for (&rank, card) in ranks.iter().zip(&cards.cards) {
            segment.put_card(PeerIndex::new(rank), card)?;
        }
        Ok(())
    }

    /// Waits for the cards of the ranks of this node.
    fn await_cards(&self, segment: &Segment) -> Result<(), String> {
        let (begin, ranks) = (Instant::now(), segment.job().local_ranks);
        while segment.cards_published() < ranks {
            if begin.elapsed() > self.limit {
                return Err(self.refuse(&format!(
                    "{} of the {ranks} ranks of this node have opened their network within {} s",
                    segment.cards_published(),
                    self.limit.as_secs_f32()
                )));
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    }

    /// Has the launcher end the job. The caller ends this process next.
    pub fn abort(&self, code: i32) {
        if !self.is_owner() {
            return;
        }
        // Another thread may wait for the launcher for ever. It notices the end of this process as well.
        for _ in 0..100 {
            match self.client.try_lock() {
                Ok(mut client) => {
                    if let Some(client) = &mut *client {
                        client.abort(code);
                    }
                    return;
                }
                Err(TryLockError::Poisoned(_)) => return,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Tells the launcher that this process may end.
    ///
    /// # Errors
    /// When the launcher does not answer.
    pub fn finish(&self) -> Result<(), String> {
        if !self.is_owner() {
            return Ok(());
        }
        let client = self.lock().take();
        let finished = client.map_or(Ok(()), |mut client| client.finalize());
        finished.map_err(|why| self.refuse(&why))
    }

    fn with_client<T>(
        &self,
        action: impl FnOnce(&mut Client) -> Result<T, String>,
    ) -> Result<T, String> {
        if !self.is_owner() {
            return Err(self.refuse(&format!(
                "process {} is a child of this rank, whose launcher it cannot ask",
                std::process::id()
            )));
        }
        let mut client = self.lock();
        let done = match &mut *client {
            Some(client) => action(client),
            None => Err("MPI was finalized, and the launcher answers no more questions".to_owned()),
        };
        done.map_err(|why| self.refuse(&why))
    }

    /// Whether this is the process that joined, and not a child that it forked.
    fn is_owner(&self) -> bool {
        self.pid == std::process::id()
    }

    /// A sentence about a failure of this rank.
    fn refuse(&self, why: &str) -> String {
        let (rank, host, step) = (self.rank, &self.host, &self.step);
        format!("rank {rank} on host {host} (job step {step}): {why}")
    }

    fn lock(&self) -> MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of this host, for sentences.
fn host_name() -> String {
    let name = sys::files::read_text("/proc/sys/kernel/hostname");
    name.map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned())
}

/// The ranks of a node, in order.
fn ranks_of(segment: &Segment, node: u32) -> Vec<u32> {
    let ranks = 0..segment.job().job_ranks;
    ranks
        .filter(|&rank| segment.node_of(PeerIndex::new(rank)) == node)
        .collect()
}

fn secret_of(text: &str) -> Result<[u64; 2], String> {
    let bytes = from_hexadecimal(text).filter(|bytes| bytes.len() == 16);
    let bytes = bytes.ok_or_else(|| {
        format!("the value of key {SECRET} is damaged: expected 32 hexadecimal digits")
    })?;
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_be_bytes(word)
    };
    Ok([word(0), word(8)])
}
