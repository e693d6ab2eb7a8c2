// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that read and write (MPI-5.0, sections 14.4.2 to 14.4.4), but for those in two calls.

use core::ffi::c_void;

use engine::Result;
use engine::file::{self, Action, Data, File, Moved, Place, access, ordered};
use engine::request::{RequestId, Status};
use mpi_abi_sys::types::{MPI_Datatype, MPI_File, MPI_Offset, MPI_Request, MPI_Status};

use crate::datatype::{Count, located_memory, located_target_memory};
use crate::error::run_file;
use crate::handle::{Borrowed, DATATYPES};
use crate::naming::called;
use crate::status::store_single;

/// The buffer of a call, as the program describes it.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub(super) address: *const c_void,
    pub(super) count: i64,
    pub(super) datatype: MPI_Datatype,
}

impl Buffer {
    pub(super) fn new<C: Count>(address: *const c_void, count: C, datatype: MPI_Datatype) -> Self {
        let count = count.into();
        Self {
            address,
            count,
            datatype,
        }
    }

    /// The memory that it describes.
    pub(super) fn data(self, action: Action) -> Result<Data> {
        let (memory, device) = match action {
            Action::Read => located_target_memory(self.address, self.count, self.datatype)?,
            Action::Write => located_memory(self.address, self.count, self.datatype)?,
        };
        let datatype = DATATYPES.share(self.datatype, "datatype")?;
        let (count, writes) = (self.count as usize, action == Action::Write);
        // SAFETY: the program keeps the buffer until the access is complete (crate head); the count is not negative, as there is memory.
        unsafe {
            match device {
                None => Ok(Data::new(&memory, datatype, count)),
                Some(device) => Data::on_device(device, &memory, datatype, count, writes),
            }
        }
    }
}

/// Stores how far an access came, and returns its outcome.
pub(super) fn conclude(moved: Moved, status: *mut MPI_Status) -> Result<()> {
    let bytes = moved.bytes;
    let done = Status {
        bytes,
        ..Status::EMPTY
    };
    store_single(status, done);
    moved.outcome
}

/// An independent call.
fn independent(
    call: &'static str,
    fh: MPI_File,
    (place, action): (Place, Action),
    buffer: Buffer,
    status: *mut MPI_Status,
) -> i32 {
    run_file(call, fh, |file| {
        let data = buffer.data(action)?;
        conclude(access::access(file, action, place, data), status)
    })
}

/// A call of all ranks.
fn collective(
    call: &'static str,
    fh: MPI_File,
    (place, action): (Place, Action),
    buffer: Buffer,
    status: *mut MPI_Status,
) -> i32 {
    run_file(call, fh, |file| {
        let data = buffer.data(action);
        let moved = match place {
            Place::Shared => ordered::access_ordered(file, action, data, call),
            _ => file::collective::access_all(file, action, place, data, call),
        };
        conclude(moved, status)
    })
}

/// A call that begins an access.
fn begun(
    call: &'static str,
    fh: MPI_File,
    request: *mut MPI_Request,
    start: impl FnOnce(&Borrowed<File>) -> Result<RequestId>,
) -> i32 {
    run_file(call, fh, |file| {
        let id = start(file)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

/// Calls that name an offset.
macro_rules! at_offsets {
    ($($name:ident $action:ident $kind:ident;)*) => {$(
        pub(crate) unsafe fn $name<C: Count>(
            fh: MPI_File,
            offset: MPI_Offset,
            buf: *const c_void,
            count: C,
            datatype: MPI_Datatype,
            status: *mut MPI_Status,
        ) -> i32 {
            let call = called::<C>(stringify!($name), concat!(stringify!($name), "_c"));
            let buffer = Buffer::new(buf, count, datatype);
            $kind(call, fh, (Place::At(offset), Action::$action), buffer, status)
        }
    )*};
}

at_offsets! {
    MPI_File_read_at Read independent;
    MPI_File_write_at Write independent;
    MPI_File_read_at_all Read collective;
    MPI_File_write_at_all Write collective;
}

/// Calls at a file pointer.
macro_rules! at_pointers {
    ($($name:ident $action:ident $place:ident $kind:ident;)*) => {$(
        pub(crate) unsafe fn $name<C: Count>(
            fh: MPI_File,
            buf: *const c_void,
            count: C,
            datatype: MPI_Datatype,
            status: *mut MPI_Status,
        ) -> i32 {
            let call = called::<C>(stringify!($name), concat!(stringify!($name), "_c"));
            let buffer = Buffer::new(buf, count, datatype);
            $kind(call, fh, (Place::$place, Action::$action), buffer, status)
        }
    )*};
}

at_pointers! {
    MPI_File_read Read Pointer independent;
    MPI_File_write Write Pointer independent;
    MPI_File_read_shared Read Shared independent;
    MPI_File_write_shared Write Shared independent;
    MPI_File_read_all Read Pointer collective;
    MPI_File_write_all Write Pointer collective;
    MPI_File_read_ordered Read Shared collective;
    MPI_File_write_ordered Write Shared collective;
}

/// Nonblocking independent calls.
fn start_independent(
    file: &Borrowed<File>,
    (place, action): (Place, Action),
    buffer: Buffer,
) -> Result<RequestId> {
    access::start(file, action, place, buffer.data(action)?)
}

/// Nonblocking calls of all ranks.
fn start_collective(
    file: &Borrowed<File>,
    (place, action): (Place, Action),
    buffer: Buffer,
) -> Result<RequestId> {
    file::collective::start_all(file, action, place, buffer.data(action))
}

/// Nonblocking calls that name an offset.
macro_rules! begun_at_offsets {
    ($($name:ident $action:ident $start:ident;)*) => {$(
        pub(crate) unsafe fn $name<C: Count>(
            fh: MPI_File,
            offset: MPI_Offset,
            buf: *const c_void,
            count: C,
            datatype: MPI_Datatype,
            request: *mut MPI_Request,
        ) -> i32 {
            let call = called::<C>(stringify!($name), concat!(stringify!($name), "_c"));
            let buffer = Buffer::new(buf, count, datatype);
            let place = (Place::At(offset), Action::$action);
            begun(call, fh, request, |file| $start(file, place, buffer))
        }
    )*};
}

begun_at_offsets! {
    MPI_File_iread_at Read start_independent;
    MPI_File_iwrite_at Write start_independent;
    MPI_File_iread_at_all Read start_collective;
    MPI_File_iwrite_at_all Write start_collective;
}

/// Nonblocking calls at a file pointer.
macro_rules! begun_at_pointers {
    ($($name:ident $action:ident $place:ident $start:ident;)*) => {$(
        pub(crate) unsafe fn $name<C: Count>(
            fh: MPI_File,
            buf: *const c_void,
            count: C,
            datatype: MPI_Datatype,
            request: *mut MPI_Request,
        ) -> i32 {
            let call = called::<C>(stringify!($name), concat!(stringify!($name), "_c"));
            let buffer = Buffer::new(buf, count, datatype);
            let place = (Place::$place, Action::$action);
            begun(call, fh, request, |file| $start(file, place, buffer))
        }
    )*};
}

begun_at_pointers! {
    MPI_File_iread Read Pointer start_independent;
    MPI_File_iwrite Write Pointer start_independent;
    MPI_File_iread_shared Read Shared start_independent;
    MPI_File_iwrite_shared Write Shared start_independent;
    MPI_File_iread_all Read Pointer start_collective;
    MPI_File_iwrite_all Write Pointer start_collective;
}
