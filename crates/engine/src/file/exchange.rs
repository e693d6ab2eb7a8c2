// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective accesses with aggregators: each accesses contiguous windows of the file, round by round, and exchanges the data with the
//! ranks whose ranges lie there.
//!
//! A round has the same steps at all ranks, and each step at most one message from a rank to another, whose length both know: the lengths
//! of the lists of ranges, the lists, the data, and what became of them. All ranks know which ranks reach into which window. After a
//! fault an aggregator drains the remaining rounds without accesses, and at the end all ranks return the first rank's fault.

use std::ops::Range;
use std::sync::Arc;

use file_plan::{Coverage, Domains, Rows, Summary, spread};
use storage::Fault;

use super::access::{Access, Action, Moved, SIEVE_GAP, elsewhere};
use super::collective::Brought;
use super::failure::failed;
use super::object::File;
use crate::allocate;
use crate::coll::{Collective, Scratch, gather_words_in};
use crate::errors::{Error, ErrorClass, Result};

/// How the work is divided.
pub(super) struct Shape {
    pub(super) aggregators: u32,
    pub(super) alignment: u64,
    /// Bytes that an aggregator accesses in a round.
    pub(super) buffer: u64,
    /// Whether the calling thread makes the system calls.
    pub(super) blocks: bool,
}

/// Messages with one rank each.
type Parcels = Vec<(u32, Scratch)>;

/// Sends parcels, and receives those of which the lengths are given; one from this rank to itself stays where it is.
async fn swap(
    coll: &mut Collective,
    mut out: Parcels,
    wanted: impl Iterator<Item = (u32, usize)>,
) -> Result<Parcels> {
    let me = coll.rank;
    let mut arrived = Parcels::new();
    let mut own = out
        .iter()
        .position(|parcel| parcel.0 == me)
        .map(|index| out.swap_remove(index));
    for (rank, bytes) in wanted {
        match own.take_if(|_| rank == me) {
            Some(parcel) => arrived.push(parcel),
            None => arrived.push((rank, Scratch::new(bytes)?)),
        }
    }
    let mut step = coll.step();
    for (rank, bytes) in &mut arrived {
        let length = bytes.as_mut_slice().len();
        if *rank != me && length > 0 {
            step.receive(&bytes.block(0, length), *rank);
        }
    }
    for (rank, bytes) in &mut out {
        let length = bytes.as_mut_slice().len();
        if length > 0 {
            step.send(&bytes.block(0, length), *rank);
        }
    }
    step.finish().await;
    Ok(arrived)
}

/// The words of a parcel.
fn words_of(parcel: &mut Scratch) -> Vec<u64> {
    let mut words = vec![0; parcel.as_mut_slice().len() / 8];
    parcel.store_words(&mut words);
    words
}

/// What this rank has in the window of an aggregator.
struct Part {
    aggregator: u32,
    /// Of the visible bytes.
    positions: Range<u64>,
    rows: Rows,
}

/// What a rank has in this aggregator's window.
struct Client {
    rank: u32,
    rows: Rows,
}

