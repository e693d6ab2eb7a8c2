// SPDX-License-Identifier: MIT OR Apache-2.0
//! Raw declarations of the MPI 5.0 ABI, usable with any conforming library.
//!
//! [`table`] holds the ABI as data, [`types`] the C types, [`constants`] every constant, [`MPI_H`] the C header; and
//! [`Library`] opens a `libmpi_abi.so.1` at run time, so that one program can measure several libraries. With the feature
//! `generate`, the module of that name writes C entry points for build scripts.

#[cfg(feature = "generate")]
pub mod generate;
pub mod table;

/// C types of the ABI. Handles are addresses; the predefined ones are small numbers.
#[expect(non_camel_case_types, non_snake_case, reason = "names of the standard")]
pub mod types {
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
}

/// Every constant of the ABI: integers as `i32`, handles and addresses as `usize`.
pub mod constants {
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}

/// The text of `mpi.h`.
pub const MPI_H: &str = include_str!(concat!(env!("OUT_DIR"), "/mpi.h"));

#[expect(non_snake_case, reason = "names of the standard")]
mod library {
    use super::types::*;

    macro_rules! functions {
        ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
            /// An MPI library opened at run time: a pointer for each function of the ABI, `None` where the library has none.
            #[expect(missing_docs, reason = "the fields are the functions of the standard")]
            #[non_exhaustive]
            pub struct Library {
                $(pub $name: Option<unsafe extern "C" fn($($argument: $kind),*) -> $result>,)*
                handle: libloading::Library,
            }

            impl Library {
                /// Opens a library by its file name or soname.
                ///
                /// # Errors
                /// When the dynamic linker cannot load it.
                pub fn open(name: &str) -> Result<Self, libloading::Error> {
                    // SAFETY: initialisers of an MPI library run as they do when a program links it.
                    let handle = unsafe { libloading::Library::new(name) }?;
                    // SAFETY: the ABI fixes the prototype of every function name; pointers live as long as `handle`.
                    unsafe {
                        Ok(Self {
                            $($name: handle.get(concat!(stringify!($name), "\0").as_bytes()).ok().map(|symbol| *symbol),)*
                            handle,
                        })
                    }
                }
            }
        };
    }
    include!(concat!(env!("OUT_DIR"), "/library.rs"));

    impl Library {
        /// Text that a function `name` of the library without arguments returns, for Rankpoint's own symbols.
        pub fn text(&self, name: &str) -> Option<String> {
            // SAFETY: Rankpoint's text symbols all have this prototype; other libraries do not have them.
            let symbol: libloading::Symbol<'_, unsafe extern "C" fn() -> *const core::ffi::c_char> =
                unsafe { self.handle.get(name.as_bytes()) }.ok()?;
            // SAFETY: as above; the text is static and NUL-terminated.
            Some(
                unsafe { core::ffi::CStr::from_ptr(symbol()) }
                    .to_string_lossy()
                    .into_owned(),
            )
        }
    }
}

pub use library::Library;
