// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitioned requests whose partitions are spread over several VCIs: their lanes, and the threads that use them.
//!
//! A call names the request, whose lanes are known under the lock of its VCI. So that threads do not share that lock, each remembers the
//! lanes of the requests that it used last; a lane tells under its own lock whether it still belongs to the request.

use std::cell::RefCell;
use std::sync::Arc;

use fabric::board::kind as record_kind;

use super::init::{describe, make_sends, new_request};
use super::partitions::{find, mark, no_partition, send, unmark};
use crate::comm::Comm;
use crate::errors::{Error, Result};
use crate::identity::Rank;
use crate::p2p::Memory;
use crate::progress::Vci;
use crate::request::{Block, Geometry, Receiving, RequestId, RequestIndex, RequestLanes};
use crate::vci::VciState;

/// Requests that a thread remembers.
const REMEMBERED: usize = 8;

/// A request and its lanes.
type Known = Option<(RequestId, Arc<RequestLanes>)>;

thread_local! {
    /// The lanes of requests that this thread used last, by the low bits of the request.
    static KNOWN: RefCell<[Known; REMEMBERED]> =
        const { RefCell::new([const { None }; REMEMBERED]) };
}

const fn place_of(id: RequestId) -> usize {
    id.0 as usize % REMEMBERED
}

/// Remembers the lanes of a request for this thread.
pub(super) fn remember(id: RequestId, lanes: Arc<RequestLanes>) {
    KNOWN.with_borrow_mut(|known| known[place_of(id)] = Some((id, lanes)));
}

/// Makes a partition ready if this thread knows its lane; `None`, and nothing is done, if not, or if the partition is wrong.
#[inline]
pub(super) fn ready_known(vci: &Vci, id: RequestId, partition: i32) -> Option<Result<()>> {
    KNOWN.with_borrow(|known| {
        let (known_id, lanes) = known[place_of(id)].as_ref()?;
        let lane = lanes.id_of(partition).filter(|_| *known_id == id)?;
        let vci = vci.of(lane);
        let mut guard = vci.enter();
        let index = lane_at(&mut guard, lane, lanes)?;
        if guard.slab.record(index).kind != record_kind::PARTITIONED_SEND {
            return None;
        }
        let partitions = std::iter::once(partition);
        mark(&mut guard, index, partitions.clone()).ok()?;
        Some(send(vci, guard, index, partitions))
    })
}

/// The entry of a lane if it belongs to these lanes.
fn lane_at(
    state: &mut VciState,
    lane: RequestId,
    lanes: &Arc<RequestLanes>,
) -> Option<RequestIndex> {
    let index = state.slab.find(lane)?;
    let block = state.partitioned(index)?.block.as_ref()?;
    Arc::ptr_eq(&block.lanes, lanes).then_some(index)
}

/// Makes partitions ready, all or none; `explain` completes the error about a partition by its place among them.
pub(super) fn make_ready(
    vci: &Vci,
    lanes: &RequestLanes,
    partitions: impl Iterator<Item = i32>,
    explain: impl FnOnce(usize, Error) -> Error,
) -> Result<()> {
    // More than there are cannot all be right.
    let partitions: Vec<i32> = partitions.take(lanes.sent() as usize + 1).collect();
    let mut marked = 0;
    for (lane, block) in blocks(lanes, &partitions) {
        let outcome = match lane {
            None => Err((0, no_partition(block[0], lanes.sent()))),
            Some(lane) => {
                let mut guard = vci.of(lane).enter();
                let index = find(&mut guard, lane, false)?;
                mark(&mut guard, index, block.iter().copied())
            }
        };
        if let Err((place, error)) = outcome {
            for (lane, block) in blocks(lanes, &partitions[..marked]) {
                let Some(lane) = lane else { continue };
                let mut guard = vci.of(lane).enter();
                let index = find(&mut guard, lane, false)?;
                unmark(&mut guard, index, block.iter().copied());
            }
            return Err(explain(marked + place, error));
        }
        marked += block.len();
    }
    let mut outcome = Ok(());
    for (lane, block) in blocks(lanes, &partitions) {
        let Some(lane) = lane else { continue };
        let vci = vci.of(lane);
        let mut guard = vci.enter();
        let index = find(&mut guard, lane, false)?;
        let sent = send(vci, guard, index, block.iter().copied());
        outcome = outcome.and(sent);
    }
    outcome
}

/// The neighbours of a list that have the same lane, and that lane; `None` of numbers that are no partitions.
fn blocks<'a>(
    lanes: &RequestLanes,
    partitions: &'a [i32],
) -> impl Iterator<Item = (Option<RequestId>, &'a [i32])> {
    let blocks = partitions.chunk_by(|&one, &other| lanes.id_of(one) == lanes.id_of(other));
    blocks.map(|block| (lanes.id_of(block[0]), block))
}

/// Whether a partition of a receive has arrived, if this thread knows its lanes and the partition exists.
#[inline]
pub(super) fn arrived_known(vci: &Vci, id: RequestId, partition: i32) -> Option<Result<bool>> {
    let is_here = KNOWN.with_borrow(|known| {
        let (known_id, lanes) = known[place_of(id)].as_ref()?;
        let needed = lanes.ids_for(partition).filter(|_| *known_id == id)?;
        has_arrived(vci, lanes, needed, partition)
    })?;
    if is_here {
        return Some(Ok(true));
    }
    // Tasks, which a poll may run, can use partitions, too.
    let known = KNOWN.with_borrow(|known| known[place_of(id)].clone());
    let (_, lanes) = known.filter(|(known_id, _)| *known_id == id)?;
    Some(arrived(vci, &lanes, partition))
}

