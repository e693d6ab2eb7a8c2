// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory file of a job with endpoints: a head, then an area for each endpoint in the order of the proxies' ranks.
//!
//! `rankpoint endpoints` makes the file and keeps it open; the others open it as `/proc/PID/fd/N`, which the kernel lets processes of the
//! same user do, and it ends with the last of them. The file is much longer than memory; pages cost nothing until they are touched. Who
//! writes what: the launcher the fields of [`Head`] up to `over`, the first process of the program that makes endpoints the library's
//! name, all the turn of making communicators, a proxy `process` of its area, the program's side `finished`.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::time::Duration;

use sys::futex;
use sys::memory::map_shared;
use sys::sync::{AtomicU8, AtomicU32, Ordering};

use crate::completion::Slot;
use crate::queue::Queue;

/// Environment variable with the name of the memory file.
pub const VARIABLE: &str = "RANKPOINT_INTERPOSE_PROXIES";
/// Most endpoints of a process, as of Rankpoint's own call.
pub const MOST_PER_PROCESS: u32 = 64;
/// Operations under way of an endpoint.
pub const SLOTS: usize = 1 << 14;
/// Bytes of an area.
pub const AREA_BYTES: usize = 1 << 34;
/// Where the heap of an area begins.
const HEAP: usize = 1 << 21;
/// Bytes of the heap of an area.
pub const HEAP_BYTES: usize = AREA_BYTES - HEAP;
const HEAD_BYTES: usize = 1 << 13;
/// Marks a file of this version.
pub const MAGIC: u32 = 0x5250_4503;
/// Most bytes of a path.
const PATH_BYTES: usize = 4096;

const UNNAMED: u32 = 0;
const BEING_NAMED: u32 = 1;
const NAMED: u32 = 2;

/// What all processes of the job see.
#[repr(C)]
pub struct Head {
    magic: AtomicU32,
    /// Processes of the program.
    processes: AtomicU32,
    /// Endpoints of each.
    each: AtomicU32,
    /// 1 once the program's job has ended.
    over: AtomicU32,
    /// Whether the library is named.
    naming: AtomicU32,
    length: AtomicU32,
    /// Proxies that have not left the blocking call in which they make a communicator.
    making: AtomicU32,
    library: [AtomicU8; PATH_BYTES],
}

const _: () = assert!(size_of::<Head>() <= HEAD_BYTES);

/// What a program and one proxy share, in front of the heap.
#[repr(C)]
pub struct Area {
    /// The proxy, from MPI_Init to MPI_Finalize.
    process: AtomicU32,
    /// 1 once the program's process makes no more use of the endpoint.
    finished: AtomicU32,
    /// Commands.
    pub queue: Queue,
    /// Ends of operations.
    pub slots: [Slot; SLOTS],
}

const _: () = assert!(size_of::<Area>() <= HEAP);

/// Bytes of the file for so many areas.
pub fn file_bytes(areas: u32) -> u64 {
    HEAD_BYTES as u64 + u64::from(areas) * AREA_BYTES as u64
}

fn area_at(number: u32) -> u64 {
    HEAD_BYTES as u64 + u64::from(number) * AREA_BYTES as u64
}

/// Where `over` lies in the file.
pub const OVER: u64 = offset_of!(Head, over) as u64;

