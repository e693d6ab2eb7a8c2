// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided operations of the threads of a process, and the windows that they go through.

use std::ffi::c_void;

use mpi_abi_sys::constants::{
    MPI_BYTE, MPI_COMM_SELF, MPI_COMM_WORLD, MPI_INFO_NULL, MPI_INT64_T, MPI_MODE_NOCHECK, MPI_SUM,
    MPI_WIN_BASE, MPI_WIN_NULL,
};
use mpi_abi_sys::types::{MPI_Aint, MPI_Comm, MPI_Info, MPI_Win};

use super::Mpi;
use super::call::{call, exclusive, int, shared};
use super::stream::{VCIS, text};

/// A one-sided operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OneSided {
    Put,
    Get,
    /// MPI_Accumulate of numbers with MPI_SUM.
    Accumulate,
    /// MPI_Fetch_and_op of a number with MPI_SUM.
    Fetch,
}

/// The windows of the threads of a process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WindowSharing {
    /// One window of all threads.
    One,
    /// The same, with hints that let the library spread it.
    Hinted,
    /// A window for each thread.
    Own,
    /// A member of one window for each thread.
    Endpoints,
}

/// One-sided operations of a thread of this process on memory of its partner, inside an epoch of shared locks.
pub(crate) struct RmaStream<'a> {
    mpi: &'a Mpi,
    window: MPI_Win,
    peer: i32,
    /// Where the partner's memory begins in its part of the window, and this thread's in this process's.
    disp: usize,
    base: *mut u8,
    bytes: usize,
    /// Whether this stream ends the epoch and frees the window.
    owns: bool,
    /// Whether nothing arrives: operations complete here only, and the epoch never ends.
    alone: bool,
}

// SAFETY: threads may use one window at once with MPI_THREAD_MULTIPLE, and each stream has memory of its own; with a lower level there is
// one stream, on one thread.
unsafe impl Send for RmaStream<'_> {}
// SAFETY: as above.
unsafe impl Sync for RmaStream<'_> {}

impl Mpi {
    /// Streams of the threads of this process to `bytes` bytes of each partner in rank `peer`, or why the library cannot have them so.
    /// `alone` is for a fabric that carries nothing: operations are sent to the process itself and do not arrive.
    pub(crate) fn rma_streams(
        &self,
        sharing: WindowSharing,
        count: usize,
        bytes: usize,
        peer: i32,
        alone: bool,
    ) -> Result<Vec<RmaStream<'_>>, String> {
        let (comm, peer) = match alone {
            true => (MPI_COMM_SELF, 0),
            false => (MPI_COMM_WORLD, peer),
        };
        let stream = |window, peer, disp: usize, base: *mut u8, owns| RmaStream {
            mpi: self,
            window,
            peer,
            disp,
            base: base.wrapping_add(disp),
            bytes,
            owns,
            alone,
        };
        let shared = |info| {
            let (window, base) = self.allocate_window(count * bytes, info, comm);
            let of = |thread| stream(window, peer, thread * bytes, base, thread == 0);
            (0..count).map(of).collect::<Vec<_>>()
        };
        let streams = match sharing {
            WindowSharing::One => shared(MPI_INFO_NULL),
            WindowSharing::Hinted => {
                let mut info = self.window_hints(count);
                let streams = shared(info);
                call!(self, MPI_Info_free(&raw mut info));
                let mut window = streams[0].window;
                if !self.keeps_hints(window) {
                    if alone {
                        return Err(not_kept());
                    }
                    call!(self, MPI_Win_free(&raw mut window));
                    return Err(not_kept());
                }
                streams
            }
            WindowSharing::Own => {
                let own = |_| self.allocate_window(bytes, MPI_INFO_NULL, comm);
                let windows = (0..count).map(own);
                windows
                    .map(|(window, base)| stream(window, peer, 0, base, true))
                    .collect()
            }
            WindowSharing::Endpoints => {
                let windows = self.endpoint_windows(count, bytes, comm)?;
                let rank = |thread| peer * int(count) + int(thread);
                let named = windows.into_iter().enumerate();
                named
                    .map(|(thread, window)| {
                        stream(window, rank(thread), 0, self.window_base(window), true)
                    })
                    .collect()
            }
        };
        for stream in streams.iter().filter(|stream| stream.owns) {
            // Without a check no answer is awaited.
            let asserted = if alone { MPI_MODE_NOCHECK } else { 0 };
            call!(self, MPI_Win_lock_all(asserted, stream.window));
        }
        Ok(streams)
    }

    fn allocate_window(&self, bytes: usize, info: MPI_Info, comm: MPI_Comm) -> (MPI_Win, *mut u8) {
        let (mut window, mut base) = (MPI_WIN_NULL, std::ptr::null_mut::<u8>());
        let (size, start) = (bytes as MPI_Aint, (&raw mut base).cast::<c_void>());
        call!(
            self,
            MPI_Win_allocate(size, 1, info, comm, start, &raw mut window)
        );
        (window, base)
    }

    fn window_hints(&self, streams: usize) -> MPI_Info {
        let mut info = MPI_INFO_NULL;
        call!(self, MPI_Info_create(&raw mut info));
        for (key, value) in [
            (VCIS, streams.max(2).to_string()),
            ("accumulate_ordering", "none".to_owned()),
        ] {
            let (key, value) = (text(key), text(&value));
            call!(self, MPI_Info_set(info, key.as_ptr(), value.as_ptr()));
        }
        info
    }

    fn keeps_hints(&self, window: MPI_Win) -> bool {
        let mut kept = MPI_INFO_NULL;
        call!(self, MPI_Win_get_info(window, &raw mut kept));
        let keeps = self.has_key(kept, VCIS);
        call!(self, MPI_Info_free(&raw mut kept));
        keeps
    }

    fn endpoint_windows(
        &self,
        count: usize,
        bytes: usize,
        comm: MPI_Comm,
    ) -> Result<Vec<MPI_Win>, String> {
        if comm == MPI_COMM_SELF {
            let why = "making a window of endpoints is collective, and this fabric carries nothing";
            return Err(why.to_owned());
        }
        if self.library.MPIX_Win_create_endpoints.is_none() {
            return Err("the library has no MPIX_Win_create_endpoints".to_owned());
        }
        let mut windows = vec![MPI_WIN_NULL; count];
        let (sizes, none) = (vec![bytes as MPI_Aint; count], std::ptr::null());
        let (sizes, own, start) = (sizes.as_ptr(), int(count), windows.as_mut_ptr());
        call!(
            self,
            MPIX_Win_create_endpoints(none, sizes, 1, MPI_INFO_NULL, comm, own, start)
        );
        Ok(windows)
    }

    fn window_base(&self, window: MPI_Win) -> *mut u8 {
        let (mut base, mut flag) = (std::ptr::null_mut::<u8>(), 0);
        let value = (&raw mut base).cast::<c_void>();
        call!(
            self,
            MPI_Win_get_attr(window, MPI_WIN_BASE, value, &raw mut flag)
        );
        base
    }
}

