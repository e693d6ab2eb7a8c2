// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making partitioned requests (MPI_Psend_init, MPI_Precv_init).

use fabric::board::kind as record_kind;

use super::lanes;
use super::messages::{
    CHANNELS, OPENING_BYTES, OPENING_WORDS, data_word, note_part, opening_word, part_of, receiving,
};
use crate::allocate;
use crate::comm::Comm;
use crate::completion;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{LinkIndex, Rank};
use crate::p2p::{
    ANY_SOURCE_RANK, ANY_TAG_VALUE, Memory, Mode, PROC_NULL, check_rank, check_tag, new_receive,
    new_send, post_operation, send_at_once,
};
use crate::protocol;
use crate::request::{
    Block, Geometry, Partitioned, Receiving, RequestId, RequestIndex, Role, flag,
};
use crate::vci::VciState;
use crate::vci::matching::Key;

/// Makes a partitioned send to rank `dest` (MPI_Psend_init). `memory` is that of all partitions, which have the same length. They are
/// spread over `vcis` VCIs, or over as many as there are partitions or the communicator can use.
///
/// # Errors
/// MPI_ERR_ARG, MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_NO_MEM.
///
/// # Safety
/// The memory stays valid while the request exists, and the bytes of a partition unchanged from when it is ready until the request is
/// complete.
pub unsafe fn send_init(
    comm: &Comm,
    memory: Memory<'_>,
    partitions: i32,
    dest: i32,
    tag: i32,
    vcis: u32,
) -> Result<RequestId> {
    let partitions = check_partitions(partitions)?;
    let dest = check_envelope(comm, "dest", dest, tag)?;
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_request(state, comm, partitions as usize, None, None)?;
    describe(state, comm, index, (dest, tag), memory.bytes);
    let id = state.slab.id(index);
    let Some(dest) = dest else {
        return Ok(id);
    };
    let geometry = Geometry {
        channel: comm.process().next_channel(CHANNELS),
        partitions,
        bytes: memory.bytes.checked_div(partitions as usize).unwrap_or(0),
        vcis: comm.partition_vcis(vcis.min(partitions)),
    };
    let mut made = open(state, comm, (dest, tag), geometry);
    if made.is_ok() && geometry.vcis == 1 {
        made = make_sends(state, comm, index, dest, geometry, memory);
    }
    if let Err(error) = made {
        state.let_go(index);
        return Err(error);
    }
    drop(guard);
    if geometry.vcis > 1
        && let Err(error) = lanes::make_send_lanes(comm, id, (dest, tag), geometry, memory)
    {
        completion::let_go(comm.vci(), &mut { id })?;
        return Err(error);
    }
    Ok(id)
}

/// Makes a partitioned receive from rank `source` (MPI_Precv_init). `memory` is that of all partitions, which have the same length.
///
/// # Errors
/// MPI_ERR_ARG, MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_NO_MEM.
///
/// # Safety
/// The memory stays valid while the request exists. While it is active, a partition is not touched before it has arrived.
pub unsafe fn recv_init(
    comm: &Comm,
    memory: Memory<'_>,
    partitions: i32,
    source: i32,
    tag: i32,
) -> Result<RequestId> {
    let partitions = check_partitions(partitions)?;
    let source = check_envelope(comm, "source", source, tag)?;
    let receiving = Receiving {
        opening: None,
        sender: None,
        bytes: memory.bytes,
        base: memory.base,
        layout: memory.layout.map(|(layout, count)| (layout.clone(), count)),
        packed: None,
    };
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_request(state, comm, partitions as usize, Some(receiving), None)?;
    describe(state, comm, index, (source, tag), memory.bytes);
    if let Some(source) = source
        && let Err(error) = expect_opening(state, comm, index, (source, tag))
    {
        state.let_go(index);
        return Err(error);
    }
    Ok(state.slab.id(index))
}

fn check_partitions(partitions: i32) -> Result<u32> {
    u32::try_from(partitions).map_err(|_| {
        let expected = format!("0..{}", i32::MAX);
        Error::argument(ErrorClass::ERR_ARG, "partitions", partitions, expected)
    })
}

/// Refuses wildcards, and ranks and tags that are none; `None` for MPI_PROC_NULL.
fn check_envelope(
    comm: &Comm,
    argument: &'static str,
    rank: i32,
    tag: i32,
) -> Result<Option<Rank>> {
    let wild = match (argument, rank, tag) {
        ("source", ANY_SOURCE_RANK, _) => Some((ErrorClass::ERR_RANK, "source", "MPI_ANY_SOURCE")),
        ("source", _, ANY_TAG_VALUE) => Some((ErrorClass::ERR_TAG, "tag", "MPI_ANY_TAG")),
        _ => None,
    };
    if let Some((class, argument, value)) = wild {
        let expected = "no wildcard: a partitioned receive has one sender and one tag";
        return Err(comm.annotate(Error::argument(class, argument, value, expected)));
    }
    check_tag(tag, false)?;
    if rank == PROC_NULL {
        return Ok(None);
    }
    check_rank(comm, argument, rank).map(Some)
}

