// SPDX-License-Identifier: MIT OR Apache-2.0
//! A job of several nodes as its segments describe it: which node each rank is on, and how ranks are reached.
//!
//! Each node has a segment of its own, with a [`RankLocation`] for every rank of the job. A rank publishes its *card*, the address of
//! its network endpoint; the launcher carries the cards to the other nodes and announces there that all are present. Under launchers
//! that carry keys and values only, a rank fetches the cards of a node when it first needs one of them.
//!
//! Writers: the creator of the segment writes nodes and host names before ranks attach. Card `r` is written by rank `r` on its own node;
//! on the others by the launcher, before `cards_ready`, or by each rank that fetches it, and all write the same.
#![expect(unsafe_code, reason = "locations lie in memory that processes share")]

use std::io;
use std::mem::offset_of;
use std::os::fd::OwnedFd;

use sys::sync::{AtomicU64, Ordering};

use crate::board::{CARD_BYTES, HOST_BYTES, JobHeader, RankLocation, locations_of};
use crate::identity::PeerIndex;
use crate::observe::NodeFile;
use crate::segment::{self, FetchCards, Segment, SegmentPlan};

/// The creator's description of a job of several nodes.
#[derive(Clone, Copy, Debug)]
pub struct NodePlan<'a> {
    /// Index of the node that the segment is for.
    pub node: u32,
    /// The node of each rank of the job.
    pub node_of: &'a [u32],
    /// The host name of each node.
    pub hosts: &'a [String],
    /// The proof that a process belongs to the job: random, the same on all nodes.
    pub secret: [u64; 2],
}

/// Creates the memory file of one node of a job of several.
///
/// # Errors
/// When the plan contradicts itself, and the kernel's error when it refuses a memory file.
pub fn create_on_node(plan: &SegmentPlan, nodes: &NodePlan<'_>) -> io::Result<OwnedFd> {
    check(plan, nodes)?;
    with_nodes(segment::create(plan)?, plan, nodes)
}

/// The same with at most `heap_bytes` bytes for rings and shared memory ([`segment::create_with`]).
///
/// # Errors
/// As for [`create_on_node`].
pub fn create_on_node_with(
    plan: &SegmentPlan,
    nodes: &NodePlan<'_>,
    heap_bytes: u64,
) -> io::Result<OwnedFd> {
    check(plan, nodes)?;
    with_nodes(segment::create_with(plan, heap_bytes)?, plan, nodes)
}

/// Refuses plans that contradict each other.
fn check(plan: &SegmentPlan, nodes: &NodePlan<'_>) -> io::Result<()> {
    let here = nodes.node_of.iter().filter(|&&node| node == nodes.node);
    let is_consistent = nodes.node_of.len() == plan.job_ranks as usize
        && here.count() == plan.local_ranks as usize
        && plan.local_ranks < plan.job_ranks
        && nodes.hosts.len() <= nodes.node_of.len()
        && nodes
            .node_of
            .iter()
            .all(|&node| (node as usize) < nodes.hosts.len());
    if is_consistent {
        return Ok(());
    }
    Err(io::Error::other(
        "the plan of the job's nodes contradicts itself",
    ))
}

/// Writes what is known of the job's nodes into a new memory file.
fn with_nodes(file: OwnedFd, plan: &SegmentPlan, nodes: &NodePlan<'_>) -> io::Result<OwnedFd> {
    let file = NodeFile::new(file)?;
    let header = |offset: usize, bytes: &[u8]| file.write_at(offset as u64, bytes);
    header(offset_of!(JobHeader, node), &nodes.node.to_ne_bytes())?;
    for (offset, part) in [0, 8].into_iter().zip(nodes.secret) {
        header(offset_of!(JobHeader, secret) + offset, &part.to_ne_bytes())?;
    }
    for (rank, node) in (0..).zip(nodes.node_of) {
        let offset = offset_of!(RankLocation, node);
        file.write_at(
            location_of(plan.capacity(), rank, offset),
            &node.to_ne_bytes(),
        )?;
    }
    for (node, host) in (0..).zip(nodes.hosts) {
        let name = &host.as_bytes()[..host.floor_char_boundary(HOST_BYTES)];
        let offset = offset_of!(RankLocation, host);
        file.write_at(location_of(plan.capacity(), node, offset), name)?;
    }
    Ok(file.into_file())
}

