// SPDX-License-Identifier: MIT OR Apache-2.0
//! A safe face of the MPI calls that the benchmark makes, over whatever library was opened at run time.
//!
//! # Safety
//! The functions come from a library with the MPI 5.0 ABI, which fixes their prototypes; [`Mpi::start`] initialises it and
//! only [`Mpi::finish`], which takes the face away, finalises it. Every method ends only when the library is done with the
//! buffers it was given: a window of nonblocking operations is one method. A call that fails ends the process, so no
//! operation outlives its buffers either.
#![expect(
    unsafe_code,
    reason = "MPI is called through pointers of a library opened at run time"
)]

use std::ffi::{c_char, c_void};
use std::io::Write as _;

use mpi_abi_sys::Library;
use mpi_abi_sys::constants::{
    MPI_BYTE, MPI_COMM_WORLD, MPI_INT64_T, MPI_MAX_ERROR_STRING, MPI_MAX_LIBRARY_VERSION_STRING,
    MPI_REQUEST_NULL, MPI_THREAD_MULTIPLE,
};
use mpi_abi_sys::types::MPI_Request;

/// Calls a function of the library; anything but success ends the process.
macro_rules! call {
    ($mpi:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $mpi.library.$name {
            // SAFETY: the prototype is the ABI's, MPI is initialised, and the arguments are those of the caller below,
            // whose borrowed buffers outlive the operation (see the head of this file).
            Some(function) => match unsafe { function($($argument),*) } {
                0 => {}
                code => $mpi.fail(stringify!($name), code),
            },
            None => $mpi.absent(stringify!($name)),
        }
    };
}

pub(crate) mod collective;
pub(crate) mod datatype;

/// Level of thread support that the benchmark initialises a library with.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InitLevel {
    /// `MPI_Init`, which gives MPI_THREAD_SINGLE.
    #[default]
    Single,
    /// `MPI_Init_thread` with MPI_THREAD_MULTIPLE; still, only one thread of a rank calls MPI.
    Multiple,
}

/// An initialised MPI library, and this process's place in its world.
pub(crate) struct Mpi {
    library: Library,
    /// Rank in MPI_COMM_WORLD.
    pub(crate) rank: i32,
    /// Size of MPI_COMM_WORLD.
    pub(crate) size: i32,
}

