// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intercommunicators (MPI-5.0, section 7.6): two groups, each of which talks to the other.
//!
//! Each side keeps an intracommunicator of its own group for its share of the agreements. What the sides tell each other goes
//! through one leader each, which then tells its group.

use std::sync::Arc;

use super::members as create;
use super::members::{
    NO_ROOM, agree_context, color_word, first_proposal, full_elsewhere, give_back_unless,
    members_at, proposal, ranks_of_color,
};
use crate::coll::{self, Collective};
use crate::comm::Comm;
use crate::comm::Process;
use crate::errors::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::task::run_collective;

/// How a leader reaches the other: a round on a communicator that both are in, or on the intercommunicator, and the other's
/// rank there.
struct Bridge {
    coll: Collective,
    remote_leader: u32,
}

/// The words of the other side's leader, at every member of this side. The leader has the bridge; `words` are its own.
async fn exchange(
    side: &mut Collective,
    leader: u32,
    bridge: Option<Bridge>,
    words: &[u64],
) -> Result<Vec<u64>> {
    let mut length = [0];
    let mut remote = Vec::new();
    let mut outcome = Ok(());
    if let Some(mut bridge) = bridge {
        let (coll, partner) = (&mut bridge.coll, bridge.remote_leader);
        let own_length = [words.len() as u64];
        coll.exchange_words(&own_length, &mut length, partner).await;
        remote.resize(length[0] as usize, 0);
        coll.exchange_words(words, &mut remote, partner).await;
        outcome = bridge.coll.outcome();
    }
    side.bcast_words(&mut length, leader).await;
    remote.resize(length[0] as usize, 0);
    side.bcast_words(&mut remote, leader).await;
    outcome.map(|()| remote)
}

/// An intercommunicator of the groups of two leaders' communicators (MPI_Intercomm_create). `peer` is significant at the
/// local leader: a communicator that both leaders are in, and the other leader's rank there; or why there is none, which the other
/// members learn.
///
/// # Errors
/// MPI_ERR_RANK for a leader outside its communicator, MPI_ERR_COMM when the groups overlap.
pub fn create(
    local: &Arc<Comm>,
    local_leader: i32,
    peer: Option<Result<(Arc<Comm>, i32)>>,
    tag: i32,
    call: &'static str,
) -> Result<Arc<Comm>> {
    let leader = check_leader("local_leader", local_leader, local.size())?;
    let peer = peer.filter(|_| local.rank() as u32 == leader);
    let bridge = peer.map(|peer| bridge_over(peer?, tag));
    let made = connect(local.clone(), leader, bridge);
    let comm = run_collective(local, call, made)?;
    comm.tell_origin(call, local);
    comm.inherit_error_handler(local);
    Ok(comm)
}

/// The local leader's way to the other one.
fn bridge_over((comm, rank): (Arc<Comm>, i32), tag: i32) -> Result<Bridge> {
    crate::p2p::check_tag(tag, false)?;
    let remote_leader = check_leader("remote_leader", rank, comm.peers as i32)?;
    if comm.addressed_member(remote_leader) == comm.member() {
        let (value, expected) = (
            format!("{rank}, the local leader itself"),
            "the other leader",
        );
        let class = ErrorClass::ERR_RANK;
        return Err(Error::argument(class, "remote_leader", value, expected));
    }
    Ok(Bridge {
        coll: Collective::between(comm, tag as u32),
        remote_leader,
    })
}

/// An intercommunicator of two groups whose members need share no communicator (MPI_Intercomm_create_from_groups). The
/// groups are given at all members; the text tells calls apart that are made at the same time.
///
/// # Errors
/// MPI_ERR_RANK for a leader outside its group, MPI_ERR_GROUP when this process is not in the local group or the groups overlap.
pub fn create_from_groups(
    process: &'static Process,
    (local_group, local_leader): (&Group, i32),
    (remote_group, remote_leader): (&Group, i32),
    text: &str,
    call: &'static str,
) -> Result<Arc<Comm>> {
    let leader = check_leader("local_leader", local_leader, local_group.size() as i32)?;
    let remote = check_leader("remote_leader", remote_leader, remote_group.size() as i32)?;
    let common = local_group.intersection(remote_group);
    if let Some(first) = common.members().first() {
        let value = format!("a group with rank {first} of the job, which is in 'local_group', too");
        let expected = "groups without a common process";
        let class = ErrorClass::ERR_GROUP;
        return Err(Error::argument(class, "remote_group", value, expected));
    }
    let Some(local) = create::create_from_group(process, local_group, text, call)? else {
        let expected = "a group with this process";
        let value = format!("{:?}", local_group.members());
        return Err(Error::argument(
            ErrorClass::ERR_GROUP,
            "local_group",
            value,
            expected,
        ));
    };
    let bridge = (local.rank() as u32 == leader).then(|| {
        Ok(Bridge {
            coll: Collective::between(process.bootstrap().clone(), create::hash(text)),
            remote_leader: remote_group.members()[remote as usize],
        })
    });
    let made = connect(local.clone(), leader, bridge);
    let comm = run_collective(&local, call, made);
    local.free();
    comm
}

