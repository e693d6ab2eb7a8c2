// SPDX-License-Identifier: MIT OR Apache-2.0
//! Predefined types: where their bytes are.

use std::sync::atomic::Ordering::Relaxed;

use layout::Layout;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Datatype;

use crate::sync::AtomicUsize;

/// Handles of the predefined types are smaller.
const PREDEFINED: usize = 4096;

/// Whether a handle is that of a predefined type, or none.
pub(super) fn is_predefined(datatype: MPI_Datatype) -> bool {
    datatype < PREDEFINED
}

/// Handles below are of data that pass: those of predefined types, unless contiguous data of GPUs go through the host.
static PASSING: AtomicUsize = AtomicUsize::new(PREDEFINED);

/// Sets whether calls look at contiguous data.
pub(super) fn look_at_contiguous(does: bool) {
    PASSING.store(if does { 0 } else { PREDEFINED }, Relaxed);
}

/// Whether data of a type go to the library as they are.
#[inline]
pub(super) fn passes(datatype: MPI_Datatype) -> bool {
    datatype < PASSING.load(Relaxed)
}

/// The layout of a predefined type with this size and this extent; `None` where that is not known.
pub(crate) fn layout(datatype: MPI_Datatype, size: usize, extent: usize) -> Option<Layout> {
    let value = match datatype {
        mpi::MPI_FLOAT_INT | mpi::MPI_2INT => 4,
        mpi::MPI_DOUBLE_INT => 8,
        mpi::MPI_LONG_INT => size_of::<std::ffi::c_long>(),
        mpi::MPI_SHORT_INT => 2,
        mpi::MPI_LONG_DOUBLE_INT => 16,
        _ => return plain(datatype, size, extent),
    };
    pair(&Layout::named(value, value), &Layout::named(4, 4))
}

/// A value and an index behind it, as a C struct has them.
pub(super) fn pair(value: &Layout, index: &Layout) -> Option<Layout> {
    let place = value.size().next_multiple_of(index.size().max(1));
    Layout::structure([(0, 1, value), (i64::try_from(place).ok()?, 1, index)]).ok()
}

fn plain(datatype: MPI_Datatype, size: usize, extent: usize) -> Option<Layout> {
    let parts = match datatype {
        mpi::MPI_C_FLOAT_COMPLEX
        | mpi::MPI_CXX_FLOAT_COMPLEX
        | mpi::MPI_C_DOUBLE_COMPLEX
        | mpi::MPI_CXX_DOUBLE_COMPLEX
        | mpi::MPI_C_LONG_DOUBLE_COMPLEX
        | mpi::MPI_CXX_LONG_DOUBLE_COMPLEX
        | mpi::MPI_COMPLEX
        | mpi::MPI_DOUBLE_COMPLEX
        | mpi::MPI_COMPLEX4
        | mpi::MPI_COMPLEX8
        | mpi::MPI_COMPLEX16
        | mpi::MPI_COMPLEX32
        | mpi::MPI_2REAL
        | mpi::MPI_2DOUBLE_PRECISION
        | mpi::MPI_2INTEGER => 2,
        _ => 1,
    };
    let alignment = size / parts;
    let is_usual = size == extent && alignment.is_power_of_two();
    is_usual.then(|| Layout::aligned(size, extent, alignment as u32))
}
