// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams of messages between threads of two ranks, and the communicators that they go through.

use std::ffi::CString;

use mpi_abi_sys::constants::{
    MPI_BYTE, MPI_COMM_NULL, MPI_COMM_WORLD, MPI_INFO_NULL, MPI_MAX_INFO_VAL,
};
use mpi_abi_sys::types::{MPI_Comm, MPI_Info};

use super::call::{call, exclusive, int};
use super::{Mpi, Tags, Window};

/// Tag bits of the answers to windows, beside those of streams.
const ANSWER: i32 = 1 << 14;
/// Bits of a tag that name a thread.
const THREAD_BITS: u32 = 6;

/// The communicators of the streams of a process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sharing {
    /// MPI_COMM_WORLD for a process's only stream.
    World,
    /// One communicator for all streams, which tags tell apart.
    One,
    /// The same, with hints that let the library tell streams apart by tags.
    Hinted,
    /// A communicator for each stream.
    Own,
    /// An endpoint for each stream.
    Endpoints,
}

/// Hints for [`Sharing::Hinted`]: no wildcards, and which bits of a tag name the receiving and the sending thread. A value is `{}` where
/// it is the number of streams.
const HINTS: [(&str, &str); 6] = [
    ("mpi_assert_no_any_source", "true"),
    ("mpi_assert_no_any_tag", "true"),
    (VCIS, "{}"),
    ("rankpoint_num_tag_bits_for_vci", "6"),
    ("rankpoint_tag_bits_for_vci", "low"),
    ("rankpoint_tag_vci_hash", "one-to-one"),
];
/// The hint that a library keeps if it spreads a communicator over several VCIs.
pub(super) const VCIS: &str = "rankpoint_num_vcis";

/// One direction of messages between a thread of this process and one of another.
pub(crate) struct Stream<'a> {
    mpi: &'a Mpi,
    comm: MPI_Comm,
    peer: i32,
    tag: i32,
}

// SAFETY: a communicator is used by any thread of a process with MPI_THREAD_MULTIPLE; with a lower level there is one stream, on one thread.
unsafe impl Send for Stream<'_> {}
// SAFETY: as above.
unsafe impl Sync for Stream<'_> {}

impl Mpi {
    /// Streams of the threads of this process to or from those of rank `peer`, or why the library cannot have them so.
    pub(crate) fn streams(
        &self,
        sharing: Sharing,
        count: usize,
        peer: i32,
    ) -> Result<Vec<Stream<'_>>, String> {
        let stream = |comm, peer, thread: usize| Stream {
            mpi: self,
            comm,
            peer,
            tag: int(thread) << THREAD_BITS | int(thread),
        };
        let all = 0..count;
        Ok(match sharing {
            Sharing::World => vec![stream(MPI_COMM_WORLD, peer, 0)],
            Sharing::One => {
                let comm = self.duplicate();
                all.map(|thread| stream(comm, peer, thread)).collect()
            }
            Sharing::Hinted => {
                let comm = self.duplicate_hinted(count)?;
                all.map(|thread| stream(comm, peer, thread)).collect()
            }
            Sharing::Own => all
                .map(|thread| stream(self.duplicate(), peer, thread))
                .collect(),
            Sharing::Endpoints => {
                let comms = self.endpoints(count)?;
                let rank = |thread| peer * int(count) + int(thread);
                let named = comms.into_iter().enumerate();
                named
                    .map(|(thread, comm)| stream(comm, rank(thread), thread))
                    .collect()
            }
        })
    }

    /// Whether the library says that it lacks a function which it has for programs to link.
    pub(super) fn lacks(&self, name: &str) -> bool {
        let missing = self.library.text("rankpoint_missing_functions");
        missing.is_some_and(|list| list.lines().any(|line| line == name))
    }

    fn duplicate(&self) -> MPI_Comm {
        let mut comm = MPI_COMM_NULL;
        call!(self, MPI_Comm_dup(MPI_COMM_WORLD, &raw mut comm));
        comm
    }

    fn duplicate_hinted(&self, streams: usize) -> Result<MPI_Comm, String> {
        let mut info = MPI_INFO_NULL;
        call!(self, MPI_Info_create(&raw mut info));
        for (key, value) in HINTS {
            // One VCI is no hint.
            let value = value.replace("{}", &streams.max(2).to_string());
            let (key, value) = (text(key), text(&value));
            call!(self, MPI_Info_set(info, key.as_ptr(), value.as_ptr()));
        }
        let mut comm = MPI_COMM_NULL;
        call!(
            self,
            MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &raw mut comm)
        );
        call!(self, MPI_Info_free(&raw mut info));
        let mut kept = MPI_INFO_NULL;
        call!(self, MPI_Comm_get_info(comm, &raw mut kept));
        let is_kept = self.has_key(kept, VCIS);
        call!(self, MPI_Info_free(&raw mut kept));
        let why = || format!("the library does not keep the hint {VCIS}");
        is_kept.then_some(comm).ok_or_else(why)
    }

    pub(super) fn has_key(&self, info: MPI_Info, key: &str) -> bool {
        let key = text(key);
        let mut value = vec![0_u8; MPI_MAX_INFO_VAL as usize];
        let (mut room, mut flag) = (int(value.len()), 0);
        let value = value.as_mut_ptr().cast();
        call!(
            self,
            MPI_Info_get_string(info, key.as_ptr(), &raw mut room, value, &raw mut flag)
        );
        flag != 0
    }

    fn endpoints(&self, count: usize) -> Result<Vec<MPI_Comm>, String> {
        let create = self.library.MPIX_Comm_create_endpoints;
        if create.is_none() {
            return Err("the library has no MPIX_Comm_create_endpoints".to_owned());
        }
        let mut comms = vec![MPI_COMM_NULL; count];
        let (own, start) = (int(count), comms.as_mut_ptr());
        call!(
            self,
            MPIX_Comm_create_endpoints(MPI_COMM_WORLD, own, MPI_INFO_NULL, start)
        );
        Ok(comms)
    }
}

impl Stream<'_> {
    /// Sends the same bytes once per request of the window, all at once.
    pub(crate) fn send_window(&self, data: &[u8], window: &mut Window) {
        let tags = Tags::same(self.tag);
        window.start_sends(self.mpi, data, self.peer, tags, self.comm);
        window.wait(self.mpi);
    }

    /// Receives a message per request, the i-th into slot `i` modulo the number of slots.
    pub(crate) fn receive_window(&self, slots: &mut [u8], size: usize, window: &mut Window) {
        let tags = Tags::same(self.tag);
        window.start_receives(self.mpi, slots, size, self.peer, tags, self.comm);
        window.wait(self.mpi);
    }

    /// Tells the sender that a window has come.
    pub(crate) fn answer(&self) {
        let (none, tag) = (std::ptr::null(), self.tag | ANSWER);
        call!(
            self.mpi,
            MPI_Send(none, 0, MPI_BYTE, self.peer, tag, self.comm)
        );
    }

    /// Waits for the answer.
    pub(crate) fn await_answer(&self) {
        let ((start, count), tag) = (exclusive(&mut []), self.tag | ANSWER);
        let status = std::ptr::null_mut();
        call!(
            self.mpi,
            MPI_Recv(start, count, MPI_BYTE, self.peer, tag, self.comm, status)
        );
    }
}

/// A text without NUL as C has it.
pub(super) fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}
