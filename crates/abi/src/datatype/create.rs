// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constructors of datatypes (MPI-5.0, section 5.1.2 and following).

use std::sync::Arc;

pub(crate) use engine::datatype::Argument as Address;
use engine::datatype::array::Distribution;
use engine::datatype::predefined::match_size;
use engine::datatype::{Datatype, Old, Width};
use engine::topo::cart;
use engine::{Error, ErrorClass, Result, allocate};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::MPI_Datatype;

use super::arguments::publish;
use crate::error::run;
use crate::handle::{Borrowed, DATATYPES};
use crate::naming::{Wide, named};

/// Counts, which tell the two forms of a constructor apart.
pub(crate) trait CountIn: Address + Wide {
    const WIDTH: Width;
}

impl CountIn for i32 {
    const WIDTH: Width = Width::Int;
}

impl CountIn for i64 {
    const WIDTH: Width = Width::Count;
}

/// Makes a datatype and its handle.
fn make(
    call: &'static str,
    newtype: *mut MPI_Datatype,
    build: impl FnOnce() -> Result<Arc<Datatype>>,
) -> i32 {
    run(call, 0, || {
        let handle = publish(build()?)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *newtype = handle };
        Ok(())
    })
}

fn old(handle: MPI_Datatype) -> Result<Borrowed<Datatype>> {
    DATATYPES.borrow(handle, "oldtype")
}

/// An entry of `array_of_types` is no datatype.
#[cold]
fn no_type(handle: MPI_Datatype, index: usize) -> Error {
    let value = match handle {
        abi::MPI_DATATYPE_NULL => format!("MPI_DATATYPE_NULL at index {index}"),
        _ => format!("{handle:#x} at index {index}"),
    };
    let expected = "a valid datatype";
    Error::argument(ErrorClass::ERR_TYPE, "array_of_types", value, expected)
}

/// No array ends behind this address: user space has at most 2^52 bytes on any processor.
const ADDRESSES: usize = 1 << 52;

/// `count` numbers of a C array.
///
/// # Safety
/// The array has `count` entries that no other thread writes meanwhile, or is null.
unsafe fn slice<'a, T: Copy>(
    argument: &'static str,
    count: i64,
    values: *const T,
) -> Result<&'a [T]> {
    let length = usize::try_from(count)
        .map_err(|_| Error::argument(ErrorClass::ERR_COUNT, "count", count, "0 or more"))?;
    if length == 0 {
        return Ok(&[]);
    }
    if values.is_null() {
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            "null",
            format!("an array of {length} entries"),
        ));
    }
    let end = length
        .checked_mul(size_of::<T>())
        .and_then(|bytes| bytes.checked_add(values as usize));
    if end.is_none_or(|end| end > ADDRESSES) {
        let expected = format!("as many as '{argument}' has entries, which cannot be so many");
        return Err(Error::argument(
            ErrorClass::ERR_COUNT,
            "count",
            count,
            expected,
        ));
    }
    // SAFETY: the caller's promise; C arrays are aligned, and this one ends inside the address space.
    Ok(unsafe { std::slice::from_raw_parts(values, length) })
}

/// The length of arrays with an entry for each dimension.
fn dimensions_of(ndims: i32) -> Result<i64> {
    if !(1..=cart::MOST_DIMENSIONS).contains(&ndims) {
        let expected = match ndims {
            ..1 => "1 or more dimensions".to_owned(),
            _ => format!("at most {} dimensions", cart::MOST_DIMENSIONS),
        };
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            "ndims",
            ndims,
            expected,
        ));
    }
    Ok(ndims.into())
}

/// Reads `count` numbers of a C array.
///
/// # Safety
/// As for [`slice()`].
pub(crate) unsafe fn array<T: Copy, R>(
    argument: &'static str,
    count: i64,
    values: *const T,
    convert: impl Fn(T) -> R,
) -> Result<Vec<R>> {
    // SAFETY: passed on.
    let values = unsafe { slice(argument, count, values)? };
    let mut converted = allocate::list(values.len())?;
    converted.extend(values.iter().copied().map(convert));
    Ok(converted)
}

