// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on private memory of processes of the node, by cross-memory attach.
//!
//! The kernel copies while the target does something else; nothing waits for it. Accumulates read, combine and write under the target's
//! lock, which the target takes for its own memory, too.
#![expect(
    unsafe_code,
    reason = "origin and target are addresses that programs gave"
)]

use std::io;
use std::ops::Range;

use layout::Layout;
use sys::cma::{self, Span};

use super::combine::{
    self, Operands, STAGE_BYTES, Stage, gather, is_dense, load, locked, spread, store,
};
use super::paths::PathTaken;
use super::polled;
use super::target::Place;
use super::transfer::{Direction, copy_directly};
use super::window::Window;
use crate::datatype::{Memory, Shape};
use crate::errors::{Error, ErrorClass, Result};
use crate::op;

/// Packed bytes of one step of a copy between layouts.
const STEP_BYTES: usize = 64 << 10;

/// Stages of one step of an accumulate, which takes two system calls.
const MOST_STAGES: usize = STEP_BYTES / STAGE_BYTES;

impl Window {
    /// Whether the memory is this process's own.
    fn is_own(&self, place: &Place<'_>) -> bool {
        std::ptr::eq(place.target, self.own())
    }

    #[cold]
    #[inline(never)]
    fn cannot_copy(&self, place: &Place<'_>, error: &io::Error) -> Error {
        let (rank, base) = (place.rank, place.base);
        let what = format!("{} bytes at and about {base:p} of rank {rank}", place.bytes);
        let error = if cma::is_fault(error) {
            let text = format!("{what} are not all memory that may be accessed in this way");
            Error::new(ErrorClass::ERR_RMA_RANGE, text)
        } else {
            let text = format!("the kernel does not copy {what}: {error}");
            Error::new(ErrorClass::ERR_OTHER, text)
        };
        self.annotate(error)
    }
}

/// Copies between ranges here and at the target.
///
/// # Safety
/// The ranges here are readable for a put and writable for a get; those of the target lie inside the window.
#[inline]
unsafe fn copy(
    window: &Window,
    place: &Place<'_>,
    here: &mut [Span],
    there: &mut [Span],
    direction: Direction,
) -> Result<()> {
    let direction = match direction {
        Direction::Put => cma::Direction::Write,
        Direction::Get => cma::Direction::Read,
    };
    #[cfg(test)]
    COPIES.set(COPIES.get() + 1);
    // SAFETY: the caller's promise; the target has the window's memory accessed.
    let outcome = unsafe { cma::transfer(place.target.pid, direction, here, there) };
    outcome.map_err(|error| window.cannot_copy(place, &error))
}