/// Where a field of the location of a rank lies.
const fn location_of(capacity: u32, rank: u32, field: usize) -> u64 {
    locations_of(capacity) + rank as u64 * size_of::<RankLocation>() as u64 + field as u64
}

/// The job's nodes, as ranks see them.
impl Segment {
    /// Whether the job has ranks on other nodes.
    pub const fn has_other_nodes(&self) -> bool {
        self.job().job_ranks > self.job().local_ranks
    }

    /// The location of a process; `None` in a job of one node, or when there is no such process.
    fn location(&self, process: PeerIndex) -> Option<&RankLocation> {
        if !self.has_other_nodes() || process.get() >= self.job().capacity {
            return None;
        }
        let offset = usize::try_from(location_of(self.job().capacity, process.get(), 0)).ok()?;
        // SAFETY: the locations lie before the heap, in the range that `attach` opened and checked; they are aligned, because boards are
        // whole pages and a location is a multiple of its words; all atomics.
        Some(unsafe { self.base().add(offset).cast().as_ref() })
    }

    /// The node of a process; 0 in a job of one node.
    pub fn node_of(&self, process: PeerIndex) -> u32 {
        self.location(process)
            .map_or(0, |location| location.node.load(Ordering::Relaxed))
    }

    /// Whether a process is on this node.
    pub fn is_here(&self, process: PeerIndex) -> bool {
        !self.has_other_nodes() || self.node_of(process) == self.job().node
    }

    /// The host name of a node, for messages; empty in a job of one node.
    pub fn host(&self, node: u32) -> String {
        let bytes: Vec<u8> = self
            .location(PeerIndex::new(node))
            .map(|location| load_bytes(&location.host, HOST_BYTES))
            .unwrap_or_default();
        let end = bytes.iter().position(|&byte| byte == 0);
        let name = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
        name.chars().filter(|letter| !letter.is_control()).collect()
    }

    /// Publishes how this process is reached.
    ///
    /// # Errors
    /// When the card is longer than [`CARD_BYTES`], or the job has one node.
    pub fn publish_card(&self, process: PeerIndex, card: &[u8]) -> io::Result<()> {
        let location = self.location(process).filter(|_| card.len() <= CARD_BYTES);
        let location = location.ok_or_else(|| {
            let length = card.len();
            io::Error::other(format!(
                "a card of {length} bytes, at most {CARD_BYTES} fit"
            ))
        })?;
        store_bytes(&location.card, card);
        // The launcher reads by system calls after it has seen the count; PAIRS: nodes.card.
        location
            .card_len
            .store(card.len() as u32, Ordering::Release);
        // PAIRS: nodes.card.
        self.header()
            .cards_published
            .fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Ranks of this node that have published their cards.
    pub fn cards_published(&self) -> u32 {
        // PAIRS: nodes.card.
        self.header().cards_published.load(Ordering::Acquire)
    }

    /// Whether the cards of all ranks are here, or can be fetched.
    pub fn cards_are_ready(&self) -> bool {
        // PAIRS: nodes.ready.
        self.header().cards_ready.load(Ordering::Acquire) != 0
    }

    /// Sets where this process gets cards from that are not here.
    pub fn fetch_cards_by(&self, fetch: Box<FetchCards>) {
        // A segment has one source.
        let _ = self.cards.set(fetch);
    }

    /// Tells the ranks of this node that cards can be fetched, and what proves that a process belongs to the job.
    pub fn announce_cards(&self, secret: [u64; 2]) {
        for (word, part) in self.header().secret.iter().zip(secret) {
            word.store(part, Ordering::Relaxed);
        }
        // PAIRS: nodes.ready.
        self.header().cards_ready.store(1, Ordering::Release);
    }

    /// What proves to other nodes that a process belongs to the job, once the cards are ready.
    pub fn secret(&self) -> [u64; 2] {
        let [first, second] = &self.header().secret;
        [first, second].map(|word| word.load(Ordering::Relaxed))
    }

    /// The card of a process, once the cards are ready; fetched, if it has to be.
    ///
    /// # Errors
    /// When the card cannot be fetched.
    pub fn find_card(&self, process: PeerIndex) -> io::Result<Vec<u8>> {
        let card = self.card(process);
        match self.cards.get() {
            Some(fetch) if card.is_empty() => fetch(process.get()).map(|()| self.card(process)),
            _ => Ok(card),
        }
    }

    /// Writes the card of a process of another node.
    ///
    /// # Errors
    /// When the card is too long or there is no such process.
    pub fn put_card(&self, process: PeerIndex, card: &[u8]) -> io::Result<()> {
        let location = self.location(process).filter(|_| card.len() <= CARD_BYTES);
        let location = location.ok_or(io::ErrorKind::InvalidInput)?;
        store_bytes(&location.card, card);
        // PAIRS: nodes.card.
        location
            .card_len
            .store(card.len() as u32, Ordering::Release);
        Ok(())
    }

    /// Writes the host name of a node.
    pub fn put_host(&self, node: u32, name: &str) {
        if let Some(location) = self.location(PeerIndex::new(node)) {
            let mut bytes = [0; HOST_BYTES];
            let cut = name.floor_char_boundary(HOST_BYTES);
            bytes[..cut].copy_from_slice(&name.as_bytes()[..cut]);
            store_bytes(&location.host, &bytes);
        }
    }

    /// The card of a process; empty while it is not here.
    pub fn card(&self, process: PeerIndex) -> Vec<u8> {
        let card = self.location(process).map(|location| {
            // PAIRS: nodes.card.
            let bytes = location.card_len.load(Ordering::Acquire) as usize;
            load_bytes(&location.card, bytes.min(CARD_BYTES))
        });
        card.unwrap_or_default()
    }
}

/// Writes a text into shared words.
fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
    }
}

