// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPI_Pack and MPI_Unpack.

use std::ffi::c_void;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::calls::entry;
use super::elements::Elements;
use super::instead::Instead;
use super::layer::NEXT;
use super::leaf;
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Pack,
        MPI_Pack_c,
        MPI_Unpack,
        MPI_Unpack_c,
        ..next
    }
}

/// Bytes from a position on that lie inside a buffer of the program; the library reports others.
fn place(
    buffer: *const c_void,
    size: MPI_Count,
    position: MPI_Count,
    bytes: usize,
) -> Option<*mut u8> {
    let end = position.checked_add(i64::try_from(bytes).ok()?)?;
    let place = buffer
        .cast::<u8>()
        .wrapping_offset(position as isize)
        .cast_mut();
    (position >= 0 && end <= size && !buffer.is_null()).then_some(place)
}

/// Packs elements; the bytes.
unsafe fn packed(
    elements: Elements,
    (to, size): (*mut c_void, MPI_Count),
    position: MPI_Count,
    comm: MPI_Comm,
) -> Result<usize, Instead> {
    let data = elements.to_pack(comm)?;
    let to = place(to, size, position, data.bytes()).ok_or(Instead::Library)?;
    // SAFETY: the program's elements, and room in its buffer.
    unsafe { data.pack_to(to, comm)? };
    Ok(data.bytes())
}

/// Unpacks elements; the bytes.
unsafe fn unpacked(
    elements: Elements,
    (from, size): (*const c_void, MPI_Count),
    position: MPI_Count,
    comm: MPI_Comm,
) -> Result<usize, Instead> {
    let data = elements.to_unpack(comm)?;
    let from = place(from, size, position, data.bytes()).ok_or(Instead::Library)?;
    // SAFETY: the program's elements, and bytes of its buffer.
    unsafe { data.unpack_from(from, comm)? };
    Ok(data.bytes())
}

/// Defines MPI_Pack and MPI_Unpack in a width; data of predefined types pass.
macro_rules! packs {
    ($($pack:ident $unpack:ident $count:ty;)*) => {$(
        entry! {
            $pack(
                from: *const c_void, count: $count, datatype: MPI_Datatype, to: *mut c_void, size: $count, position: *mut $count,
                comm: MPI_Comm
            )
            if leaf::passes(datatype) || position.is_null() || comm == mpi::MPI_COMM_NULL,
            else {
                let elements = Elements::new(from, count, datatype);
                match packed(elements, (to, size.into()), (*position).into(), comm) {
                    Ok(bytes) => {
                        *position += bytes as $count;
                        mpi::MPI_SUCCESS
                    }
                    Err(Instead::Error(code)) => code,
                    Err(Instead::Library) => (NEXT.get().$pack)(from, count, datatype, to, size, position, comm),
                }
            }
        }
        entry! {
            $unpack(
                from: *const c_void, size: $count, position: *mut $count, to: *mut c_void, count: $count, datatype: MPI_Datatype,
                comm: MPI_Comm
            )
            if leaf::passes(datatype) || position.is_null() || comm == mpi::MPI_COMM_NULL,
            else {
                let elements = Elements::new(to, count, datatype);
                match unpacked(elements, (from, size.into()), (*position).into(), comm) {
                    Ok(bytes) => {
                        *position += bytes as $count;
                        mpi::MPI_SUCCESS
                    }
                    Err(Instead::Error(code)) => code,
                    Err(Instead::Library) => (NEXT.get().$unpack)(from, size, position, to, count, datatype, comm),
                }
            }
        }
    )*};
}

packs! {
    MPI_Pack MPI_Unpack i32;
    MPI_Pack_c MPI_Unpack_c MPI_Count;
}
