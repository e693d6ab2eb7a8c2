// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making communicators out of one communicator or group (MPI-5.0, section 7.4.2).
//!
//! Members learn the new context id from the new communicator's first member that has one left in its own stock
//! ([`crate::comm::context`]).

use std::sync::Arc;

use sys::sync::Ordering;

use super::inter;
use crate::call::CallName;
use crate::coll::{self, Collective};
use crate::comm::Comm;
use crate::comm::Process;
use crate::comm::Spread;
use crate::comm::context::PENDING;
use crate::errors::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::request::RequestId;
use crate::task::{block_on, run_collective, spawn_collective};

/// MPI_UNDEFINED as a colour.
pub const UNDEFINED: i32 = -32766;

/// The context id that a member takes for a new communicator of a round's members, if all of them have room for it: the first member that
/// has a number left, so that one member leads as many as it can before the next one does.
///
/// # Errors
/// MPI_ERR_NO_MEM, at all members, when one of them has no room, or all have no number.
pub(super) async fn agree_context(coll: &mut Collective, has_room: bool) -> Result<u32> {
    coll::check::creation(coll).await?;
    loop {
        let own = match (has_room, coll.comm.process.contexts.has_number()) {
            (false, _) => u64::from(coll.rank),
            (true, true) => HAS_NUMBER | u64::from(coll.rank),
            (true, false) => NO_NUMBER,
        };
        let lowest = coll.lowest_word(own).await;
        let mut word = [0];
        if coll.rank == 0 {
            word = [match lowest {
                HAS_NUMBER => take_word(coll),
                full if full < HAS_NUMBER => FULL | full,
                other => other,
            }];
        }
        coll.bcast_words(&mut word, 0).await;
        if word[0] & !u64::from(u32::MAX) == HAS_NUMBER {
            let leader = word[0] as u32;
            word = [0];
            if coll.rank == leader {
                word = [take_word(coll)];
            }
            coll.bcast_words(&mut word, leader).await;
        }
        match word[0] {
            TAKEN => {}
            NO_NUMBER => return Err(coll.comm.process.contexts.used_up(coll.size)),
            word if word & FULL != 0 => return Err(full_elsewhere((word & !FULL) as usize)),
            word => return Ok(word as u32),
        }
    }
}

/// A context id of this member. Another thread may have taken the last one since this member sent [`HAS_NUMBER`].
fn take_word(coll: &Collective) -> u64 {
    let context = coll.comm.process.contexts.take();
    context.map_or(TAKEN, u64::from)
}

/// [`agree_context`] where all members also have to spread messages alike; `own` is [`spread_word`] of this one.
async fn agree_context_and_spread(
    coll: &mut Collective,
    has_room: bool,
    own: Option<u64>,
) -> Result<u32> {
    let Some(own) = own else {
        return agree_context(coll, has_room).await;
    };
    let lowest = coll.lowest_word(own).await;
    let highest = !coll.lowest_word(!own).await;
    let mut is_same = [u64::from(lowest == highest && highest != WRONG_SPREAD)];
    coll.bcast_words(&mut is_same, 0).await;
    if is_same == [0] {
        let expected = "the same valid hints rankpoint_num_vcis and others at all ranks";
        let value = "of another value at some rank";
        let error = Error::argument(ErrorClass::ERR_INFO_VALUE, "info", value, expected);
        return Err(error);
    }
    agree_context(coll, has_room).await
}

/// Told instead of a spread by a member whose hints are wrong.
const WRONG_SPREAD: u64 = u64::MAX;

fn spread_word(spread: &Result<Option<Spread>>) -> u64 {
    match spread {
        Err(_) => WRONG_SPREAD,
        Ok(spread) => spread.map_or(0, Spread::word),
    }
}