/// Whether a partition of a receive has arrived; makes progress if not.
pub(super) fn arrived(vci: &Vci, lanes: &Arc<RequestLanes>, partition: i32) -> Result<bool> {
    let Some(needed) = lanes.ids_for(partition) else {
        return Err(no_partition(partition, lanes.received()));
    };
    for attempt in 0..2 {
        if attempt == 1 {
            needed.iter().for_each(|&lane| vci.of(lane).poll());
        }
        if has_arrived(vci, lanes, needed, partition) != Some(false) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether all lanes that a partition needs have brought its data; `None` if they are not, or no longer, those of the request.
fn has_arrived(
    vci: &Vci,
    lanes: &Arc<RequestLanes>,
    needed: &[RequestId],
    partition: i32,
) -> Option<bool> {
    for &lane in needed {
        let mut guard = vci.of(lane).enter();
        let index = lane_at(&mut guard, lane, lanes)?;
        let is_active = guard.slab.record(index).kind == record_kind::PARTITIONED_RECEIVE;
        let partitioned = guard.partitioned(index)?;
        if is_active && partitioned.waiting.get(partition as usize) != Some(&0) {
            return Some(false);
        }
    }
    Some(true)
}

/// Makes the lanes of a send, and their messages. If that fails the request has none.
pub(super) fn make_send_lanes(
    comm: &Comm,
    id: RequestId,
    (dest, tag): (Rank, i32),
    geometry: Geometry,
    memory: Memory<'_>,
) -> Result<()> {
    let (sent, count) = (geometry.partitions, geometry.vcis);
    let lanes = RequestLanes::new(comm.vci().index(), sent, count, Box::default());
    let lanes = Arc::new(lanes);
    let made = make_lanes(comm, &lanes, sent, count, |state, lane, block| {
        let partitions = block.numbers.len();
        let index = new_request(state, lane, partitions, None, Some(block))?;
        let bytes = geometry.bytes * partitions;
        describe(state, lane, index, (Some(dest), tag), bytes);
        let made = make_sends(state, lane, index, dest, geometry, memory);
        Ok((index, made))
    });
    set_lanes(comm.vci(), id, lanes, made)
}

/// Makes the lanes of a receive, whose sender is known; their messages are made when they are started. Fails as
/// [`make_send_lanes`] does.
pub(super) fn make_receive_lanes(
    comm: &Comm,
    id: RequestId,
    sender: Geometry,
    (source, tag): (Rank, i32),
    receiving: &Receiving,
    partitions: u32,
) -> Result<()> {
    let (sent, count) = (sender.partitions, sender.vcis);
    let needed = lanes_needed(receiving, sender, partitions);
    let lanes = Arc::new(RequestLanes::new(comm.vci().index(), sent, count, needed));
    let made = make_lanes(comm, &lanes, sent, count, |state, lane, block| {
        let bytes = block.numbers.len().saturating_mul(sender.bytes);
        let (partitions, receiving) = (partitions as usize, Some(receiving.of_lane()));
        let index = new_request(state, lane, partitions, receiving, Some(block))?;
        describe(state, lane, index, (Some(source), tag), bytes);
        Ok((index, Ok(())))
    });
    set_lanes(comm.vci(), id, lanes, made)
}

/// For each partition of a receive the first and the last lane that bring its data.
fn lanes_needed(receiving: &Receiving, sender: Geometry, partitions: u32) -> Box<[(u32, u32)]> {
    let mut needed = vec![(u32::MAX, 0); partitions as usize];
    for number in 0..sender.partitions as usize {
        let lane = RequestLanes::lane_of(sender.partitions, sender.vcis, number);
        for partition in receiving.partitions_of(sender, partitions, number) {
            let (first, last) = &mut needed[partition];
            (*first, *last) = (lane.min(*first), lane.max(*last));
        }
    }
    needed.into()
}

/// Makes a request for each lane, with the guard of its VCI: `make` returns it and whether its messages could be made. The requests made,
/// and the first error.
fn make_lanes(
    comm: &Comm,
    lanes: &Arc<RequestLanes>,
    sent: u32,
    count: u32,
    make: impl Fn(&mut VciState, &Comm, Block) -> Result<(RequestIndex, Result<()>)>,
) -> (Vec<RequestId>, Result<()>) {
    let mut ids = Vec::with_capacity(count as usize);
    for number in 0..count {
        let block = Block {
            lanes: lanes.clone(),
            numbers: RequestLanes::numbers(sent, count, number),
        };
        let made = comm.partition_lane(number).and_then(|lane| {
            let mut guard = lane.vci().enter();
            let (index, made) = make(&mut guard, lane, block)?;
            ids.push(guard.slab.id(index));
            made
        });
        if made.is_err() {
            return (ids, made);
        }
    }
    (ids, Ok(()))
}

/// Gives a request its lanes; releases them if not all could be made.
fn set_lanes(
    vci: &Vci,
    id: RequestId,
    lanes: Arc<RequestLanes>,
    (ids, made): (Vec<RequestId>, Result<()>),
) -> Result<()> {
    if made.is_err() {
        for lane in ids {
            let mut guard = vci.of(lane).enter();
            if let Some(index) = guard.slab.find(lane) {
                guard.let_go(index);
            }
        }
        return made;
    }
    lanes.set_ids(ids.into());
    let mut guard = vci.enter();
    if let Some(index) = guard.slab.find(id)
        && let Some(partitioned) = guard.partitioned(index)
    {
        partitioned.lanes = Some(lanes);
    }
    Ok(())
}
