// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls that can be accounted for.

use clap::ValueEnum;

/// A group of calls that do the same with different promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Group {
    /// MPI_Isend, and MPIX_Isend with promises, of 8 bytes
    Isend,
    /// MPI_Irecv, and MPIX_Irecv with promises
    Irecv,
    /// MPI_Send of 8 bytes to a rank whose receive is posted
    Send,
    /// MPI_Recv of a message that has arrived
    Recv,
    /// The calls that complete a receive whose message is in the ring: from the poll that sees it to their return
    Wait,
    /// MPI_Put, and MPIX_Put with promises, of 8 bytes into memory of MPI_Win_allocate
    Put,
    /// MPI_Get, and MPIX_Get with promises
    Get,
}

/// The level of thread support with which the program initialises MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Level {
    /// MPI_THREAD_SINGLE
    Single,
    /// MPI_THREAD_MULTIPLE
    Multiple,
}

impl Level {
    /// What the program is told, and what JSON says.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Multiple => "multiple",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Single => "MPI_THREAD_SINGLE",
            Self::Multiple => "MPI_THREAD_MULTIPLE",
        }
    }
}

/// A call of the program.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) group: Group,
    /// The name of the MPI function.
    pub(super) function: &'static str,
    /// The name of the program's function that makes the call, behind `counted_`.
    pub(super) counted: &'static str,
}

/// All calls; the first one of each group makes no promise.
#[rustfmt::skip]
pub(super) const CALLS: &[Call] = &[
    call(Group::Isend, "MPI_Isend", "isend"),
    call(Group::Isend, "MPIX_Isend_global", "isend_global"),
    call(Group::Isend, "MPIX_Isend_npn", "isend_npn"),
    call(Group::Isend, "MPIX_Isend_noreq", "isend_noreq"),
    call(Group::Isend, "MPIX_Isend_nomatch", "isend_nomatch"),
    call(Group::Isend, "MPIX_Isend_all_opts", "isend_all_opts"),
    call(Group::Isend, "MPI_Isend, permuted ranks", "isend_permuted"),
    call(Group::Isend, "MPIX_Isend_global, permuted ranks", "isend_global_permuted"),
    call(Group::Irecv, "MPI_Irecv", "irecv"),
    call(Group::Irecv, "MPIX_Irecv_global", "irecv_global"),
    call(Group::Irecv, "MPIX_Irecv_npn", "irecv_npn"),
    call(Group::Irecv, "MPIX_Irecv_noreq", "irecv_noreq"),
    call(Group::Irecv, "MPIX_Irecv_nomatch", "irecv_nomatch"),
    call(Group::Irecv, "MPIX_Irecv_all_opts", "irecv_all_opts"),
    call(Group::Send, "MPI_Send", "send"),
    call(Group::Recv, "MPI_Recv", "recv"),
    call(Group::Wait, "MPI_Wait", "wait"),
    call(Group::Wait, "MPI_Wait after _nomatch", "wait_nomatch"),
    call(Group::Wait, "MPIX_Comm_waitall", "waitall_noreq"),
    call(Group::Wait, "MPIX_Comm_waitall after _all_opts", "waitall_all_opts"),
    call(Group::Put, "MPI_Put", "put"),
    call(Group::Put, "MPIX_Put_global", "put_global"),
    call(Group::Put, "MPIX_Put_npn", "put_npn"),
    call(Group::Put, "MPIX_Put_virtual_addr", "put_virtual_addr"),
    call(Group::Put, "MPIX_Put_all_opts", "put_all_opts"),
    call(Group::Put, "MPI_Put, permuted ranks", "put_permuted"),
    call(Group::Put, "MPIX_Put_global, permuted ranks", "put_global_permuted"),
    call(Group::Put, "MPIX_Put_all_opts, permuted ranks", "put_all_opts_permuted"),
    call(Group::Get, "MPI_Get", "get"),
    call(Group::Get, "MPIX_Get_all_opts", "get_all_opts"),
];

const fn call(group: Group, function: &'static str, counted: &'static str) -> Call {
    Call {
        group,
        function,
        counted,
    }
}

impl Call {
    /// What tells the call from the others of its group, at the head of a column.
    pub(super) fn column(&self) -> String {
        let first = CALLS.iter().find(|call| call.group == self.group);
        let base = first.and_then(|first| first.function.strip_prefix("MPI_"));
        let rest = base.and_then(|base| self.function.strip_prefix("MPIX_")?.strip_prefix(base));
        rest.unwrap_or(self.function).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_makes_each_call() {
        for call in CALLS {
            let counted = format!("COUNTED({}, ", call.counted);
            assert!(super::super::driver::SOURCE.contains(&counted), "{counted}");
        }
    }

    #[test]
    fn columns_are_named_by_their_promises() {
        let columns: Vec<String> = CALLS.iter().map(Call::column).collect();
        assert_eq!(columns[..2], ["MPI_Isend", "_global"]);
        assert!(columns.contains(&"MPIX_Comm_waitall".to_owned()));
    }
}
