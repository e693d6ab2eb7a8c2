// SPDX-License-Identifier: MIT OR Apache-2.0
//! The MPI calls that are collective, by number: what a request says of where it comes from, and what ranks tell each other
//! where they compare their calls.

use std::fmt;

/// Every collective in its three forms (MPI-5.0, chapter 6 and section 8.6), what makes communicators of several ranks, and the end.
const NAMES: [&str; 84] = [
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
    "MPI_Intercomm_create",
    "MPI_Intercomm_create_from_groups",
    "MPI_Intercomm_merge",
    "MPI_Cart_create",
    "MPI_Cart_sub",
    "MPI_Graph_create",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Finalize",
];

/// A collective MPI call, or that it is not known which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CallName(u8);

impl CallName {
    /// No MPI call, or one that is not in the table.
    pub const UNKNOWN: Self = Self(0);
    /// A collective of an API that names its calls in other ways.
    pub const OTHER: Self = Self(u8::MAX);

    /// The call of this name, which may be that of its large-count form; [`Self::UNKNOWN`] if it is no collective one.
    pub const fn of(name: &str) -> Self {
        let name = base_of(name.as_bytes());
        let mut index = 0;
        while index < NAMES.len() {
            if is_same(NAMES[index].as_bytes(), name) {
                return Self(index as u8 + 1);
            }
            index += 1;
        }
        Self::UNKNOWN
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

    /// Its name in C, if it is in the table.
    pub fn name(self) -> Option<&'static str> {
        let index = usize::from(self.0).checked_sub(1)?;
        NAMES.get(index).copied()
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("a collective"))
    }
}

/// The name without the end that tells large-count forms apart: both are one operation, and may meet.
const fn base_of(name: &[u8]) -> &[u8] {
    match name {
        [base @ .., b'_', b'c'] => base,
        _ => name,
    }
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
        for name in NAMES {
            let call = CallName::of(name);
            assert_eq!(call.name(), Some(name));
            assert_eq!(CallName::from_number(call.number()), call);
        }
        assert_eq!(CallName::of("MPI_Bcast_c"), CallName::of("MPI_Bcast"));
        assert_eq!(CallName::of("MPI_Send"), CallName::UNKNOWN);
        assert_eq!(CallName::of_collective("MPI_Send"), CallName::OTHER);
        assert!(CallName::OTHER.is_known() && !CallName::from_number(254).is_known());
        assert!(!CallName::UNKNOWN.is_known());
        assert_eq!(CallName::OTHER.to_string(), "a collective");
        const { assert!(NAMES.len() < 254) };
    }
}