#[cfg(test)]
thread_local! {
    /// Copies that this thread started.
    pub(super) static COPIES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn span(address: *const u8, bytes: usize) -> [Span; 1] {
    let address = address as usize;
    [Span { address, bytes }]
}

/// The ranges of a part of the packed form of elements at a base address.
fn spans_of(layout: &Layout, base: *const u8, range: Range<usize>, spans: &mut Vec<Span>) {
    spans.clear();
    layout.for_each_run(range, |offset, bytes| {
        let address = (base as usize).wrapping_add_signed(offset as isize);
        match spans.last_mut() {
            Some(last) if last.address + last.bytes == address => last.bytes += bytes,
            _ => spans.push(Span { address, bytes }),
        }
    });
}

/// Copies between the origin and private memory of the target.
///
/// # Safety
/// The origin is readable for a put and writable for a get.
#[inline]
pub(super) unsafe fn transfer(
    window: &Window,
    origin: &Memory<'_>,
    place: &Place<'_>,
    direction: Direction,
) -> Result<()> {
    // SAFETY: the caller's promise; the place lies inside the window (`Window::place`).
    unsafe {
        if window.is_own(place) {
            copy_directly(origin, place, direction);
            return Ok(());
        }
        if let (None, Some(there)) = (origin.layout, place.run()) {
            let chosen = place.target.paths.choose(place.bytes);
            let is_asked = chosen.path == PathTaken::Asked
                && polled::transfer(window, origin.base, (there, place), direction)?;
            if is_asked {
                chosen.end(PathTaken::Asked);
                return Ok(());
            }
            let (mut here, mut there) = (span(origin.base, origin.bytes), span(there, place.bytes));
            let outcome = copy(window, place, &mut here, &mut there, direction);
            chosen.end(PathTaken::Attached);
            return outcome;
        }
        transfer_layouts(window, origin, place, direction)
    }
}

/// # Safety
/// As for [`transfer`].
#[inline(never)]
unsafe fn transfer_layouts(
    window: &Window,
    origin: &Memory<'_>,
    place: &Place<'_>,
    direction: Direction,
) -> Result<()> {
    let (mut here, mut there) = (Vec::new(), Vec::new());
    let mut start = 0;
    while start < place.bytes {
        let range = start..place.bytes.min(start + STEP_BYTES);
        start = range.end;
        spans_of(place.layout, place.base, range.clone(), &mut there);
        match origin.layout {
            Some((layout, _)) => spans_of(layout, origin.base, range, &mut here),
            None => {
                here.clear();
                here.extend(span(origin.base.wrapping_add(range.start), range.len()));
            }
        }
        // SAFETY: the caller's promise; the ranges are parts of the origin and of the place.
        unsafe { copy(window, place, &mut here, &mut there, direction) }?;
    }
    Ok(())
}

/// Combines the operands with private memory of the target.
///
/// # Safety
/// The origin is readable, the result writable, and they are as long as the place; they do not overlap.
pub(super) unsafe fn combine(
    window: &Window,
    operands: &Operands<'_>,
    place: &Place<'_>,
) -> Result<()> {
    let reduction = operands.reduction.without_words();
    if window.is_own(place) {
        let operands = Operands {
            reduction,
            ..*operands
        };
        // SAFETY: passed on; the memory is this process's.
        unsafe { combine::combine(window, &operands, place) };
        return Ok(());
    }
    let shape = reduction.shape();
    // Copies of pairs with padding pass through a stage on the stack.
    let stages = match is_dense(shape) {
        true => place.bytes.div_ceil(STAGE_BYTES).min(MOST_STAGES),
        false => 1,
    };
    let mut room = Vec::<Stage>::with_capacity(3 * stages);
    let stage_bytes = stages * STAGE_BYTES;
    let start: *mut u8 = room.as_mut_ptr().cast();
    let [source, target, old] = [0, 1, 2].map(|index| start.wrapping_add(index * stage_bytes));
    let with_result = operands.result.map_or(std::ptr::null_mut(), |_| old);
    let step = stage_bytes / shape.extent() * shape.size();
    let mut spans = Vec::new();
    let mut start = 0;
    while start < place.bytes {
        let range = start..place.bytes.min(start + step);
        start = range.end;
        let count = range.len() / shape.size();
        spans_of(place.layout, place.base, range.clone(), &mut spans);
        // SAFETY: the stages hold the elements of a step; the caller's promises for the rest.
        unsafe {
            let from = match operands.origin {
                Some(Memory {
                    base, layout: None, ..
                }) if is_dense(shape) => base.add(range.start),
                Some(origin) => {
                    load(origin, range.clone(), shape, source);
                    source
                }
                None => source,
            };
            locked(place.target, |_| {
                fetch(window, place, &spans, shape, target, range.len())?;
                reduction.apply_locked(from, target, with_result, count);
                if operands.origin.is_none() {
                    return Ok(());
                }
                put_back(window, place, &mut spans, shape, target, range.len())
            })?;
            if let Some(result) = operands.result {
                store(result, range, shape, old);
            }
        }
    }
    Ok(())
}

/// Copies elements of the target to a stage.
///
/// # Safety
/// The stage has room for the elements, whose packed length is `bytes`.
unsafe fn fetch(
    window: &Window,
    place: &Place<'_>,
    spans: &[Span],
    shape: Shape,
    stage: *mut u8,
    bytes: usize,
) -> Result<()> {
    let mut packed = Stage::new();
    let to = if is_dense(shape) {
        stage
    } else {
        packed.start()
    };
    let mut there = spans.to_vec();
    // SAFETY: packed elements are not longer than those of a stage.
    unsafe {
        copy(
            window,
            place,
            &mut span(to, bytes),
            &mut there,
            Direction::Get,
        )?;
        spread(shape, to, stage, bytes / shape.size());
    }
    Ok(())
}

/// The converse of [`fetch`]; the ranges are used up.
///
/// # Safety
/// The stage holds the elements.
unsafe fn put_back(
    window: &Window,
    place: &Place<'_>,
    there: &mut [Span],
    shape: Shape,
    stage: *mut u8,
    bytes: usize,
) -> Result<()> {
    let mut packed = Stage::new();
    let from = if is_dense(shape) {
        stage
    } else {
        packed.start()
    };
    // SAFETY: as for `fetch`.
    unsafe {
        gather(shape, stage, from, bytes / shape.size());
        copy(window, place, &mut span(from, bytes), there, Direction::Put)
    }
}

/// Compares and swaps an element in private memory of the target.
///
/// # Safety
/// The operands are readable and `result` is writable for the bytes of the place, at most 32; `result` overlaps none of them.
pub(super) unsafe fn compare_and_swap(
    window: &Window,
    operands: [*const u8; 2],
    result: *mut u8,
    place: &Place<'_>,
) -> Result<()> {
    let bytes = place.bytes;
    // SAFETY: the caller's promise; the place is an element inside the window, and the copy has room for it.
    locked(place.target, |_| unsafe {
        if window.is_own(place) {
            combine::swap_locked(place.target, operands, result, (place.base, bytes));
            return Ok(());
        }
        let mut element = [0u8; 32];
        let target = element.as_mut_ptr();
        let (mut here, mut there) = (span(target, bytes), span(place.base, bytes));
        copy(window, place, &mut here, &mut there, Direction::Get)?;
        op::compare_and_swap_locked(operands, result, target, bytes);
        let (mut here, mut there) = (span(target, bytes), span(place.base, bytes));
        copy(window, place, &mut here, &mut there, Direction::Put)
    })
}
