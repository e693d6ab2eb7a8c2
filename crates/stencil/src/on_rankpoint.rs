// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exchanges by the library of this project.
#![expect(unsafe_code, reason = "arrays are addresses")]
#![expect(
    clippy::disallowed_types,
    reason = "shared memory of the Rust API is atomics of the standard library"
)]

use std::slice;
use std::sync::atomic::AtomicU64;

use rankpoint::{Communicator, Parts, PartsMut, Request, Section, SectionMut, Source};

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
            let mut arrivals = Vec::with_capacity(receives.len());
            for receive in receives {
                let from = receive.peer;
                let request = match &receive.data {
                    Data::Packed { start, bytes } => {
                        // SAFETY: the caller's promise.
                        let into = unsafe { slice::from_raw_parts_mut(*start, *bytes) };
                        scope.irecv(into, from, TAG)?.without_buffer()
                    }
                    Data::Boxes(boxes) => {
                        let mut parts = PartsMut::new();
                        for part in boxes {
                            // SAFETY: the caller's promise.
                            parts = parts.with(unsafe { section_mut(part) })?;
                        }
                        scope.irecv(parts, from, TAG)?.without_buffer()
                    }
                };
                arrivals.push(request);
            }
            for (index, send) in sends.iter().enumerate() {
                work.pack(index);
                match &send.data {
                    Data::Packed { start, bytes } => {
                        // SAFETY: the caller's promise.
                        let from = unsafe { slice::from_raw_parts(*start, *bytes) };
                        scope.isend(from, send.peer, TAG)?;
                    }
                    Data::Boxes(boxes) => {
                        let mut parts = Parts::new();
                        for part in boxes {
                            // SAFETY: the caller's promise.
                            parts = parts.with(unsafe { section(part) })?;
                        }
                        scope.isend(parts, send.peer, TAG)?;
                    }
                }
            }
            failed = work.meanwhile();
            for (index, arrival) in arrivals.into_iter().enumerate() {
                Request::wait(arrival)?;
                work.unpack(index);
            }
            Ok(())
        })?;
        failed
    }
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
