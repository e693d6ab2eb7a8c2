// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exchanges by any library with the standard ABI.
#![expect(unsafe_code, reason = "functions of a C library")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_abi_sys::constants::{
    MPI_ANY_SOURCE, MPI_BYTE, MPI_COMM_NULL, MPI_COMM_TYPE_SHARED, MPI_COMM_WORLD,
    MPI_DATATYPE_NULL, MPI_INFO_NULL, MPI_MODE_NOCHECK, MPI_REQUEST_NULL, MPI_UINT64_T,
    MPI_WIN_NULL,
};
use mpi_abi_sys::types::{MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Request, MPI_Win};

use crate::error::Result;
use crate::library::{Library, call};
use crate::network::{ArrayBox, Data, Network, Shared, Transfer, Work};

/// The tag of all messages; the communicator has no others.
const TAG: c_int = 0;
/// Shared memory comes in multiples of this.
const PAGE: usize = 4096;

/// Ranks of MPI_COMM_WORLD, in communicators of their own.
pub(crate) struct OnAbi<'l> {
    library: &'l Library,
    comm: MPI_Comm,
    node: MPI_Comm,
    rank: usize,
    /// Partitioned messages by their peer, their memory and whether they are sent, which are made once.
    partitioned: RefCell<HashMap<(usize, *mut u8, bool), MPI_Request>>,
    /// Types of boxes, which are made once.
    types: RefCell<HashMap<Vec<ArrayBox>, MPI_Datatype>>,
}

impl<'l> OnAbi<'l> {
    /// Called by all ranks.
    pub(crate) fn new(library: &'l Library) -> Result<Self> {
        let mut made = Self {
            library,
            comm: MPI_COMM_NULL,
            node: MPI_COMM_NULL,
            rank: library.rank()?,
            partitioned: RefCell::default(),
            types: RefCell::default(),
        };
        call!(library, MPI_Comm_dup(MPI_COMM_WORLD, &raw mut made.comm))?;
        let key = made.rank as c_int;
        call!(
            library,
            MPI_Comm_split_type(
                made.comm,
                MPI_COMM_TYPE_SHARED,
                key,
                MPI_INFO_NULL,
                &raw mut made.node
            )
        )?;
        Ok(made)
    }

    fn gather(&self, comm: MPI_Comm, number: u64) -> Result<Vec<u64>> {
        let mut all = vec![0u64; self.library.size_of(comm)?];
        let from: *const u64 = &raw const number;
        call!(
            self.library,
            MPI_Allgather(
                from.cast(),
                1,
                MPI_UINT64_T,
                all.as_mut_ptr().cast(),
                1,
                MPI_UINT64_T,
                comm
            )
        )?;
        Ok(all)
    }

    /// Address, count and type of a message.
    fn described(&self, data: &Data) -> Result<(*mut c_void, MPI_Count, MPI_Datatype)> {
        match data {
            Data::Packed { start, bytes } | Data::Partitioned { start, bytes, .. } => {
                Ok((start.cast(), *bytes as MPI_Count, MPI_BYTE))
            }
            Data::Boxes(boxes) => {
                let start = boxes.first().map_or(ptr::null_mut(), |first| first.start);
                let known = self.types.borrow().get(boxes).copied();
                let datatype = match known {
                    Some(datatype) => datatype,
                    None => self.made(boxes)?,
                };
                Ok((start.cast(), 1, datatype))
            }
        }
    }

    /// The request of a partitioned message.
    fn partitioned(&self, transfer: &Transfer, is_sent: bool) -> Result<MPI_Request> {
        let Data::Partitioned {
            start,
            bytes,
            parts,
        } = transfer.data
        else {
            return Ok(MPI_REQUEST_NULL);
        };
        let key = (transfer.peer, start, is_sent);
        if let Some(known) = self.partitioned.borrow().get(&key) {
            return Ok(*known);
        }
        let mut made = MPI_REQUEST_NULL;
        let (library, peer, comm) = (self.library, transfer.peer as c_int, self.comm);
        let (count, each) = (parts as c_int, (bytes / parts) as MPI_Count);
        let (start, info) = (start.cast(), MPI_INFO_NULL);
        let into = &raw mut made;
        if is_sent {
            call!(
                library,
                MPI_Psend_init(start, count, each, MPI_BYTE, peer, TAG, comm, info, into)
            )?;
        } else {
            call!(
                library,
                MPI_Precv_init(start, count, each, MPI_BYTE, peer, TAG, comm, info, into)
            )?;
        }
        self.partitioned.borrow_mut().insert(key, made);
        Ok(made)
    }

    /// The type of some boxes, relative to the first one.
    fn made(&self, boxes: &[ArrayBox]) -> Result<MPI_Datatype> {
        let library = self.library;
        let first = boxes.first().map_or(0, |first| first.start.addr());
        let mut types = Vec::with_capacity(boxes.len());
        let mut distances: Vec<MPI_Count> = Vec::with_capacity(boxes.len());
        for part in boxes {
            let [planes, rows, bytes] = part.shape.map(|count| count as MPI_Count);
            let [plane, row] = part.strides.map(|stride| stride as MPI_Count);
            let (mut face, mut block) = (MPI_DATATYPE_NULL, MPI_DATATYPE_NULL);
            call!(
                library,
                MPI_Type_create_hvector_c(rows, bytes, row, MPI_BYTE, &raw mut face)
            )?;
            call!(
                library,
                MPI_Type_create_hvector_c(planes, 1, plane, face, &raw mut block)
            )?;
            call!(library, MPI_Type_free(&raw mut face))?;
            types.push(block);
            distances.push(part.start.addr() as MPI_Count - first as MPI_Count);
        }
        let lengths = vec![1 as MPI_Count; boxes.len()];
        let mut made = MPI_DATATYPE_NULL;
        call!(
            library,
            MPI_Type_create_struct_c(
                boxes.len() as MPI_Count,
                lengths.as_ptr(),
                distances.as_ptr(),
                types.as_ptr(),
                &raw mut made
            )
        )?;
        for mut block in types {
            call!(library, MPI_Type_free(&raw mut block))?;
        }
        call!(library, MPI_Type_commit(&raw mut made))?;
        self.types.borrow_mut().insert(boxes.to_vec(), made);
        Ok(made)
    }
}

