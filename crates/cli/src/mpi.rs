// SPDX-License-Identifier: MIT OR Apache-2.0
//! The few MPI calls that the benchmarks use, as safe functions over a library opened at run time.

use std::ffi::c_void;

use mpi_abi_sys::Library;
use mpi_abi_sys::constants::{MPI_BYTE, MPI_COMM_WORLD};
use mpi_abi_sys::types::MPI_Status;

/// The library of the installation that this program belongs to, else the one that the dynamic linker finds.
pub(crate) fn default_library() -> String {
    let beside = std::env::current_exe().ok().and_then(|program| {
        let prefix = program
            .canonicalize()
            .ok()?
            .parent()?
            .parent()?
            .to_path_buf();
        let library = prefix.join("lib/libmpi_abi.so.1");
        library.exists().then(|| library.display().to_string())
    });
    beside.unwrap_or_else(|| "libmpi_abi.so.1".to_owned())
}

type Transfer = unsafe extern "C" fn(*const c_void, i32, usize, i32, i32, usize) -> i32;
type Receive =
    unsafe extern "C" fn(*mut c_void, i32, usize, i32, i32, usize, *mut MPI_Status) -> i32;
type Start = unsafe extern "C" fn(*const c_void, i32, usize, i32, i32, usize, *mut usize) -> i32;
type StartReceive =
    unsafe extern "C" fn(*mut c_void, i32, usize, i32, i32, usize, *mut usize) -> i32;

/// An initialised MPI library; MPI_Finalize is called when it goes.
pub(crate) struct Mpi {
    library: Library,
    send: Transfer,
    recv: Receive,
    isend: Start,
    irecv: StartReceive,
    waitall: unsafe extern "C" fn(i32, *mut usize, *mut MPI_Status) -> i32,
    barrier: unsafe extern "C" fn(usize) -> i32,
    pub(crate) rank: i32,
    pub(crate) size: i32,
}

fn check(code: i32, call: &str) -> Result<(), String> {
    if code == 0 {
        Ok(())
    } else {
        Err(format!("{call} returned {code}"))
    }
}

impl Mpi {
    /// Opens and initialises a library.
    pub(crate) fn start(name: &str) -> Result<Self, String> {
        let library = Library::open(name).map_err(|error| error.to_string())?;
        let lacking = || format!("{name} lacks a function of the standard ABI");
        let (mut rank, mut size) = (0, 0);
        // SAFETY: null argument pointers are allowed (MPI-5.0, section 11.2.1); the results are writable.
        unsafe {
            check(
                library.MPI_Init.ok_or_else(lacking)?(std::ptr::null_mut(), std::ptr::null_mut()),
                "MPI_Init",
            )?;
            check(
                library.MPI_Comm_rank.ok_or_else(lacking)?(MPI_COMM_WORLD, &raw mut rank),
                "MPI_Comm_rank",
            )?;
            check(
                library.MPI_Comm_size.ok_or_else(lacking)?(MPI_COMM_WORLD, &raw mut size),
                "MPI_Comm_size",
            )?;
        }
        Ok(Self {
            send: library.MPI_Send.ok_or_else(lacking)?,
            recv: library.MPI_Recv.ok_or_else(lacking)?,
            isend: library.MPI_Isend.ok_or_else(lacking)?,
            irecv: library.MPI_Irecv.ok_or_else(lacking)?,
            waitall: library.MPI_Waitall.ok_or_else(lacking)?,
            barrier: library.MPI_Barrier.ok_or_else(lacking)?,
            library,
            rank,
            size,
        })
    }

    /// Sends bytes and waits until they can be reused.
    #[inline(always)]
    pub(crate) fn send(&self, data: &[u8], to: i32, tag: i32) {
        // SAFETY: the slice is readable during the call. The default error handler ends the job on errors.
        unsafe {
            (self.send)(
                data.as_ptr().cast(),
                data.len() as i32,
                MPI_BYTE,
                to,
                tag,
                MPI_COMM_WORLD,
            )
        };
    }

    /// Receives bytes.
    #[inline(always)]
    pub(crate) fn receive(&self, data: &mut [u8], from: i32, tag: i32) {
        let none = std::ptr::null_mut();
        // SAFETY: the slice is writable during the call. The default error handler ends the job on errors.
        unsafe {
            (self.recv)(
                data.as_mut_ptr().cast(),
                data.len() as i32,
                MPI_BYTE,
                from,
                tag,
                MPI_COMM_WORLD,
                none,
            )
        };
    }

    /// Starts one send per tag of the same bytes and waits for all.
    pub(crate) fn send_window(
        &self,
        data: &[u8],
        to: i32,
        tags: &[i32],
        requests: &mut Vec<usize>,
    ) {
        requests.resize(tags.len(), 0);
        for (request, &tag) in requests.iter_mut().zip(tags) {
            // SAFETY: the slice is readable until the wait below.
            unsafe {
                (self.isend)(
                    data.as_ptr().cast(),
                    data.len() as i32,
                    MPI_BYTE,
                    to,
                    tag,
                    MPI_COMM_WORLD,
                    request,
                )
            };
        }
        self.wait_all(requests);
    }

    /// Starts one receive per tag, each into its own `bytes` bytes of `data`.
    pub(crate) fn start_receives(
        &self,
        data: &mut [u8],
        bytes: usize,
        from: i32,
        tags: &[i32],
        requests: &mut Vec<usize>,
    ) {
        requests.resize(tags.len(), 0);
        for (index, (request, &tag)) in requests.iter_mut().zip(tags).enumerate() {
            let part = &mut data[index * bytes..(index + 1) * bytes];
            // SAFETY: the caller keeps `data` until `wait_all`; parts do not overlap.
            unsafe {
                (self.irecv)(
                    part.as_mut_ptr().cast(),
                    bytes as i32,
                    MPI_BYTE,
                    from,
                    tag,
                    MPI_COMM_WORLD,
                    request,
                )
            };
        }
    }

    /// Waits for requests.
    pub(crate) fn wait_all(&self, requests: &mut [usize]) {
        // SAFETY: the requests are live; null statuses mean MPI_STATUSES_IGNORE.
        unsafe {
            (self.waitall)(
                requests.len() as i32,
                requests.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
    }

    /// Waits for all ranks.
    pub(crate) fn barrier(&self) {
        // SAFETY: MPI_COMM_WORLD is valid between start and drop.
        unsafe { (self.barrier)(MPI_COMM_WORLD) };
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if let Some(finalize) = self.library.MPI_Finalize {
            // SAFETY: initialised by `start`, finalized once.
            unsafe { finalize() };
        }
    }
}