/// An inactive request without messages, a lane if it has a block.
pub(super) fn new_request(
    state: &mut VciState,
    comm: &Comm,
    partitions: usize,
    receiving: Option<Receiving>,
    block: Option<Block>,
) -> Result<RequestIndex> {
    let mut waiting = allocate::list(partitions)?;
    waiting.resize(partitions, 0);
    let index = state.slab.take(Role::Partitioned, record_kind::INACTIVE)?;
    // SAFETY: the caller holds the guard of the communicator's VCI (it has its state).
    let owner = unsafe { comm.hold_operation() };
    let entry = state.slab.entry_mut(index);
    entry.owner = owner;
    entry.record.flags |= flag::PERSISTENT;
    entry.extra.get_or_insert_default().partitioned = Some(Box::new(Partitioned {
        partitions: partitions as u32,
        messages: Vec::new(),
        outstanding: 0,
        waiting,
        receiving,
        lanes: None,
        block,
    }));
    Ok(index)
}

/// Notes what reports tell of a request.
pub(super) fn describe(
    state: &mut VciState,
    comm: &Comm,
    index: RequestIndex,
    (rank, tag): (Option<Rank>, i32),
    bytes: usize,
) {
    let entry = state.slab.entry_mut(index);
    let peer = rank.map_or(LinkIndex::NONE, |rank| comm.peer(rank));
    entry.partitioned_mut().peer = peer;
    let record = &mut entry.record;
    (record.peer, record.bytes) = (peer, bytes as u64);
    record.match_word = comm.match_base() | tag as u64;
}

/// Tells the receiver the geometry of a new send.
fn open(
    state: &mut VciState,
    comm: &Comm,
    (dest, tag): (Rank, i32),
    geometry: Geometry,
) -> Result<()> {
    let words: [u64; OPENING_WORDS] = [
        geometry.channel.into(),
        geometry.partitions.into(),
        geometry.bytes as u64,
        geometry.vcis.into(),
    ];
    let mut held: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let opening = Memory::contiguous(held.as_mut_ptr(), OPENING_BYTES);
    let word = opening_word(comm, tag);
    // SAFETY: `held` is readable.
    let is_sent =
        !state.is_traced() && unsafe { send_at_once(state, opening, comm.peer(dest), word) };
    if !is_sent {
        let index = new_send(state, comm, opening, dest, word, Mode::Standard)?;
        let entry = state.slab.entry_mut(index);
        entry.record.flags |= flag::FREED;
        entry.extra.get_or_insert_default().held = held;
        if let Err(error) = protocol::start_send(state, index) {
            state.retire(index);
            return Err(error);
        }
    }
    Ok(())
}

/// Makes an entry for each message of a send, or of a lane of it, which is one partition. `memory` is that of all partitions.
pub(super) fn make_sends(
    state: &mut VciState,
    comm: &Comm,
    index: RequestIndex,
    dest: Rank,
    geometry: Geometry,
    memory: Memory<'_>,
) -> Result<()> {
    let numbers = state.partitioned(index).map(|it| it.numbers(geometry));
    let numbers = numbers.unwrap_or_default();
    let mut messages = allocate::list(numbers.len())?;
    for number in numbers {
        let word = data_word(geometry.channel, number);
        let made = part_of(memory, number * geometry.bytes, geometry.bytes)
            .and_then(|memory| new_send(state, comm, memory, dest, word, Mode::Standard));
        note_part(state, index, number, made, &mut messages)?;
    }
    if let Some(partitioned) = state.partitioned(index) {
        partitioned.messages = messages;
    }
    Ok(())
}

/// Posts the receive of the opening of a receive's sender.
fn expect_opening(
    state: &mut VciState,
    comm: &Comm,
    index: RequestIndex,
    (source, tag): (Rank, i32),
) -> Result<()> {
    let mut held = vec![0; OPENING_BYTES];
    let memory = Memory::contiguous(held.as_mut_ptr(), OPENING_BYTES);
    let opening = new_receive(state, comm, memory)?;
    let entry = state.slab.entry_mut(opening);
    entry.extra.get_or_insert_default().held = held;
    let key = Key {
        word: opening_word(comm, tag),
        peer: comm.peer(source),
    };
    post_operation(state, opening, key);
    let id = state.slab.id(opening);
    if let Some(receiving) = receiving(state, index) {
        receiving.opening = Some(id);
    }
    Ok(())
}
