// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective accesses with aggregators: each accesses contiguous windows of the file, round by round, and exchanges the data with the
//! ranks whose ranges lie there.
//!
//! A round has the same steps at all ranks, and each step at most one message from a rank to another, whose length both know: the lengths
//! of the lists of ranges and of the data, the lists, the data, and what became of them. All ranks know which ranks reach into which
//! window. No rank leaves early: after a fault an aggregator drains the remaining rounds without accesses, and a rank without memory for a
//! message sends an empty one, or receives none of its bytes. At the end all ranks return the first rank's fault.

use std::ops::Range;
use std::sync::Arc;

use file_plan::{Coverage, Domains, Path, Rows, Summary, path, spread};
use storage::Fault;

use super::access::{Access, Action, Moved, elsewhere};
use super::collective::Brought;
use super::failure::failed;
use super::object::File;
use super::ranges::{Covering, Writer};
use super::traced::{self, Label};
use crate::allocate;
use crate::coll::{Collective, Scratch, gather_words_in};
use crate::errors::Result;

/// A message with one rank, and its memory if there was any.
struct Parcel {
    rank: u32,
    bytes: usize,
    memory: Option<Scratch>,
}

impl Parcel {
    /// Its words; zeros where there is no memory.
    fn words(&mut self) -> Vec<u64> {
        let mut words = vec![0; self.bytes / 8];
        if let Some(memory) = &mut self.memory {
            memory.store_words(&mut words);
        }
        words
    }

    fn bytes(&mut self) -> Option<&mut [u8]> {
        self.memory.as_mut().map(Scratch::as_mut_slice)
    }
}

/// Memory of a message; tests limit it. Two words, which say how long other messages are, are always there.
fn room(bytes: usize) -> Result<Scratch> {
    #[cfg(test)]
    super::tests::memory::check(bytes)?;
    Scratch::new(bytes)
}

/// What this rank has in the window of an aggregator.
struct Part {
    aggregator: u32,
    /// Of the visible bytes.
    positions: Range<u64>,
    rows: Rows,
}

impl Part {
    const fn bytes(&self) -> usize {
        (self.positions.end - self.positions.start) as usize
    }
}

/// What a rank has in this aggregator's window.
struct Client {
    rank: u32,
    rows: Rows,
    /// Bytes of its data, also where the ranges did not come.
    bytes: usize,
}

impl Client {
    /// Its ranges and where their bytes are among its data; none if they did not come.
    fn places(&self) -> impl Iterator<Item = (Range<u64>, usize)> {
        let came = self.rows.bytes() == self.bytes as u64;
        let ranges = self.rows.ranges().filter(move |_| came);
        ranges.scan(0, |at, range| {
            let from = *at;
            *at += (range.end - range.start) as usize;
            Some((range, from))
        })
    }
}

/// A collective access at one rank.
struct Exchange<'a> {
    coll: &'a mut Collective,
    file: &'a Arc<File>,
    all: &'a file_plan::Collective<'a>,
    /// Whether the calling thread makes the system calls.
    blocks: bool,
    domains: Domains,
    aggregators: Vec<u32>,
    /// The fault of this rank as an aggregator.
    fault: Option<Fault>,
}

/// Does the access of this rank and, as an aggregator, that of others; `fault` is one that this rank met before.
pub(super) async fn run(
    coll: &mut Collective,
    file: &Arc<File>,
    brought: Brought,
    all: &file_plan::Collective<'_>,
    blocks: bool,
    fault: Option<Fault>,
) -> Moved {
    let (mut access, own_error) = match brought {
        Ok(access) => (Some(access), None),
        Err(error) => (None, Some(error)),
    };
    let domains = all.domains();
    let rounds = domains.rounds();
    let mut exchange = Exchange {
        aggregators: spread(all.division.aggregators, coll.size).collect(),
        coll,
        file,
        all,
        blocks,
        domains,
        fault,
    };
    let mut bytes = 0;
    for round in 0..rounds {
        bytes += exchange.round(round, access.as_mut()).await;
    }
    let agreed = exchange.agree().await;
    let finished = match (access, all.action) {
        (Some(access), Action::Read) => access.buffer.finish_read(bytes),
        _ => Ok(()),
    };
    let outcome = own_error.map_or(Ok(()), Err).and(agreed).and(finished);
    Moved { bytes, outcome }
}

