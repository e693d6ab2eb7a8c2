// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether data are packed here or by the library: what a message needs both ways, measured with the library that is there.
//!
//! A class of types is the length of a block and whether blocks are listed one by one. At the first use of a class a rank sends messages
//! of it to itself, of few bytes and of many, with the library's datatype and packed. MPI_Pack would not do to compare with: libraries
//! pack messages in pieces, some of them much slower.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use layout::Layout;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::decode::Decoded;
use super::pool::Temporary;
use super::{own, wire};
use crate::output::say;
use crate::settings::Path;
use crate::sync::{AtomicBool, AtomicUsize};
use crate::table::REAL;

static PATH: AtomicUsize = AtomicUsize::new(Path::Auto as usize);
static IS_VERBOSE: AtomicBool = AtomicBool::new(false);

/// Sets how data travel, and whether what is measured is described.
pub(super) fn set_path(path: Path, is_verbose: bool) {
    PATH.store(path as usize, Relaxed);
    IS_VERBOSE.store(is_verbose, Relaxed);
}

/// Whether the library packs a type in the same way.
pub(super) fn is_possible(datatype: MPI_Datatype, it: &Decoded) -> bool {
    own::comm().is_some_and(|comm| {
        let is_known = it.is_exact && !it.is_doubtful;
        wire::is_shared(comm) && (is_known || wire::agrees(datatype, &it.layout, comm))
    })
}

/// The numbers of bytes for which messages of a type are packed here; the library packs the others.
pub(super) fn packed_here(it: &Decoded) -> Range<usize> {
    let path = PATH.load(Relaxed);
    match () {
        () if path == Path::System as usize => 0..0,
        () if path == Path::Pack as usize => 0..usize::MAX,
        () => cheaper(it),
    }
}

/// Held by the thread that measures.
static MEASURING: Mutex<()> = Mutex::new(());

/// Lengths of blocks, as powers of two.
const RUNS: usize = 15;
/// From how many bytes on each class is packed here.
static FROM: [[OnceLock<Option<usize>>; RUNS]; 2] =
    [const { [const { OnceLock::new() }; RUNS] }; 2];
/// Bytes of the messages that are measured: some that fit a cell of any library, and more than one cell has.
const SIZES: [usize; 3] = [256, 4096, 128 << 10];
/// Packing has to gain a third of the library's time, and as much as so many short messages take: messages to another rank go other ways
/// than those to oneself, which are measured.
const MARGIN: f64 = 2.0 / 3.0;
const SHORT_MESSAGES: f64 = 3.0;

/// The numbers of bytes for which packing here takes less time.
fn cheaper(it: &Decoded) -> Range<usize> {
    let run = (it.layout.size() / it.blocks.max(1)).max(1);
    let class = (run.ilog2() as usize).min(RUNS - 1);
    let from = FROM[usize::from(it.is_listed)][class].get_or_init(|| {
        // Threads that measure other classes would get these messages.
        let _alone = MEASURING.lock();
        let comm = own::comm()?;
        let kind = Kind::new(1 << class, it.is_listed);
        let times = SIZES.map(|size| kind.timed(size, comm));
        let [Some(few), Some(some), Some(many)] = times else {
            return None;
        };
        let times = [few, some, many];
        let from = crossing(&times);
        if IS_VERBOSE.load(Relaxed) {
            say(&description(1 << class, it.is_listed, &times, from));
        }
        from
    });
    from.map_or(0..0, |from| from..usize::MAX)
}

/// From how many bytes on packing here takes less time than the library; `None` if it never does.
fn crossing(times: &[Times]) -> Option<usize> {
    let least = times.first()?.here * SHORT_MESSAGES;
    let gain = |it: &Times| it.library * MARGIN - it.here - least;
    let last = times.iter().rposition(|it| gain(it) <= 0.0);
    let Some(last) = last else {
        return Some(0);
    };
    let (below, above) = (times.get(last)?, times.get(last + 1)?);
    let share = -gain(below) / (gain(above) - gain(below));
    Some(below.bytes + (share * (above.bytes - below.bytes) as f64) as usize)
}

/// What was measured of a class, and what follows.
fn description(run: usize, is_listed: bool, times: &[Times], from: Option<usize>) -> String {
    let kind = if is_listed { "listed" } else { "regular" };
    let each = times.iter().map(|it| {
        let (bytes, library, here) = (it.bytes, it.library / 1e3, it.here / 1e3);
        format!("{bytes} B {library:.1} us, packed {here:.1} us")
    });
    let each = each.collect::<Vec<_>>().join("; ");
    let choice = match from {
        Some(from) => format!("packed from {from} B on"),
        None => "left to the library".to_owned(),
    };
    format!("datatypes: {kind} blocks of {run} B: {each}: {choice}")
}

