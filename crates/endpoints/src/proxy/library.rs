// SPDX-License-Identifier: MIT OR Apache-2.0
//! The MPI library of the proxy.

use std::ffi::CStr;
use std::path::Path;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::{
    Library,
    types::{MPI_Comm, MPI_Errhandler},
};

/// Calls a function of the library; MPI_ERR_UNSUPPORTED_OPERATION where the library does not have it.
macro_rules! call {
    ($mpi:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $mpi.library.$name {
            // SAFETY: arguments of this program, in shared memory that was checked or memory that the call sees valid.
            Some(function) => unsafe { function($($argument),*) },
            None => mpi_abi_sys::constants::MPI_ERR_UNSUPPORTED_OPERATION,
        }
    };
}
pub(crate) use call;

/// The initialised library.
pub(crate) struct Mpi {
    pub(crate) library: Library,
    /// Rank in MPI_COMM_WORLD, which is the number of the endpoint.
    pub(crate) rank: u32,
    /// Size of MPI_COMM_WORLD.
    pub(crate) size: u32,
    /// The error handler that returns.
    errors_return: MPI_Errhandler,
}

impl Mpi {
    /// Opens and initialises the library.
    ///
    /// # Errors
    /// What failed.
    pub(crate) fn start(path: &Path) -> Result<Self, String> {
        let name = path.to_string_lossy();
        let library = Library::open(&name).map_err(|error| format!("{name}: {error}"))?;
        let mut mpi = Self {
            library,
            rank: 0,
            size: 0,
            errors_return: mpi::MPI_ERRORS_RETURN,
        };
        let (mut rank, mut size) = (0, 0);
        let world = mpi::MPI_COMM_WORLD;
        let arguments = std::ptr::null_mut();
        let codes = [
            call!(mpi, MPI_Init(std::ptr::null_mut(), arguments)),
            call!(mpi, MPI_Comm_rank(world, &raw mut rank)),
            call!(mpi, MPI_Comm_size(world, &raw mut size)),
        ];
        if codes != [mpi::MPI_SUCCESS; 3] {
            return Err(format!("{name}: MPI_Init gave the codes {codes:?}"));
        }
        if mpi.is_intel() {
            mpi.errors_return = mpi::MPI_ERRORS_ABORT;
        }
        mpi.report_errors(world);
        mpi.rank = u32::try_from(rank).unwrap_or_default();
        mpi.size = u32::try_from(size).unwrap_or_default();
        Ok(mpi)
    }

    /// Whether the library is Intel MPI, in which MPI_ERRORS_ABORT and MPI_ERRORS_RETURN have each other's numbers.
    fn is_intel(&self) -> bool {
        let mut text = [0u8; mpi::MPI_MAX_LIBRARY_VERSION_STRING as usize];
        let mut length = 0;
        let place = text.as_mut_ptr().cast();
        let code = call!(self, MPI_Get_library_version(place, &raw mut length));
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        code == mpi::MPI_SUCCESS && text.to_bytes().starts_with(b"Intel")
    }

    /// Has errors on a communicator reported to this program, which passes them on.
    pub(crate) fn report_errors(&self, comm: MPI_Comm) {
        // A library that refuses ends the job itself.
        let _ = call!(self, MPI_Comm_set_errhandler(comm, self.errors_return));
    }

    /// The class of an error code: codes mean nothing in another process.
    pub(crate) fn class(&self, code: i32) -> i32 {
        if code == mpi::MPI_SUCCESS {
            return code;
        }
        let mut class = mpi::MPI_ERR_OTHER;
        match call!(self, MPI_Error_class(code, &raw mut class)) {
            mpi::MPI_SUCCESS => class,
            _ => mpi::MPI_ERR_OTHER,
        }
    }

    /// Ends MPI.
    ///
    /// # Errors
    /// The library's code.
    pub(crate) fn end(&self) -> Result<(), String> {
        match call!(self, MPI_Finalize()) {
            mpi::MPI_SUCCESS => Ok(()),
            code => Err(format!("MPI_Finalize gave the code {code}")),
        }
    }
}