impl<'l> Network<'l> for OnAbi<'l> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn all_gather(&self, number: u64) -> Result<Vec<u64>> {
        self.gather(self.comm, number)
    }

    fn nodes(&self) -> Result<Vec<u32>> {
        // The first rank of the node stands for it.
        let own = self.gather(self.node, self.rank as u64)?;
        let all = self.all_gather(own.first().copied().unwrap_or(0))?;
        Ok(all.into_iter().map(|node| node as u32).collect())
    }

    fn share(&self, bytes: usize) -> Result<Shared<'l>> {
        let library = self.library;
        let ranks = self.gather(self.node, self.rank as u64)?;
        let whole = bytes.next_multiple_of(PAGE);
        let (mut base, mut win) = (ptr::null_mut::<u8>(), MPI_WIN_NULL);
        let into: *mut *mut u8 = &raw mut base;
        call!(
            library,
            MPI_Win_allocate_shared(
                whole as MPI_Aint,
                1,
                MPI_INFO_NULL,
                self.node,
                into.cast(),
                &raw mut win
            )
        )?;
        let window = Window { library, win };
        // SAFETY: so much memory of this rank, which no other one has reached yet.
        unsafe { base.write_bytes(0, whole) };
        call!(library, MPI_Win_lock_all(MPI_MODE_NOCHECK, win))?;
        let mut of = Vec::with_capacity(ranks.len());
        for (index, rank) in ranks.into_iter().enumerate() {
            let (mut size, mut unit, mut start) = (0, 0, ptr::null_mut::<u8>());
            let into: *mut *mut u8 = &raw mut start;
            call!(
                library,
                MPI_Win_shared_query(
                    win,
                    index as c_int,
                    &raw mut size,
                    &raw mut unit,
                    into.cast()
                )
            )?;
            of.push((rank as usize, start));
        }
        call!(library, MPI_Barrier(self.node))?;
        Ok(Shared {
            of,
            _owner: Box::new(window),
        })
    }

    fn progress(&self) -> Result<()> {
        let mut flag = 0;
        let status = ptr::null_mut();
        call!(
            self.library,
            MPI_Iprobe(MPI_ANY_SOURCE, TAG, self.comm, &raw mut flag, status)
        )
    }

    fn forget(&self) {
        for (_, mut request) in self.partitioned.borrow_mut().drain() {
            let _ = call!(self.library, MPI_Request_free(&raw mut request));
        }
        for (_, mut datatype) in self.types.borrow_mut().drain() {
            let _ = call!(self.library, MPI_Type_free(&raw mut datatype));
        }
    }

    unsafe fn exchange(
        &self,
        receives: &[Transfer],
        sends: &[Transfer],
        work: &mut dyn Work,
    ) -> Result<()> {
        let library = self.library;
        let mut requests: Vec<MPI_Request> = vec![MPI_REQUEST_NULL; receives.len() + sends.len()];
        let (arrivals, departures) = requests.split_at_mut(receives.len());
        for (receive, request) in receives.iter().zip(arrivals.iter_mut()) {
            if let Data::Partitioned { .. } = receive.data {
                *request = self.partitioned(receive, false)?;
                call!(library, MPI_Start(request))?;
                continue;
            }
            let (start, count, datatype) = self.described(&receive.data)?;
            let from = receive.peer as c_int;
            call!(
                library,
                MPI_Irecv_c(start, count, datatype, from, TAG, self.comm, request)
            )?;
        }
        for (index, (send, request)) in sends.iter().zip(departures.iter_mut()).enumerate() {
            if let Data::Partitioned { parts, .. } = send.data {
                *request = self.partitioned(send, true)?;
                call!(library, MPI_Start(request))?;
                for part in 0..parts {
                    work.pack(index, part);
                    call!(library, MPI_Pready(part as c_int, *request))?;
                }
                continue;
            }
            work.pack(index, 0);
            let (start, count, datatype) = self.described(&send.data)?;
            let to = send.peer as c_int;
            call!(
                library,
                MPI_Isend_c(start, count, datatype, to, TAG, self.comm, request)
            )?;
        }
        // The messages end in any case before their memory may be used for something else.
        let failed = work.meanwhile();
        for (index, request) in arrivals.iter_mut().enumerate() {
            call!(library, MPI_Wait(request, ptr::null_mut()))?;
            work.unpack(index);
        }
        for request in departures {
            call!(library, MPI_Wait(request, ptr::null_mut()))?;
        }
        failed
    }
}

impl Drop for OnAbi<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others may never free theirs.
            return;
        }
        self.forget();
        for comm in [&mut self.comm, &mut self.node] {
            if *comm != MPI_COMM_NULL {
                let _ = call!(self.library, MPI_Comm_free(comm));
            }
        }
    }
}

/// A window of shared memory.
struct Window<'l> {
    library: &'l Library,
    win: MPI_Win,
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others may never free theirs.
            return;
        }
        let _ = call!(self.library, MPI_Win_unlock_all(self.win));
        let _ = call!(self.library, MPI_Win_free(&raw mut self.win));
    }
}
