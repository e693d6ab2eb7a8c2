// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints (Dinan et al., "Enabling communication concurrency through flexible MPI endpoints", 2014): a communicator in which each process
//! has several ranks, one for each of its threads.

use std::sync::Arc;

use crate::coll::{self, Collective};
use crate::comm::{Comm, endpoint};
use crate::create::members::agree_context;
use crate::errors::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::identity::VciIndex;
use crate::task::run_collective;

/// Endpoints that a process may have in one communicator: one for each VCI.
pub const MOST_ENDPOINTS: u32 = 1 << VciIndex::BITS;

/// Told instead of a number of endpoints by a process that gave a wrong one.
const WRONG: u64 = u64::MAX;

/// A communicator in which this process has `count` ranks, and each other process of `parent` as many as it gave: its communicators, one
/// for each of these ranks (MPIX_Comm_create_endpoints). Ranks are numbered process by process. Each of the results is used by one
/// thread at a time, as a process uses a communicator.
///
/// # Errors
/// MPI_ERR_ARG, at all members, when one of them gives a number below 0 or above [`MOST_ENDPOINTS`]; MPI_ERR_COMM for an intercommunicator
/// or a parent of endpoints; MPI_ERR_NO_MEM.
pub fn create_endpoints(
    parent: &Arc<Comm>,
    count: i32,
    call: &'static str,
) -> Result<Vec<Arc<Comm>>> {
    let refuse = |value: &str| {
        let expected = "an intracommunicator of processes";
        let error = Error::argument(ErrorClass::ERR_COMM, "parent_comm", value, expected);
        Err(parent.annotate(error))
    };
    if parent.local().is_some() {
        return refuse("an intercommunicator");
    }
    if parent.has_endpoints() {
        return refuse("a communicator of endpoints");
    }
    let process = parent.process;
    let own = u32::try_from(count)
        .ok()
        .filter(|&own| own <= MOST_ENDPOINTS);
    let first = process.vcis().take_for_endpoints(own.unwrap_or(0));
    let words = [own.map_or(WRONG, u64::from), u64::from(first.get())];
    let all = coll::gather_words(parent.clone(), &words);
    let all = run_collective(parent, call, all)?;
    if let Some(rank) = all.chunks_exact(2).position(|pair| pair[0] == WRONG) {
        let value = match own {
            None => count.to_string(),
            Some(_) => format!("a wrong number at rank {rank}"),
        };
        let expected = format!("0..{MOST_ENDPOINTS}");
        let error = Error::argument(ErrorClass::ERR_ARG, "my_num_ep", value, expected);
        return Err(parent.annotate(error));
    }
    let mut coll = Collective::new(parent.clone());
    let context = run_collective(parent, call, async {
        let context = agree_context(&mut coll, process.contexts.has_room()).await?;
        coll.outcome().map(|()| context)
    })?;
    let capacity = process.capacity();
    let named = |(&process, pair): (&u32, &[u64])| {
        let (count, first) = (pair[0] as u32, pair[1] as u32);
        (0..count).map(move |index| {
            let vci = VciIndex::of_bits(first + index);
            endpoint::member(process, vci, capacity)
        })
    };
    let processes = parent.group().members();
    let members = processes.iter().zip(all.chunks_exact(2)).flat_map(named);
    let group = Group::new(members.collect::<Vec<_>>());
    let mine = group.members().iter();
    let mine = mine.filter(|&&member| process.process_of(member) == process.index());
    mine.map(|&member| {
        let comm = Comm::new(process, member, context, group.clone())?;
        comm.inherit_error_handler(parent);
        comm.tell_origin(call, parent);
        Ok(comm)
    })
    .collect()
}