impl Exchange<'_> {
    /// A message with a rank. Without memory for it this rank has met a fault.
    fn parcel(&mut self, rank: u32, bytes: usize) -> Parcel {
        let memory = room(bytes).ok();
        if memory.is_none() {
            self.fault = self.fault.or(Some(Fault::NO_MEMORY));
        }
        Parcel {
            rank,
            bytes,
            memory,
        }
    }

    /// A message of words.
    fn parcel_of(&mut self, rank: u32, words: &[u64]) -> Parcel {
        let mut parcel = self.parcel(rank, size_of_val(words));
        if let Some(bytes) = parcel.bytes() {
            for (eight, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *eight = word.to_ne_bytes();
            }
        }
        parcel
    }

    /// Sends parcels, and receives those of which the lengths are given; one from this rank to itself stays where it is.
    async fn swap(
        &mut self,
        mut out: Vec<Parcel>,
        wanted: impl Iterator<Item = (u32, usize)>,
    ) -> Vec<Parcel> {
        let me = self.coll.rank;
        let mut arrived = Vec::new();
        let mut own = out
            .iter()
            .position(|parcel| parcel.rank == me)
            .map(|index| out.swap_remove(index));
        for (rank, bytes) in wanted {
            arrived.push(match own.take_if(|_| rank == me) {
                Some(parcel) => parcel,
                None => self.parcel(rank, bytes),
            });
        }
        // Stands for memory that is not there: an empty message, or one of which nothing is received.
        let Ok(mut none) = Scratch::new(0) else {
            return arrived;
        };
        let mut step = self.coll.step();
        for parcel in arrived
            .iter_mut()
            .filter(|parcel| parcel.rank != me && parcel.bytes > 0)
        {
            let block = match &mut parcel.memory {
                Some(memory) => memory.block(0, parcel.bytes),
                None => none.block(0, 0),
            };
            step.receive(&block, parcel.rank);
        }
        for parcel in out.iter_mut().filter(|parcel| parcel.bytes > 0) {
            let block = match &mut parcel.memory {
                Some(memory) => memory.block(0, parcel.bytes),
                None => none.block(0, 0),
            };
            step.send(&block, parcel.rank);
        }
        step.finish().await;
        arrived
    }

    /// The parts of this rank's access in a round.
    fn parts(&self, round: u64, access: Option<&Access>) -> Vec<Part> {
        let mut parts = Vec::new();
        let Some(access) = access else {
            return parts;
        };
        let (tiles, own) = (&access.view.tiles, access.positions.clone());
        for (index, &aggregator) in self.aggregators.iter().enumerate() {
            let window = self.domains.window(index as u32, round);
            if !reaches(&self.all.ranks[self.coll.rank as usize], &window) {
                continue;
            }
            let start = tiles.position_of(window.start).clamp(own.start, own.end);
            let end = tiles.position_of(window.end).clamp(own.start, own.end);
            let mut rows = Rows::default();
            tiles.for_each_range(start..end, |offset, bytes| rows.push(offset, bytes));
            parts.push(Part {
                aggregator,
                positions: start..end,
                rows,
            });
        }
        parts
    }

    /// What this rank accesses for others in a round.
    fn window(&self, round: u64) -> Range<u64> {
        let is_me = |&rank: &u32| rank == self.coll.rank;
        match self.aggregators.iter().position(is_me) {
            Some(index) => self.domains.window(index as u32, round),
            None => 0..0,
        }
    }

    /// One round; returns how many bytes of this rank were moved.
    async fn round(&mut self, round: u64, access: Option<&mut Access>) -> u64 {
        let parts = self.parts(round, access.as_deref());
        let window = self.window(round);
        let clients = self.tell(&parts, &window).await;
        match self.all.action {
            Action::Write => {
                self.write(&parts, access.as_deref(), &clients, window)
                    .await
            }
            Action::Read => self.read(&parts, access, &clients, window).await,
        }
    }

    /// Ranks send their lists of ranges to the aggregators.
    async fn tell(&mut self, parts: &[Part], window: &Range<u64>) -> Vec<Client> {
        let lists: Vec<Vec<u64>> = parts.iter().map(|part| part.rows.to_words()).collect();
        let mut lengths = Vec::new();
        for (part, list) in parts.iter().zip(&lists) {
            let words = [list.len() as u64, part.bytes() as u64];
            lengths.push(self.parcel_of(part.aggregator, &words));
        }
        let all = self.all.ranks;
        let ranks = (0..self.coll.size).filter(|&rank| reaches(&all[rank as usize], window));
        let arrived = self.swap(lengths, ranks.map(|rank| (rank, 16))).await;
        let mut lengths = Vec::new();
        for mut parcel in arrived {
            let words = parcel.words();
            lengths.push((parcel.rank, words[0] as usize * 8, words[1] as usize));
        }
        let mut out = Vec::new();
        for (part, list) in parts.iter().zip(&lists) {
            out.push(self.parcel_of(part.aggregator, list));
        }
        let wanted = lengths.iter().map(|&(rank, list, _)| (rank, list));
        let arrived = self.swap(out, wanted).await;
        let mut clients = Vec::new();
        for (mut parcel, (rank, _, bytes)) in arrived.into_iter().zip(lengths) {
            let mut rows = Rows::of_words(&parcel.words());
            if !rows.lie_in(window) || rows.bytes() != bytes as u64 {
                // Its sender had no memory for them, or this rank.
                self.fault = self.fault.or(Some(Fault::NO_MEMORY));
                rows = Rows::default();
            }
            clients.push(Client { rank, rows, bytes });
        }
        clients
    }

    async fn write(
        &mut self,
        parts: &[Part],
        access: Option<&Access>,
        clients: &[Client],
        window: Range<u64>,
    ) -> u64 {
        let mut out = Vec::new();
        for part in parts {
            let mut parcel = self.parcel(part.aggregator, part.bytes());
            if let (Some(access), Some(bytes)) = (access, parcel.bytes()) {
                let start = (part.positions.start - access.positions.start) as usize;
                access.buffer.pack(start, bytes);
            }
            out.push(parcel);
        }
        let wanted = clients.iter().map(|client| (client.rank, client.bytes));
        let mut arrived = self.swap(out, wanted).await;
        let limit = match self.window_memory(&window) {
            Some(buffer) if self.fault.is_none() => {
                let filled = fill(clients, &mut arrived, &window, buffer);
                self.write_window(window, filled).await
            }
            _ => 0,
        };
        drop(arrived);
        self.report(parts, clients, limit).await.iter().sum()
    }

    /// Memory of a window. Without it this rank has met a fault.
    fn window_memory(&mut self, window: &Range<u64>) -> Option<Vec<u8>> {
        let bytes = (window.end - window.start) as usize;
        let memory = room(bytes).and_then(|_| allocate::zeroed(bytes)).ok();
        if memory.is_none() {
            self.fault = self.fault.or(Some(Fault::NO_MEMORY));
        }
        memory
    }

    /// Writes what ranks have in a window; returns before which offset all of it was written.
    async fn write_window(
        &mut self,
        window: Range<u64>,
        (buffer, ranges): (Vec<u8>, Vec<Range<u64>>),
    ) -> u64 {
        // Rank 0 holds the lock of an atomic access.
        let locks = self.file.locks() && !self.all.is_atomic;
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let facts = match (ranges.first(), ranges.last()) {
            (Some(first), Some(last)) => file_plan::Access {
                action: Action::Write,
                bytes,
                ranges: ranges.len() as u64,
                covered: last.end - first.start,
                is_contiguous: true,
                may_cover: self.file.cover_bytes(Action::Write) > 0,
            },
            _ => return u64::MAX,
        };
        let costs = self.all.costs;
        let covers = path(&facts, &costs).path == Path::SieveWrite;
        let most_bytes = if covers { window.end - window.start } else { 0 };
        let how = Covering::of_write(&costs, most_bytes, locks, self.all.is_atomic);
        let label = Label::new(Action::Write, &window, bytes);
        let written = self
            .perform(label, locks, move |storage| {
                let wait = &mut || {};
                let mut writer = Writer::new(storage, &buffer, how, wait);
                for range in &ranges {
                    writer.add(range, (range.start - window.start) as usize);
                }
                let done = writer.finish();
                (limit_of(&ranges, done.bytes), done.fault)
            })
            .await;
        written.unwrap_or(0)
    }

    async fn read(
        &mut self,
        parts: &[Part],
        access: Option<&mut Access>,
        clients: &[Client],
        window: Range<u64>,
    ) -> u64 {
        let (buffer, limit) = self.read_window(clients, &window).await;
        let mut out = Vec::new();
        for client in clients {
            let mut parcel = self.parcel(client.rank, client.bytes);
            if let (Some(target), false) = (parcel.bytes(), buffer.is_empty()) {
                for (range, at) in client.places() {
                    let (from, bytes) = (
                        (range.start - window.start) as usize,
                        (range.end - range.start) as usize,
                    );
                    target[at..at + bytes].copy_from_slice(&buffer[from..from + bytes]);
                }
            }
            out.push(parcel);
        }
        drop(buffer);
        let wanted = parts.iter().map(|part| (part.aggregator, part.bytes()));
        let arrived = self.swap(out, wanted).await;
        let moved = self.report(parts, clients, limit).await;
        if let Some(access) = access {
            for ((part, mut parcel), &moved) in parts.iter().zip(arrived).zip(&moved) {
                if let Some(bytes) = parcel.bytes() {
                    let moved = (moved as usize).min(bytes.len());
                    let at = (part.positions.start - access.positions.start) as usize;
                    access.buffer.unpack(at, &bytes[..moved]);
                }
            }
        }
        moved.iter().sum()
    }

    /// Reads what ranks want of a window; returns its bytes, and before which offset all of them were read.
    async fn read_window(&mut self, clients: &[Client], window: &Range<u64>) -> (Vec<u8>, u64) {
        let mut coverage = Coverage::new(window.clone());
        for (range, _) in clients.iter().flat_map(Client::places) {
            coverage.add(range);
        }
        let ranges = coverage.ranges(self.all.costs.gap());
        let Some(mut buffer) = self.window_memory(window) else {
            return (Vec::new(), 0);
        };
        let start = window.start;
        let bytes = ranges.iter().map(|range| range.end - range.start).sum();
        let label = Label::new(Action::Read, window, bytes);
        let read = self.perform(label, false, move |storage| {
            for range in ranges {
                let (from, bytes) = (range.start - start, range.end - range.start);
                let target = &mut buffer[from as usize..(from + bytes) as usize];
                let done = storage.read_at(range.start, target);
                if done.bytes < bytes {
                    return ((buffer, range.start + done.bytes), done.fault);
                }
            }
            ((buffer, u64::MAX), None)
        });
        read.await.unwrap_or_default()
    }

    /// Accesses this aggregator's window, unless an earlier access has failed. Where it may wait for a lock, this thread makes progress.
    async fn perform<T: Send + 'static>(
        &mut self,
        label: Label,
        may_wait: bool,
        work: impl FnOnce(&Arc<storage::File>) -> (T, Option<Fault>) + Send + 'static,
    ) -> Option<T> {
        if self.fault.is_some() {
            return None;
        }
        let storage = self.file.storage.clone();
        let vci = self.file.comm.vci();
        let done = match self.blocks && !may_wait {
            true => Ok(traced::here(vci, label, || work(&storage))),
            false => elsewhere(vci, label, move || work(&storage)).await,
        };
        match done {
            Ok((result, fault)) => {
                self.fault = fault;
                Some(result)
            }
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }

    /// Aggregators say how many bytes of each rank they have accessed; returns it for each part of this rank.
    async fn report(&mut self, parts: &[Part], clients: &[Client], limit: u64) -> Vec<u64> {
        let mut out = Vec::new();
        for client in clients {
            let bytes = client.rows.bytes_before(limit);
            out.push(self.parcel_of(client.rank, &[bytes]));
        }
        let wanted = parts.iter().map(|part| (part.aggregator, 8));
        let arrived = self.swap(out, wanted).await;
        arrived
            .into_iter()
            .map(|mut parcel| parcel.words()[0])
            .collect()
    }

    /// All ranks return the fault of the first rank that met one.
    async fn agree(&mut self) -> Result<()> {
        let errno = self.fault.map_or(0, |fault| fault.errno);
        let all = gather_words_in(self.coll, &[u64::from(errno.cast_unsigned())]).await?;
        let Some(rank) = all.iter().position(|&errno| errno != 0) else {
            return Ok(());
        };
        let fault = Fault {
            errno: (all[rank] as u32).cast_signed(),
        };
        let what = match self.all.action {
            Action::Read => "read",
            Action::Write => "write",
        };
        let what = format!("{what} collectively: rank {rank} of the file met a fault");
        Err(failed(fault, &what))
    }
}