/// The first bytes of a new file.
pub fn first_bytes(processes: u32, each: u32) -> Vec<u8> {
    let words = [MAGIC, processes, each];
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// Where the number of a proxy's process lies in the file.
pub fn process_at(number: u32) -> u64 {
    area_at(number) + offset_of!(Area, process) as u64
}

/// The memory file, mapped for as long as the process lives.
pub struct Job {
    /// Where the launcher has the file open.
    path: PathBuf,
    file: File,
    head: &'static Head,
}

impl Job {
    /// Opens the file that the launcher names.
    ///
    /// # Errors
    /// The system's, or a file of another version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() < file_bytes(0) {
            return Err(io::Error::other("not a file of rankpoint endpoints"));
        }
        let base = map_shared(file.as_fd(), 0, HEAD_BYTES)?;
        // SAFETY: the mapping is as long as a head, page-aligned and never undone; all fields are atomic.
        let head = unsafe { base.cast::<Head>().as_ref() };
        if head.magic.load(Ordering::Relaxed) != MAGIC {
            return Err(io::Error::other(
                "made by another version of rankpoint endpoints",
            ));
        }
        let path = path.to_owned();
        Ok(Self { path, file, head })
    }

    /// Processes of the program.
    pub fn processes(&self) -> u32 {
        self.head.processes.load(Ordering::Relaxed)
    }

    /// Endpoints of each process.
    pub fn each(&self) -> u32 {
        self.head.each.load(Ordering::Relaxed)
    }

    /// Whether the job goes on: the launcher has the file open, which one that was killed does not even before its parent has
    /// waited for it, and the program's job has not ended.
    pub fn goes_on(&self) -> bool {
        self.head.over.load(Ordering::Relaxed) == 0 && self.path.symlink_metadata().is_ok()
    }

    /// Takes the turn of a communicator that so many proxies make in a blocking call; `false` while others have it. With one turn at a
    /// time no two such calls wait for each other.
    pub fn take_turn(&self, proxies: u32) -> bool {
        let (making, relaxed) = (&self.head.making, Ordering::Relaxed);
        let taken = making.compare_exchange(0, proxies, relaxed, relaxed);
        taken.is_ok()
    }

    /// One of these proxies has left the call.
    pub fn leave_turn(&self) {
        self.head.making.fetch_sub(1, Ordering::Relaxed);
    }

    /// Names the MPI library that the proxies are to open, unless it is named already.
    pub fn name_library(&self, path: &Path) {
        let (naming, bytes) = (&self.head.naming, path.as_os_str().as_bytes());
        let (relaxed, unnamed) = (Ordering::Relaxed, UNNAMED);
        let first = naming.compare_exchange(unnamed, BEING_NAMED, relaxed, relaxed);
        if first.is_err() || bytes.len() > PATH_BYTES {
            return;
        }
        for (byte, &value) in self.head.library.iter().zip(bytes) {
            byte.store(value, Ordering::Relaxed);
        }
        self.head.length.store(bytes.len() as u32, relaxed);
        // PAIRS: head.named
        naming.store(NAMED, Ordering::Release);
        futex::wake_all(naming);
    }

    /// The MPI library, once it is named; waits for it at most `timeout`.
    pub fn library(&self, timeout: Duration) -> Option<PathBuf> {
        let naming = &self.head.naming;
        // PAIRS: head.named
        let state = naming.load(Ordering::Acquire);
        if state != NAMED {
            futex::wait(naming, state, timeout);
            return None;
        }
        let length = self.head.length.load(Ordering::Relaxed) as usize;
        let bytes = self.head.library.iter().take(length);
        let bytes: Vec<u8> = bytes.map(|byte| byte.load(Ordering::Relaxed)).collect();
        Some(PathBuf::from(OsStr::from_bytes(&bytes)))
    }

    /// Maps the area of an endpoint.
    ///
    /// # Errors
    /// The system's.
    pub fn map(&self, number: u32) -> io::Result<Mapped> {
        if number >= self.processes() * self.each() {
            return Err(io::Error::other(format!("there is no endpoint {number}")));
        }
        let base = map_shared(self.file.as_fd(), area_at(number), AREA_BYTES)?;
        Ok(Mapped { base })
    }
}

/// The area of an endpoint, mapped for as long as the process lives.
#[derive(Clone, Copy)]
pub struct Mapped {
    base: NonNull<u8>,
}

// SAFETY: shared memory, whose fields are atomic; users of the heap keep apart what they copy.
unsafe impl Send for Mapped {}
// SAFETY: as for Send.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// What lies in front of the heap.
    pub fn area(&self) -> &'static Area {
        // SAFETY: the mapping is longer than an area, page-aligned and never undone; all fields are atomic, and zeros are valid.
        unsafe { self.base.cast::<Area>().as_ref() }
    }

    /// The address of so many bytes of the heap; `None` where they are not inside.
    pub fn at(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let end = offset.checked_add(bytes)?;
        if end > HEAP_BYTES as u64 {
            return None;
        }
        // SAFETY: inside the mapping.
        Some(unsafe { self.base.as_ptr().add(HEAP + offset as usize) })
    }
}

impl Area {
    /// The proxy begins, or ends where `process` is 0.
    pub fn set_process(&self, process: u32) {
        self.process.store(process, Ordering::Relaxed);
    }

    /// The program's process makes no more use of the endpoint.
    pub fn finish(&self) {
        self.finished.store(1, Ordering::Relaxed);
        self.queue.wake();
    }

    /// Whether the program's process makes no more use of the endpoint.
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Relaxed) == 1
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn processes_meet_in_a_file_that_the_launcher_made() {
        let file = sys::memory::memory_file(c"test", file_bytes(2)).unwrap();
        let file = File::from(file);
        let head = first_bytes(2, 1);
        file.write_all_at(&head, 0).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let [one, other] = [(); 2].map(|()| Job::open(Path::new(&path)).unwrap());
        assert_eq!((one.processes(), one.each()), (2, 1));
        assert!(one.goes_on());
        assert_eq!(other.library(Duration::ZERO), None);
        one.name_library(Path::new("/lib/libmpi_abi.so.1"));
        one.name_library(Path::new("/another"));
        let named = other.library(Duration::ZERO).unwrap();
        assert_eq!(named, Path::new("/lib/libmpi_abi.so.1"));
        let (here, there) = (one.map(1).unwrap(), other.map(1).unwrap());
        there.area().set_process(77);
        let mut number = [0; 4];
        file.read_exact_at(&mut number, process_at(1)).unwrap();
        assert_eq!(u32::from_ne_bytes(number), 77);
        here.area().finish();
        assert!(there.area().is_finished());
        assert!(here.at(0, HEAP_BYTES as u64).is_some() && here.at(1, HEAP_BYTES as u64).is_none());
        assert!(one.map(2).is_err());
        file.write_all_at(&1u32.to_ne_bytes(), OVER).unwrap();
        assert!(!other.goes_on());
    }

    #[test]
    fn other_files_are_refused() {
        assert!(Job::open(Path::new("/dev/null")).is_err());
        let file = File::from(sys::memory::memory_file(c"test", file_bytes(1)).unwrap());
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert!(Job::open(Path::new(&path)).is_err());
    }
}
