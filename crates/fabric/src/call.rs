// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the collective calls, by which requests and the records that the launcher reads name the call that made them.

use std::fmt;

/// Every collective in its three forms (MPI-5.0, chapter 6 and section 8.6), what makes communicators of several ranks, and the end.
const C_NAMES: [&str; 93] = [
    "MPI_Barrier",
    "MPI_Ibarrier",
    "MPI_Barrier_init",
    "MPI_Bcast",
    "MPI_Ibcast",
    "MPI_Bcast_init",
    "MPI_Gather",
    "MPI_Igather",
    "MPI_Gather_init",
    "MPI_Gatherv",
    "MPI_Igatherv",
    "MPI_Gatherv_init",
    "MPI_Scatter",
    "MPI_Iscatter",
    "MPI_Scatter_init",
    "MPI_Scatterv",
    "MPI_Iscatterv",
    "MPI_Scatterv_init",
    "MPI_Allgather",
    "MPI_Iallgather",
    "MPI_Allgather_init",
    "MPI_Allgatherv",
    "MPI_Iallgatherv",
    "MPI_Allgatherv_init",
    "MPI_Alltoall",
    "MPI_Ialltoall",
    "MPI_Alltoall_init",
    "MPI_Alltoallv",
    "MPI_Ialltoallv",
    "MPI_Alltoallv_init",
    "MPI_Alltoallw",
    "MPI_Ialltoallw",
    "MPI_Alltoallw_init",
    "MPI_Reduce",
    "MPI_Ireduce",
    "MPI_Reduce_init",
    "MPI_Allreduce",
    "MPI_Iallreduce",
    "MPI_Allreduce_init",
    "MPI_Reduce_scatter",
    "MPI_Ireduce_scatter",
    "MPI_Reduce_scatter_init",
    "MPI_Reduce_scatter_block",
    "MPI_Ireduce_scatter_block",
    "MPI_Reduce_scatter_block_init",
    "MPI_Scan",
    "MPI_Iscan",
    "MPI_Scan_init",
    "MPI_Exscan",
    "MPI_Iexscan",
    "MPI_Exscan_init",
    "MPI_Neighbor_allgather",
    "MPI_Ineighbor_allgather",
    "MPI_Neighbor_allgather_init",
    "MPI_Neighbor_allgatherv",
    "MPI_Ineighbor_allgatherv",
    "MPI_Neighbor_allgatherv_init",
    "MPI_Neighbor_alltoall",
    "MPI_Ineighbor_alltoall",
    "MPI_Neighbor_alltoall_init",
    "MPI_Neighbor_alltoallv",
    "MPI_Ineighbor_alltoallv",
    "MPI_Neighbor_alltoallv_init",
    "MPI_Neighbor_alltoallw",
    "MPI_Ineighbor_alltoallw",
    "MPI_Neighbor_alltoallw_init",
    "MPI_Comm_dup",
    "MPI_Comm_dup_with_info",
    "MPI_Comm_idup",
    "MPI_Comm_idup_with_info",
    "MPI_Comm_split",
    "MPI_Comm_split_type",
    "MPI_Comm_create",
    "MPI_Comm_create_group",
    "MPI_Comm_create_from_group",
    "MPIX_Comm_create_endpoints",
    "MPI_Intercomm_create",
    "MPI_Intercomm_create_from_groups",
    "MPI_Intercomm_merge",
    "MPI_Cart_create",
    "MPI_Cart_sub",
    "MPI_Graph_create",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Win_create",
    "MPI_Win_allocate",
    "MPI_Win_allocate_shared",
    "MPI_Win_create_dynamic",
    "MPIX_Win_create_endpoints",
    "MPIX_Comm_dup_predefined",
    "MPI_Win_fence",
    "MPI_Win_free",
    "MPI_Finalize",
];

/// The first of [`C_NAMES`] that makes an object instead of moving data.
const FIRST_MAKER: usize = 66;

/// The same calls of the Rust API, of which several may be one operation: what the root calls, and what others do.
const RUST_NAMES: [&str; 94] = [
    "Communicator::barrier",
    "Communicator::broadcast",
    "Communicator::reduce",
    "Communicator::all_reduce",
    "Communicator::scan",
    "Communicator::gather",
    "Communicator::scatter",
    "Communicator::all_gather",
    "Communicator::all_gather_varying",
    "Communicator::all_to_all",
    "Communicator::gather_varying",
    "Communicator::scatter_varying",
    "Communicator::all_to_all_varying",
    "Communicator::scan_exclusive",
    "Communicator::reduce_scatter",
    "Communicator::reduce_scatter_equal",
    "Communicator::gather_into",
    "Communicator::scatter_from",
    "Communicator::all_gather_into",
    "Communicator::all_to_all_into",
    "Communicator::ibarrier",
    "Communicator::ibroadcast",
    "Communicator::iall_reduce",
    "Communicator::ireduce",
    "Communicator::igather",
    "Communicator::iall_gather",
    "Communicator::iall_to_all",
    "Communicator::iscan",
    "Communicator::igather_varying",
    "Communicator::iscatter",
    "Communicator::iscatter_varying",
    "Communicator::iall_gather_varying",
    "Communicator::iall_to_all_varying",
    "Communicator::ireduce_scatter",
    "Communicator::iscan_exclusive",
    "Communicator::duplicate",
    "Communicator::duplicate_predefined",
    "Communicator::iduplicate",
    "Communicator::split",
    "Communicator::split_some",
    "Communicator::split_shared",
    "Communicator::create",
    "Communicator::create_group",
    "Communicator::endpoints",
    "Communicator::connect",
    "Communicator::split_in_two",
    "Communicator::cart",
    "Communicator::graph",
    "Communicator::weighted_graph",
    "Communicator::graph_of_edges",
    "Communicator::graph_of_neighbours",
    "Communicator::window",
    "Communicator::dynamic_window",
    "Communicator::shared_slices",
    "Communicator::shared_atomics",
    "Window::fence",
    "Window::free",
    "Universe::communicator_of",
    "Cart::slice",
    "Cart::neighbour_exchange",
    "Graph::neighbour_exchange",
    "Graph::neighbour_exchange_varying",
    "Graph::neighbour_all_gather",
    "Graph::ineighbour_exchange",
    "Graph::ineighbour_all_gather",
    "InterCommunicator::barrier",
    "InterCommunicator::broadcast",
    "InterCommunicator::broadcast_here",
    "InterCommunicator::broadcast_elsewhere",
    "InterCommunicator::gather",
    "InterCommunicator::gather_here",
    "InterCommunicator::gather_elsewhere",
    "InterCommunicator::scatter",
    "InterCommunicator::scatter_here",
    "InterCommunicator::scatter_elsewhere",
    "InterCommunicator::reduce",
    "InterCommunicator::reduce_here",
    "InterCommunicator::reduce_elsewhere",
    "InterCommunicator::all_gather",
    "InterCommunicator::all_reduce",
    "InterCommunicator::all_to_all",
    "InterCommunicator::duplicate",
    "InterCommunicator::split",
    "InterCommunicator::merge",
    "Scope::barrier_init",
    "Scope::broadcast_init",
    "Scope::gather_init",
    "Scope::scatter_init",
    "Scope::all_gather_init",
    "Scope::all_to_all_init",
    "Scope::neighbour_exchange_init",
    "Scope::reduce_init",
    "Scope::all_reduce_init",
    "Scope::scan_init",
];