/// The first line of what `MPI_Get_library_version` says.
pub(crate) fn version(library: &Library) -> String {
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

    /// What the library calls itself.
    pub(crate) fn version(&self) -> String {
        version(&self.library)
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

    /// Sends bytes.
    pub(crate) fn send(&self, data: &[u8], to: i32, tag: i32) {
        let (start, count) = shared(data);
        call!(
            self,
            MPI_Send(start, count, MPI_BYTE, to, tag, MPI_COMM_WORLD)
        );
    }

    /// Receives bytes.
    pub(crate) fn receive(&self, data: &mut [u8], from: i32, tag: i32) {
        let (start, count) = exclusive(data);
        let status = std::ptr::null_mut();
        call!(
            self,
            MPI_Recv(start, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, status)
        );
    }

    /// Receives bytes, and asks whether they have come until they have.
    pub(crate) fn receive_testing(&self, data: &mut [u8], from: i32, tag: i32) {
        let (start, count) = exclusive(data);
        let (mut request, mut is_complete) = (MPI_REQUEST_NULL, 0);
        call!(
            self,
            MPI_Irecv(
                start,
                count,
                MPI_BYTE,
                from,
                tag,
                MPI_COMM_WORLD,
                &raw mut request
            )
        );
        while is_complete == 0 {
            let status = std::ptr::null_mut();
            call!(
                self,
                MPI_Test(&raw mut request, &raw mut is_complete, status)
            );
        }
    }

    /// Sends the same bytes once per request of the window, all at once.
    pub(crate) fn send_window(&self, data: &[u8], to: i32, tags: Tags, window: &mut Window) {
        window.start_sends(self, data, to, tags);
        window.wait(self);
    }

    /// Receives a message per request, the i-th into slot `i` modulo the number of slots.
    pub(crate) fn receive_window(
        &self,
        slots: &mut [u8],
        size: usize,
        from: i32,
        tags: Tags,
        window: &mut Window,
    ) {
        window.start_receives(self, slots, size, from, tags);
        window.wait(self);
    }

    /// As [`Self::receive_window`], with something done between starting and waiting.
    ///
    /// Ends the process if `meanwhile` panics, as the library still writes to the slots.
    pub(crate) fn receive_window_while(
        &self,
        slots: &mut [u8],
        size: usize,
        from: i32,
        tags: Tags,
        window: &mut Window,
        meanwhile: impl FnOnce(&Self),
    ) {
        window.start_receives(self, slots, size, from, tags);
        let guard = EndOnUnwind;
        meanwhile(self);
        drop(guard);
        window.wait(self);
    }

    /// Receives a window of messages and sends one, both at once.
    pub(crate) fn exchange_windows(
        &self,
        data: &[u8],
        slots: &mut [u8],
        peer: i32,
        sends: &mut Window,
        receives: &mut Window,
    ) {
        receives.start_receives(self, slots, data.len(), peer, Tags::same(WINDOW_TAG));
        sends.start_sends(self, data, peer, Tags::same(WINDOW_TAG));
        receives.wait(self);
        sends.wait(self);
    }

    /// Sends bytes to two neighbours and receives as many from each, all at once. A message's tag says to which side it goes, because both
    /// neighbours may be the same rank.
    pub(crate) fn exchange(&self, data: &[u8], into: [&mut [u8]; 2], neighbours: [i32; 2]) {
        let mut all = Window::new(2 * neighbours.len());
        let (receives, sends) = all.requests.split_at_mut(neighbours.len());
        for (side, ((slot, from), request)) in
            (0..).zip(into.into_iter().zip(neighbours).zip(receives))
        {
            let (start, count) = exclusive(slot);
            let tag = 1 - side;
            call!(
                self,
                MPI_Irecv(start, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, request)
            );
        }
        for (tag, (to, request)) in (0..).zip(neighbours.into_iter().zip(sends)) {
            let (start, count) = shared(data);
            call!(
                self,
                MPI_Isend(start, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, request)
            );
        }
        all.wait(self);
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
    fn absent(&self, name: &str) -> ! {
        self.abort(&format!("the library has no {name}"))
    }

    #[cold]
    fn fail(&self, name: &str, code: i32) -> ! {
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

/// Tag of the messages of a window that differ in nothing.
pub(crate) const WINDOW_TAG: i32 = 2;

/// Tags of the messages of a window: `first + step * i`.
#[derive(Clone, Copy)]
pub(crate) struct Tags {
    first: i32,
    step: i32,
}

impl Tags {
    /// The same tag for all.
    pub(crate) fn same(tag: i32) -> Self {
        Self {
            first: tag,
            step: 0,
        }
    }

    /// 0, 1, 2, ...
    pub(crate) fn ascending() -> Self {
        Self { first: 0, step: 1 }
    }

    /// `count - 1` down to 0.
    pub(crate) fn descending(count: usize) -> Self {
        Self {
            first: int(count) - 1,
            step: -1,
        }
    }
}

/// Requests of a window of nonblocking operations; all null outside the methods of [`Mpi`].
pub(crate) struct Window {
    requests: Vec<MPI_Request>,
}

impl Window {
    /// A window of so many messages.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            requests: vec![MPI_REQUEST_NULL; count],
        }
    }

    fn start_sends(&mut self, mpi: &Mpi, data: &[u8], to: i32, tags: Tags) {
        let (start, count) = shared(data);
        let mut tag = tags.first;
        for request in &mut self.requests {
            let request = std::ptr::from_mut(request);
            call!(
                mpi,
                MPI_Isend(start, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, request)
            );
            tag += tags.step;
        }
    }

    fn start_receives(&mut self, mpi: &Mpi, slots: &mut [u8], size: usize, from: i32, tags: Tags) {
        let (start, room) = (slots.as_mut_ptr(), slots.len());
        assert!(room >= size, "room for one message at least");
        let mut tag = tags.first;
        let mut offset = 0;
        for request in &mut self.requests {
            if offset + size > room {
                offset = 0;
            }
            let request = std::ptr::from_mut(request);
            // SAFETY: `offset + size <= room`, tested above.
            let slot = unsafe { start.add(offset) }.cast::<c_void>();
            call!(
                mpi,
                MPI_Irecv(
                    slot,
                    int(size),
                    MPI_BYTE,
                    from,
                    tag,
                    MPI_COMM_WORLD,
                    request
                )
            );
            offset += size;
            tag += tags.step;
        }
    }

    fn wait(&mut self, mpi: &Mpi) {
        let statuses = std::ptr::null_mut();
        call!(
            mpi,
            MPI_Waitall(
                int(self.requests.len()),
                self.requests.as_mut_ptr(),
                statuses
            )
        );
    }
}

/// Ends the process when it is dropped by a panic.
struct EndOnUnwind;

impl Drop for EndOnUnwind {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

fn shared(data: &[u8]) -> (*const c_void, i32) {
    (data.as_ptr().cast(), int(data.len()))
}

fn exclusive(data: &mut [u8]) -> (*mut c_void, i32) {
    (data.as_mut_ptr().cast(), int(data.len()))
}

/// A length as C counts it; the options bound it.
fn int(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}
