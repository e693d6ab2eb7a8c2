// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accumulates (MPI-5.0, sections 12.3.4 to 12.3.6): atomic for each element, and in program order: a call is complete at the target when
//! it returns, or the target handles messages in the order in which they were sent.
#![expect(
    unsafe_code,
    reason = "origin and target are addresses that programs gave"
)]

use super::attach;
use super::combine::{self, Operands, apply, combine};
use super::message::operations::{self, Action};
use super::target::{Path, Place, Remote};
use super::window::Window;
use crate::datatype::{Category, Datatype, Memory, Predefined};
use crate::errors::{Error, ErrorClass, Result};
use crate::op::{self, AtomicReduction, Operator};
use crate::request::RequestId;

/// Elements at the origin: operands, or memory for results.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    /// Where they are.
    pub memory: Memory<'a>,
    /// Their number.
    pub count: usize,
    /// Their type.
    pub datatype: &'a Datatype,
}

impl Window {
    /// The operation on the basic type of both sides.
    #[inline(always)]
    fn reduction(
        &self,
        operator: Operator,
        target: &Datatype,
        others: [Option<(&'static str, &Datatype)>; 2],
    ) -> Result<AtomicReduction> {
        let Some(row) = target.basic() else {
            return Err(self.has_no_basic("target_datatype", target));
        };
        let [first, second] = others;
        if let Some((argument, other)) = first {
            self.check_basic(argument, other, row)?;
        }
        if let Some((argument, other)) = second {
            self.check_basic(argument, other, row)?;
        }
        AtomicReduction::find(operator, row)
            .ok_or_else(|| self.annotate(op::undefined(operator, target)))
    }

    /// Refuses a type that is not made of the target's basic type.
    #[inline(always)]
    fn check_basic(
        &self,
        argument: &'static str,
        datatype: &Datatype,
        target: &'static Predefined,
    ) -> Result<()> {
        match datatype.basic() {
            Some(basic) if std::ptr::eq(basic, target) => Ok(()),
            basic => self.check_agrees(argument, datatype, basic, target),
        }
    }

    #[cold]
    #[inline(never)]
    fn has_no_basic(&self, argument: &'static str, datatype: &Datatype) -> Error {
        let expected = "a predefined type, or one that is made of a single predefined type";
        let (class, value) = (ErrorClass::ERR_TYPE, datatype.describe());
        self.annotate(Error::argument(class, argument, value, expected))
    }

    #[cold]
    #[inline(never)]
    fn check_agrees(
        &self,
        argument: &'static str,
        datatype: &Datatype,
        basic: Option<&'static Predefined>,
        target: &'static Predefined,
    ) -> Result<()> {
        match basic {
            None => Err(self.has_no_basic(argument, datatype)),
            Some(basic) if basic.agrees_with(target) => Ok(()),
            Some(basic) => {
                let value = format!("{} (of {})", datatype.describe(), basic.name);
                let expected = format!("a type of {}, as at the target", target.name);
                let class = ErrorClass::ERR_TYPE;
                Err(self.annotate(Error::argument(class, argument, value, expected)))
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn sizes_differ(&self, argument: &'static str, origin: usize, target: usize) -> Error {
        let value = format!("{origin} bytes");
        let expected = format!("as many bytes as at the target, {target}");
        self.annotate(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            value,
            expected,
        ))
    }

    #[cold]
    #[inline(never)]
    fn only_fetches(&self) -> Error {
        let expected = "an operation other than MPI_NO_OP, which only fetches";
        let class = ErrorClass::ERR_OP;
        self.annotate(Error::argument(class, "op", "MPI_NO_OP", expected))
    }

    /// A predefined type, of which there is one element.
    #[cold]
    #[inline(never)]
    fn is_derived(&self, datatype: &Datatype) -> Error {
        let (class, value) = (ErrorClass::ERR_TYPE, datatype.describe());
        self.annotate(Error::argument(
            class,
            "datatype",
            value,
            "a predefined datatype",
        ))
    }

    #[cold]
    #[inline(never)]
    fn is_not_comparable(&self, datatype: &Datatype) -> Error {
        let (class, value) = (ErrorClass::ERR_TYPE, datatype.describe());
        let expected = "a predefined integer, a boolean or MPI_BYTE";
        self.annotate(Error::argument(class, "datatype", value, expected))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn is_unreachable(&self, rank: u32) -> Error {
        let text = format!("memory of rank {rank} is not node-shared");
        self.annotate(Error::new(ErrorClass::ERR_RMA_SHARED, text))
    }
}

/// The same by messages.
fn action<'a>(operands: &Operands<'a>, basic: &'static Predefined) -> Action<'a> {
    Action::Accumulate {
        operator: operands.reduction.operator(),
        basic,
        origin: operands.origin,
        result: operands.result,
    }
}

/// Combines, wherever the memory of the target is; elements of the datatype have a basic type.
///
/// # Safety
/// As for [`combine()`].
#[inline(always)]
unsafe fn perform(
    window: &Window,
    operands: &Operands<'_>,
    place: &Place<'_>,
    datatype: &Datatype,
) -> Result<()> {
    if place.path == Path::Direct {
        // SAFETY: passed on; memory of a window is mapped until it is freed.
        unsafe { combine(window, operands, place) };
        return Ok(());
    }
    // SAFETY: passed on.
    unsafe { perform_elsewhere(window, operands, place, datatype) }
}

/// # Safety
/// As for [`combine()`].
#[inline(never)]
unsafe fn perform_elsewhere(
    window: &Window,
    operands: &Operands<'_>,
    place: &Place<'_>,
    datatype: &Datatype,
) -> Result<()> {
    if place.path == Path::Attach {
        // SAFETY: the caller's promise.
        return unsafe { attach::combine(window, operands, place) };
    }
    if let (Some(channel), Some(basic)) = (window.channel_for(place), datatype.basic()) {
        let action = action(operands, basic);
        // SAFETY: the caller's promise.
        return unsafe { operations::operate(window, channel, place, action) };
    }
    Err(window.is_unreachable(place.rank))
}

/// As [`perform`] with a request, which is complete unless messages are under way.
///
/// # Safety
/// As for [`combine()`], until the request is complete.
unsafe fn perform_with_request(
    window: &Window,
    operands: &Operands<'_>,
    place: &Place<'_>,
    datatype: &Datatype,
) -> Result<RequestId> {
    // SAFETY: the caller's promise.
    unsafe {
        if let (Some(channel), Some(basic)) = (window.channel_to(place.rank), datatype.basic()) {
            let action = action(operands, basic);
            return operations::operate_with_request(window, channel, place, action);
        }
        perform(window, operands, place, datatype)?;
    }
    Ok(RequestId::SENT)
}

/// An accumulate, checked; `None` if there is nothing to do.
#[inline(always)]
fn combination<'a>(
    window: &'a Window,
    origin: &'a Elements<'_>,
    remote: &Remote<'a>,
    operator: Operator,
) -> Result<Option<(Operands<'a>, Place<'a>)>> {
    let Some(place) = window.place(remote)? else {
        return Ok(None);
    };
    if operator == Operator::NoOp {
        return Err(window.only_fetches());
    }
    if origin.memory.bytes != place.bytes {
        return Err(window.sizes_differ("origin_count", origin.memory.bytes, place.bytes));
    }
    if place.bytes == 0 {
        return Ok(None);
    }
    let others = [Some(("origin_datatype", origin.datatype)), None];
    let operands = Operands {
        reduction: window.reduction(operator, remote.datatype, others)?,
        origin: Some(&origin.memory),
        result: None,
    };
    Ok(Some((operands, place)))
}

/// Combines the origin's elements with those of a target (MPI_Accumulate).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_DISP, MPI_ERR_RMA_RANGE, MPI_ERR_RMA_SYNC, MPI_ERR_ARG; MPI_ERR_TYPE when a type has no single basic type, or
/// the sides have different ones; MPI_ERR_OP when the operation is not defined for it.
///
/// # Safety
/// The origin is readable until the operation is complete here.
#[inline]
pub unsafe fn accumulate(
    window: &Window,
    origin: &Elements<'_>,
    remote: &Remote<'_>,
    operator: Operator,
) -> Result<()> {
    let Some((operands, place)) = combination(window, origin, remote, operator)? else {
        return Ok(());
    };
    // SAFETY: the caller's promise; both sides have the same length.
    unsafe { perform(window, &operands, &place, remote.datatype) }
}

/// As [`accumulate`], with a request (MPI_Raccumulate).
///
/// # Errors
/// As for [`accumulate`].
///
/// # Safety
/// The origin is readable until the request is complete.
pub unsafe fn raccumulate(
    window: &Window,
    origin: &Elements<'_>,
    remote: &Remote<'_>,
    operator: Operator,
) -> Result<RequestId> {
    let Some((operands, place)) = combination(window, origin, remote, operator)? else {
        return Ok(RequestId::SENT);
    };
    // SAFETY: the caller's promise; both sides have the same length.
    unsafe { perform_with_request(window, &operands, &place, remote.datatype) }
}

/// As [`combination`], with memory for what the target's elements were.
fn fetching_combination<'a>(
    window: &'a Window,
    origin: &'a Elements<'_>,
    result: &'a Elements<'_>,
    remote: &Remote<'a>,
    operator: Operator,
) -> Result<Option<(Operands<'a>, Place<'a>)>> {
    let Some(place) = window.place(remote)? else {
        return Ok(None);
    };
    let origin = (operator != Operator::NoOp).then_some(origin);
    if let Some(origin) = origin.filter(|origin| origin.memory.bytes != place.bytes) {
        return Err(window.sizes_differ("origin_count", origin.memory.bytes, place.bytes));
    }
    if result.memory.bytes != place.bytes {
        return Err(window.sizes_differ("result_count", result.memory.bytes, place.bytes));
    }
    if place.bytes == 0 {
        return Ok(None);
    }
    let others = [
        origin.map(|origin| ("origin_datatype", origin.datatype)),
        Some(("result_datatype", result.datatype)),
    ];
    let operands = Operands {
        reduction: window.reduction(operator, remote.datatype, others)?,
        origin: origin.map(|origin| &origin.memory),
        result: Some(&result.memory),
    };
    Ok(Some((operands, place)))
}

/// As [`accumulate`], and stores what the target's elements were (MPI_Get_accumulate). The origin is not used for MPI_NO_OP.
///
/// # Errors
/// As for [`accumulate`].
///
/// # Safety
/// The origin is readable and the result writable until the operation is complete here; they do not overlap.
pub unsafe fn get_accumulate(
    window: &Window,
    origin: &Elements<'_>,
    result: &Elements<'_>,
    remote: &Remote<'_>,
    operator: Operator,
) -> Result<()> {
    let found = fetching_combination(window, origin, result, remote, operator)?;
    let Some((operands, place)) = found else {
        return Ok(());
    };
    // SAFETY: the caller's promise; all sides have the same length.
    unsafe { perform(window, &operands, &place, remote.datatype) }
}

/// As [`get_accumulate`], with a request (MPI_Rget_accumulate).
///
/// # Errors
/// As for [`accumulate`].
///
/// # Safety
/// The origin is readable and the result writable until the request is complete; they do not overlap.
pub unsafe fn rget_accumulate(
    window: &Window,
    origin: &Elements<'_>,
    result: &Elements<'_>,
    remote: &Remote<'_>,
    operator: Operator,
) -> Result<RequestId> {
    let found = fetching_combination(window, origin, result, remote, operator)?;
    let Some((operands, place)) = found else {
        return Ok(RequestId::SENT);
    };
    // SAFETY: the caller's promise; all sides have the same length.
    unsafe { perform_with_request(window, &operands, &place, remote.datatype) }
}

/// Combines one element of a predefined type, and stores what the target's was (MPI_Fetch_and_op).
///
/// # Errors
/// As for [`accumulate`].
///
/// # Safety
/// `origin` is readable (not needed for MPI_NO_OP) and `result` writable for an element; they do not overlap.
#[inline]
pub unsafe fn fetch_and_op(
    window: &Window,
    origin: *const u8,
    result: *mut u8,
    datatype: &Datatype,
    rank: i32,
    disp: i64,
    operator: Operator,
) -> Result<()> {
    let count = 1;
    let remote = Remote {
        unit: None,
        rank,
        disp,
        count,
        datatype,
    };
    let Some(place) = window.place(&remote)? else {
        return Ok(());
    };
    let reduction = window.reduction_of_one(operator, datatype)?;
    if place.path == Path::Direct {
        // SAFETY: the caller's promise; the place is an element inside the window.
        unsafe {
            apply(
                window,
                place.target,
                &reduction,
                [origin.cast_mut(), place.base, result],
                1,
            )
        };
        return Ok(());
    }
    let origin = datatype.memory(origin.cast_mut(), count)?;
    let result = datatype.memory(result, count)?;
    let operands = Operands {
        reduction,
        origin: (operator != Operator::NoOp).then_some(&origin),
        result: Some(&result),
    };
    // SAFETY: the caller's promise.
    unsafe { perform_elsewhere(window, &operands, &place, datatype) }
}

/// As [`fetch_and_op`], with a request.
///
/// # Errors
/// As there.
///
/// # Safety
/// As there, until the request is complete.
pub unsafe fn rfetch_and_op(
    window: &Window,
    [origin, result]: [*mut u8; 2],
    remote: &Remote<'_>,
    operator: Operator,
) -> Result<RequestId> {
    let Some(place) = window.place(remote)? else {
        return Ok(RequestId::SENT);
    };
    let datatype = remote.datatype;
    let origin = datatype.memory(origin, 1)?;
    let result = datatype.memory(result, 1)?;
    let operands = Operands {
        reduction: window.reduction_of_one(operator, datatype)?,
        origin: (operator != Operator::NoOp).then_some(&origin),
        result: Some(&result),
    };
    // SAFETY: the caller's promise; all sides are one element.
    unsafe { perform_with_request(window, &operands, &place, datatype) }
}

impl Window {
    /// The operation on one element of a predefined type.
    #[inline(always)]
    fn reduction_of_one(&self, operator: Operator, datatype: &Datatype) -> Result<AtomicReduction> {
        let Some(row) = datatype.reduces_as() else {
            return Err(self.is_derived(datatype));
        };
        AtomicReduction::find(operator, row)
            .ok_or_else(|| self.annotate(op::undefined(operator, datatype)))
    }

    /// The row of a type that MPI_Compare_and_swap takes.
    #[inline(always)]
    fn comparable(&self, datatype: &Datatype) -> Result<&'static Predefined> {
        match datatype.reduces_as().filter(|row| is_comparable(row)) {
            Some(row) => Ok(row),
            None => Err(self.is_not_comparable(datatype)),
        }
    }
}

/// Whether MPI_Compare_and_swap takes the type (MPI-5.0, section 12.3.5): besides what the standard lists, MPI_CHAR as an integer.
const fn is_comparable(row: &Predefined) -> bool {
    matches!(
        row.category,
        Category::CInteger
            | Category::FortranInteger
            | Category::Logical
            | Category::MultiLanguage
            | Category::Byte
            | Category::Char
    )
}

/// Whether MPI_Compare_and_swap exchanges elements of a type by an instruction where they are aligned; elements of MPI_BYTE it does not.
pub fn is_swapped_by_word(datatype: &Datatype) -> bool {
    let row = datatype.reduces_as().filter(|row| is_comparable(row));
    row.is_some_and(|row| row.category != Category::Byte)
}

/// Stores the origin's element at the target if the target's is equal to `compare`, and in any case what the target's was at `result`
/// (MPI_Compare_and_swap).
///
/// # Errors
/// As for [`accumulate`]; MPI_ERR_TYPE when the type is not an integer, a boolean or MPI_BYTE.
///
/// # Safety
/// `origin` and `compare` are readable and `result` is writable for an element; `result` does not overlap them.
#[inline]
pub unsafe fn compare_and_swap(
    window: &Window,
    origin: *const u8,
    compare: *const u8,
    result: *mut u8,
    datatype: &Datatype,
    rank: i32,
    disp: i64,
) -> Result<()> {
    let remote = Remote {
        unit: None,
        rank,
        disp,
        count: 1,
        datatype,
    };
    // SAFETY: passed on.
    unsafe { swap(window, [origin, compare], result, &remote) }
}

/// [`compare_and_swap`] of an element that an operation names.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn swap(
    window: &Window,
    [origin, compare]: [*const u8; 2],
    result: *mut u8,
    remote: &Remote<'_>,
) -> Result<()> {
    let datatype = remote.datatype;
    let Some(place) = window.place(remote)? else {
        return Ok(());
    };
    let row = window.comparable(datatype)?;
    // Accumulates of bytes hold the lock, so this does too.
    let is_locked = row.category == Category::Byte;
    if place.path != Path::Direct {
        // SAFETY: passed on.
        return unsafe { swap_elsewhere(window, [origin, compare], result, &place, datatype) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        let there = (place.base, place.bytes);
        combine::compare_and_swap(
            window,
            place.target,
            [origin, compare],
            result,
            there,
            is_locked,
        );
    }
    Ok(())
}

/// [`compare_and_swap`] where the target's memory is not mapped.
///
/// # Safety
/// As there, until the operation is complete here.
#[inline(never)]
unsafe fn swap_elsewhere(
    window: &Window,
    operands: [*const u8; 2],
    result: *mut u8,
    place: &Place<'_>,
    datatype: &Datatype,
) -> Result<()> {
    if place.path == Path::Attach {
        // SAFETY: the caller's promise.
        return unsafe { attach::compare_and_swap(window, operands, result, place) };
    }
    let Some(channel) = window.channel_for(place) else {
        return Err(window.is_unreachable(place.rank));
    };
    swap_by_message(operands, result, place, datatype, |action| {
        // SAFETY: the caller's promise.
        unsafe { operations::operate(window, channel, place, action) }
    })
}

/// Calls `start` with a swap by messages.
fn swap_by_message<R>(
    operands: [*const u8; 2],
    result: *mut u8,
    place: &Place<'_>,
    datatype: &Datatype,
    start: impl FnOnce(Action<'_>) -> Result<R>,
) -> Result<R> {
    let memory = |base: *mut u8| Memory::contiguous(base, place.bytes);
    let [origin, compare] = operands.map(|base| memory(base.cast_mut()));
    let Some(basic) = datatype.basic() else {
        let text = "a swap of a type without a basic type";
        return Err(Error::new(ErrorClass::ERR_INTERN, text));
    };
    start(Action::Swap {
        basic,
        origin: &origin,
        compare: &compare,
        result: &memory(result),
    })
}

/// As [`compare_and_swap`] of an element that an operation names, with a request.
///
/// # Errors
/// As there.
///
/// # Safety
/// As there, until the request is complete.
pub unsafe fn rcompare_and_swap(
    window: &Window,
    operands: [*const u8; 2],
    result: *mut u8,
    remote: &Remote<'_>,
) -> Result<RequestId> {
    let datatype = remote.datatype;
    let channel = u32::try_from(remote.rank)
        .ok()
        .filter(|&rank| (rank as usize) < window.targets.len());
    let Some(channel) = channel.and_then(|rank| window.channel_to(rank)) else {
        // SAFETY: passed on.
        unsafe { swap(window, operands, result, remote) }?;
        return Ok(RequestId::SENT);
    };
    window.comparable(datatype)?;
    let Some(place) = window.place(remote)? else {
        return Ok(RequestId::SENT);
    };
    swap_by_message(operands, result, &place, datatype, |action| {
        // SAFETY: the caller's promise.
        unsafe { operations::operate_with_request(window, channel, &place, action) }
    })
}