/// A collective call, or that it is not known which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CallName(u8);

impl CallName {
    /// No MPI call, or one that is not in the table.
    pub const UNKNOWN: Self = Self(0);
    /// A collective of an API with other names for its calls.
    pub const OTHER: Self = Self(u8::MAX);

    /// The call of this name, which may be that of its large-count form; [`Self::UNKNOWN`] if it is no collective one.
    pub const fn of(name: &str) -> Self {
        if let Some(index) = position_of(base_of(name.as_bytes()), &C_NAMES) {
            return Self(index as u8 + 1);
        }
        match position_of(name.as_bytes(), &RUST_NAMES) {
            Some(index) => Self((C_NAMES.len() + index) as u8 + 1),
            None => Self::UNKNOWN,
        }
    }

    /// The call of this name, or [`Self::OTHER`].
    pub fn of_collective(name: &str) -> Self {
        match Self::of(name) {
            Self::UNKNOWN => Self::OTHER,
            known => known,
        }
    }

    /// The call that [`Self::number`] made a number of. Any other number gives one that is not known.
    #[inline(always)]
    pub const fn from_number(number: u64) -> Self {
        Self(number as u8)
    }

    /// Whether there is such a call.
    pub fn is_known(self) -> bool {
        self == Self::OTHER || self.name().is_some()
    }

    /// The call as a number below 256; 0 is none.
    #[inline(always)]
    pub const fn number(self) -> u64 {
        self.0 as u64
    }

    /// Its name in C, if it has one.
    pub fn name_in_c(self) -> Option<&'static str> {
        let index = usize::from(self.0).checked_sub(1)?;
        C_NAMES.get(index).copied()
    }

    /// Whether it is a collective of C that moves data: then it sends no message of the program's own.
    pub fn moves_data(self) -> bool {
        (1..=FIRST_MAKER).contains(&usize::from(self.0))
    }

    /// Its name, if it is in a table.
    pub fn name(self) -> Option<&'static str> {
        let in_rust = || {
            let index = usize::from(self.0).checked_sub(1 + C_NAMES.len())?;
            RUST_NAMES.get(index).copied()
        };
        self.name_in_c().or_else(in_rust)
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("a collective"))
    }
}

/// The name without the suffix of its large-count form: calls of both forms may meet in one operation.
const fn base_of(name: &[u8]) -> &[u8] {
    match name {
        [base @ .., b'_', b'c'] => base,
        _ => name,
    }
}

const fn position_of(name: &[u8], names: &[&str]) -> Option<usize> {
    let mut index = 0;
    while index < names.len() {
        if is_same(names[index].as_bytes(), name) {
            return Some(index);
        }
        index += 1;
    }
    None
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back_to_each_other() {
        for name in C_NAMES.iter().chain(&RUST_NAMES) {
            let call = CallName::of(name);
            assert_eq!(call.name(), Some(*name));
            assert_eq!(call.name_in_c().is_some(), name.starts_with("MPI"));
            assert_eq!(CallName::from_number(call.number()), call);
        }
        assert_eq!(CallName::of("MPI_Bcast_c"), CallName::of("MPI_Bcast"));
        assert_eq!(CallName::of("MPI_Send"), CallName::UNKNOWN);
        assert_eq!(CallName::of_collective("MPI_Send"), CallName::OTHER);
        assert!(CallName::OTHER.is_known() && !CallName::from_number(254).is_known());
        assert!(!CallName::UNKNOWN.is_known());
        assert_eq!(CallName::OTHER.to_string(), "a collective");
        assert_eq!(C_NAMES[FIRST_MAKER], "MPI_Comm_dup");
        assert!(CallName::of("MPI_Barrier").moves_data());
        assert!(CallName::of("MPI_Neighbor_alltoallw_init").moves_data());
        assert!(!CallName::of("MPI_Comm_dup").moves_data() && !CallName::UNKNOWN.moves_data());
        const { assert!(C_NAMES.len() + RUST_NAMES.len() < 254) };
    }
}
