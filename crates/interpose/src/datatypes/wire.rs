// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the library's packed bytes are those of this library: in the order of the type map, without a header.

use std::ffi::c_void;
use std::sync::OnceLock;

use layout::Layout;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use crate::output::say;
use crate::table::REAL;

/// Most bytes that are packed to compare.
const MOST_BYTES: usize = 1 << 20;

/// Whether both pack two elements of a type to the same bytes; `false` where the type is too large to try.
pub(super) fn agrees(datatype: MPI_Datatype, layout: &Layout, comm: MPI_Comm) -> bool {
    let Some((first, span)) = layout.span(2).filter(|&(_, span)| span <= MOST_BYTES) else {
        return false;
    };
    let pattern = (0..span).map(|index| (index * 167 / 13 + index) as u8);
    let data: Vec<u8> = pattern.collect();
    let bytes = 2 * layout.size();
    let (mut here, mut there) = (vec![0u8; bytes], vec![0u8; bytes + 256]);
    let base = data.as_ptr().wrapping_offset(-(first as isize));
    let mut position = 0;
    // SAFETY: two elements at `base` are inside `data`, and both targets have room for them.
    let code = unsafe {
        layout.pack(base, 0..bytes, here.as_mut_ptr());
        let (from, to): (*const c_void, *mut c_void) = (base.cast(), there.as_mut_ptr().cast());
        let room = there.len() as i64;
        (REAL.get().MPI_Pack_c)(from, 2, datatype, to, room, &raw mut position, comm)
    };
    code == mpi::MPI_SUCCESS && position == bytes as i64 && here[..] == there[..bytes]
}

/// Whether data may be packed here at all: the library does the same with a few types.
pub(super) fn is_shared(comm: MPI_Comm) -> bool {
    static SHARED: OnceLock<bool> = OnceLock::new();
    *SHARED.get_or_init(|| {
        let is_shared = vector(comm) && structure(comm);
        if !is_shared {
            say("datatypes: the library packs in another way, so it packs everything");
        }
        is_shared
    })
}

fn vector(comm: MPI_Comm) -> bool {
    let layout = Layout::vector(5, 2, 3, &Layout::named(4, 4));
    layout.is_ok_and(|layout| {
        // SAFETY: a place of the caller.
        agrees_with(&layout, comm, |new| unsafe {
            (REAL.get().MPI_Type_vector)(5, 2, 3, mpi::MPI_INT32_T, new)
        })
    })
}

fn structure(comm: MPI_Comm) -> bool {
    let [int, double, char] = [4, 8, 1].map(|bytes| Layout::named(bytes, bytes));
    let layout = Layout::structure([(0, 1, &int), (8, 1, &double), (16, 3, &char)]);
    layout.is_ok_and(|layout| {
        let (lengths, places) = ([1, 1, 3], [0, 8, 16]);
        let parts = [mpi::MPI_INT32_T, mpi::MPI_DOUBLE, mpi::MPI_CHAR];
        // SAFETY: arrays of three, and a place of the caller.
        agrees_with(&layout, comm, |new| unsafe {
            let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
            (REAL.get().MPI_Type_create_struct)(3, lengths, places, parts.as_ptr(), new)
        })
    })
}

/// Compares with a type that is made, and freed again.
fn agrees_with(
    layout: &Layout,
    comm: MPI_Comm,
    make: impl FnOnce(*mut MPI_Datatype) -> i32,
) -> bool {
    let mut datatype = mpi::MPI_DATATYPE_NULL;
    let library = REAL.get();
    // SAFETY: the datatype that was made before.
    let codes = [make(&raw mut datatype), unsafe {
        (library.MPI_Type_commit)(&raw mut datatype)
    }];
    if codes != [mpi::MPI_SUCCESS; 2] {
        return false;
    }
    let agrees = agrees(datatype, layout, comm);
    // SAFETY: made above.
    unsafe { (library.MPI_Type_free)(&raw mut datatype) };
    agrees
}
