// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations of the program: functions in its memory, which proxies cannot call. The members gather their elements, and each reduces
//! what it is to have.

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::transmute;
use std::sync::{Mutex, PoisonError};

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::elements::{Elements, Shape};
use super::layer::NEXT;
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Op_create: create,
        MPI_Op_create_c: create_large,
        MPI_Op_free: free,
        ..next
    }
}

type Small = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i32, *mut MPI_Datatype);
type Large = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype);

/// The function of an operation.
#[derive(Clone, Copy)]
pub(super) enum Function {
    Small(Small),
    Large(Large),
}

static KNOWN: Mutex<Option<HashMap<MPI_Op, Function>>> = Mutex::new(None);

fn with_known<T>(action: impl FnOnce(&mut HashMap<MPI_Op, Function>) -> T) -> T {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    action(known.get_or_insert_default())
}

/// The function of an operation of the program.
///
/// # Errors
/// MPI_ERR_OP where it is none.
pub(super) fn find(op: MPI_Op) -> Result<Function, i32> {
    with_known(|known| known.get(&op).copied()).ok_or(mpi::MPI_ERR_OP)
}

unsafe extern "C" fn create(function: Callback, commute: i32, op: *mut MPI_Op) -> i32 {
    // SAFETY: the program's arguments; the function has the prototype of the standard.
    unsafe {
        let code = (NEXT.get().MPI_Op_create)(function, commute, op);
        if code == mpi::MPI_SUCCESS && function != 0 {
            let function = Function::Small(transmute::<Callback, Small>(function));
            with_known(|known| known.insert(*op, function));
        }
        code
    }
}

unsafe extern "C" fn create_large(function: Callback, commute: i32, op: *mut MPI_Op) -> i32 {
    // SAFETY: as above.
    unsafe {
        let code = (NEXT.get().MPI_Op_create_c)(function, commute, op);
        if code == mpi::MPI_SUCCESS && function != 0 {
            let function = Function::Large(transmute::<Callback, Large>(function));
            with_known(|known| known.insert(*op, function));
        }
        code
    }
}

unsafe extern "C" fn free(op: *mut MPI_Op) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        let before = if op.is_null() { mpi::MPI_OP_NULL } else { *op };
        let code = (NEXT.get().MPI_Op_free)(op);
        if code == mpi::MPI_SUCCESS {
            with_known(|known| known.remove(&before));
        }
        code
    }
}

/// Memory for elements as the program has them.
struct Unpacked {
    /// Aligned for all types.
    _memory: Vec<u128>,
    base: *mut c_void,
    elements: Elements,
}

impl Unpacked {
    fn new(shape: &Shape, count: MPI_Count) -> Result<Self, i32> {
        let number = usize::try_from(count).map_err(|_| mpi::MPI_ERR_COUNT)?;
        let span = match shape.layout() {
            Some(layout) => layout.span(number),
            None => number
                .checked_mul(shape.size() as usize)
                .map(|bytes| (0, bytes)),
        };
        let (first, bytes) = span.ok_or(mpi::MPI_ERR_COUNT)?;
        // Element 0 is aligned, too.
        let shift = first.rem_euclid(16);
        let bytes = bytes.checked_add(shift as usize);
        let words = bytes.ok_or(mpi::MPI_ERR_COUNT)?.div_ceil(16);
        let mut memory = Vec::new();
        (memory.try_reserve_exact(words)).map_err(|_| mpi::MPI_ERR_NO_MEM)?;
        memory.resize(words, 0u128);
        let base = memory.as_mut_ptr().cast::<u8>();
        let base = base.wrapping_offset((shift - first) as isize).cast();
        Ok(Self {
            elements: shape.elements(base, 0, count)?,
            base,
            _memory: memory,
        })
    }
}

/// Reduces the packed elements of members, in the order of their ranks; the last block becomes the result.
///
/// # Errors
/// MPI_ERR_COUNT where the function cannot be given so many elements, MPI_ERR_NO_MEM.
pub(super) fn reduce(
    function: Function,
    shape: &Shape,
    datatype: MPI_Datatype,
    count: MPI_Count,
    blocks: &mut [u8],
) -> Result<(), i32> {
    let (left, right) = (Unpacked::new(shape, count)?, Unpacked::new(shape, count)?);
    let bytes = right.elements.bytes();
    if bytes == 0 {
        return Ok(());
    }
    let (mut datatype, mut large) = (datatype, count);
    let mut small = i32::try_from(count);
    if matches!(function, Function::Small(_)) && small.is_err() {
        return Err(mpi::MPI_ERR_COUNT);
    }
    let mut blocks = blocks.chunks_exact_mut(bytes as usize);
    let Some(result) = blocks.next_back() else {
        return Ok(());
    };
    // SAFETY: both have room for so many elements, and a block has as many bytes packed; the function is the program's.
    unsafe {
        right.elements.unpack(result.as_ptr(), bytes);
        for block in blocks.rev() {
            left.elements.unpack(block.as_ptr(), bytes);
            match (function, &mut small) {
                (Function::Small(function), Ok(count)) => {
                    function(left.base, right.base, count, &raw mut datatype);
                }
                (Function::Large(function), _) => {
                    function(left.base, right.base, &raw mut large, &raw mut datatype);
                }
                (Function::Small(_), Err(_)) => {}
            }
        }
        right.elements.pack(result.as_mut_ptr());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not commutative: the digits of both.
    unsafe extern "C" fn join(
        left: *mut c_void,
        right: *mut c_void,
        count: *mut i32,
        _: *mut MPI_Datatype,
    ) {
        // SAFETY: the number of elements, and arrays of so many integers.
        unsafe {
            for at in 0..*count as usize {
                let (left, right) = (left.cast::<u64>().add(at), right.cast::<u64>().add(at));
                let digits = 10u64.pow(right.read().checked_ilog10().unwrap_or(0) + 1);
                right.write(left.read() * digits + right.read());
            }
        }
    }

    #[test]
    fn operands_are_in_the_order_of_ranks() {
        let blocks = [[1u64, 2], [3, 4], [5, 6]];
        let mut bytes: Vec<u8> = blocks
            .iter()
            .flatten()
            .flat_map(|it| it.to_ne_bytes())
            .collect();
        let function = Function::Small(join);
        reduce(function, &Shape::Dense(8), mpi::MPI_UINT64_T, 2, &mut bytes).unwrap();
        let results = bytes[32..].chunks(8);
        let results: Vec<u64> = results
            .map(|it| u64::from_ne_bytes(it.try_into().unwrap()))
            .collect();
        assert_eq!(results, [135, 246]);
    }
}
