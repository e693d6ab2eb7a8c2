// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exchanges by the library of this project.
#![expect(unsafe_code, reason = "arrays are addresses")]
#![expect(
    clippy::disallowed_types,
    reason = "shared memory of the Rust API is atomics of the standard library"
)]

use std::slice;
use std::sync::atomic::AtomicU64;

use rankpoint::{
    Communicator, OneThread, PartitionedReceive, PartitionedSend, Parts, PartsMut, Request, Scope,
    Section, SectionMut, Source,
};

use stencil_plan::DIRECTIONS;

use crate::error::Result;
use crate::network::{ArrayBox, Data, Network, Shared, Transfer, Work};

/// The tag of all messages; the communicator has no others.
const TAG: i32 = 0;

/// Ranks of a communicator of their own.
pub(crate) struct OnRankpoint<'u> {
    comm: Communicator<'u>,
    node: Communicator<'u>,
}

impl<'u> OnRankpoint<'u> {
    /// Called by all ranks of the communicator.
    pub(crate) fn new(comm: &Communicator<'u>) -> Result<Self> {
        Ok(Self {
            comm: comm.duplicate()?,
            node: comm.split_shared(comm.rank())?,
        })
    }
}

impl<'u> Network<'u> for OnRankpoint<'u> {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn all_gather(&self, number: u64) -> Result<Vec<u64>> {
        Ok(self.comm.all_gather(&[number])?)
    }

    fn nodes(&self) -> Result<Vec<u32>> {
        // The first rank of the node stands for it.
        let own = self.node.all_gather(&[self.comm.rank() as u64])?;
        let first = own.first().copied().unwrap_or(0);
        let all = self.all_gather(first)?;
        Ok(all.into_iter().map(|node| node as u32).collect())
    }

    fn share(&self, bytes: usize) -> Result<Shared<'u>> {
        let words = bytes.div_ceil(size_of::<AtomicU64>());
        let ranks = self.node.all_gather(&[self.comm.rank() as u64])?;
        let memory = self.node.shared_atomics::<AtomicU64>(words)?;
        let of = ranks.iter().enumerate().map(|(index, &rank)| {
            let words = memory.of(index);
            (rank as usize, words.as_ptr().cast_mut().cast::<u8>())
        });
        Ok(Shared {
            of: of.collect(),
            _owner: Box::new(memory),
        })
    }

    fn progress(&self) -> Result<()> {
        self.comm.try_probe(Source::Any, TAG)?;
        Ok(())
    }

    unsafe fn exchange(
        &self,
        receives: &[Transfer],
        sends: &[Transfer],
        work: &mut dyn Work,
    ) -> Result<()> {
        let mut failed = Ok(());
        self.comm.scope(|scope| {
            // A rank has so many neighbours at most. A vector would take memory in each exchange.
            let mut arrivals = [const { None }; DIRECTIONS.len()];
            for (receive, arrival) in receives.iter().zip(&mut arrivals) {
                // SAFETY: the caller's promise.
                *arrival = Some(unsafe { start_receive(scope, receive) }?);
            }
            let mut departures = Vec::new();
            for (index, send) in sends.iter().enumerate() {
                // SAFETY: the caller's promise.
                departures.extend(unsafe {
                    start_send(scope, send, &mut |part| work.pack(index, part))
                }?);
            }
            failed = work.meanwhile();
            for (index, arrival) in arrivals.into_iter().flatten().enumerate() {
                match arrival {
                    Arrival::Whole(request) => {
                        request.wait()?;
                    }
                    Arrival::Partitioned(mut request) => {
                        request.buffer()?;
                    }
                }
                work.unpack(index);
            }
            for mut request in departures {
                request.buffer()?;
            }
            Ok(())
        })?;
        failed
    }
}

/// Starts a receive.
///
/// # Safety
/// Its memory is valid as long as the scope, and nobody else uses it.
unsafe fn start_receive<'scope>(
    scope: &'scope Scope<'scope, '_, OneThread>,
    receive: &Transfer,
) -> rankpoint::Result<Arrival<'scope>> {
    let from = receive.peer;
    Ok(match &receive.data {
        Data::Packed { start, bytes } => {
            // SAFETY: the caller's promise.
            let into = unsafe { slice::from_raw_parts_mut(*start, *bytes) };
            Arrival::Whole(scope.irecv(into, from, TAG)?.without_buffer())
        }
        Data::Partitioned {
            start,
            bytes,
            parts,
        } => {
            // SAFETY: the caller's promise.
            let into = unsafe { slice::from_raw_parts_mut(*start, *bytes) };
            let mut request = scope.partitioned_recv_init(into, *parts, from, TAG)?;
            drop(request.start()?);
            Arrival::Partitioned(request)
        }
        Data::Boxes(boxes) => {
            let mut parts = PartsMut::new();
            for part in boxes {
                // SAFETY: the caller's promise.
                parts = parts.with(unsafe { section_mut(part) })?;
            }
            Arrival::Whole(scope.irecv(parts, from, TAG)?.without_buffer())
        }
    })
}

/// Packs and starts a send; the request of a partitioned one.
///
/// # Safety
/// Its memory is valid as long as the scope, and only `pack` writes it.
unsafe fn start_send<'scope>(
    scope: &'scope Scope<'scope, '_, OneThread>,
    send: &Transfer,
    pack: &mut dyn FnMut(usize),
) -> rankpoint::Result<Option<PartitionedSend<'scope, u8, OneThread>>> {
    let to = send.peer;
    match &send.data {
        Data::Packed { start, bytes } => {
            pack(0);
            // SAFETY: the caller's promise.
            let from = unsafe { slice::from_raw_parts(*start, *bytes) };
            scope.isend(from, to, TAG)?;
            Ok(None)
        }
        Data::Partitioned {
            start,
            bytes,
            parts,
        } => {
            // SAFETY: the caller's promise.
            let from = unsafe { slice::from_raw_parts_mut(*start, *bytes) };
            let mut request = scope.partitioned_send_init(from, *parts, to, TAG)?;
            let mut round = request.start()?;
            for (number, partition) in round.partitions().into_iter().enumerate() {
                pack(number);
                partition.ready()?;
            }
            drop(round);
            Ok(Some(request))
        }
        Data::Boxes(boxes) => {
            let mut parts = Parts::new();
            for part in boxes {
                // SAFETY: the caller's promise.
                parts = parts.with(unsafe { section(part) })?;
            }
            scope.isend(parts, to, TAG)?;
            Ok(None)
        }
    }
}

/// A message on its way.
enum Arrival<'scope> {
    Whole(Request<'scope, ()>),
    Partitioned(PartitionedReceive<'scope, u8, OneThread>),
}

/// The box as a view.
///
/// # Safety
/// Its memory is initialised, and nobody writes it.
unsafe fn section<'a>(part: &ArrayBox) -> Section<'a, u8, 3> {
    let [planes, rows] = part.strides;
    // SAFETY: the caller's promise; a box lies in its array.
    unsafe { Section::from_raw(part.start, part.shape, [planes, rows, 1]) }
}

/// The box as an exclusive view.
///
/// # Safety
/// Its memory is initialised, and nobody else uses it.
unsafe fn section_mut<'a>(part: &ArrayBox) -> SectionMut<'a, u8, 3> {
    let [planes, rows] = part.strides;
    // SAFETY: the caller's promise; rows and planes of an array have no bytes in common.
    unsafe { SectionMut::from_raw(part.start, part.shape, [planes, rows, 1]) }
}