/// Puts the data of ranks into a window, in rank order: where ranges overlap, the highest rank's bytes are written. Returns them with the
/// ranges that they fill.
fn fill(
    clients: &[Client],
    arrived: &mut [Parcel],
    window: &Range<u64>,
    mut buffer: Vec<u8>,
) -> (Vec<u8>, Vec<Range<u64>>) {
    let mut coverage = Coverage::new(window.clone());
    for (client, parcel) in clients.iter().zip(arrived) {
        let Some(data) = parcel.bytes() else {
            continue;
        };
        for (range, at) in client.places() {
            let (from, bytes) = (
                (range.start - window.start) as usize,
                (range.end - range.start) as usize,
            );
            buffer[from..from + bytes].copy_from_slice(&data[at..at + bytes]);
            coverage.add(range);
        }
    }
    (buffer, coverage.ranges(0))
}

/// Before which offset all bytes of ranges lie, if that many of them were accessed in order.
fn limit_of(ranges: &[Range<u64>], mut bytes: u64) -> u64 {
    for range in ranges {
        let length = range.end - range.start;
        if bytes < length {
            return range.start + bytes;
        }
        bytes -= length;
    }
    u64::MAX
}

/// Whether a rank may have bytes in a window.
const fn reaches(rank: &Summary, window: &Range<u64>) -> bool {
    !rank.is_empty()
        && window.start < window.end
        && rank.first < window.end
        && window.start < rank.end
}
