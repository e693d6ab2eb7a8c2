// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a service does for accumulates: as an origin would by loads and stores, so both may access the same memory.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use super::channel::{Channel, send_owned};
use super::cut::MOST_BYTES;
use super::runs::{LocalSpan, are_together};
use super::service::Work;
use super::target::{self, Access, Handled, answered, discard, granule, receive};
use super::wire::{Kind, Request, Span};
use crate::allocate;
use crate::comm::Comm;
use crate::datatype::{Memory, Predefined};
use crate::device::{Device, Scattered};
use crate::errors::{Error, ErrorClass, Result};
use crate::op::{self, AtomicReduction, Operator};
use crate::rma::combine::{Operands, combine, compare_and_swap};
use crate::rma::granule::Granule;
use crate::rma::target::{Path, Place};
use crate::rma::window::Window;

fn malformed(text: impl Into<String>) -> Error {
    Error::new(ErrorClass::ERR_INTERN, text)
}

/// Elements that lie one behind the other.
#[derive(Clone, Copy)]
struct Batch {
    /// Their packed length is that of the run.
    run: LocalSpan,
    count: usize,
}

impl Batch {
    /// The elements of a run.
    fn of(window: &Window, run: &Span, row: &'static Predefined) -> Result<Self> {
        let granule = granule(window);
        if granule != Granule::Any && row.size() != granule as usize {
            return Err(malformed(format!(
                "an accumulate of {} in a window of words of {} bytes",
                row.name, granule as u8
            )));
        }
        let size = row.size() as u64;
        let count = (run.bytes / size) as usize;
        let span = row.datatype().layout().span(count);
        let (Some((0, span)), true) = (span, run.bytes.is_multiple_of(size)) else {
            return Err(malformed(format!(
                "a run of {} bytes of {}",
                run.bytes, row.name
            )));
        };
        Ok(Self {
            run: target::run(window, run, span as u64)?,
            count,
        })
    }

    /// The elements, which the processor reaches, as a place.
    fn place<'a>(&self, window: &'a Window, row: &'static Predefined) -> Place<'a> {
        Place {
            rank: window.comm().rank() as u32,
            target: window.own(),
            path: Path::Direct,
            base: self.run.address,
            count: self.count,
            layout: row.datatype().layout(),
            bytes: self.run.bytes,
        }
    }
}

/// Copies on the host of elements in the memory of a GPU, which are combined in their place.
struct Copies {
    originals: Scattered,
    row: &'static Predefined,
    /// The elements one behind the other, with the gaps of their type.
    room: Vec<u8>,
    /// All of them.
    batch: Batch,
}

impl Copies {
    /// Fetches the elements of batches in one GPU's memory.
    fn of(device: Device, batches: &[Batch], row: &'static Predefined) -> Result<Self> {
        let places: Vec<_> = batches
            .iter()
            .map(|it| (it.run.address, it.count))
            .collect();
        let layout = row.datatype().layout();
        let originals = Scattered::new(device, &places, layout)?;
        let packed = originals.read()?;
        let count = batches.iter().map(|batch| batch.count).sum();
        let bytes = packed.len();
        let mut room = match layout.is_contiguous() {
            true => packed,
            false => {
                let mut room = allocate::zeroed(count * row.shape.extent())?;
                // SAFETY: there is room for as many elements, whose lower bound is 0 (`Batch::of`).
                unsafe { layout.unpack(room.as_mut_ptr(), 0..bytes, packed.as_ptr()) };
                room
            }
        };
        let run = LocalSpan {
            address: room.as_mut_ptr(),
            bytes,
            device: None,
        };
        Ok(Self {
            originals,
            row,
            room,
            batch: Batch { run, count },
        })
    }

    /// Stores the elements in the memory of the GPU.
    fn store(self) -> Result<()> {
        let layout = self.row.datatype().layout();
        if layout.is_contiguous() {
            return self.originals.write(&self.room);
        }
        let mut packed = allocate::zeroed(self.batch.run.bytes)?;
        // SAFETY: as in `of`.
        unsafe { layout.pack(self.room.as_ptr(), 0..packed.len(), packed.as_mut_ptr()) };
        self.originals.write(&packed)
    }
}

/// An accumulate, checked against the window.
struct Combination {
    reduction: AtomicReduction,
    row: &'static Predefined,
    batches: Vec<Batch>,
    /// Packed length.
    bytes: usize,
}

impl Combination {
    fn of(window: &Window, request: &Request) -> Result<Self> {
        let header = &request.header;
        let operator = Operator::find(u32::from(header.operator));
        let row = Predefined::find(header.datatype).filter(|row| row.size() > 0);
        let (Some(operator), Some(row)) = (operator, row) else {
            return Err(malformed("an accumulate with an unknown operation or type"));
        };
        let reduction = AtomicReduction::find(operator, row)
            .ok_or_else(|| op::undefined(operator, row.datatype()))?;
        let Some(bytes) = request.bytes().filter(|&bytes| bytes <= MOST_BYTES) else {
            return Err(malformed(
                "an accumulate of more bytes than one request may have",
            ));
        };
        let batches = request.runs.iter().map(|run| Batch::of(window, run, row));
        Ok(Self {
            reduction,
            row,
            batches: batches.collect::<Result<_>>()?,
            bytes,
        })
    }