/// With a rank: it has room for another communicator, and a number for it.
const HAS_NUMBER: u64 = 1 << 32;
/// With a rank: it has no room for another communicator.
const FULL: u64 = 1 << 63;
/// Sent instead of a context id by a member that has no number any more.
const TAKEN: u64 = u64::MAX - 2;
/// Sent instead of a context id by a member that has room, but no number left.
pub(super) const NO_NUMBER: u64 = u64::MAX - 1;
/// Sent instead of a context id by a member that has no room.
pub(super) const NO_ROOM: u64 = u64::MAX;

/// The context id that this member proposes for a new communicator, or why it has none.
pub(super) fn proposal(process: &Process) -> u64 {
    match process.contexts.has_room() {
        true => process.contexts.take().map_or(NO_NUMBER, u64::from),
        false => NO_ROOM,
    }
}

/// Takes back what this member has proposed, unless it was chosen.
pub(super) fn give_back_unless(process: &Process, chosen: Option<u32>, proposal: u64) {
    if let Ok(own) = u32::try_from(proposal)
        && chosen != Some(own)
    {
        process.contexts.give_back(own);
    }
}

/// The first proposal of some ranks that is a context id; `words` has `stride` words of each rank, of which it is one.
pub(super) fn first_proposal(
    words: &[u64],
    stride: usize,
    word: usize,
    ranks: &[usize],
) -> Option<u32> {
    let mut proposals = ranks.iter().map(|&rank| words[stride * rank + word]);
    proposals.find_map(|proposal| u32::try_from(proposal).ok())
}

/// The error of all members where one has no room for another communicator.
#[cold]
pub(super) fn full_elsewhere(rank: usize) -> Error {
    let text = format!("rank {rank} can hold no more communicators");
    Error::new(ErrorClass::ERR_NO_MEM, text)
}

/// A duplicate with the attributes that their copy callbacks keep; it can be used when its members have agreed
/// ([`agree_on_twin`]).
fn new_dup(parent: &Arc<Comm>) -> Result<Arc<Comm>> {
    let object = parent.handle.load(Ordering::Relaxed);
    let copies = parent.attributes.copies(object)?;
    let comm = new_twin(parent)?;
    comm.attributes.adopt(copies);
    comm.inherit_hints(parent);
    Ok(comm)
}

/// A communicator of the same members, which have no context for it yet, without attributes.
fn new_twin(parent: &Arc<Comm>) -> Result<Arc<Comm>> {
    let (process, member) = (parent.process, parent.member());
    let intra = Comm::new(process, member, PENDING, parent.group().clone())?;
    let comm = match parent.remote_group() {
        Some(remote) => Comm::new_inter(intra, PENDING, remote.clone())?,
        None => intra,
    };
    comm.inherit_error_handler(parent);
    if let Some(topology) = parent.topology() {
        comm.set_topology(topology.clone());
    }
    Ok(comm)
}

/// Gives a twin its context, if all members have room for it.
async fn agree_on_twin(
    parent: Arc<Comm>,
    made: Arc<Comm>,
    has_room: bool,
    spread: Option<u64>,
) -> Result<()> {
    if let (Some(local), Some(inner)) = (parent.local(), made.local()) {
        let (context, inner_context) = inter::agree_contexts(&parent, local, has_room).await?;
        // SAFETY: nobody uses it before its members have agreed.
        unsafe {
            inner.set_context(inner_context)?;
            made.set_context(context)?;
        }
        made.tell_origin("dup", &parent);
        return Ok(());
    }
    let mut coll = Collective::new(parent.clone());
    let context = agree_context_and_spread(&mut coll, has_room, spread).await?;
    // SAFETY: as above.
    unsafe { made.set_context(context) }?;
    made.tell_origin("dup", &parent);
    coll.outcome()
}

/// Agrees on a twin; it is gone if that fails.
fn settle_twin(
    parent: &Arc<Comm>,
    made: Arc<Comm>,
    spread: Option<u64>,
    call: &'static str,
) -> Result<Arc<Comm>> {
    let has_room = parent.process.contexts.has_room();
    let agreement = agree_on_twin(parent.clone(), made.clone(), has_room, spread);
    match run_collective(parent, call, agreement) {
        Ok(()) => Ok(made),
        Err(error) => {
            made.free();
            Err(parent.annotate(error))
        }
    }
}

