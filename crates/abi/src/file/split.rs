// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective accesses in two calls (MPI-5.0, section 14.4.5).

use core::ffi::c_void;

use engine::file::Action;
use engine::file::split::{self, Kind};
use mpi_abi_sys::types::{MPI_Datatype, MPI_File, MPI_Offset, MPI_Status};

use super::transfer::{Buffer, conclude};
use crate::datatype::Count;
use crate::error::run_file;
use crate::naming::called;

fn begin(
    call: &'static str,
    fh: MPI_File,
    kind: (Kind, Action),
    offset: MPI_Offset,
    buffer: Buffer,
) -> i32 {
    run_file(call, fh, |file| {
        let data = buffer.data(kind.1);
        let address = buffer.address as usize;
        split::begin(file, kind, offset, (data, address), call)
    })
}

macro_rules! begun_at_offsets {
    ($($name:ident $action:ident;)*) => {$(
        pub(crate) unsafe fn $name<C: Count>(
            fh: MPI_File,
            offset: MPI_Offset,
            buf: *const c_void,
            count: C,
            datatype: MPI_Datatype,
        ) -> i32 {
            let call = called::<C>(stringify!($name), concat!(stringify!($name), "_c"));
            let buffer = Buffer::new(buf, count, datatype);
            begin(call, fh, (Kind::At, Action::$action), offset, buffer)
        }
    )*};
}

begun_at_offsets! {
    MPI_File_read_at_all_begin Read;
    MPI_File_write_at_all_begin Write;
}

macro_rules! begun_at_pointers {
    ($($name:ident $kind:ident $action:ident;)*) => {$(
        pub(crate) unsafe fn $name<C: Count>(
            fh: MPI_File,
            buf: *const c_void,
            count: C,
            datatype: MPI_Datatype,
        ) -> i32 {
            let call = called::<C>(stringify!($name), concat!(stringify!($name), "_c"));
            let buffer = Buffer::new(buf, count, datatype);
            begin(call, fh, (Kind::$kind, Action::$action), 0, buffer)
        }
    )*};
}

begun_at_pointers! {
    MPI_File_read_all_begin Pointer Read;
    MPI_File_write_all_begin Pointer Write;
    MPI_File_read_ordered_begin Ordered Read;
    MPI_File_write_ordered_begin Ordered Write;
}

macro_rules! ended {
    ($($name:ident $kind:ident $action:ident;)*) => {$(
        pub(crate) unsafe fn $name(
            fh: MPI_File,
            buf: *const c_void,
            status: *mut MPI_Status,
        ) -> i32 {
            let call = stringify!($name);
            run_file(call, fh, |file| {
                let kind = (Kind::$kind, Action::$action);
                conclude(split::end(file, kind, buf as usize, call), status)
            })
        }
    )*};
}

ended! {
    MPI_File_read_at_all_end At Read;
    MPI_File_write_at_all_end At Write;
    MPI_File_read_all_end Pointer Read;
    MPI_File_write_all_end Pointer Write;
    MPI_File_read_ordered_end Ordered Read;
    MPI_File_write_ordered_end Ordered Write;
}