/// The first bytes of a text in shared words.
fn load_bytes(words: &[AtomicU64], bytes: usize) -> Vec<u8> {
    let words = words.iter().map(|word| word.load(Ordering::Relaxed));
    let mut loaded: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
    loaded.truncate(bytes);
    loaded
}

/// The job's nodes, as the launcher sees them.
impl NodeFile {
    /// Ranks of this node that have published their cards.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn cards_published(&self) -> io::Result<u32> {
        let mut word = [0; 4];
        self.read_at(offset_of!(JobHeader, cards_published) as u64, &mut word)?;
        Ok(u32::from_ne_bytes(word))
    }

    /// The card of a process; empty while it is not here.
    ///
    /// # Errors
    /// When there is no such rank, or what the kernel says.
    pub fn card(&self, rank: u32) -> io::Result<Vec<u8>> {
        let mut location = [0; size_of::<RankLocation>()];
        self.read_at(self.checked_location(rank, 0)?, &mut location)?;
        let at = offset_of!(RankLocation, card_len);
        let mut word = [0; 4];
        word.copy_from_slice(&location[at..at + 4]);
        let length = (u32::from_ne_bytes(word) as usize).min(CARD_BYTES);
        let start = offset_of!(RankLocation, card);
        Ok(location[start..start + length].to_vec())
    }

    /// Writes the card of a process of another node.
    ///
    /// # Errors
    /// When there is no such rank or the card is too long, or what the kernel says.
    pub fn put_card(&self, rank: u32, card: &[u8]) -> io::Result<()> {
        if card.len() > CARD_BYTES {
            let text = format!("a card of {} bytes, at most {CARD_BYTES} fit", card.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.write_at(
            self.checked_location(rank, offset_of!(RankLocation, card))?,
            card,
        )?;
        let length = (card.len() as u32).to_ne_bytes();
        self.write_at(
            self.checked_location(rank, offset_of!(RankLocation, card_len))?,
            &length,
        )
    }

    /// Tells the ranks of this node that the cards of all ranks are here.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn announce_cards(&self) -> io::Result<()> {
        self.write_at(
            offset_of!(JobHeader, cards_ready) as u64,
            &1u32.to_ne_bytes(),
        )
    }

    /// Where a field of the location of a process lies.
    pub(crate) fn checked_location(&self, rank: u32, field: usize) -> io::Result<u64> {
        if rank < self.capacity() && self.job_ranks() > self.local_ranks() {
            return Ok(location_of(self.capacity(), rank, field));
        }
        let text = format!(
            "location of rank {rank} in a job with room for {} ranks",
            self.capacity()
        );
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PLAN: SegmentPlan = SegmentPlan {
        local_ranks: 2,
        job_ranks: 5,
        reserve: 0,
        cores: 2,
        launcher_pid: 7,
    };

    fn nodes<'a>(node_of: &'a [u32], hosts: &'a [String]) -> NodePlan<'a> {
        NodePlan {
            node: 1,
            node_of,
            hosts,
            secret: [11, 12],
        }
    }

    const fn process(rank: u32) -> PeerIndex {
        PeerIndex::new(rank)
    }

    fn hosts() -> Vec<String> {
        ["first", "second", "a-third-one"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn ranks_and_launcher_see_the_same_locations() {
        let hosts = hosts();
        let file = create_on_node(&PLAN, &nodes(&[0, 1, 1, 2, 2], &hosts)).unwrap();
        let launcher = NodeFile::new(file.try_clone().unwrap()).unwrap();
        let segment = Segment::attach(file).unwrap();
        assert!(segment.has_other_nodes());
        assert_eq!((segment.job().node, segment.secret()), (1, [11, 12]));
        let seen: Vec<_> = (0..5).map(|rank| segment.node_of(process(rank))).collect();
        assert_eq!(seen, [0, 1, 1, 2, 2]);
        assert!(segment.is_here(process(2)) && !segment.is_here(process(3)));
        assert_eq!(segment.host(2), "a-third-one");
        assert_eq!(segment.host(9), "");

        segment.publish_card(process(2), &[1, 2, 3]).unwrap();
        assert!(
            segment
                .publish_card(process(2), &[0; CARD_BYTES + 1])
                .is_err()
        );
        assert_eq!(launcher.cards_published().unwrap(), 1);
        assert_eq!(launcher.card(2).unwrap(), [1, 2, 3]);
        assert!(launcher.card(5).is_err());
        launcher.put_card(4, &[9; CARD_BYTES]).unwrap();
        assert!(!segment.cards_are_ready() && segment.card(process(0)).is_empty());
        launcher.announce_cards().unwrap();
        assert!(segment.cards_are_ready());
        assert_eq!(segment.card(process(4)), [9; CARD_BYTES]);
        // Boards are numbered by world ranks.
        segment.board(process(4)).pid.store(3, Ordering::Relaxed);
        assert_eq!(launcher.board(4).unwrap().pid, 3);
    }

    #[test]
    fn cards_are_fetched_when_they_are_needed() {
        let hosts = hosts();
        let file = create_on_node(&PLAN, &nodes(&[0, 1, 1, 2, 2], &hosts)).unwrap();
        let there = Segment::attach(file.try_clone().unwrap()).unwrap();
        let segment = Segment::attach(file).unwrap();
        segment.fetch_cards_by(Box::new(move |rank| {
            if rank != 3 {
                return Err(io::Error::other("no such key"));
            }
            there.put_host(2, "renamed-to-something-else");
            there.put_card(process(3), &[7; 40])?;
            there.put_card(process(4), &[8; 41])
        }));
        assert!(!segment.cards_are_ready());
        segment.announce_cards([21, 22]);
        assert!(segment.cards_are_ready() && segment.card(process(3)).is_empty());
        assert_eq!(segment.secret(), [21, 22]);
        let error = segment.find_card(process(0)).unwrap_err();
        assert_eq!(error.to_string(), "no such key");
        assert_eq!(segment.find_card(process(3)).unwrap(), [7; 40]);
        assert_eq!(segment.find_card(process(4)).unwrap(), [8; 41]);
        assert_eq!(segment.host(2), "renamed-to-something-else");
        assert!(segment.put_card(process(3), &[0; CARD_BYTES + 1]).is_err());
        assert!(segment.put_card(process(5), &[0]).is_err());
    }

    #[test]
    fn plans_that_contradict_themselves_are_refused() {
        let hosts = hosts();
        for node_of in [&[0, 1, 1, 2][..], &[0, 1, 2, 2, 2], &[0, 1, 1, 2, 3]] {
            assert!(create_on_node(&PLAN, &nodes(node_of, &hosts)).is_err());
        }
        let alone = SegmentPlan {
            job_ranks: 2,
            reserve: 0,
            ..PLAN
        };
        assert!(create_on_node(&alone, &nodes(&[1, 1], &hosts)).is_err());
    }

    #[test]
    fn a_job_of_one_node_has_no_locations() {
        let plan = SegmentPlan {
            job_ranks: 2,
            reserve: 0,
            ..PLAN
        };
        let file = segment::create(&plan).unwrap();
        let launcher = NodeFile::new(file.try_clone().unwrap()).unwrap();
        let segment = Segment::attach(file).unwrap();
        assert!(segment.is_here(process(1)) && segment.card(process(1)).is_empty());
        assert!(
            segment.publish_card(process(0), &[1]).is_err() && launcher.put_card(0, &[1]).is_err()
        );
    }
}
