// SPDX-License-Identifier: MIT OR Apache-2.0
//! C types of the ABI. Handles are addresses; the predefined ones are small numbers.
#![expect(non_camel_case_types, non_snake_case, reason = "names of the standard")]

macro_rules! handles {
    ($($name:ident)*) => {
        $(#[doc = concat!("Handle `", stringify!($name), "`.")] pub type $name = usize;)*
    };
}
handles! {
    MPI_Comm MPI_Group MPI_Datatype MPI_Op MPI_Request MPI_Message MPI_Info MPI_Errhandler MPI_Win MPI_File MPI_Session
    MPI_T_enum MPI_T_cvar_handle MPI_T_pvar_handle MPI_T_pvar_session MPI_T_event_registration MPI_T_event_instance
}
/// Address-sized integer.
pub type MPI_Aint = isize;
/// Count of elements.
pub type MPI_Count = i64;
/// File offset.
pub type MPI_Offset = i64;
/// Tool enumerations are C enums without negative values.
pub type MPI_T_cb_safety = u32;
/// Tool enumerations are C enums without negative values.
pub type MPI_T_source_order = u32;
/// A function pointer of the user, perhaps null or a predefined small number.
pub type Callback = usize;

/// MPI_Status: 32 bytes, aligned to 4 (MPI-5.0, chapter 20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MPI_Status {
    /// Rank of the sender.
    pub MPI_SOURCE: i32,
    /// Tag.
    pub MPI_TAG: i32,
    /// Error code.
    pub MPI_ERROR: i32,
    /// Reserved for the library.
    pub MPI_internal: [i32; 5],
}

const _: () = assert!(size_of::<MPI_Status>() == 32 && align_of::<MPI_Status>() == 4);