fn not_kept() -> String {
    format!("the library does not keep the hint {VCIS} of a window")
}

impl RmaStream<'_> {
    /// Starts an operation `count` times, with the same bytes of this process, on as many places of the partner's memory one behind the
    /// other as `into` has, and completes all there. What comes back goes to these places of `into`.
    pub(crate) fn start_window(
        &self,
        operation: OneSided,
        data: &[u8],
        into: &mut [u8],
        count: usize,
    ) {
        let (start, size) = shared(data);
        let numbers = size / size_of::<i64>() as i32;
        let slots = (into.len() / data.len().max(1)).max(1);
        let mut place = 0;
        let (mpi, peer, window) = (self.mpi, self.peer, self.window);
        for number in 1..=count {
            let disp = (self.disp + place) as MPI_Aint;
            match operation {
                OneSided::Put => {
                    call!(
                        mpi,
                        MPI_Put(start, size, MPI_BYTE, peer, disp, size, MPI_BYTE, window)
                    );
                }
                OneSided::Get => {
                    let (to, _) = exclusive(&mut into[place..place + data.len()]);
                    call!(
                        mpi,
                        MPI_Get(to, size, MPI_BYTE, peer, disp, size, MPI_BYTE, window)
                    );
                }
                OneSided::Accumulate => {
                    let of = MPI_INT64_T;
                    call!(
                        mpi,
                        MPI_Accumulate(
                            start, numbers, of, peer, disp, numbers, of, MPI_SUM, window
                        )
                    );
                }
                OneSided::Fetch => {
                    let (to, _) = exclusive(&mut into[place..place + data.len()]);
                    call!(
                        mpi,
                        MPI_Fetch_and_op(start, to, MPI_INT64_T, peer, disp, MPI_SUM, window)
                    );
                }
            }
            place = match number % slots {
                0 => 0,
                _ => place + data.len(),
            };
        }
        if self.alone {
            call!(mpi, MPI_Win_flush_local(peer, window));
        } else {
            call!(mpi, MPI_Win_flush(peer, window));
        }
    }

    /// Fills this thread's memory, which the partner does not use yet.
    pub(crate) fn write(&self, from: &[u8]) {
        let bytes = from.len().min(self.bytes);
        // SAFETY: this thread's part of the window, which lives until `free`; callers synchronise with the partner afterwards.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.base, bytes) };
        call!(self.mpi, MPI_Win_sync(self.window));
    }

    /// Reads this thread's memory, on which the partner's operations are complete.
    pub(crate) fn read(&self, into: &mut [u8]) {
        call!(self.mpi, MPI_Win_sync(self.window));
        let bytes = into.len().min(self.bytes);
        // SAFETY: this thread's part of the window, which lives until `free`; callers have synchronised with the partner.
        unsafe { std::ptr::copy_nonoverlapping(self.base, into.as_mut_ptr(), bytes) };
    }

    /// Ends the epoch and frees the window, if that is this stream's to do: called for all streams in the same order, or on a thread each.
    pub(crate) fn free(mut self) {
        if self.owns && !self.alone {
            call!(self.mpi, MPI_Win_unlock_all(self.window));
            call!(self.mpi, MPI_Win_free(&raw mut self.window));
        }
    }
}
