// SPDX-License-Identifier: MIT OR Apache-2.0
//! Views (MPI-5.0, section 14.3): which bytes of the file a rank sees, and in which units it counts them.

use std::sync::{Arc, PoisonError};

use file_plan::Tiles;
use layout::Order;
use sys::sync::Ordering;

use super::agree::{self, Argument};
use super::datarep::Datarep;
use super::mode::bits;
use super::object::File;
use super::{covering, shared, split};
use crate::datatype::Datatype;
use crate::datatype::predefined::{self, Predefined};
use crate::errors::{Error, ErrorClass, Result};

/// MPI_DISPLACEMENT_CURRENT.
pub const CURRENT: i64 = -1;

/// A view. Accesses in progress keep theirs.
pub struct View {
    /// Where it begins, in bytes.
    pub disp: u64,
    /// The unit of offsets and pointers.
    pub etype: Arc<Datatype>,
    /// Which bytes are visible.
    pub filetype: Arc<Datatype>,
    /// How numbers are represented.
    pub datarep: Datarep,
    pub(super) tiles: Tiles,
}

impl View {
    fn new(disp: u64, etype: Arc<Datatype>, filetype: Arc<Datatype>, datarep: Datarep) -> Self {
        let tiles = Tiles::new(disp, filetype.shared_layout().clone());
        Self {
            disp,
            etype,
            filetype,
            datarep,
            tiles,
        }
    }

    /// All bytes of the file, as every file is seen at first.
    ///
    /// # Errors
    /// None.
    pub(super) fn of_bytes() -> Result<Self> {
        let Some(row) = Predefined::find(predefined::BYTE) else {
            return Err(Error::new(ErrorClass::ERR_INTERN, "there is no MPI_BYTE"));
        };
        let byte = row.datatype();
        Ok(Self::new(0, byte.clone(), byte.clone(), Datarep::Native))
    }

    /// Bytes of an etype.
    pub(super) fn unit(&self) -> u64 {
        self.etype.size() as u64
    }

    /// The etypes before an offset in the file; one that lies there in part counts.
    pub(super) fn etypes_before(&self, offset: u64) -> Result<u64> {
        if !self.tiles.ascend() {
            let text = "the end of the file has no place in a view whose filetypes overlap: its extent is less than its true extent";
            return Err(Error::new(ErrorClass::ERR_UNSUPPORTED_OPERATION, text));
        }
        Ok(self.tiles.position_of(offset).div_ceil(self.unit()))
    }

    /// The position of the first byte of an etype, of which there are `bytes` bytes.
    ///
    /// # Errors
    /// MPI_ERR_ARG where the offsets of files end.
    pub(super) fn position_of(&self, etype: u64, bytes: u64) -> Result<u64> {
        let position = etype.checked_mul(self.unit());
        let fits = |&start: &u64| {
            let end = start.checked_add(bytes);
            let last = end.filter(|&end| i64::try_from(end).is_ok());
            bytes == 0
                || last.is_some_and(|end| {
                    self.tiles.offset_of(start).is_some() && self.tiles.offset_of(end - 1).is_some()
                })
        };
        position.filter(fits).ok_or_else(|| {
            let expected = match self.filetype.size() {
                0 => "no access: the filetype has no bytes".to_owned(),
                _ => format!("a place whose {bytes} bytes end before byte 2^63 of the file"),
            };
            Error::argument(ErrorClass::ERR_ARG, "offset", etype, expected)
        })
    }
}

/// Refuses a type whose displacements are negative or decrease, and one that overlaps in a file that is open for writes.
///
/// # Errors
/// MPI_ERR_IO, as in ROMIO, of whose class programs know.
fn check_order(file: &File, argument: &'static str, datatype: &Datatype) -> Result<()> {
    let layout = datatype.layout();
    let expected = match layout.order() {
        _ if layout.size() > 0 && layout.true_lower_bound() < 0 => {
            "one without negative displacements"
        }
        Order::Decreasing => "one whose displacements do not decrease",
        Order::Overlapping if file.mode.writes() => {
            "one without overlaps: the file is open for writes"
        }
        _ => return Ok(()),
    };
    let (class, value) = (ErrorClass::ERR_IO, datatype.describe());
    Err(Error::argument(class, argument, value, expected))
}