/// A communicator of the same members that the program does not see, for operations whose order is not that of the other
/// collectives. In reports and for error handlers it is its parent.
///
/// # Errors
/// When there is no context left.
pub(crate) fn hidden(parent: &Arc<Comm>, call: &'static str) -> Result<Arc<Comm>> {
    parent.has_plans.store(true, Ordering::Relaxed);
    let comm = new_twin(parent)?;
    comm.set_name(&parent.name());
    comm.handle
        .store(parent.handle.load(Ordering::Relaxed), Ordering::Relaxed);
    let comm = settle_twin(parent, comm, None, call)?;
    if let Some(origin) = parent.process.told_of(parent) {
        parent
            .process
            .tell_of(&comm, &origin, !parent.name().is_empty());
    }
    Ok(comm)
}

/// A communicator of the same members that the program does not see, of an object that is made over them.
///
/// # Errors
/// As for [`dup`], but for the callbacks.
pub(crate) fn twin(parent: &Arc<Comm>, call: &'static str) -> Result<Arc<Comm>> {
    let comm = settle_twin(parent, new_twin(parent)?, None, call)?;
    comm.tell_origin(call, parent);
    Ok(comm)
}

/// A duplicate with its own context and the attributes that their copy callbacks keep (MPI_Comm_dup).
///
/// # Errors
/// Of a copy callback; then no communicator is made. MPI_ERR_NO_MEM, at all ranks, when one of them can hold no more communicators.
pub fn dup(parent: &Arc<Comm>, call: &'static str) -> Result<Arc<Comm>> {
    settle_twin(parent, new_dup(parent)?, None, call)
}

/// As [`dup`]; all members give what [`Spread::read`] returned for their hints (MPI_Comm_dup_with_info).
///
/// # Errors
/// MPI_ERR_INFO_VALUE, at all members, when one of them gives an error or another value.
pub fn dup_spread(
    parent: &Arc<Comm>,
    spread: Result<Option<Spread>>,
    call: &'static str,
) -> Result<Arc<Comm>> {
    let word = spread_word(&spread);
    let made = settle_twin(parent, new_dup(parent)?, Some(word), call);
    let (spread, made) = (spread?, made?);
    if let Some(spread) = spread {
        made.spread_over_vcis(spread);
    }
    Ok(made)
}

/// As [`dup`], with a request; the communicator can be used when that is complete (MPI_Comm_idup). If a rank can hold no more, all
/// ranks' requests fail.
///
/// # Errors
/// Of a copy callback; when no request is free.
pub fn idup(parent: &Arc<Comm>) -> Result<(Arc<Comm>, RequestId)> {
    let call = CallName::of("MPI_Comm_idup");
    let announce = |_: &Arc<Comm>| parent.process.contexts.has_room();
    idup_announced(parent, call, None, announce, |_| ())
}

/// As [`idup`], or with a `spread` as [`dup_spread`]; the communicator is shown to `announce` before anything of it is under way, which
/// says whether there is room for it. If it fails later, `withdraw` gets it, and it is gone.
///
/// # Errors
/// As for [`idup`].
pub fn idup_announced(
    parent: &Arc<Comm>,
    call: CallName,
    spread: Option<Result<Option<Spread>>>,
    announce: impl FnOnce(&Arc<Comm>) -> bool,
    withdraw: impl FnOnce(&Arc<Comm>) + 'static,
) -> Result<(Arc<Comm>, RequestId)> {
    let _entered = parent.enter_collective(call.name().unwrap_or("MPI_Comm_idup"))?;
    let comm = new_dup(parent)?;
    let word = spread.as_ref().map(spread_word);
    let spread = spread.unwrap_or(Ok(None));
    if let Ok(Some(spread)) = spread {
        comm.spread_over_vcis(spread);
    }
    let has_room = announce(&comm);
    let (agreement, made) = (
        agree_on_twin(parent.clone(), comm.clone(), has_room, word),
        comm.clone(),
    );
    let id = spawn_collective(parent, call, async move {
        let outcome = agreement.await;
        // The error of this member's hints says more than that they differ.
        let outcome = spread.and(outcome);
        if outcome.is_err() {
            withdraw(&made);
            made.free();
        }
        outcome
    })?;
    Ok((comm, id))
}