pub(crate) unsafe fn MPI_Type_contiguous<C: CountIn>(
    count: C,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(named!("MPI_Type_contiguous", count), newtype, || {
        Datatype::contiguous(count.to_i64(), &*old(oldtype)?, C::WIDTH)
    })
}

pub(crate) unsafe fn MPI_Type_vector<C: CountIn>(
    count: C,
    blocklength: C,
    stride: C,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(named!("MPI_Type_vector", count), newtype, || {
        let (count, length) = (count.to_i64(), blocklength.to_i64());
        Datatype::vector(count, length, stride.to_i64(), &*old(oldtype)?, C::WIDTH)
    })
}

/// Blocks of one length, a distance in bytes apart.
fn hvector<C: CountIn>(
    call: &'static str,
    count: C,
    blocklength: C,
    stride: impl Address,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(call, newtype, || {
        let (count, length) = (count.to_i64(), blocklength.to_i64());
        Datatype::hvector(count, length, stride.to_i64(), &*old(oldtype)?, C::WIDTH)
    })
}

pub(crate) unsafe fn MPI_Type_create_hvector<C: CountIn>(
    count: C,
    blocklength: C,
    stride: impl Address,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    let call = named!("MPI_Type_create_hvector", count);
    hvector(call, count, blocklength, stride, oldtype, newtype)
}

pub(crate) unsafe fn MPI_Type_hvector(
    count: i32,
    blocklength: i32,
    stride: isize,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    let call = "MPI_Type_hvector";
    hvector(call, count, blocklength, stride, oldtype, newtype)
}

pub(crate) unsafe fn MPI_Type_indexed<C: CountIn>(
    count: C,
    lengths: *const C,
    displacements: *const C,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(named!("MPI_Type_indexed", count), newtype, || {
        // SAFETY: the arrays have `count` entries (crate head).
        let (lengths, displacements) = unsafe {
            (
                slice("array_of_blocklengths", count.to_i64(), lengths)?,
                slice("array_of_displacements", count.to_i64(), displacements)?,
            )
        };
        Datatype::indexed(lengths, displacements, &*old(oldtype)?, C::WIDTH)
    })
}

/// Blocks of several lengths at displacements in bytes.
///
/// # Safety
/// As for the calls of MPI: the arrays have `count` entries, and the result is writable.
unsafe fn hindexed<C: CountIn>(
    call: &'static str,
    count: C,
    lengths: *const C,
    displacements: *const (impl Address + Wide),
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(call, newtype, || {
        // SAFETY: the arrays have `count` entries (crate head).
        let (lengths, displacements) = unsafe {
            (
                slice("array_of_blocklengths", count.to_i64(), lengths)?,
                slice("array_of_displacements", count.to_i64(), displacements)?,
            )
        };
        Datatype::hindexed(lengths, displacements, &*old(oldtype)?, C::WIDTH)
    })
}

pub(crate) unsafe fn MPI_Type_create_hindexed<C: CountIn>(
    count: C,
    lengths: *const C,
    displacements: *const (impl Address + Wide),
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    let call = named!("MPI_Type_create_hindexed", count);
    // SAFETY: passed on.
    unsafe { hindexed(call, count, lengths, displacements, oldtype, newtype) }
}

pub(crate) unsafe fn MPI_Type_hindexed(
    count: i32,
    lengths: *const i32,
    displacements: *const isize,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    let call = "MPI_Type_hindexed";
    // SAFETY: passed on.
    unsafe { hindexed(call, count, lengths, displacements, oldtype, newtype) }
}