/// What a rank gives for a view, checked by itself.
fn checked(
    file: &File,
    disp: i64,
    types: Result<(Arc<Datatype>, Arc<Datatype>)>,
    datarep: &str,
) -> Result<View> {
    let (etype, filetype) = types?;
    let datarep = Datarep::named(datarep)?;
    let is_sequential = file.mode.has(bits::SEQUENTIAL);
    let wrong = |argument, value: String, expected: &str| {
        Err(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            value,
            expected,
        ))
    };
    if (disp == CURRENT) != is_sequential {
        let expected = match is_sequential {
            true => "MPI_DISPLACEMENT_CURRENT: the file was opened with MPI_MODE_SEQUENTIAL",
            false => "0 or more bytes",
        };
        return wrong("disp", disp.to_string(), expected);
    }
    let Ok(start) = u64::try_from(disp.max(0)) else {
        return wrong("disp", disp.to_string(), "0 or more bytes");
    };
    if disp < CURRENT {
        return wrong("disp", disp.to_string(), "0 or more bytes");
    }
    for (argument, datatype) in [("etype", &etype), ("filetype", &filetype)] {
        datarep.check(argument, datatype)?;
        if !datatype.is_committed() {
            let expected = "a committed datatype (MPI_Type_commit)";
            let value = datatype.describe();
            return Err(Error::argument(
                ErrorClass::ERR_TYPE,
                argument,
                value,
                expected,
            ));
        }
    }
    let value = || filetype.describe();
    if etype.size() == 0 {
        return wrong("etype", etype.describe(), "a type with bytes");
    }
    if !filetype.size().is_multiple_of(etype.size()) {
        let expected = format!(
            "one that consists of etypes, which have {} bytes",
            etype.size()
        );
        return wrong("filetype", value(), &expected);
    }
    for (argument, datatype) in [("etype", &etype), ("filetype", &filetype)] {
        check_order(file, argument, datatype)?;
    }
    Ok(View::new(start, etype, filetype, datarep))
}

/// Changes the view, at all ranks; both file pointers go to its begin (MPI_File_set_view). The types are those of this rank, or the error
/// of an argument.
///
/// # Errors
/// MPI_ERR_ARG, MPI_ERR_TYPE, MPI_ERR_UNSUPPORTED_DATAREP; MPI_ERR_NOT_SAME; MPI_ERR_IO for types that are not in order, and while a split
/// collective access is in progress. At all ranks.
pub fn set_view(
    file: &File,
    disp: i64,
    types: Result<(Arc<Datatype>, Arc<Datatype>)>,
    datarep: &str,
    call: &'static str,
) -> Result<()> {
    let comm = &file.comm;
    // Nonblocking accesses in progress keep the view that they began with.
    let own = split::check_none(file).and_then(|()| checked(file, disp, types, datarep));
    let view = agree::settle(comm, call, own)?;
    let arguments = [
        Argument::number("etype", view.etype.layout().extent()),
        Argument::text("datarep", view.datarep.name()),
    ];
    let mut view = view;
    if disp == CURRENT {
        let at = shared::position(file)?;
        let old = file.view();
        let at = old.position_of(at, 1)?;
        let start = old.tiles.offset_of(at).unwrap_or(0);
        view = View::new(start, view.etype, view.filetype, view.datarep);
    }
    // No rank sets the shared pointer before all ranks have read it.
    agree::same(comm, call, &arguments)?;
    covering::agree(file, &view, call)?;
    let reset = match comm.rank() {
        0 => shared::set(file, 0),
        _ => Ok(()),
    };
    file.pointer.store(0, Ordering::Relaxed);
    *file.view.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    agree::settle(comm, call, reset)
}

/// The view in force (MPI_File_get_view).
pub fn get_view(file: &File) -> Arc<View> {
    file.view()
}

/// The offset in the file of an etype of the view (MPI_File_get_byte_offset).
///
/// # Errors
/// MPI_ERR_ARG.
pub fn byte_offset(file: &File, offset: i64) -> Result<u64> {
    file.check_random()?;
    let view = file.view();
    let etype = u64::try_from(offset)
        .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "offset", offset, "0 or more etypes"))?;
    if view.filetype.size() == 0 {
        return Ok(view.disp);
    }
    let position = view.position_of(etype, 1)?;
    Ok(view.tiles.offset_of(position).unwrap_or(0))
}

/// The extent of a type in the file (MPI_File_get_type_extent).
///
/// # Errors
/// MPI_ERR_UNSUPPORTED_DATAREP for types that have another layout there.
pub fn type_extent(file: &File, datatype: &Arc<Datatype>) -> Result<i64> {
    let datarep = file.view().datarep;
    if datarep.converts() && datatype.row().is_some() {
        return Ok(datatype.external_size().cast_signed());
    }
    datarep.check("datatype", datatype)?;
    Ok(datatype.layout().extent())
}
