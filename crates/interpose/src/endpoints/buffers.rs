// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of the program on their way through the heap of an endpoint.

use std::ffi::c_void;

use ::endpoints::area::Mapped;
use ::endpoints::command::Command;
use ::endpoints::heap::Heap;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::{MPI_Count, MPI_Datatype};

use super::types;

/// Data for the proxy.
#[derive(Clone, Copy)]
pub(super) struct Input {
    /// Where they begin.
    pub(super) from: *const u8,
    /// Their bytes.
    pub(super) bytes: u64,
}

/// Where data of the proxy go.
#[derive(Clone, Copy)]
pub(super) struct Output {
    /// Where they begin.
    pub(super) to: *mut u8,
    /// Room, in bytes.
    pub(super) bytes: u64,
    /// Whether a message comes, which may be shorter.
    pub(super) is_message: bool,
}

/// Blocks of the heap for data of an operation.
pub(super) struct Staged {
    /// Place and bytes.
    input: Option<(u64, u64)>,
    output: Option<(u64, Output)>,
}

// SAFETY: the addresses are the program's, which leaves the buffers alone while the operation is under way; any thread may complete it.
unsafe impl Send for Staged {}

impl Staged {
    /// Takes blocks, copies the data for the proxy, and puts the places into the command: one place is `offset`, and that of results
    /// beside data is `second`. `None` where the heap is full.
    pub(super) fn new(
        heap: &mut Heap,
        mapped: Mapped,
        input: Option<Input>,
        output: Option<Output>,
        command: &mut Command,
    ) -> Option<Self> {
        let mut it = Self {
            input: None,
            output: None,
        };
        if let Some(Input { from, bytes }) = input {
            let at = heap.allocate(bytes)?;
            command.offset = at;
            it.input = Some((at, bytes));
            let to = mapped.at(at, bytes)?;
            if bytes > 0 {
                // SAFETY: the program's buffer, and a block of the heap.
                unsafe { std::ptr::copy_nonoverlapping(from, to, bytes as usize) };
            }
        }
        if let Some(output) = output {
            let Some(at) = heap.allocate(output.bytes) else {
                it.release(heap);
                return None;
            };
            match input {
                Some(_) => command.second = at,
                None => command.offset = at,
            }
            it.output = Some((at, output));
        }
        Some(it)
    }

    /// Copies the results into the program's buffer: of a message as many bytes as came.
    pub(super) fn deliver(&self, mapped: Mapped, came: i64) {
        let Some((at, output)) = self.output else {
            return;
        };
        let bytes = match output.is_message {
            true => output.bytes.min(u64::try_from(came).unwrap_or(0)),
            false => output.bytes,
        };
        let Some(from) = mapped.at(at, bytes).filter(|_| bytes > 0) else {
            return;
        };
        // SAFETY: a block of the heap, and the program's buffer.
        unsafe { std::ptr::copy_nonoverlapping(from, output.to, bytes as usize) };
    }

    /// Gives the blocks back.
    pub(super) fn release(self, heap: &mut Heap) {
        if let Some((at, bytes)) = self.input {
            heap.release(at, bytes);
        }
        if let Some((at, output)) = self.output {
            heap.release(at, output.bytes);
        }
    }
}

/// The bytes of so many elements of a type.
///
/// # Errors
/// The error class of a wrong count, or of a type that is not predefined or has gaps.
pub(super) fn bytes(count: MPI_Count, datatype: MPI_Datatype) -> Result<u64, i32> {
    let count = u64::try_from(count).map_err(|_| mpi::MPI_ERR_COUNT)?;
    let size = types::dense(datatype).ok_or(match datatype {
        mpi::MPI_DATATYPE_NULL => mpi::MPI_ERR_TYPE,
        _ => mpi::MPI_ERR_UNSUPPORTED_OPERATION,
    })?;
    count.checked_mul(size).ok_or(mpi::MPI_ERR_COUNT)
}

/// Elements of the program for the proxy.
///
/// # Errors
/// As for [`bytes`].
pub(super) fn input(
    from: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> Result<Input, i32> {
    let (from, bytes) = (from.cast(), bytes(count, datatype)?);
    Ok(Input { from, bytes })
}

/// Room of the program for a message.
///
/// # Errors
/// As for [`bytes`].
pub(super) fn message(
    to: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> Result<Output, i32> {
    let (to, bytes) = (to.cast(), bytes(count, datatype)?);
    Ok(Output {
        to,
        bytes,
        is_message: true,
    })
}

/// Room of the program for results.
///
/// # Errors
/// As for [`bytes`].
pub(super) fn results(
    to: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> Result<Output, i32> {
    let output = message(to, count, datatype)?;
    Ok(Output {
        is_message: false,
        ..output
    })
}