fn check_leader(argument: &'static str, rank: i32, size: i32) -> Result<u32> {
    if (0..size).contains(&rank) {
        return Ok(rank as u32);
    }
    let expected = format!("0..{}", size - 1);
    Err(Error::argument(
        ErrorClass::ERR_RANK,
        argument,
        rank,
        expected,
    ))
}

/// Told by a leader that has no bridge, with the class of its error, instead of a proposal.
const NO_BRIDGE: u64 = 1 << 62;

async fn connect(
    local: Arc<Comm>,
    leader: u32,
    bridge: Option<Result<Bridge>>,
) -> Result<Arc<Comm>> {
    let process = local.process;
    let mut side = Collective::new(local.clone());
    let contexts = agree_on_two(&mut side, process.contexts.has_room()).await;
    let give_back = || {
        for context in contexts.iter().flatten() {
            process.contexts.give_back(*context);
        }
    };
    // A side without context ids says so, because the other one waits for it.
    let proposal = contexts
        .as_ref()
        .map_or(NO_ROOM, |&[_, own]| u64::from(own));
    let mut words = vec![proposal];
    if let Some(Err(error)) = &bridge {
        words[0] = NO_BRIDGE | error.class().0 as u64;
    } else if bridge.is_some() {
        words.extend(local.group().members().iter().map(|&m| u64::from(m)));
    }
    let mut first = [words[0]];
    side.bcast_words(&mut first, leader).await;
    if first[0] & !u64::from(u32::MAX) == NO_BRIDGE {
        give_back();
        let class = ErrorClass(first[0] as i32);
        let text = format!("the local leader, rank {leader}, got an error, which it tells");
        return Err(bridge
            .and_then(Result::err)
            .unwrap_or_else(|| Error::new(class, text)));
    }
    let bridge = bridge.and_then(Result::ok);
    let remote = exchange(&mut side, leader, bridge, &words).await;
    let remote = remote.inspect_err(|_| give_back())?;
    let [inner, _] = contexts?;
    side.outcome()?;
    let inner = Comm::new(process, local.member(), inner, local.group().clone())?;
    let members: Vec<u32> = remote[1..].iter().map(|&word| word as u32).collect();
    let remote_group = Group::new(members);
    if local.group().intersection(&remote_group).size() > 0 {
        inner.free();
        let expected = "groups without a common process";
        let value = "the group of the other side";
        return Err(Error::argument(
            ErrorClass::ERR_COMM,
            "peer_comm",
            value,
            expected,
        ));
    }
    let context = settle(process, proposal, remote[0]).inspect_err(|_| inner.free())?;
    Comm::new_inter(inner, context, remote_group)
}

/// Of the two sides' proposals both take the lower one; the other goes back to whose it was.
///
/// # Errors
/// MPI_ERR_NO_MEM when a side has none, and then at both.
fn settle(process: &Process, own: u64, remote: u64) -> Result<u32> {
    let has_none = own.max(remote) == NO_ROOM;
    if own != NO_ROOM && (has_none || own > remote) {
        process.contexts.give_back(own as u32);
    }
    if has_none {
        let text = "a rank of one of the groups can hold no more communicators";
        return Err(Error::new(ErrorClass::ERR_NO_MEM, text));
    }
    Ok(own.min(remote) as u32)
}

/// The bridge of an intercommunicator: the first ranks of both groups.
fn own_bridge(inter: &Arc<Comm>, local: &Comm) -> Option<Bridge> {
    // Every member draws, so that the tags of later collectives agree.
    let tag = inter.next_collective();
    (local.rank() == 0).then(|| Bridge {
        coll: Collective::between(inter.clone(), tag),
        remote_leader: 0,
    })
}

/// The contexts of a duplicate and of its local communicator.
pub(super) async fn agree_contexts(
    inter: &Arc<Comm>,
    local: &Arc<Comm>,
    has_room: bool,
) -> Result<(u32, u32)> {
    let contexts = &inter.process.contexts;
    let bridge = own_bridge(inter, local);
    let mut side = Collective::new(local.clone());
    let two = agree_on_two(&mut side, has_room).await;
    let proposal = two.as_ref().map_or(NO_ROOM, |&[_, own]| u64::from(own));
    let remote = exchange(&mut side, 0, bridge, &[proposal]).await;
    let [inner, own] = two?;
    let remote = remote.inspect_err(|_| {
        contexts.give_back(inner);
        contexts.give_back(own);
    })?;
    let context = settle(inter.process, proposal, remote[0]);
    let context = context.inspect_err(|_| contexts.give_back(inner))?;
    side.outcome()?;
    Ok((context, inner))
}