pub(crate) unsafe fn MPI_Type_create_indexed_block<C: CountIn>(
    count: C,
    blocklength: C,
    displacements: *const C,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(
        named!("MPI_Type_create_indexed_block", count),
        newtype,
        || {
            // SAFETY: the array has `count` entries (crate head).
            let displacements =
                unsafe { slice("array_of_displacements", count.to_i64(), displacements)? };
            Datatype::indexed_block(
                blocklength.to_i64(),
                displacements,
                &*old(oldtype)?,
                C::WIDTH,
            )
        },
    )
}

pub(crate) unsafe fn MPI_Type_create_hindexed_block<C: CountIn>(
    count: C,
    blocklength: C,
    displacements: *const (impl Address + Wide),
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(
        named!("MPI_Type_create_hindexed_block", count),
        newtype,
        || {
            // SAFETY: the array has `count` entries (crate head).
            let displacements =
                unsafe { slice("array_of_displacements", count.to_i64(), displacements)? };
            Datatype::hindexed_block(
                blocklength.to_i64(),
                displacements,
                &*old(oldtype)?,
                C::WIDTH,
            )
        },
    )
}

/// Blocks of several lengths and types at displacements in bytes.
///
/// # Safety
/// As for the calls of MPI: the arrays have `count` entries, and the result is writable.
unsafe fn structure<C: CountIn>(
    call: &'static str,
    count: C,
    lengths: *const C,
    displacements: *const (impl Address + Wide),
    types: *const MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(call, newtype, || {
        let count = count.to_i64();
        // SAFETY: the arrays have `count` entries (crate head).
        let (lengths, displacements, handles) = unsafe {
            (
                slice("array_of_blocklengths", count, lengths)?,
                slice("array_of_displacements", count, displacements)?,
                slice("array_of_types", count, types)?,
            )
        };
        let mut types = allocate::list(handles.len())?;
        for (index, &handle) in handles.iter().enumerate() {
            let found = DATATYPES.borrow(handle, "array_of_types");
            types.push(Old::from(&*found.map_err(|_| no_type(handle, index))?));
        }
        Datatype::structure_of(lengths, displacements, types, C::WIDTH)
    })
}

pub(crate) unsafe fn MPI_Type_create_struct<C: CountIn>(
    count: C,
    lengths: *const C,
    displacements: *const (impl Address + Wide),
    types: *const MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    let call = named!("MPI_Type_create_struct", count);
    // SAFETY: passed on.
    unsafe { structure(call, count, lengths, displacements, types, newtype) }
}

pub(crate) unsafe fn MPI_Type_struct(
    count: i32,
    lengths: *const i32,
    displacements: *const isize,
    types: *const MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    let call = "MPI_Type_struct";
    // SAFETY: passed on.
    unsafe { structure(call, count, lengths, displacements, types, newtype) }
}

pub(crate) unsafe fn MPI_Type_create_resized(
    oldtype: MPI_Datatype,
    lb: isize,
    extent: isize,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make("MPI_Type_create_resized", newtype, || {
        Datatype::resized(lb as i64, extent as i64, &*old(oldtype)?, Width::Int)
    })
}

pub(crate) unsafe fn MPI_Type_create_resized_c(
    oldtype: MPI_Datatype,
    lb: i64,
    extent: i64,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make("MPI_Type_create_resized_c", newtype, || {
        Datatype::resized(lb, extent, &*old(oldtype)?, Width::Count)
    })
}