/// A colour and a key as one word.
pub(super) fn color_word(color: i32, key: i32) -> u64 {
    u64::from(color as u32) << 32 | u64::from(key as u32)
}

/// The ranks whose word has `color`, ordered by key and then by rank.
pub(super) fn ranks_of_color(words: impl Iterator<Item = u64>, color: i32) -> Vec<usize> {
    let mut chosen: Vec<(i32, usize)> = words
        .enumerate()
        .filter(|&(_, word)| (word >> 32) as u32 as i32 == color)
        .map(|(rank, word)| (word as u32 as i32, rank))
        .collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|(_, rank)| rank).collect()
}

pub(super) fn members_at(group: &Group, ranks: &[usize]) -> Group {
    let members: Vec<u32> = ranks.iter().map(|&rank| group.members()[rank]).collect();
    Group::new(members)
}

/// One communicator per colour, ordered by key and then by rank (MPI_Comm_split); `None` for MPI_UNDEFINED.
///
/// # Errors
/// MPI_ERR_ARG for a negative colour other than MPI_UNDEFINED.
pub fn split(
    parent: &Arc<Comm>,
    color: i32,
    key: i32,
    call: &'static str,
) -> Result<Option<Arc<Comm>>> {
    if color < 0 && color != UNDEFINED {
        return Err(parent.annotate(Error::argument(
            ErrorClass::ERR_ARG,
            "color",
            color,
            "0 or more, or MPI_UNDEFINED",
        )));
    }
    if let Some(local) = parent.local() {
        return inter::split(parent, local, color, key, call);
    }
    let process = parent.process;
    // A rank that can make none says so to all, so that no one waits for it in the next call.
    let own = match color {
        UNDEFINED => NO_NUMBER,
        _ => proposal(process),
    };
    let words = [color_word(color, key), own];
    let all = coll::gather_words(parent.clone(), &words);
    let all = run_collective(parent, call, all)?;
    let full = all.chunks_exact(2).position(|pair| pair[1] == NO_ROOM);
    if let Some(rank) = full {
        give_back_unless(process, None, own);
        return Err(parent.annotate(full_elsewhere(rank)));
    }
    if color == UNDEFINED {
        return Ok(None);
    }
    let ranks = ranks_of_color(all.chunks_exact(2).map(|pair| pair[0]), color);
    let context = first_proposal(&all, 2, 1, &ranks);
    give_back_unless(process, context, own);
    let Some(context) = context else {
        return Err(parent.annotate(process.contexts.used_up(ranks.len() as u32)));
    };
    let group = members_at(parent.group(), &ranks);
    let comm = Comm::new(process, parent.member(), context, group)?;
    comm.inherit_error_handler(parent);
    comm.tell_origin(call, parent);
    Ok(Some(comm))
}

