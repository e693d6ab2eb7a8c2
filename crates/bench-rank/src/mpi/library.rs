// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library: start, end, errors, and the calls of all ranks.

use std::ffi::{c_char, c_void};
use std::io::Write as _;

use measure::target::InitLevel;
use mpi_abi_sys::Library;
use mpi_abi_sys::constants::{
    MPI_COMM_WORLD, MPI_INT64_T, MPI_MAX_ERROR_STRING, MPI_MAX_LIBRARY_VERSION_STRING,
    MPI_THREAD_MULTIPLE,
};

use super::call::call;

/// An initialised MPI library, and this process's place in its world.
pub(crate) struct Mpi {
    pub(super) library: Library,
    /// Rank in MPI_COMM_WORLD.
    pub(crate) rank: i32,
    /// Size of MPI_COMM_WORLD.
    pub(crate) size: i32,
}

/// The first line of what `MPI_Get_library_version` says.
pub fn version(library: &Library) -> String {
    let mut text = vec![0_u8; MPI_MAX_LIBRARY_VERSION_STRING as usize];
    let mut length = 0;
    let Some(function) = library.MPI_Get_library_version else {
        return String::from("unknown");
    };
    // SAFETY: allowed before initialisation; the text has the room that the ABI asks for.
    let code = unsafe { function(text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    match (code, String::from_utf8_lossy(&text)) {
        (0, text) => {
            let line = text.lines().next().unwrap_or_default();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        _ => String::from("unknown"),
    }
}

impl Mpi {
    /// Opens and initialises the library; a library that lacks the thread level ends the process.
    pub(crate) fn start(name: &str, threads: InitLevel) -> Result<Self, String> {
        let library = Library::open(name).map_err(|error| {
            format!("cannot open {name}: {error}; set LD_LIBRARY_PATH to the folder of the library to measure")
        })?;
        let mut mpi = Self {
            library,
            rank: 0,
            size: 0,
        };
        let none = std::ptr::null_mut();
        match threads {
            InitLevel::Single => call!(mpi, MPI_Init(none, std::ptr::null_mut())),
            InitLevel::Multiple => {
                let (wanted, mut provided) = (MPI_THREAD_MULTIPLE, 0);
                let argv = std::ptr::null_mut();
                call!(mpi, MPI_Init_thread(none, argv, wanted, &raw mut provided));
                if provided != wanted {
                    mpi.abort(&format!(
                        "MPI_Init_thread provides level {provided} instead of MPI_THREAD_MULTIPLE ({wanted})"
                    ));
                }
            }
        }
        let (mut rank, mut size) = (0, 0);
        call!(mpi, MPI_Comm_rank(MPI_COMM_WORLD, &raw mut rank));
        call!(mpi, MPI_Comm_size(MPI_COMM_WORLD, &raw mut size));
        (mpi.rank, mpi.size) = (rank, size);
        Ok(mpi)
    }

    /// Finalises the library.
    pub(crate) fn finish(self) {
        call!(self, MPI_Finalize());
    }

    /// The library's version text.
    pub(crate) fn version(&self) -> String {
        version(&self.library)
    }

    /// The sum of these counters of the process so far, by their names; `None` of a library without Rankpoint's counters.
    pub(crate) fn counted(&self, names: &[&str]) -> Option<u64> {
        let text = self.library.text("rankpoint_counters")?;
        let rows = text.lines().filter_map(|line| line.split_once('\t'));
        let values = rows
            .filter(|(name, _)| names.contains(name))
            .filter_map(|(_, value)| value.parse::<u64>().ok());
        Some(values.sum())
    }

    /// Ends the job with a message.
    pub(crate) fn abort(&self, text: &str) -> ! {
        // Nobody is left to tell when standard error is closed.
        drop(writeln!(
            std::io::stderr(),
            "rankpoint bench: rank {}: {text}",
            self.rank
        ));
        if let Some(function) = self.library.MPI_Abort {
            // SAFETY: takes no buffers; the library is initialised.
            unsafe { function(MPI_COMM_WORLD, 3) };
        }
        std::process::abort()
    }

    /// Waits for all ranks.
    pub(crate) fn barrier(&self) {
        call!(self, MPI_Barrier(MPI_COMM_WORLD));
    }

    /// The value of rank 0, on every rank.
    pub(crate) fn broadcast(&self, value: &mut i64) {
        let start = std::ptr::from_mut(value).cast::<c_void>();
        call!(self, MPI_Bcast(start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    }

    #[cold]
    pub(super) fn absent(&self, name: &str) -> ! {
        self.abort(&format!("the library has no {name}"))
    }

    #[cold]
    pub(super) fn fail(&self, name: &str, code: i32) -> ! {
        let mut text = vec![0_u8; MPI_MAX_ERROR_STRING as usize];
        let mut length = 0;
        if let Some(function) = self.library.MPI_Error_string {
            // SAFETY: the text has the room that the ABI asks for.
            if unsafe { function(code, text.as_mut_ptr().cast(), &raw mut length) } != 0 {
                length = 0;
            }
        }
        text.truncate(usize::try_from(length).unwrap_or(0));
        self.abort(&format!(
            "{name} failed with {code}: {}",
            String::from_utf8_lossy(&text)
        ))
    }
}
