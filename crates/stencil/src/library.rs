// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPI libraries that are opened at run time.
#![expect(unsafe_code, reason = "functions of a C library")]

use std::ptr;

use mpi_abi_sys::constants::{MPI_COMM_WORLD, MPI_ERRORS_RETURN};
use mpi_abi_sys::types::MPI_Comm;

use crate::error::{Error, Result};

/// An MPI library with the MPI 5.0 standard ABI, in which this process is a rank: from [`Self::init`] on until it is dropped.
pub struct Library {
    pub(crate) functions: Box<mpi_abi_sys::Library>,
}

/// Calls a function of a library; a `Result`.
macro_rules! call {
    ($library:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $library.functions.$name {
            // SAFETY: the prototype is the ABI's, MPI is initialised, and the caller's arguments are as the standard wants them.
            Some(function) => match unsafe { function($($argument),*) } {
                0 => Ok(()),
                code => Err($crate::Error::Library(stringify!($name), code)),
            },
            None => Err($crate::Error::NoLibrary(
                concat!("the library has no ", stringify!($name)).to_owned(),
            )),
        }
    };
}
pub(crate) use call;

impl Library {
    /// Opens a library, such as `libmpi_abi.so.1`, and calls its MPI_Init.
    ///
    /// # Errors
    /// When it cannot be opened, or MPI_Init fails.
    pub fn init(name: &str) -> Result<Self> {
        let functions = mpi_abi_sys::Library::open(name).map_err(|error| {
            let why = std::error::Error::source(&error);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            Error::NoLibrary(format!(
                "{name}: {error}{why}; expected a path, or a name that the dynamic linker finds (LD_LIBRARY_PATH)"
            ))
        })?;
        let library = Self {
            functions: Box::new(functions),
        };
        call!(library, MPI_Init(ptr::null_mut(), ptr::null_mut()))?;
        call!(
            library,
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        )?;
        Ok(library)
    }

    /// Rank in MPI_COMM_WORLD.
    ///
    /// # Errors
    /// When MPI_Comm_rank fails.
    pub fn rank(&self) -> Result<usize> {
        self.rank_in(MPI_COMM_WORLD)
    }

    pub(crate) fn rank_in(&self, comm: MPI_Comm) -> Result<usize> {
        let mut rank = 0;
        call!(self, MPI_Comm_rank(comm, &raw mut rank))?;
        Ok(rank as usize)
    }

    pub(crate) fn size_of(&self, comm: MPI_Comm) -> Result<usize> {
        let mut size = 0;
        call!(self, MPI_Comm_size(comm, &raw mut size))?;
        Ok(size as usize)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others may wait for what this rank will never send: its end without MPI_Finalize tells the launcher.
            return;
        }
        // The process ends, and nobody is left who could handle an error.
        let _ = call!(self, MPI_Finalize());
    }
}
