// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints: ranks of a communicator that are threads of its processes.
//!
//! A group names a process by its number in the job, and an endpoint by a larger number that gives its process and its VCI. Two endpoints of one process in one
//! communicator have different VCIs, so that a message finds its receiver by the ring that it travels in.

use super::{Comm, Process};
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{PeerIndex, VciIndex};
use crate::progress::Vci;
use crate::request::RankMap;

/// How a group of a job with room for `capacity` processes names an endpoint.
pub(crate) fn member(process: u32, vci: VciIndex, capacity: u32) -> u32 {
    process + capacity * (u32::from(vci.get()) + 1)
}

/// The VCI of a member that is an endpoint.
fn vci_of_member(member: u32, capacity: u32) -> Option<VciIndex> {
    VciIndex::new((member / capacity).checked_sub(1)?)
}

/// The VCI of a communicator in which this process is `me`; `None` when the members are processes.
///
/// # Errors
/// MPI_ERR_GROUP when some members are processes and others endpoints.
pub(super) fn vci_of(
    process: &Process,
    me: u32,
    mut members: impl Iterator<Item = u32>,
) -> Result<Option<VciIndex>> {
    let capacity = process.capacity();
    let is_endpoint = me >= capacity;
    if let Some(other) = members.find(|&member| (member >= capacity) != is_endpoint) {
        let value = if is_endpoint {
            format!("endpoints, and process {other}")
        } else {
            format!("processes, and an endpoint of process {}", other % capacity)
        };
        return Err(Error::argument(
            ErrorClass::ERR_GROUP,
            "group",
            value,
            "either processes or endpoints (MPIX_Comm_create_endpoints)",
        ));
    }
    Ok(vci_of_member(me, capacity))
}

/// Whether a communicator is the first of this process with its context: each endpoint has one.
pub(super) fn is_first_here(comm: &Comm) -> bool {
    let process = comm.process();
    let is_here = |&&member: &&u32| process.process_of(member) == process.index();
    !comm.has_endpoints() || comm.group().members().iter().find(is_here) == Some(&comm.member())
}

/// The map from ranks of a communicator of processes to the peers of a VCI that have the VCI `other`; without it, the map of a communicator
/// that receives from all their VCIs.
pub(super) fn lane_map(comm: &Comm, vci: &Vci, other: Option<VciIndex>) -> RankMap {
    let peers = vci.peers();
    let members = (0..comm.partners()).map(|rank| comm.addressed_member(rank));
    match other {
        Some(other) => {
            let links: Vec<_> = members
                .map(|member| peers.link(PeerIndex::new(member), other))
                .collect();
            RankMap::new(&links)
        }
        None => {
            let links = members.map(|member| peers.same_vci(PeerIndex::new(member)));
            RankMap::new(&links.collect::<Vec<_>>()).of_any_vci(peers.capacity())
        }
    }
}

/// The map from ranks to the peers of a VCI.
pub(super) fn rank_map(process: &Process, me: u32, vci: &Vci, members: &[u32]) -> RankMap {
    let (capacity, peers) = (process.capacity(), vci.peers());
    let link = |&member: &u32| {
        let other = process.process_of(member);
        match me < capacity {
            true => peers.same_vci(other),
            false => peers.link(other, vci_of_member(member, capacity).unwrap_or_default()),
        }
    };
    RankMap::new(&members.iter().map(link).collect::<Vec<_>>())
}
