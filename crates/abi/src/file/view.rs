// SPDX-License-Identifier: MIT OR Apache-2.0
//! Views and data representations (MPI-5.0, sections 14.3 and 14.5).

use core::ffi::{CStr, c_char, c_void};

use engine::Result;
use engine::file::{datarep, view};
use mpi_abi_sys::constants::MPI_MAX_DATAREP_STRING;
use mpi_abi_sys::types::{Callback, MPI_Datatype, MPI_File, MPI_Info, MPI_Offset};

use crate::comm::hints_of;
use crate::datatype::arguments::publish;
use crate::error::{run_file, run_without_file};
use crate::handle::DATATYPES;
use crate::naming::named;
use crate::status::CountOut;
use crate::text::{room_for_text, store_text};

pub(crate) unsafe fn MPI_File_set_view(
    fh: MPI_File,
    disp: MPI_Offset,
    etype: MPI_Datatype,
    filetype: MPI_Datatype,
    datarep: *const c_char,
    info: MPI_Info,
) -> i32 {
    let call = "MPI_File_set_view";
    run_file(call, fh, |file| {
        let find = || {
            let etype = DATATYPES.share(etype, "etype")?;
            Ok((etype, DATATYPES.share(filetype, "filetype")?))
        };
        let hints = hints_of(info);
        let types = hints.as_ref().map_err(Clone::clone).and_then(|_| find());
        // SAFETY: the text is NUL-terminated (crate head).
        let datarep = unsafe { CStr::from_ptr(datarep) }.to_string_lossy();
        view::set_view(file, disp, types, &datarep, call)?;
        // All ranks have come to the same end, so all compare their hints or none.
        let hints = hints?;
        file.set_info(|key| hints.and_then(|hints| hints.get(key)), call)
    })
}

pub(crate) unsafe fn MPI_File_get_view(
    fh: MPI_File,
    disp: *mut MPI_Offset,
    etype: *mut MPI_Datatype,
    filetype: *mut MPI_Datatype,
    datarep: *mut c_char,
) -> i32 {
    run_file("MPI_File_get_view", fh, |file| {
        room_for_text("datarep", datarep, MPI_MAX_DATAREP_STRING)?;
        let view = view::get_view(file);
        let handles: Result<Vec<MPI_Datatype>> = [&view.etype, &view.filetype]
            .into_iter()
            .map(|datatype| publish(datatype.equivalent()))
            .collect();
        let handles = handles?;
        // SAFETY: the results are writable, and the text has the standard's size (crate head).
        unsafe {
            *disp = view.disp.cast_signed();
            (*etype, *filetype) = (handles[0], handles[1]);
            let room = MPI_MAX_DATAREP_STRING as usize;
            store_text(view.datarep.name(), datarep, std::ptr::null_mut(), room);
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_File_get_byte_offset(
    fh: MPI_File,
    offset: MPI_Offset,
    disp: *mut MPI_Offset,
) -> i32 {
    run_file("MPI_File_get_byte_offset", fh, |file| {
        let found = view::byte_offset(file, offset)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *disp = found.cast_signed() };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_File_get_type_extent<C: CountOut>(
    fh: MPI_File,
    datatype: MPI_Datatype,
    extent: *mut C,
) -> i32 {
    run_file(named!("MPI_File_get_type_extent", extent), fh, |file| {
        let datatype = DATATYPES.share(datatype, "datatype")?;
        let found = view::type_extent(file, &datatype)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *extent = C::from_count(found) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Register_datarep(
    datarep: *const c_char,
    read_conversion_fn: Callback,
    write_conversion_fn: Callback,
    dtype_file_extent_fn: Callback,
    extra_state: *mut c_void,
) -> i32 {
    // Views with the representation are refused (`datarep::register`), so nothing calls the functions.
    let _ = (
        read_conversion_fn,
        write_conversion_fn,
        dtype_file_extent_fn,
        extra_state,
    );
    run_without_file("MPI_Register_datarep", || {
        // SAFETY: the text is NUL-terminated (crate head).
        let name = unsafe { CStr::from_ptr(datarep) }.to_string_lossy();
        datarep::register(&name)
    })
}
