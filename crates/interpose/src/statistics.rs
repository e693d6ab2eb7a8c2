// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often the program called each function, how long that took and how many bytes it named, and what the layers did: one file for
//! each rank with lines `NAME NUMBER`, written when MPI_Finalize and the end of each session return. A call that the program makes in a callback
//! counts in the call around it, too.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;
use sys::clock;

use crate::output::say;
use crate::settings::Settings;
use crate::sync::AtomicU64;
use crate::table::{COUNT, Functions, NAMES, Next, REAL};
use crate::{datatypes, placement, sizes};

/// What the program's calls of a function took.
struct Calls {
    number: AtomicU64,
    /// Ticks of the clock.
    ticks: AtomicU64,
    /// Bytes that they named.
    bytes: AtomicU64,
    /// Calls by bytes: up to each of [`SIZES`], and more.
    sizes: [AtomicU64; SIZES.len() + 1],
}

/// Upper ends of the classes of sizes in bytes.
const SIZES: [u64; 6] = [0, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20];

static CALLS: [Calls; COUNT] = [const {
    Calls {
        number: AtomicU64::new(0),
        ticks: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        sizes: [const { AtomicU64::new(0) }; SIZES.len() + 1],
    }
}; COUNT];
static NEXT: Next = Next::new();
/// Where the numbers go, without the rank.
static FILE: OnceLock<PathBuf> = OnceLock::new();
/// The clock and the nanoseconds when the program first called.
static START: OnceLock<(u64, u64)> = OnceLock::new();

/// Functions that measure calls and write statistics, if they are asked for.
pub(crate) fn over(settings: &Settings, next: Functions) -> Functions {
    let Some(file) = settings.statistics.clone() else {
        return next;
    };
    // Only the first call of all comes here.
    drop(FILE.set(file));
    START.get_or_init(|| (clock::ticks(), clock::monotonic_ns()));
    // SAFETY: no slot leads to a reader yet.
    unsafe { NEXT.fill(next) };
    Functions {
        MPI_Finalize: finalize,
        MPI_Session_finalize: session_finalize,
        ..TIMED
    }
}

/// A call that has begun.
struct Begun {
    calls: &'static Calls,
    ticks: u64,
}

impl Begun {
    fn new(calls: &'static Calls, bytes: Option<u64>) -> Self {
        calls.number.fetch_add(1, Relaxed);
        if let Some(bytes) = bytes {
            calls.bytes.fetch_add(bytes, Relaxed);
            let class = SIZES.partition_point(|&most| most < bytes);
            calls.sizes[class].fetch_add(1, Relaxed);
        }
        Self {
            calls,
            ticks: clock::ticks(),
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let ticks = clock::ticks().wrapping_sub(self.ticks);
        self.calls.ticks.fetch_add(ticks, Relaxed);
    }
}

/// The packed bytes of elements of a call; `None` where it has none of its own, or wrong ones.
fn bytes(
    buffer: *const c_void,
    count: impl Into<MPI_Count>,
    datatype: MPI_Datatype,
) -> Option<u64> {
    let count = u64::try_from(count.into()).ok()?;
    if buffer.addr() == mpi::MPI_IN_PLACE || datatype == mpi::MPI_DATATYPE_NULL {
        return None;
    }
    let size = sizes::dense(datatype).or_else(|| {
        let mut size = 0;
        // SAFETY: a place of this function; the library checks the handle, which it gets next.
        let code = unsafe { (REAL.get().MPI_Type_size_c)(datatype, &raw mut size) };
        (code == mpi::MPI_SUCCESS).then_some(size.cast_unsigned())
    })?;
    size.checked_mul(count)
}

macro_rules! timed {
    ($($number:literal $name:ident($($argument:ident: $kind:ty),*) -> $result:ty = ($($passed:ident),*) [$bytes:expr];)*) => {
        /// Functions that measure what the next ones take.
        static TIMED: Functions = Functions { $($name: {
            unsafe extern "C" fn timed($($argument: $kind),*) -> $result {
                let _begun = Begun::new(&CALLS[$number], $bytes);
                // SAFETY: the caller's arguments.
                unsafe { (NEXT.get().$name)($($passed),*) }
            }
            timed
        }),* };
    };
}

include!(concat!(env!("OUT_DIR"), "/timed.rs"));

unsafe extern "C" fn finalize() -> i32 {
    let mut rank = 0;
    // SAFETY: MPI is initialised when it is finalised; if not, the code says so and the library reports the call below.
    unsafe {
        let code = (REAL.get().MPI_Comm_rank)(mpi::MPI_COMM_WORLD, &raw mut rank);
        let result = (TIMED.MPI_Finalize)();
        if code == mpi::MPI_SUCCESS {
            write(rank);
        }
        result
    }
}

unsafe extern "C" fn session_finalize(session: *mut MPI_Session) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        let is_session = !session.is_null() && *session != mpi::MPI_SESSION_NULL;
        let rank = is_session.then(|| rank_in(*session)).flatten();
        let result = (TIMED.MPI_Session_finalize)(session);
        rank.inspect(|&rank| write(rank));
        result
    }
}

/// The rank of this process among all of its job, without MPI_COMM_WORLD.
unsafe fn rank_in(session: MPI_Session) -> Option<i32> {
    let (mut group, mut rank) = (mpi::MPI_GROUP_NULL, mpi::MPI_UNDEFINED);
    let (library, world) = (REAL.get(), c"mpi://WORLD".as_ptr());
    // SAFETY: the program's session, and places of this function.
    unsafe {
        let code = (library.MPI_Group_from_session_pset)(session, world, &raw mut group);
        if code != mpi::MPI_SUCCESS {
            return None;
        }
        let code = (library.MPI_Group_rank)(group, &raw mut rank);
        (library.MPI_Group_free)(&raw mut group);
        (code == mpi::MPI_SUCCESS).then_some(rank)
    }
}

/// Writes the file of a rank.
fn write(rank: i32) {
    let Some(file) = FILE.get() else {
        return;
    };
    let mut text = String::new();
    let (ticks, ns) = START.get().copied().unwrap_or_default();
    let run_ns = clock::monotonic_ns().saturating_sub(ns);
    let run_ticks = clock::ticks().wrapping_sub(ticks).max(1);
    let in_ns = |ticks: u64| (ticks as f64 / run_ticks as f64 * run_ns as f64) as u64;
    // Writing to a string cannot fail.
    let _ = writeln!(text, "run.ns {run_ns}");
    for (name, calls) in NAMES.iter().zip(&CALLS) {
        let number = calls.number.load(Relaxed);
        if number == 0 {
            continue;
        }
        let name = name.to_string_lossy();
        let ns = in_ns(calls.ticks.load(Relaxed));
        let _ = writeln!(text, "{name} {number}\n{name}.ns {ns}");
        let bytes = calls.bytes.load(Relaxed);
        for (class, calls) in calls.sizes.iter().enumerate() {
            let calls = calls.load(Relaxed);
            if calls > 0 {
                let _ = writeln!(text, "{name}.size.{class} {calls}");
            }
        }
        if bytes > 0 {
            let _ = writeln!(text, "{name}.bytes {bytes}");
        }
    }
    let layers = [datatypes::counts(), placement::counts()];
    for (name, number) in layers.into_iter().flatten() {
        if number > 0 {
            let _ = writeln!(text, "{name} {number}");
        }
    }
    let mut path = file.clone().into_os_string();
    path.push(format!(".{rank}"));
    if let Err(error) = std::fs::write(&path, text) {
        say(&format!("statistics: {}: {error}", path.display()));
    }
}