    /// Combines packed data with the elements; the result is what these were, packed, if it is wanted.
    fn apply(&self, window: &Window, data: &[u8], is_fetch: bool) -> Result<Vec<u8>> {
        let reads = self.reduction.operator() != Operator::NoOp;
        if data.len() != if reads { self.bytes } else { 0 } {
            let text = format!("{} bytes of data for {}", data.len(), self.bytes);
            return Err(malformed(text));
        }
        let mut old = vec![0; if is_fetch { self.bytes } else { 0 }];
        let _excluded = window.channel.as_ref().and_then(Channel::exclude_others);
        let (from, to) = (data.as_ptr().cast_mut(), old.as_mut_ptr());
        let mut start = 0;
        let mut combine_one = |batch: &Batch| {
            let bytes = batch.run.bytes;
            let part = |base: *mut u8| Memory::contiguous(base.wrapping_add(start), bytes);
            let (origin, result) = (part(from), part(to));
            let operands = Operands {
                reduction: self.reduction,
                origin: reads.then_some(&origin),
                result: is_fetch.then_some(&result),
            };
            // SAFETY: the batch lies inside the window (`Batch::of`) or is a copy of one that does, so it is memory of this process; data
            // and old elements are as long as all batches.
            unsafe { combine(window, &operands, &batch.place(window, self.row)) };
            start += bytes;
        };
        let together = |one: &Batch, other: &Batch| are_together(one.run.device, other.run.device);
        for batches in self.batches.chunk_by(together) {
            let Some(device) = batches[0].run.device else {
                batches.iter().for_each(&mut combine_one);
                continue;
            };
            let copies = Copies::of(device, batches, self.row)?;
            combine_one(&copies.batch);
            if reads {
                copies.store()?;
            }
        }
        Ok(old)
    }
}

/// Handles an accumulate, whose data may follow.
pub(super) fn accumulate(
    window: &Arc<Window>,
    comm: &Arc<Comm>,
    source: u32,
    request: &Request,
) -> Access {
    let (number, is_fetch) = (request.header.number, request.header.kind == Kind::Fetch);
    let refused = move |error| match is_fetch {
        true => Handled::RefusedAnswer(number, error),
        false => Handled::Refused(error),
    };
    let end = move |comm: &Comm, applied: Result<Vec<u8>>| match applied {
        Err(error) => refused(error),
        Ok(_) if !is_fetch => Handled::Done,
        Ok(old) => answered(send_owned(comm, old, source, number.answer_tag()), number),
    };
    let combination = Combination::of(window, request);
    if !request.header.follows {
        let applied = combination.and_then(|it| it.apply(window, &request.data, is_fetch));
        return Access::Now(end(comm, applied));
    }
    let (window, comm) = (window.clone(), comm.clone());
    let work: Work = match combination {
        Err(error) => Box::pin(discard(comm, source, number, refused(error))),
        Ok(combination) => Box::pin(async move {
            let mut data = vec![0; combination.bytes];
            let into = Memory::contiguous(data.as_mut_ptr(), data.len());
            // SAFETY: the buffer lives in this future, which is polled to its end.
            let received = unsafe { receive(comm.clone(), source, number, into) }.await;
            let applied = received.and_then(|()| combination.apply(&window, &data, is_fetch));
            end(&comm, applied)
        }),
    };
    Access::Later(work)
}

/// Compares and swaps one element, and answers with what it was.
pub(super) fn swap(window: &Window, comm: &Comm, source: u32, request: &Request) -> Handled {
    let number = request.header.number;
    match swapped(window, request) {
        Err(error) => Handled::RefusedAnswer(number, error),
        Ok(old) => answered(send_owned(comm, old, source, number.answer_tag()), number),
    }
}

fn swapped(window: &Window, request: &Request) -> Result<Vec<u8>> {
    let row = Predefined::find(request.header.datatype);
    let (Some(row), [run]) = (row, &request.runs[..]) else {
        return Err(malformed(
            "a swap of an unknown type or of several elements",
        ));
    };
    let bytes = row.size();
    let is_one = run.bytes == bytes as u64 && bytes == row.shape.extent();
    if !is_one || request.data.len() != 2 * bytes {
        return Err(malformed(format!("a swap of {} bytes", run.bytes)));
    }
    let batch = Batch::of(window, run, row)?;
    let mut old = vec![0; bytes];
    let (origin, compare) = request.data.split_at(bytes);
    let (operands, result) = ([origin.as_ptr(), compare.as_ptr()], old.as_mut_ptr());
    let _excluded = window.channel.as_ref().and_then(Channel::exclude_others);
    let copies = batch
        .run
        .device
        .map(|device| Copies::of(device, &[batch], row));
    let copies = copies.transpose()?;
    let there = copies
        .as_ref()
        .map_or(&batch, |copies| &copies.batch)
        .run
        .address;
    // SAFETY: an element inside the window (`Batch::of`) or its copy; the data are two elements, and there is room for one.
    unsafe {
        let there = (there, bytes);
        compare_and_swap(window, window.own(), operands, result, there, false);
    }
    match copies {
        Some(copies) if old == compare => copies.store()?,
        _ => {}
    }
    Ok(old)
}
