// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making communicators (MPI-5.0, section 7.4).
//!
//! A context id must be unused at every member. Each member proposes the lowest id it never used; the maximum is unused
//! everywhere, and one allreduce over the parent agrees on it.

use std::sync::Arc;

use super::Comm;
use crate::attr::Attributes;
use crate::coll;
use crate::errors::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::task::block_on;

/// MPI_UNDEFINED as a colour.
pub const UNDEFINED: i32 = -32766;

/// Agrees on a context id with all members of `parent`.
async fn agree_context(parent: Arc<Comm>) -> Result<u32> {
    let mine = u64::from(parent.process().fresh_context());
    let all = coll::gather_words(parent.clone(), &[mine]).await?;
    let context = all.into_iter().max().unwrap_or(mine) as u32;
    parent.process().raise_context(context + 2);
    Ok(context)
}

/// A duplicate with its own context and the attributes that their copy callbacks keep (MPI_Comm_dup).
///
/// # Errors
/// Of a copy callback; then no communicator is made.
pub fn dup(parent: &Arc<Comm>, call: &'static str) -> Result<Arc<Comm>> {
    let object = parent.handle.load(fabric::sync::Ordering::Relaxed);
    let copies = parent.attributes.copies(object)?;
    let context = block_on(parent.vci, call, agree_context(parent.clone()))?;
    let comm = Comm::new(
        parent.process,
        context,
        parent.group().clone(),
        parent.remote_group().cloned(),
        "",
    );
    let handler = parent.error_handler.load(fabric::sync::Ordering::Relaxed);
    comm.error_handler
        .store(handler, fabric::sync::Ordering::Relaxed);
    Attributes::adopt(&comm.attributes, copies);
    Ok(comm)
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
    let mine = u64::from(color as u32) << 32 | u64::from(key as u32);
    let (context, all) = block_on(parent.vci, call, async {
        let context = agree_context(parent.clone()).await?;
        let all = coll::gather_words(parent.clone(), &[mine]).await?;
        Ok((context, all))
    })?;
    if color == UNDEFINED {
        return Ok(None);
    }
    let mut chosen: Vec<(i32, usize)> = all
        .iter()
        .enumerate()
        .filter(|&(_, &word)| (word >> 32) as u32 as i32 == color)
        .map(|(rank, &word)| (word as u32 as i32, rank))
        .collect();
    chosen.sort_unstable();
    let members: Vec<u32> = chosen
        .iter()
        .map(|&(_, rank)| parent.group().members()[rank])
        .collect();
    Ok(Some(inherit(parent, context, Group::new(members))))
}

/// A communicator for a subgroup of `parent`, called by all of `parent` (MPI_Comm_create).
///
/// # Errors
/// MPI_ERR_GROUP when the group is no subset.
pub fn create(parent: &Arc<Comm>, group: &Group, call: &'static str) -> Result<Option<Arc<Comm>>> {
    if let Some(stranger) = group
        .members()
        .iter()
        .find(|&&member| parent.group().rank_of(member).is_none())
    {
        let value = format!("a group with process {stranger}");
        return Err(parent.annotate(Error::argument(
            ErrorClass::ERR_GROUP,
            "group",
            value,
            "a subset of the communicator",
        )));
    }
    let context = block_on(parent.vci, call, agree_context(parent.clone()))?;
    let member = group.rank_of(parent.process().rank()).is_some();
    Ok(member.then(|| inherit(parent, context, group.clone())))
}

fn inherit(parent: &Arc<Comm>, context: u32, group: Group) -> Arc<Comm> {
    let comm = Comm::new(parent.process, context, group, None, "");
    let handler = parent.error_handler.load(fabric::sync::Ordering::Relaxed);
    comm.error_handler
        .store(handler, fabric::sync::Ordering::Relaxed);
    comm
}
