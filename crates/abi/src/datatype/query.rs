// SPDX-License-Identifier: MIT OR Apache-2.0
//! Life of datatypes and questions about them (MPI-5.0, section 5.1.5 to 5.1.13).

use core::ffi::c_char;

use engine::datatype::{Combiner, Datatype};
use engine::{Error, ErrorClass, Result};
use layout::Layout;
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Aint, MPI_Count, MPI_Datatype};

use super::arguments::publish;
use crate::error::run;
use crate::handle::DATATYPES;
use crate::naming::named;
use crate::status::CountOut;
use crate::text::store_text;

pub(crate) unsafe fn MPI_Type_commit(datatype: *mut MPI_Datatype) -> i32 {
    run("MPI_Type_commit", 0, || {
        // SAFETY: the handle is readable (crate head).
        DATATYPES.find(unsafe { *datatype }, "datatype")?.commit();
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_free(datatype: *mut MPI_Datatype) -> i32 {
    run("MPI_Type_free", 0, || {
        // SAFETY: the handle is readable and writable (crate head).
        let handle = unsafe { &mut *datatype };
        let object = DATATYPES.find(*handle, "datatype")?;
        if object.reduces_as().is_some() {
            let expected = "a type that the program made";
            return Err(Error::argument(
                ErrorClass::ERR_TYPE,
                "datatype",
                object.describe(),
                expected,
            ));
        }
        object.attributes.clear(*handle as u64)?;
        DATATYPES.remove(*handle, "datatype")?;
        *handle = abi::MPI_DATATYPE_NULL;
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_size<C: CountOut>(datatype: MPI_Datatype, size: *mut C) -> i32 {
    run(named!("MPI_Type_size", size), 0, || {
        let bytes = match DATATYPES.find(datatype, "datatype") {
            Ok(object) => object.size() as i64,
            // How a program finds out that it is not there (MPI-5.0, section 20.4).
            Err(_) if crate::fortran_compiler::lacks(datatype) => abi::MPI_UNDEFINED.into(),
            Err(error) => return Err(error),
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *size = C::from_count(bytes) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Type_size(datatype, size) }
}

fn bounds<C: CountOut>(
    call: &'static str,
    datatype: MPI_Datatype,
    (lb, extent): (*mut C, *mut C),
    read: impl FnOnce(&Datatype) -> (i64, i64),
) -> i32 {
    run(call, 0, || {
        let (low, span) = read(DATATYPES.find(datatype, "datatype")?);
        // SAFETY: the results are writable (crate head).
        unsafe { (*lb, *extent) = (C::from_count(low), C::from_count(span)) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_get_extent<C: CountOut>(
    datatype: MPI_Datatype,
    lb: *mut C,
    extent: *mut C,
) -> i32 {
    bounds(
        named!("MPI_Type_get_extent", lb),
        datatype,
        (lb, extent),
        |object| (object.layout().lower_bound(), object.layout().extent()),
    )
}

pub(crate) unsafe fn MPI_Type_get_extent_x(
    datatype: MPI_Datatype,
    lb: *mut MPI_Count,
    extent: *mut MPI_Count,
) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Type_get_extent(datatype, lb, extent) }
}

/// A call of MPI-1, which asks for a part of the bounds.
fn part_of_bounds(
    call: &'static str,
    datatype: MPI_Datatype,
    result: *mut MPI_Aint,
    read: impl FnOnce(&Layout) -> i64,
) -> i32 {
    run(call, 0, || {
        let part = read(DATATYPES.find(datatype, "datatype")?.layout());
        // SAFETY: the result is writable (crate head).
        unsafe { *result = part as MPI_Aint };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_extent(datatype: MPI_Datatype, extent: *mut MPI_Aint) -> i32 {
    part_of_bounds("MPI_Type_extent", datatype, extent, Layout::extent)
}

pub(crate) unsafe fn MPI_Type_lb(datatype: MPI_Datatype, displacement: *mut MPI_Aint) -> i32 {
    part_of_bounds("MPI_Type_lb", datatype, displacement, Layout::lower_bound)
}

pub(crate) unsafe fn MPI_Type_ub(datatype: MPI_Datatype, displacement: *mut MPI_Aint) -> i32 {
    part_of_bounds("MPI_Type_ub", datatype, displacement, |layout| {
        layout.lower_bound() + layout.extent()
    })
}

pub(crate) unsafe fn MPI_Type_get_true_extent<C: CountOut>(
    datatype: MPI_Datatype,
    lb: *mut C,
    extent: *mut C,
) -> i32 {
    bounds(
        named!("MPI_Type_get_true_extent", lb),
        datatype,
        (lb, extent),
        |object| {
            let layout = object.layout();
            (layout.true_lower_bound(), layout.true_extent())
        },
    )
}

pub(crate) unsafe fn MPI_Type_get_true_extent_x(
    datatype: MPI_Datatype,
    lb: *mut MPI_Count,
    extent: *mut MPI_Count,
) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Type_get_true_extent(datatype, lb, extent) }
}

/// Of the two names that some handles have, the one that other libraries give.
fn usual_name(name: String) -> String {
    let synonyms = [
        ("MPI_LONG_LONG", "MPI_LONG_LONG_INT"),
        ("MPI_C_FLOAT_COMPLEX", "MPI_C_COMPLEX"),
    ];
    let found = synonyms.into_iter().find(|(ours, _)| *ours == name);
    found.map_or(name, |(_, usual)| usual.to_owned())
}

pub(crate) unsafe fn MPI_Type_get_name(
    datatype: MPI_Datatype,
    name: *mut c_char,
    resultlen: *mut i32,
) -> i32 {
    run("MPI_Type_get_name", 0, || {
        let text = if datatype == abi::MPI_DATATYPE_NULL {
            "MPI_DATATYPE_NULL".to_owned()
        } else {
            usual_name(DATATYPES.find(datatype, "datatype")?.name())
        };
        // SAFETY: the buffer has the standard's size (crate head).
        unsafe { store_text(&text, name, resultlen, abi::MPI_MAX_OBJECT_NAME as usize) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_set_name(datatype: MPI_Datatype, name: *const c_char) -> i32 {
    run("MPI_Type_set_name", 0, || {
        // SAFETY: the text is NUL-terminated (crate head).
        let text = unsafe { core::ffi::CStr::from_ptr(name) }.to_string_lossy();
        DATATYPES.find(datatype, "datatype")?.set_name(&text);
        Ok(())
    })
}

/// Only the calls with `_c` can describe the arguments of a constructor with `_c`.
fn check_small(call: &str, object: &Datatype) -> Result<()> {
    if object.contents().is_large() {
        let expected = format!("a type made without large counts; {call}_c describes any");
        return Err(Error::argument(
            ErrorClass::ERR_TYPE,
            "datatype",
            object.describe(),
            expected,
        ));
    }
    Ok(())
}

pub(crate) unsafe fn MPI_Type_get_envelope(
    datatype: MPI_Datatype,
    num_integers: *mut i32,
    num_addresses: *mut i32,
    num_datatypes: *mut i32,
    combiner: *mut i32,
) -> i32 {
    run("MPI_Type_get_envelope", 0, || {
        let object = DATATYPES.find(datatype, "datatype")?;
        check_small("MPI_Type_get_envelope", object)?;
        let contents = object.contents();
        // SAFETY: the results are writable (crate head).
        unsafe {
            *num_integers = contents.integers.len() as i32;
            *num_addresses = contents.addresses.len() as i32;
            *num_datatypes = contents.types.len() as i32;
            *combiner = contents.combiner as i32;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_get_envelope_c(
    datatype: MPI_Datatype,
    num_integers: *mut MPI_Count,
    num_addresses: *mut MPI_Count,
    num_large_counts: *mut MPI_Count,
    num_datatypes: *mut MPI_Count,
    combiner: *mut i32,
) -> i32 {
    run("MPI_Type_get_envelope_c", 0, || {
        let contents = DATATYPES.find(datatype, "datatype")?.contents();
        // SAFETY: the results are writable (crate head).
        unsafe {
            *num_integers = contents.integers.len() as i64;
            *num_addresses = contents.addresses.len() as i64;
            *num_large_counts = contents.counts.len() as i64;
            *num_datatypes = contents.types.len() as i64;
            *combiner = contents.combiner as i32;
        }
        Ok(())
    })
}

/// Stores values of a construction into an array of the caller.
///
/// # Safety
/// `target` is writable for `room` entries.
unsafe fn store<T: Copy, V: Copy>(
    argument: &'static str,
    values: &[V],
    room: i64,
    target: *mut T,
    convert: impl Fn(V) -> T,
) -> Result<()> {
    if (values.len() as i64) > room {
        let expected = format!("{} or more", values.len());
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            room,
            expected,
        ));
    }
    for (index, &value) in values.iter().enumerate() {
        // SAFETY: there is room for all values (checked); the caller's promise.
        unsafe { *target.add(index) = convert(value) };
    }
    Ok(())
}

/// The handles of the types that a type was made of: new ones for derived types, which the program frees.
///
/// # Safety
/// As for [`store`].
unsafe fn store_types(object: &Datatype, room: i64, target: *mut MPI_Datatype) -> Result<()> {
    let types = &object.contents().types;
    let indices: Vec<usize> = (0..types.len()).collect();
    // SAFETY: passed on.
    unsafe {
        store("max_datatypes", &indices, room, target, |_| {
            abi::MPI_DATATYPE_NULL
        })
    }?;
    for (index, datatype) in types.iter().enumerate() {
        // SAFETY: `store` has checked the room.
        unsafe { *target.add(index) = publish(datatype.equivalent())? };
    }
    Ok(())
}

fn check_derived(object: &Datatype) -> Result<()> {
    if object.contents().combiner == Combiner::Named {
        return Err(Error::argument(
            ErrorClass::ERR_TYPE,
            "datatype",
            object.describe(),
            "a derived datatype",
        ));
    }
    Ok(())
}

pub(crate) unsafe fn MPI_Type_get_contents(
    datatype: MPI_Datatype,
    max_integers: i32,
    max_addresses: i32,
    max_datatypes: i32,
    integers: *mut i32,
    addresses: *mut MPI_Aint,
    datatypes: *mut MPI_Datatype,
) -> i32 {
    run("MPI_Type_get_contents", 0, || {
        let object = DATATYPES.find(datatype, "datatype")?;
        check_derived(object)?;
        check_small("MPI_Type_get_contents", object)?;
        let contents = object.contents();
        // SAFETY: the arrays have the lengths that the caller says (crate head).
        unsafe {
            store(
                "max_integers",
                &contents.integers,
                max_integers.into(),
                integers,
                |value| value,
            )?;
            store(
                "max_addresses",
                &contents.addresses,
                max_addresses.into(),
                addresses,
                |value| value as MPI_Aint,
            )?;
            store_types(object, max_datatypes.into(), datatypes)
        }
    })
}

pub(crate) unsafe fn MPI_Type_get_contents_c(
    datatype: MPI_Datatype,
    max_integers: MPI_Count,
    max_addresses: MPI_Count,
    max_large_counts: MPI_Count,
    max_datatypes: MPI_Count,
    integers: *mut i32,
    addresses: *mut MPI_Aint,
    large_counts: *mut MPI_Count,
    datatypes: *mut MPI_Datatype,
) -> i32 {
    run("MPI_Type_get_contents_c", 0, || {
        let object = DATATYPES.find(datatype, "datatype")?;
        check_derived(object)?;
        let contents = object.contents();
        // SAFETY: the arrays have the lengths that the caller says (crate head).
        unsafe {
            store(
                "max_integers",
                &contents.integers,
                max_integers,
                integers,
                |value| value,
            )?;
            store(
                "max_addresses",
                &contents.addresses,
                max_addresses,
                addresses,
                |value| value as MPI_Aint,
            )?;
            store(
                "max_large_counts",
                &contents.counts,
                max_large_counts,
                large_counts,
                |value| value,
            )?;
            store_types(object, max_datatypes, datatypes)
        }
    })
}