pub(crate) unsafe fn MPI_Type_create_subarray<C: CountIn>(
    ndims: i32,
    sizes: *const C,
    subsizes: *const C,
    starts: *const C,
    order: i32,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(named!("MPI_Type_create_subarray", sizes), newtype, || {
        let dimensions = dimensions_of(ndims)?;
        // SAFETY: the arrays have `ndims` entries (crate head).
        let (sizes, subsizes, starts) = unsafe {
            (
                slice("array_of_sizes", dimensions, sizes)?,
                slice("array_of_subsizes", dimensions, subsizes)?,
                slice("array_of_starts", dimensions, starts)?,
            )
        };
        Datatype::subarray(sizes, subsizes, starts, order, &*old(oldtype)?, C::WIDTH)
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Type_create_darray<C: CountIn>(
    size: i32,
    rank: i32,
    ndims: i32,
    gsizes: *const C,
    distribs: *const i32,
    dargs: *const i32,
    psizes: *const i32,
    order: i32,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make(named!("MPI_Type_create_darray", gsizes), newtype, || {
        let dimensions = dimensions_of(ndims)?;
        // SAFETY: the arrays have `ndims` entries (crate head).
        let (global_sizes, distributions, arguments, process_sizes) = unsafe {
            (
                array("array_of_gsizes", dimensions, gsizes, C::to_i64)?,
                slice("array_of_distribs", dimensions, distribs)?,
                slice("array_of_dargs", dimensions, dargs)?,
                slice("array_of_psizes", dimensions, psizes)?,
            )
        };
        let array = Distribution {
            size,
            rank,
            global_sizes: &global_sizes,
            distributions,
            arguments,
            process_sizes,
            order,
        };
        Datatype::darray(array, &*old(oldtype)?, C::WIDTH)
    })
}

pub(crate) unsafe fn MPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) -> i32 {
    make("MPI_Type_dup", newtype, || {
        let old = old(oldtype)?;
        let copies = old.attributes.copies(oldtype as u64)?;
        let new = Datatype::dup(&old)?;
        new.attributes.adopt(copies);
        Ok(new)
    })
}

pub(crate) unsafe fn MPI_Type_match_size(
    typeclass: i32,
    size: i32,
    datatype: *mut MPI_Datatype,
) -> i32 {
    make("MPI_Type_match_size", datatype, || {
        let row = match_size(typeclass, size)?;
        crate::fortran_compiler::check_kind("size", row)?;
        Ok(row.datatype().clone())
    })
}

pub(crate) unsafe fn MPI_Type_create_f90_real(p: i32, r: i32, newtype: *mut MPI_Datatype) -> i32 {
    kind(("MPI_Type_create_f90_real", "p"), newtype, || {
        Datatype::f90_real(p, r)
    })
}

pub(crate) unsafe fn MPI_Type_create_f90_complex(
    p: i32,
    r: i32,
    newtype: *mut MPI_Datatype,
) -> i32 {
    kind(("MPI_Type_create_f90_complex", "p"), newtype, || {
        Datatype::f90_complex(p, r)
    })
}

pub(crate) unsafe fn MPI_Type_create_f90_integer(r: i32, newtype: *mut MPI_Datatype) -> i32 {
    kind(("MPI_Type_create_f90_integer", "r"), newtype, || {
        Datatype::f90_integer(r)
    })
}

/// A Fortran kind, by a call with this first argument: the same arguments give the same handle, which the program must not free (MPI-5.0, section 19.1.9).
fn kind(
    (call, first): (&'static str, &'static str),
    newtype: *mut MPI_Datatype,
    build: impl FnOnce() -> Result<Arc<Datatype>>,
) -> i32 {
    run(call, 0, || {
        let datatype = build()?;
        if let Some(row) = datatype.reduces_as() {
            crate::fortran_compiler::check_kind(first, row)?;
        }
        let known = datatype.handle.load(std::sync::atomic::Ordering::Relaxed) as usize;
        let handle = match DATATYPES.get(known) {
            Some(_) => known,
            None => publish(datatype)?,
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *newtype = handle };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_get_value_index(
    value_type: MPI_Datatype,
    index_type: MPI_Datatype,
    pair_type: *mut MPI_Datatype,
) -> i32 {
    run("MPI_Type_get_value_index", 0, || {
        let value = DATATYPES.share(value_type, "value_type")?;
        let index = DATATYPES.share(index_type, "index_type")?;
        let pair = match Datatype::value_index(&value, &index)? {
            Some(pair) => publish(pair)?,
            None => abi::MPI_DATATYPE_NULL,
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *pair_type = pair };
        Ok(())
    })
}