/// Context ids for a communicator of this side, and for the intercommunicator, as this side proposes it.
async fn agree_on_two(side: &mut Collective, has_room: bool) -> Result<[u32; 2]> {
    let inner = agree_context(side, has_room).await?;
    let own = agree_context(side, has_room).await;
    own.map(|own| [inner, own])
        .inspect_err(|_| side.comm.process.contexts.give_back(inner))
}

/// One intercommunicator per colour that both sides have (MPI_Comm_split).
pub(super) fn split(
    inter: &Arc<Comm>,
    local: &Arc<Comm>,
    color: i32,
    key: i32,
    call: &'static str,
) -> Result<Option<Arc<Comm>>> {
    let process = inter.process;
    // A rank that can make none says so to all, so that no one waits for it in the next call.
    let own = [proposal(process), proposal(process)];
    let words = [color_word(color, key), own[0], own[1]];
    let bridge = own_bridge(inter, local);
    let (mine, theirs) = run_collective(inter, call, async {
        let mine = coll::gather_words(local.clone(), &words).await?;
        let mut side = Collective::new(local.clone());
        let theirs = exchange(&mut side, 0, bridge, &mine).await?;
        side.outcome().map(|()| (mine, theirs))
    })?;
    let full = |words: &[u64]| {
        let mut ranks = words.chunks_exact(3);
        ranks.position(|three| three[1..].contains(&NO_ROOM))
    };
    if let Some(rank) = full(&mine).or_else(|| full(&theirs)) {
        own.iter()
            .for_each(|&own| give_back_unless(process, None, own));
        return Err(inter.annotate(full_elsewhere(rank)));
    }
    let colors = |words: &[u64]| {
        let colors = words.chunks_exact(3).map(|three| three[0]);
        ranks_of_color(colors, color)
    };
    let (ours, others) = (colors(&mine), colors(&theirs));
    if color == create::UNDEFINED || others.is_empty() {
        own.iter()
            .for_each(|&own| give_back_unless(process, None, own));
        return Ok(None);
    }
    let of_both = |word| {
        [(&mine, &ours), (&theirs, &others)]
            .map(|(words, ranks)| first_proposal(words, 3, word, ranks))
    };
    let shared = of_both(1).into_iter().flatten().min();
    let inner = of_both(2);
    give_back_unless(process, shared, own[0]);
    give_back_unless(process, inner[0], own[1]);
    // Both sides find the same.
    let (Some(context), [Some(inner_context), Some(_)]) = (shared, inner) else {
        let members = ours.len() as u32;
        return Err(inter.annotate(process.contexts.used_up(members)));
    };
    let group = members_at(local.group(), &ours);
    let own = Comm::new(process, local.member(), inner_context, group)?;
    let remote = inter.remote_group().map(|group| members_at(group, &others));
    let comm = Comm::new_inter(own, context, remote.unwrap_or_else(|| Group::new([])))?;
    comm.inherit_error_handler(inter);
    comm.tell_origin(call, inter);
    Ok(Some(comm))
}

/// Both groups as one intracommunicator, the side that says `high` last (MPI_Intercomm_merge).
///
/// # Errors
/// MPI_ERR_COMM when the communicator is no intercommunicator.
pub fn merge(inter: &Arc<Comm>, high: bool, call: &'static str) -> Result<Arc<Comm>> {
    let (Some(local), Some(remote_group)) = (inter.local(), inter.remote_group()) else {
        return Err(inter.annotate(Error::argument(
            ErrorClass::ERR_COMM,
            "intercomm",
            "an intracommunicator",
            "an intercommunicator",
        )));
    };
    let process = inter.process;
    let bridge = own_bridge(inter, local);
    let (own, remote) = run_collective(inter, call, async {
        let mut side = Collective::new(local.clone());
        let own = agree_context(&mut side, process.contexts.has_room()).await;
        let proposal = own.as_ref().map_or(NO_ROOM, |&own| u64::from(own));
        let remote = exchange(&mut side, 0, bridge, &[u64::from(high), proposal]).await?;
        own?;
        side.outcome().map(|()| (proposal, remote))
    })?;
    // Sides that say the same are ordered by their first processes.
    let first_of = |group: &Group| u64::from(group.members().first().copied().unwrap_or(0));
    let group = inter.group();
    let first = (u64::from(high), first_of(group)) < (remote[0], first_of(remote_group));
    let members = if first {
        group.union(remote_group)
    } else {
        remote_group.union(group)
    };
    let context = settle(process, own, remote[1])?;
    let comm = Comm::new(process, inter.member(), context, members)?;
    comm.inherit_error_handler(inter);
    comm.tell_origin(call, inter);
    Ok(comm)
}