/// A communicator for a subgroup of `parent`, called by all of `parent`, whose groups are the same or disjoint
/// (MPI_Comm_create).
///
/// # Errors
/// MPI_ERR_GROUP when the group is no subset, or when its members named different groups.
pub fn create(parent: &Arc<Comm>, group: &Group, call: &'static str) -> Result<Option<Arc<Comm>>> {
    ranks_in(parent, group)?;
    // Members of one group share the colour that is their first member's rank; keys keep the group's order.
    let me = group.rank_of(parent.member());
    let (color, key) = match (me, group.members().first()) {
        (Some(key), Some(&first)) => {
            let color = if parent.local().is_some() {
                0
            } else {
                parent.group().rank_of(first).unwrap_or(0)
            };
            (color as i32, key as i32)
        }
        _ => (UNDEFINED, 0),
    };
    let made = split(parent, color, key, call)?;
    match made {
        Some(comm) if comm.group() != group => {
            let (absent, outsiders) = (
                group.difference(comm.group()),
                comm.group().difference(group),
            );
            comm.free();
            let value = match (absent.members(), outsiders.members()) {
                ([], []) => "in another order at some of its members".to_owned(),
                ([], outsiders) => format!("smaller than at ranks {outsiders:?} of the job"),
                (absent, _) => format!("not that which ranks {absent:?} of the job, in it, named"),
            };
            let expected = "the same group at all of its members";
            let error = Error::argument(ErrorClass::ERR_GROUP, "group", value, expected);
            Err(parent.annotate(error))
        }
        made => Ok(made),
    }
}

/// The ranks in `parent` of the members of a group.
fn ranks_in(parent: &Comm, group: &Group) -> Result<Vec<u32>> {
    parent.group().ranks_of(group).map_err(|outsider| {
        let capacity = parent.process.capacity();
        let value = match outsider / capacity {
            0 => format!("a group with rank {outsider} of the job"),
            _ => format!(
                "a group with an endpoint of rank {} of the job",
                outsider % capacity
            ),
        };
        parent.annotate(Error::argument(
            ErrorClass::ERR_GROUP,
            "group",
            value,
            "a subset of the communicator",
        ))
    })
}

/// A communicator for a subgroup of `parent`, called by its members only; the tag tells calls apart that are made at the same
/// time (MPI_Comm_create_group).
///
/// # Errors
/// MPI_ERR_GROUP when the group is no subset, MPI_ERR_TAG for a negative tag.
pub fn create_group(
    parent: &Arc<Comm>,
    group: &Group,
    tag: i32,
    call: &'static str,
) -> Result<Option<Arc<Comm>>> {
    let ranks = ranks_in(parent, group)?;
    crate::p2p::check_tag(tag, false)?;
    let made = meet(parent, (group, ranks), tag as u32, call)?;
    if let Some(comm) = &made {
        comm.inherit_error_handler(parent);
        comm.tell_origin(call, parent);
    }
    Ok(made)
}

/// A communicator for a group, called by its members, which need not share a communicator; the text tells calls apart that are
/// made at the same time (MPI_Comm_create_from_group).
///
/// # Errors
/// MPI_ERR_GROUP for a group with endpoints, MPI_ERR_NO_MEM when no context is left.
pub fn create_from_group(
    process: &'static Process,
    group: &Group,
    text: &str,
    call: &'static str,
) -> Result<Option<Arc<Comm>>> {
    let everyone = process.bootstrap();
    let ranks = ranks_in(everyone, group)?;
    meet(everyone, (group, ranks), hash(text), call)
}

/// 31 bits of a text (FNV-1a).
pub(super) fn hash(text: &str) -> u32 {
    let mix = |hash: u32, &byte: &u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.as_bytes().iter().fold(0x811c_9dc5, mix) >> 1
}

/// The members of `group`, which have these ranks in `parent`, meet there and agree on a communicator; `None` at a rank that is no member.
fn meet(
    parent: &Arc<Comm>,
    (group, ranks): (&Group, Vec<u32>),
    tag: u32,
    call: &'static str,
) -> Result<Option<Arc<Comm>>> {
    let process = parent.process;
    let Some(me) = group.rank_of(parent.member()) else {
        return Ok(None);
    };
    let mut coll = Collective::among(parent.clone(), tag, me, ranks.into());
    let context = block_on(parent.vci(), call, async {
        let context = agree_context(&mut coll, process.contexts.has_room()).await?;
        coll.outcome().map(|()| context)
    })?;
    Comm::new(process, parent.member(), context, group.clone()).map(Some)
}
