// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversion of handles to integers and back (MPI-5.0, section 20.3.4).
//!
//! A predefined handle is its own integer. That of an object made at run time holds its index and as much of its generation as
//! fits beside it, so that the integer of a freed object differs from that of its successor. An integer that names no object of the
//! kind becomes 0, which is no handle of any kind: calls refuse it, and null handles come from their own integers only.

use std::sync::atomic::Ordering;

use engine::completion;
use engine::progress::Vci;
use engine::request::RequestId;
use mpi_abi_sys::types::{
    MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Op,
    MPI_Request, MPI_Session, MPI_Win,
};

use crate::handle::{
    COMMS, DATATYPES, FILES, GROUPS, HANDLERS, INFOS, NO_HANDLE, OPS, SESSIONS, WINS, is_integer,
    predefined_of,
};
use crate::objects::ErrorHandler;
use crate::state::process;
use crate::sync::AtomicU8;

/// Bits of a request's index in its integer. The next ones are generation, or, if [`OTHER_VCI`] is set, the number of its VCI.
const REQUEST_INDEX_BITS: u32 = 24;
/// In the integer of a request of another VCI than the first.
const OTHER_VCI: u32 = 1 << 30;
/// The bits between those.
const MIDDLE: u32 = (OTHER_VCI >> REQUEST_INDEX_BITS) - 1;

/// Whether the program has the integer that all requests share whose operations were complete when they were made.
static GAVE_ENDED: AtomicU8 = AtomicU8::new(0);

macro_rules! conversions {
    ($($to:ident $from:ident; $table:ident: $handle:ident;)*) => {
        $(
            pub(crate) fn $to(handle: $handle) -> i32 {
                $table.to_int(handle)
            }

            pub(crate) fn $from(number: i32) -> $handle {
                $table.of_int(number)
            }
        )*
    };
}

conversions! {
    MPI_Comm_toint MPI_Comm_fromint;
        COMMS: MPI_Comm;
    MPI_Group_toint MPI_Group_fromint;
        GROUPS: MPI_Group;
    MPI_Type_toint MPI_Type_fromint;
        DATATYPES: MPI_Datatype;
    MPI_Op_toint MPI_Op_fromint;
        OPS: MPI_Op;
    MPI_Info_toint MPI_Info_fromint;
        INFOS: MPI_Info;
    MPI_Session_toint MPI_Session_fromint;
        SESSIONS: MPI_Session;
    MPI_Win_toint MPI_Win_fromint;
        WINS: MPI_Win;
    MPI_File_toint MPI_File_fromint;
        FILES: MPI_File;
}

pub(crate) fn MPI_Errhandler_toint(handler: MPI_Errhandler) -> i32 {
    HANDLERS.to_int(handler)
}

/// A handler that was freed stays in its slot, for it may still be attached.
pub(crate) fn MPI_Errhandler_fromint(handler: i32) -> MPI_Errhandler {
    let handle = HANDLERS.of_int(handler);
    let is_freed = HANDLERS.get(handle).is_some_and(ErrorHandler::is_freed);
    if is_freed { NO_HANDLE } else { handle }
}

fn operation_to_int(id: u64) -> i32 {
    if is_integer(id as usize) {
        return id as i32;
    }
    if RequestId(id).is_ended() {
        // All of them are complete, and that is all that their integer says.
        GAVE_ENDED.store(1, Ordering::Relaxed);
        return RequestId::SENT.0 as i32;
    }
    let (vci, entry) = RequestId(id).index_parts();
    let (middle, mark) = match vci {
        0 => ((id >> 32) as u32, 0),
        vci => (vci, OTHER_VCI),
    };
    (entry | (middle & MIDDLE) << REQUEST_INDEX_BITS | mark) as i32
}

/// The function that finds the id of a request or of a message by its index.
type AtIndex = fn(&Vci, u32) -> Option<RequestId>;

fn operation_of_int(number: i32, c_type: &str, at_index: AtIndex) -> usize {
    let live = live_operation(number, at_index);
    let known = live.or_else(|| predefined_of(number, c_type));
    known.unwrap_or(NO_HANDLE)
}

fn live_operation(number: i32, at_index: AtIndex) -> Option<usize> {
    let bits = u32::try_from(number).ok()?;
    let (entry, middle) = (
        bits & ((1 << REQUEST_INDEX_BITS) - 1),
        bits >> REQUEST_INDEX_BITS & MIDDLE,
    );
    let vci = if bits & OTHER_VCI == 0 { 0 } else { middle };
    let index = RequestId::index_of_parts(vci, entry);
    let found = at_index(process()?.vci(), index)?;
    if found.is_ended() && GAVE_ENDED.load(Ordering::Relaxed) == 0 {
        return None;
    }
    (operation_to_int(found.0) == number).then_some(found.0 as usize)
}

pub(crate) fn MPI_Request_toint(request: MPI_Request) -> i32 {
    operation_to_int(request as u64)
}

pub(crate) fn MPI_Request_fromint(request: i32) -> MPI_Request {
    operation_of_int(request, "MPI_Request", completion::request_at)
}

pub(crate) fn MPI_Message_toint(message: MPI_Message) -> i32 {
    operation_to_int(message as u64)
}

pub(crate) fn MPI_Message_fromint(message: i32) -> MPI_Message {
    operation_of_int(message, "MPI_Message", completion::message_at)
}