/// The shortest of a few runs, in nanoseconds.
fn best(mut action: impl FnMut()) -> f64 {
    let times = (0..3).map(|_| {
        let start = Instant::now();
        action();
        start.elapsed().as_nanos() as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Types of a class, to measure with.
struct Kind {
    element: MPI_Datatype,
    bytes: usize,
    run: usize,
    is_listed: bool,
}

impl Kind {
    fn new(run: usize, is_listed: bool) -> Self {
        let (element, bytes) = match run {
            1 => (mpi::MPI_BYTE, 1),
            2..4 => (mpi::MPI_INT16_T, 2),
            4..8 => (mpi::MPI_INT32_T, 4),
            _ => (mpi::MPI_INT64_T, 8),
        };
        Self {
            element,
            bytes,
            run,
            is_listed,
        }
    }

    /// Times for messages of about so many bytes.
    fn timed(&self, bytes: usize, comm: MPI_Comm) -> Option<Times> {
        let (blocks, stride) = ((bytes / self.run).max(2), 2 * self.run);
        // Uneven distances in a list: no library takes it for a vector.
        let gap = |index: usize| {
            if index.is_multiple_of(3) {
                self.bytes
            } else {
                0
            }
        };
        let place = |index: usize| index * stride + if self.is_listed { gap(index) } else { 0 };
        let places: Vec<MPI_Count> = (0..blocks).map(|index| place(index) as i64).collect();
        let (length, each) = ((self.run / self.bytes) as i64, places.len() as i64);
        let mut datatype = mpi::MPI_DATATYPE_NULL;
        let library = REAL.get();
        // SAFETY: places of this function, with the lengths that are passed.
        let codes = unsafe {
            let made = match self.is_listed {
                true => (library.MPI_Type_create_hindexed_block_c)(
                    each,
                    length,
                    places.as_ptr(),
                    self.element,
                    &raw mut datatype,
                ),
                false => (library.MPI_Type_create_hvector_c)(
                    each,
                    length,
                    stride as i64,
                    self.element,
                    &raw mut datatype,
                ),
            };
            [made, (library.MPI_Type_commit)(&raw mut datatype)]
        };
        if codes != [mpi::MPI_SUCCESS; 2] {
            return None;
        }
        let pieces = places.iter().map(|&place| (place, self.run));
        let layout = Layout::hindexed(pieces, &Layout::named(1, 1)).ok();
        let times = layout.map(|layout| times(datatype, &layout, (blocks + 1) * stride, comm));
        // SAFETY: made above.
        unsafe { (library.MPI_Type_free)(&raw mut datatype) };
        times
    }
}

/// Nanoseconds of a message: with the library's datatype, and packed and unpacked here.
struct Times {
    bytes: usize,
    library: f64,
    here: f64,
}

fn times(datatype: MPI_Datatype, layout: &Layout, span: usize, comm: MPI_Comm) -> Times {
    let bytes = layout.size();
    let mut data = [vec![1u8; span], vec![1u8; span]];
    let [from, to] = data.each_mut().map(|it| it.as_mut_ptr());
    let message = |from: *const u8, to: *mut u8, count: usize, datatype: MPI_Datatype| {
        let (count, ignored) = (count as i32, std::ptr::null_mut());
        // SAFETY: the caller's elements.
        unsafe {
            (REAL.get().MPI_Sendrecv)(
                from.cast(),
                count,
                datatype,
                0,
                0,
                to.cast(),
                count,
                datatype,
                0,
                0,
                comm,
                ignored,
            )
        };
    };
    let library = best(|| message(from, to, 1, datatype));
    let here = best(|| {
        let (Some(packed), Some(arrived)) = (Temporary::new(bytes), Temporary::new(bytes)) else {
            return;
        };
        // SAFETY: the blocks of the type are inside `data`, and both blocks of memory have room for all of them.
        unsafe {
            layout.pack(from, 0..bytes, packed.address());
            message(packed.address(), arrived.address(), bytes, mpi::MPI_PACKED);
            layout.unpack(to, 0..bytes, arrived.address());
        }
    });
    Times {
        bytes,
        library,
        here,
    }
}

#[cfg(test)]
mod tests {
    use super::{Times, crossing};

    const fn times(bytes: usize, library: f64, here: f64) -> Times {
        Times {
            bytes,
            library,
            here,
        }
    }

    /// A library with slow kernels loses from a size on; one that is about as fast keeps everything.
    #[test]
    fn the_faster_side_packs() {
        let few = times(100, 300.0, 200.0);
        let some = times(1000, 1200.0, 500.0);
        let many = times(10000, 30000.0, 4000.0);
        assert_eq!(
            crossing(&[few, some, many]),
            Some(1000 + 9000 * 300 / 15700)
        );
        let [few, some] = [times(100, 3000.0, 200.0), times(1000, 9000.0, 500.0)];
        assert_eq!(crossing(&[few, some]), Some(0));
        let [few, some] = [times(100, 300.0, 200.0), times(1000, 900.0, 700.0)];
        assert_eq!(crossing(&[few, some]), None);
    }
}
