// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing and unpacking (MPI-5.0, section 5.2).

use core::ffi::{CStr, c_char, c_void};

use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::types::MPI_Datatype;

use crate::datatype::{memory, pack, target_memory, unpack};
use crate::error::run;
use crate::handle::{COMMS, DATATYPES};
use crate::status::CountOut;

/// A position in a pack buffer, of either width.
pub(crate) trait Position: Copy {
    fn read(self) -> i64;
    fn write(value: i64) -> Option<Self>;
}

impl Position for i32 {
    fn read(self) -> i64 {
        i64::from(self)
    }

    fn write(value: i64) -> Option<Self> {
        Self::try_from(value).ok()
    }
}

impl Position for isize {
    fn read(self) -> i64 {
        self as i64
    }

    fn write(value: i64) -> Option<Self> {
        Self::try_from(value).ok()
    }
}

impl Position for i64 {
    fn read(self) -> i64 {
        self
    }

    fn write(value: i64) -> Option<Self> {
        Some(value)
    }
}

/// Where `bytes` bytes start in a buffer of `room` bytes, and the position after them.
fn advance<P: Position>(
    position: P,
    bytes: usize,
    argument: &'static str,
    room: i64,
) -> Result<(usize, P)> {
    let start = position.read();
    let begin = usize::try_from(start)
        .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "position", start, "0 or more"))?;
    let end = i64::try_from(bytes)
        .ok()
        .and_then(|bytes| bytes.checked_add(start));
    match end.and_then(|end| P::write(end).filter(|_| end <= room)) {
        Some(next) => Ok((begin, next)),
        None => {
            let expected = format!("{bytes} bytes or more after position {start}");
            Err(Error::argument(
                ErrorClass::ERR_TRUNCATE,
                argument,
                room,
                expected,
            ))
        }
    }
}

pub(crate) unsafe fn MPI_Pack<P: Position>(
    inbuf: *const c_void,
    incount: impl Into<i64>,
    datatype: MPI_Datatype,
    outbuf: *mut c_void,
    outsize: impl Into<i64>,
    position: *mut P,
    comm: usize,
) -> i32 {
    run("MPI_Pack", comm, || {
        COMMS.find(comm, "comm")?;
        let source = memory(inbuf, incount.into(), datatype)?;
        // SAFETY: the position is readable and writable, `inbuf` readable, and `outbuf` holds `outsize` bytes (crate head),
        // inside which the range lies (checked).
        unsafe {
            let (start, next) = advance(*position, source.bytes, "outsize", outsize.into())?;
            pack(source, outbuf.cast::<u8>().add(start))?;
            *position = next;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Unpack<P: Position>(
    inbuf: *const c_void,
    insize: impl Into<i64>,
    position: *mut P,
    outbuf: *mut c_void,
    outcount: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: usize,
) -> i32 {
    run("MPI_Unpack", comm, || {
        COMMS.find(comm, "comm")?;
        let target = target_memory(outbuf, outcount.into(), datatype)?;
        // SAFETY: the position is readable and writable, `outbuf` writable, and `inbuf` holds `insize` bytes (crate head),
        // inside which the range lies (checked).
        unsafe {
            let (start, next) = advance(*position, target.bytes, "insize", insize.into())?;
            unpack(target, inbuf.cast::<u8>().add(start))?;
            *position = next;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Pack_size<C: CountOut>(
    incount: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: usize,
    size: *mut C,
) -> i32 {
    run("MPI_Pack_size", comm, || {
        COMMS.find(comm, "comm")?;
        let (count, object) = (incount.into(), DATATYPES.find(datatype, "datatype")?);
        let bytes = i64::try_from(object.size())
            .ok()
            .filter(|_| count >= 0)
            .and_then(|size| size.checked_mul(count))
            .ok_or_else(|| Error::argument(ErrorClass::ERR_COUNT, "incount", count, "0 or more"))?;
        // SAFETY: the result is writable (crate head).
        unsafe { *size = C::from_count(bytes) };
        Ok(())
    })
}

/// The only data representation that is known.
unsafe fn check_representation(datarep: *const c_char) -> Result<()> {
    // SAFETY: C strings end with a zero (crate head).
    let name = unsafe { CStr::from_ptr(datarep) };
    if name.to_bytes() == b"external32" {
        return Ok(());
    }
    Err(Error::argument(
        ErrorClass::ERR_UNSUPPORTED_DATAREP,
        "datarep",
        format!("{name:?}"),
        "\"external32\"",
    ))
}

/// Bytes of so many elements in the external representation.
fn external_bytes(count: i64, datatype: MPI_Datatype) -> Result<usize> {
    let size = DATATYPES.share(datatype, "datatype")?.external_size();
    u64::try_from(count)
        .ok()
        .and_then(|count| size.checked_mul(count))
        .and_then(|bytes| isize::try_from(bytes).ok())
        .map(isize::cast_unsigned)
        .ok_or_else(|| Error::argument(ErrorClass::ERR_COUNT, "count", count, "0 or more elements"))
}

pub(crate) unsafe fn MPI_Pack_external<P: Position>(
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: impl Into<i64>,
    datatype: MPI_Datatype,
    outbuf: *mut c_void,
    outsize: P,
    position: *mut P,
) -> i32 {
    run("MPI_Pack_external", 0, || {
        let count = incount.into();
        // SAFETY: passed on.
        unsafe { check_representation(datarep)? };
        let source = memory(inbuf, count, datatype)?;
        let bytes = external_bytes(count, datatype)?;
        let mut packed = vec![0; source.bytes];
        // SAFETY: the position is readable and writable, `inbuf` readable, and `outbuf` holds `outsize` bytes (crate head),
        // inside which the range lies (checked).
        unsafe {
            let (start, next) = advance(*position, bytes, "outsize", outsize.read())?;
            pack(source, packed.as_mut_ptr())?;
            let target = std::slice::from_raw_parts_mut(outbuf.cast::<u8>().add(start), bytes);
            let object = DATATYPES.share(datatype, "datatype")?;
            object.encode_external(count as u64, &packed, target)?;
            *position = next;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Unpack_external<P: Position>(
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: P,
    position: *mut P,
    outbuf: *mut c_void,
    outcount: impl Into<i64>,
    datatype: MPI_Datatype,
) -> i32 {
    run("MPI_Unpack_external", 0, || {
        let count = outcount.into();
        // SAFETY: passed on.
        unsafe { check_representation(datarep)? };
        let target = target_memory(outbuf, count, datatype)?;
        let bytes = external_bytes(count, datatype)?;
        let mut packed = vec![0; target.bytes];
        // SAFETY: the position is readable and writable, `outbuf` writable, and `inbuf` holds `insize` bytes (crate head),
        // inside which the range lies (checked).
        unsafe {
            let (start, next) = advance(*position, bytes, "insize", insize.read())?;
            let source = std::slice::from_raw_parts(inbuf.cast::<u8>().add(start), bytes);
            let object = DATATYPES.share(datatype, "datatype")?;
            object.decode_external(count as u64, source, &mut packed)?;
            unpack(target, packed.as_ptr())?;
            *position = next;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Pack_external_size<C: CountOut>(
    datarep: *const c_char,
    incount: impl Into<i64>,
    datatype: MPI_Datatype,
    size: *mut C,
) -> i32 {
    run("MPI_Pack_external_size", 0, || {
        // SAFETY: passed on.
        unsafe { check_representation(datarep)? };
        let bytes = external_bytes(incount.into(), datatype)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *size = C::from_count(bytes as i64) };
        Ok(())
    })
}
