// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing and unpacking (MPI-5.0, section 5.2).

use core::ffi::{CStr, c_char, c_void};

use engine::{Error, ErrorClass, Result, allocate};
use mpi_abi_sys::types::MPI_Datatype;

use super::arguments::{memory, need_memory, pack, target_memory, unpack};
use crate::error::run;
use crate::handle::{COMMS, DATATYPES};
use crate::naming::{Number, named};
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

/// The names of a call's arguments.
struct Names {
    /// Packed bytes, and how many there are.
    packed: &'static str,
    room: &'static str,
    /// Elements, and how many there are.
    buf: &'static str,
    count: &'static str,
}

const PACK: Names = Names {
    packed: "outbuf",
    room: "outsize",
    buf: "inbuf",
    count: "incount",
};

const UNPACK: Names = Names {
    packed: "inbuf",
    room: "insize",
    buf: "outbuf",
    count: "outcount",
};

impl Names {
    /// An error about elements.
    #[cold]
    fn blame(&self, error: Error) -> Error {
        error.renamed(|found| match found {
            "buf" => self.buf,
            "count" => self.count,
            other => other,
        })
    }
}

/// Where `bytes` bytes start in a packed buffer of `room` bytes, and the position after them.
fn advance<P: Position>(
    names: &Names,
    position: P,
    bytes: usize,
    packed: *const c_void,
    room: i64,
) -> Result<(usize, P)> {
    let start = position.read();
    let begin = usize::try_from(start)
        .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "position", start, "0 or more"))?;
    let end = i64::try_from(bytes)
        .ok()
        .and_then(|bytes| bytes.checked_add(start));
    match end.and_then(|end| P::write(end).filter(|_| end <= room)) {
        Some(next) => {
            let needed = if bytes > 0 { room.cast_unsigned() } else { 0 };
            need_memory(ErrorClass::ERR_BUFFER, names.packed, packed, needed)?;
            Ok((begin, next))
        }
        None => {
            let expected = format!("{bytes} bytes or more after position {start}");
            Err(Error::argument(
                ErrorClass::ERR_TRUNCATE,
                names.room,
                room,
                expected,
            ))
        }
    }
}

pub(crate) unsafe fn MPI_Pack<P: Position>(
    inbuf: *const c_void,
    incount: impl Number,
    datatype: MPI_Datatype,
    outbuf: *mut c_void,
    outsize: impl Number,
    position: *mut P,
    comm: usize,
) -> i32 {
    run(named!("MPI_Pack", incount), comm, || {
        COMMS.find(comm, "comm")?;
        let source = memory(inbuf, incount.into(), datatype).map_err(|it| PACK.blame(it))?;
        // SAFETY: the position is readable and writable, `inbuf` readable, and `outbuf` holds `outsize` bytes (crate head),
        // inside which the range lies (checked).
        unsafe {
            let (start, next) = advance(&PACK, *position, source.bytes, outbuf, outsize.into())?;
            pack(source, outbuf.cast::<u8>().wrapping_add(start))?;
            *position = next;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Unpack<P: Position>(
    inbuf: *const c_void,
    insize: impl Number,
    position: *mut P,
    outbuf: *mut c_void,
    outcount: impl Number,
    datatype: MPI_Datatype,
    comm: usize,
) -> i32 {
    run(named!("MPI_Unpack", insize), comm, || {
        COMMS.find(comm, "comm")?;
        let target =
            target_memory(outbuf, outcount.into(), datatype).map_err(|it| UNPACK.blame(it))?;
        // SAFETY: the position is readable and writable, `outbuf` writable, and `inbuf` holds `insize` bytes (crate head),
        // inside which the range lies (checked).
        unsafe {
            let (start, next) = advance(&UNPACK, *position, target.bytes, inbuf, insize.into())?;
            unpack(target, inbuf.cast::<u8>().wrapping_add(start))?;
            *position = next;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Pack_size<C: CountOut>(
    incount: impl Number,
    datatype: MPI_Datatype,
    comm: usize,
    size: *mut C,
) -> i32 {
    run(named!("MPI_Pack_size", incount), comm, || {
        COMMS.find(comm, "comm")?;
        let (count, object) = (incount.into(), DATATYPES.find(datatype, "datatype")?);
        let bytes = total("incount", object.size() as u64, count)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *size = C::from_count(bytes as i64) };
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
fn external_bytes(argument: &'static str, count: i64, datatype: MPI_Datatype) -> Result<usize> {
    let size = DATATYPES.share(datatype, "datatype")?.external_size();
    total(argument, size, count)
}

/// Bytes of `count` elements of `size` bytes.
fn total(argument: &'static str, size: u64, count: i64) -> Result<usize> {
    let bytes = u64::try_from(count)
        .ok()
        .map(|count| size.checked_mul(count));
    let expected = match bytes {
        None => "0 or more elements".to_owned(),
        Some(bytes) => match bytes.and_then(|bytes| isize::try_from(bytes).ok()) {
            Some(bytes) => return Ok(bytes.cast_unsigned()),
            None => format!("elements of {size} bytes that are less than 2^63 together"),
        },
    };
    Err(Error::argument(
        ErrorClass::ERR_COUNT,
        argument,
        count,
        expected,
    ))
}

pub(crate) unsafe fn MPI_Pack_external<P: Position>(
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: impl Number,
    datatype: MPI_Datatype,
    outbuf: *mut c_void,
    outsize: P,
    position: *mut P,
) -> i32 {
    run(named!("MPI_Pack_external", incount), 0, || {
        let count = incount.into();
        // SAFETY: passed on.
        unsafe { check_representation(datarep)? };
        let source = memory(inbuf, count, datatype).map_err(|it| PACK.blame(it))?;
        let bytes = external_bytes("incount", count, datatype)?;
        // SAFETY: the position is readable and writable, `inbuf` readable, and `outbuf` holds `outsize` bytes (crate head),
        // inside which the range lies (checked).
        unsafe {
            let (start, next) = advance(&PACK, *position, bytes, outbuf, outsize.read())?;
            if bytes == 0 {
                return Ok(());
            }
            let mut packed = allocate::zeroed(source.bytes)?;
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
    outcount: impl Number,
    datatype: MPI_Datatype,
) -> i32 {
    run(named!("MPI_Unpack_external", outcount), 0, || {
        let count = outcount.into();
        // SAFETY: passed on.
        unsafe { check_representation(datarep)? };
        let target = target_memory(outbuf, count, datatype).map_err(|it| UNPACK.blame(it))?;
        let bytes = external_bytes("outcount", count, datatype)?;
        // SAFETY: the position is readable and writable, `outbuf` writable, and `inbuf` holds `insize` bytes (crate head),
        // inside which the range lies (checked).
        unsafe {
            let (start, next) = advance(&UNPACK, *position, bytes, inbuf, insize.read())?;
            if bytes == 0 {
                return Ok(());
            }
            let mut packed = allocate::zeroed(target.bytes)?;
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
    incount: impl Number,
    datatype: MPI_Datatype,
    size: *mut C,
) -> i32 {
    run(named!("MPI_Pack_external_size", incount), 0, || {
        // SAFETY: passed on.
        unsafe { check_representation(datarep)? };
        let bytes = external_bytes("incount", incount.into(), datatype)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *size = C::from_count(bytes as i64) };
        Ok(())
    })
}