/// One round of a collective access at one rank.
struct Exchange<'a> {
    coll: &'a mut Collective,
    file: &'a Arc<File>,
    action: Action,
    all: &'a [Summary],
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
    action: Action,
    brought: Brought,
    all: &[Summary],
    shape: &Shape,
    fault: Option<Fault>,
) -> Moved {
    let with_data = || all.iter().filter(|rank| !rank.is_empty());
    let first = with_data().map(|rank| rank.first).min().unwrap_or(0);
    let end = with_data().map(|rank| rank.end).max().unwrap_or(0);
    let (mut access, own_error) = match brought {
        Ok(access) => (Some(access), None),
        Err(error) => (None, Some(error)),
    };
    let domains = Domains::cut(first..end, shape.aggregators, shape.alignment, shape.buffer);
    let rounds = domains.rounds();
    let mut exchange = Exchange {
        aggregators: spread(shape.aggregators, coll.size).collect(),
        coll,
        file,
        action,
        all,
        blocks: shape.blocks,
        domains,
        fault,
    };
    let (mut bytes, mut outcome) = (0, Ok(()));
    for round in 0..rounds {
        match exchange.round(round, access.as_mut()).await {
            Ok(moved) => bytes += moved,
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    let agreed = exchange.agree().await;
    let finished = match (access, action) {
        (Some(access), Action::Read) => access.buffer.finish_read(bytes),
        _ => Ok(()),
    };
    let outcome = own_error
        .map_or(Ok(()), Err)
        .and(outcome)
        .and(agreed)
        .and(finished);
    Moved { bytes, outcome }
}

impl Exchange<'_> {
    /// The parts of this rank's access in a round.
    fn parts(&self, round: u64, access: Option<&Access>) -> Vec<Part> {
        let mut parts = Vec::new();
        let Some(access) = access else {
            return parts;
        };
        let (tiles, own) = (&access.view.tiles, access.positions.clone());
        for (index, &aggregator) in self.aggregators.iter().enumerate() {
            let window = self.domains.window(index as u32, round);
            if !reaches(&self.all[self.coll.rank as usize], &window) {
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
    async fn round(&mut self, round: u64, access: Option<&mut Access>) -> Result<u64> {
        let parts = self.parts(round, access.as_deref());
        let window = self.window(round);
        let clients = self.tell(&parts, &window).await?;
        match self.action {
            Action::Write => {
                self.write(&parts, access.as_deref(), &clients, window)
                    .await
            }
            Action::Read => self.read(&parts, access, &clients, window).await,
        }
    }

    /// Ranks send their lists of ranges to the aggregators.
    async fn tell(&mut self, parts: &[Part], window: &Range<u64>) -> Result<Vec<Client>> {
        let all = self.all;
        let lists: Vec<Vec<u64>> = parts.iter().map(|part| part.rows.to_words()).collect();
        let mut lengths = Parcels::new();
        for (part, list) in parts.iter().zip(&lists) {
            lengths.push((part.aggregator, Scratch::of_words(&[list.len() as u64])?));
        }
        let ranks = (0..self.coll.size).filter(|&rank| reaches(&all[rank as usize], window));
        let arrived = swap(self.coll, lengths, ranks.map(|rank| (rank, 8))).await?;
        let mut wanted = Vec::new();
        for (rank, mut length) in arrived {
            wanted.push((rank, words_of(&mut length)[0] as usize * 8));
        }
        let mut out = Parcels::new();
        for (part, list) in parts.iter().zip(&lists) {
            out.push((part.aggregator, Scratch::of_words(list)?));
        }
        let arrived = swap(self.coll, out, wanted.into_iter()).await?;
        let mut clients = Vec::new();
        for (rank, mut list) in arrived {
            let rows = Rows::of_words(&words_of(&mut list));
            if !rows.lie_in(window) {
                let text = format!("rank {rank} of the file sent ranges outside of the window");
                return Err(Error::new(ErrorClass::ERR_INTERN, text));
            }
            clients.push(Client { rank, rows });
        }
        Ok(clients)
    }

    async fn write(
        &mut self,
        parts: &[Part],
        access: Option<&Access>,
        clients: &[Client],
        window: Range<u64>,
    ) -> Result<u64> {
        let mut out = Parcels::new();
        for part in parts {
            let bytes = (part.positions.end - part.positions.start) as usize;
            let mut packed = Scratch::new(bytes)?;
            if let Some(access) = access {
                let start = (part.positions.start - access.positions.start) as usize;
                access.buffer.pack(start, packed.as_mut_slice());
            }
            out.push((part.aggregator, packed));
        }
        let wanted = clients
            .iter()
            .map(|client| (client.rank, client.rows.bytes() as usize));
        let arrived = swap(self.coll, out, wanted).await?;
        let mut coverage = Coverage::new(window.clone());
        let mut buffer = allocate::zeroed((window.end - window.start) as usize)?;
        // In rank order: where ranges overlap, the highest rank's bytes are written.
        for (client, (_, mut data)) in clients.iter().zip(arrived) {
            let data = data.as_mut_slice();
            let mut at = 0;
            for range in client.rows.ranges() {
                let (from, bytes) = (range.start - window.start, range.end - range.start);
                let target = &mut buffer[from as usize..(from + bytes) as usize];
                target.copy_from_slice(&data[at..at + target.len()]);
                at += target.len();
                coverage.add(range);
            }
        }
        let ranges = coverage.ranges(0);
        let written = self
            .perform(move |storage| {
                for range in ranges {
                    let from = (range.start - window.start) as usize;
                    let bytes = &buffer[from..from + (range.end - range.start) as usize];
                    let done = storage.write_at(range.start, bytes);
                    if done.fault.is_some() {
                        let limit = range.start + done.bytes;
                        return ((), limit, done.fault);
                    }
                }
                ((), u64::MAX, None)
            })
            .await;
        let limit = written.map_or(0, |((), limit)| limit);
        let moved = self.report(parts, clients, limit).await?;
        Ok(moved.iter().sum())
    }

    async fn read(
        &mut self,
        parts: &[Part],
        access: Option<&mut Access>,
        clients: &[Client],
        window: Range<u64>,
    ) -> Result<u64> {
        let mut coverage = Coverage::new(window.clone());
        for range in clients.iter().flat_map(|client| client.rows.ranges()) {
            coverage.add(range);
        }
        let ranges = coverage.ranges(SIEVE_GAP);
        let mut buffer = allocate::zeroed((window.end - window.start) as usize)?;
        let start = window.start;
        let read = self
            .perform(move |storage| {
                for range in ranges {
                    let (from, bytes) = (range.start - start, range.end - range.start);
                    let target = &mut buffer[from as usize..(from + bytes) as usize];
                    let done = storage.read_at(range.start, target);
                    if done.bytes < bytes {
                        return (buffer, range.start + done.bytes, done.fault);
                    }
                }
                (buffer, u64::MAX, None)
            })
            .await;
        let (buffer, limit) = read.unwrap_or_default();
        let mut out = Parcels::new();
        for client in clients {
            let mut packed = Scratch::new(client.rows.bytes() as usize)?;
            let target = packed.as_mut_slice();
            let mut at = 0;
            for range in client.rows.ranges().filter(|_| !buffer.is_empty()) {
                let (from, bytes) = (range.start - start, (range.end - range.start) as usize);
                let source = &buffer[from as usize..from as usize + bytes];
                target[at..at + bytes].copy_from_slice(source);
                at += bytes;
            }
            out.push((client.rank, packed));
        }
        let length = |part: &Part| (part.positions.end - part.positions.start) as usize;
        let wanted = parts.iter().map(|part| (part.aggregator, length(part)));
        let arrived = swap(self.coll, out, wanted).await?;
        let moved = self.report(parts, clients, limit).await?;
        if let Some(access) = access {
            for ((part, (_, mut data)), &moved) in parts.iter().zip(arrived).zip(&moved) {
                let data = data.as_mut_slice();
                let bytes = (moved as usize).min(data.len());
                let at = (part.positions.start - access.positions.start) as usize;
                access.buffer.unpack(at, &data[..bytes]);
            }
        }
        Ok(moved.iter().sum())
    }

    /// Accesses this aggregator's window, unless an earlier access has failed; returns before which offset all bytes were accessed.
    async fn perform<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&storage::File) -> (T, u64, Option<Fault>) + Send + 'static,
    ) -> Option<(T, u64)> {
        if self.fault.is_some() {
            return None;
        }
        let storage = self.file.storage.clone();
        let done = match self.blocks {
            true => Ok(work(&storage)),
            false => elsewhere(self.file.comm.vci(), move || work(&storage)).await,
        };
        match done {
            Ok((result, limit, fault)) => {
                self.fault = fault;
                Some((result, limit))
            }
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }

    /// Aggregators say how many bytes of each rank they have accessed; returns it for each part of this rank.
    async fn report(&mut self, parts: &[Part], clients: &[Client], limit: u64) -> Result<Vec<u64>> {
        let mut out = Parcels::new();
        for client in clients {
            let bytes = client.rows.bytes_before(limit);
            out.push((client.rank, Scratch::of_words(&[bytes])?));
        }
        let wanted = parts.iter().map(|part| (part.aggregator, 8));
        let arrived = swap(self.coll, out, wanted).await?;
        let word = |(_, mut word): (u32, Scratch)| words_of(&mut word)[0];
        Ok(arrived.into_iter().map(word).collect())
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
        let what = match self.action {
            Action::Read => "read",
            Action::Write => "write",
        };
        let what = format!("{what} collectively: rank {rank} of the file met a fault");
        Err(failed(fault, &what))
    }
}

/// Whether a rank may have bytes in a window.
const fn reaches(rank: &Summary, window: &Range<u64>) -> bool {
    !rank.is_empty()
        && window.start < window.end
        && rank.first < window.end
        && window.start < rank.end
}
