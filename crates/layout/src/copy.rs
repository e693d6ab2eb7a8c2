// SPDX-License-Identifier: MIT OR Apache-2.0
//! The copies that all packing consists of, made for each width of run.
//!
//! Runs of up to 64 bytes are copied by one or two pairs of loads and stores of a fixed size that may overlap (a run of 24
//! bytes is its first 16 and its last 16), so that no loop calls a function for a few bytes. Where the processor has it,
//! the loops are compiled for AVX2 and AVX-512 too, and short runs at small distances are gathered by AVX-512 (`dense`).

#[cfg(target_arch = "x86_64")]
use crate::dense;
use crate::isa;
use crate::long::copy_bytes;

/// Runs at equal distances.
#[derive(Clone, Copy)]
pub(crate) struct Strided {
    pub(crate) start: *mut u8,
    pub(crate) stride: isize,
}

impl Strided {
    const fn at(self, index: usize) -> *mut u8 {
        self.start
            .wrapping_offset(self.stride.wrapping_mul(index as isize))
    }

    const fn moved(self, by: isize) -> Self {
        Self {
            start: self.start.wrapping_offset(by),
            ..self
        }
    }
}

/// Rows of runs.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    /// Bytes of a run.
    pub(crate) bytes: usize,
    /// Runs of a row.
    pub(crate) count: usize,
    pub(crate) rows: usize,
    /// Bytes from row to row, where they come from and where they go.
    pub(crate) distances: (isize, isize),
}

impl Grid {
    pub(crate) const fn row(bytes: usize, count: usize) -> Self {
        Self {
            bytes,
            count,
            rows: 1,
            distances: (0, 0),
        }
    }
}

/// Runs ahead that are asked for where they lie far apart: what the processor's own prefetching does not find.
const AHEAD: usize = 32;
/// Distance from which on it does not.
const FAR: usize = 512;
/// Runs from which on a row is worth a loop of its own.
const SHORT_ROW: usize = 8;
/// Bytes that are copied at once at most.
const LINE: usize = 64;

#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; it never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Copies the first `size_of::<T>()` and the last of `bytes` bytes, which may overlap.
///
/// # Safety
/// `bytes` is at least the size of `T` and at most twice that; readable and writable.
#[inline(always)]
pub(crate) unsafe fn ends<T: Copy>(from: *const u8, to: *mut u8, bytes: usize) {
    let last = bytes - size_of::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        let first_part = from.cast::<T>().read_unaligned();
        let last_part = from.add(last).cast::<T>().read_unaligned();
        to.cast::<T>().write_unaligned(first_part);
        to.add(last).cast::<T>().write_unaligned(last_part);
    }
}

/// A few words that are copied at once.
pub(crate) type Sixteen = [u64; 2];
pub(crate) type ThirtyTwo = [u64; 4];

/// Copies one run.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes; they do not overlap.
#[inline(always)]
pub(crate) unsafe fn run(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; each arm copies `bytes` bytes.
    unsafe {
        match bytes {
            8..=16 => ends::<u64>(from, to, bytes),
            4..=7 => ends::<u32>(from, to, bytes),
            17..=32 => ends::<Sixteen>(from, to, bytes),
            33..=64 => ends::<ThirtyTwo>(from, to, bytes),
            2..=3 => ends::<u16>(from, to, bytes),
            1 => *to = *from,
            _ => copy_bytes(from, to, bytes),
        }
    }
}

/// Copies rows of runs by `copy`, and asks for those ahead where they lie far apart.
#[inline(always)]
fn each(from: Strided, to: Strided, shape: Grid, copy: impl Fn(*const u8, *mut u8)) {
    // Lines at distances that are multiples of a power of two displace each other in the cache: not too early, then.
    let far = |distance: isize| {
        let distance = distance.unsigned_abs();
        distance >= FAR && !distance.is_multiple_of(FAR / 2)
    };
    let row_at = |row: usize| {
        let row = row as isize;
        let from = from.moved(shape.distances.0.wrapping_mul(row));
        (from, to.moved(shape.distances.1.wrapping_mul(row)))
    };
    if far(from.stride) || far(to.stride) {
        for row in 0..shape.rows {
            let (from, to) = row_at(row);
            let distant = if far(from.stride) { from } else { to };
            for index in 0..shape.count {
                prefetch(distant.at(index + AHEAD));
                copy(from.at(index), to.at(index));
            }
        }
        return;
    }
    if shape.count < SHORT_ROW && shape.rows > 1 {
        // Columns of some rows: their loops are longer.
        let mut start = 0;
        while start < shape.rows {
            let rows = AHEAD.min(shape.rows - start);
            let (from, to) = row_at(start);
            for index in 0..shape.count {
                let from = Strided {
                    start: from.at(index),
                    stride: shape.distances.0,
                };
                let to = Strided {
                    start: to.at(index),
                    stride: shape.distances.1,
                };
                for row in 0..rows {
                    copy(from.at(row), to.at(row));
                }
            }
            start += rows;
        }
        return;
    }
    for row in 0..shape.rows {
        let (from, to) = row_at(row);
        for index in 0..shape.count {
            copy(from.at(index), to.at(index));
        }
    }
}

/// Which side of a copy has its runs one after the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packed {
    Source,
    Target,
    Neither,
}

/// Copies one value.
///
/// # Safety
/// It is readable and writable.
#[inline(always)]
pub(crate) unsafe fn one<T: Copy>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        to.cast::<T>()
            .write_unaligned(from.cast::<T>().read_unaligned())
    };
}

/// Copies a run of at least [`LINE`] bytes line by line; the last line may overlap the one before.
///
/// # Safety
/// Readable and writable.
#[inline(always)]
unsafe fn lines(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let last = bytes - LINE;
        let mut at = 0;
        while at < last {
            one::<[u64; LINE / 8]>(from.add(at), to.add(at));
            at += LINE;
        }
        one::<[u64; LINE / 8]>(from.add(last), to.add(last));
    }
}

/// Copies rows of runs.
///
/// # Safety
/// The runs are readable at `from` and writable at `to`, and do not overlap.
#[inline(always)]
unsafe fn runs(from: Strided, to: Strided, packed: Packed, shape: Grid) {
    let bytes = shape.bytes;
    // The distance on the packed side is the size, which is known to the compiler in most loops.
    macro_rules! by {
        ($size:expr, $copy:expr) => {{
            let stride = $size as isize;
            let (mut from, mut to) = (from, to);
            match packed {
                Packed::Source => from.stride = stride,
                Packed::Target => to.stride = stride,
                Packed::Neither => {}
            }
            each(from, to, shape, |from, to| {
                // SAFETY: the caller's promise; the copy moves `bytes` bytes.
                unsafe { $copy(from, to) }
            });
        }};
    }
    macro_rules! whole {
        ($type:ty) => {
            by!(size_of::<$type>(), one::<$type>)
        };
    }
    macro_rules! both_ends {
        ($type:ty) => {
            by!(bytes, |from, to| ends::<$type>(from, to, bytes))
        };
    }
    match bytes {
        1 => whole!(u8),
        2 => whole!(u16),
        4 => whole!(u32),
        8 => whole!(u64),
        12 => whole!([u32; 3]),
        16 => whole!(Sixteen),
        24 => whole!([u64; 3]),
        32 => whole!(ThirtyTwo),
        48 => whole!([u64; 6]),
        64 => whole!([u64; 8]),
        3 => both_ends!(u16),
        5..=7 => both_ends!(u32),
        9..=15 => both_ends!(u64),
        17..=31 => both_ends!(Sixteen),
        33..=63 => both_ends!(ThirtyTwo),
        65..=512 => by!(bytes, |from, to| lines(from, to, bytes)),
        _ => by!(bytes, |from, to| copy_bytes(from, to, bytes)),
    }
}

/// [`runs`] compiled for a set of instructions, once for each side that may be packed.
#[cfg(target_arch = "x86_64")]
macro_rules! compiled_for {
    ($features:literal: $pack:ident, $unpack:ident, $copy:ident) => {
        compiled_for!($features, $pack, Packed::Target);
        compiled_for!($features, $unpack, Packed::Source);
        compiled_for!($features, $copy, Packed::Neither);
    };
    ($features:literal, $name:ident, $packed:expr) => {
        /// # Safety
        /// As for [`runs`], on a processor that has the instructions.
        #[target_feature(enable = $features)]
        unsafe fn $name(from: Strided, to: Strided, shape: Grid) {
            // SAFETY: the caller's promise.
            unsafe { runs(from, to, $packed, shape) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled_for!("avx2": pack_avx2, unpack_avx2, copy_avx2);
#[cfg(target_arch = "x86_64")]
compiled_for!("avx2,avx512f,avx512bw,avx512vl": pack_avx512, unpack_avx512, copy_avx512);

/// Copies rows of runs to rows of runs.
///
/// # Safety
/// As for [`runs`].
pub(crate) unsafe fn copy_grid(from: Strided, to: Strided, shape: Grid) {
    // SAFETY: the caller's promise.
    unsafe {
        if shape.count == 1 && shape.rows == 1 {
            run(from.start, to.start, shape.bytes);
        } else {
            best_runs(from, to, Packed::Neither, shape);
        }
    }
}

/// Copies runs with the best code for this processor.
///
/// # Safety
/// As for [`runs`].
unsafe fn best_runs(from: Strided, to: Strided, packed: Packed, shape: Grid) {
    // A line is one register of AVX-512; shorter runs need none.
    #[cfg(target_arch = "x86_64")]
    if shape.bytes >= LINE && isa::has_byte_masks() {
        // SAFETY: the caller's promise; the processor has AVX-512.
        return unsafe {
            match packed {
                Packed::Target => pack_avx512(from, to, shape),
                Packed::Source => unpack_avx512(from, to, shape),
                Packed::Neither => copy_avx512(from, to, shape),
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    if isa::has_avx2() {
        // SAFETY: the caller's promise; the processor has AVX2.
        return unsafe {
            match packed {
                Packed::Target => pack_avx2(from, to, shape),
                Packed::Source => unpack_avx2(from, to, shape),
                Packed::Neither => copy_avx2(from, to, shape),
            }
        };
    }
    // SAFETY: the caller's promise.
    unsafe { runs(from, to, packed, shape) }
}

/// Packs `count` runs of `bytes` bytes into `target`; what lies between that and `end` may be overwritten.
///
/// # Safety
/// The runs are readable; `target` is writable for them and up to `end`.
pub(crate) unsafe fn pack_row(
    from: Strided,
    target: *mut u8,
    end: *mut u8,
    bytes: usize,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if count == 1 {
            return run(from.start, target, bytes);
        }
        pack_grid(from, target, end, Grid::row(bytes, count));
    }
}

/// Unpacks `count` runs of `bytes` bytes from `source`, which is readable up to `end`.
///
/// # Safety
/// The runs are writable; `source` is readable for them and up to `end`.
pub(crate) unsafe fn unpack_row(
    source: *const u8,
    end: *const u8,
    to: Strided,
    bytes: usize,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if count == 1 {
            return run(source, to.start, bytes);
        }
        unpack_grid(source, end, to, Grid::row(bytes, count));
    }
}

/// Packs rows of runs, `shape.distances.0` bytes apart, one after the other.
///
/// # Safety
/// As for [`pack_row`], for all rows.
pub(crate) unsafe fn pack_grid(from: Strided, target: *mut u8, end: *mut u8, shape: Grid) {
    // SAFETY: the caller's promise; the rows that a line at a time is better for go that way.
    unsafe {
        let row_bytes = shape.bytes * shape.count;
        #[cfg(target_arch = "x86_64")]
        if dense::fits_row(shape.bytes, from.stride as i64, shape.count) {
            let pattern = dense::Pattern::row(shape.bytes, from.stride as i64);
            for row in 0..shape.rows {
                let from = from.moved(shape.distances.0.wrapping_mul(row as isize));
                let target = target.add(row * row_bytes);
                let (done, packed) = pattern.pack(from.start, target, end, shape.count);
                let rest = from.moved(from.stride * done as isize);
                let to = Strided {
                    start: target.add(packed),
                    stride: shape.bytes as isize,
                };
                let left = Grid::row(shape.bytes, shape.count - done);
                best_runs(rest, to, Packed::Target, left);
            }
            return;
        }
        let to = Strided {
            start: target,
            stride: shape.bytes as isize,
        };
        let distances = (shape.distances.0, row_bytes as isize);
        best_runs(from, to, Packed::Target, Grid { distances, ..shape });
    }
}

/// Unpacks rows of runs, `shape.distances.1` bytes apart, one after the other.
///
/// # Safety
/// As for [`unpack_row`], for all rows.
pub(crate) unsafe fn unpack_grid(source: *const u8, end: *const u8, to: Strided, shape: Grid) {
    // SAFETY: the caller's promise; the rows that a line at a time is better for go that way.
    unsafe {
        let row_bytes = shape.bytes * shape.count;
        #[cfg(target_arch = "x86_64")]
        if dense::fits_row(shape.bytes, to.stride as i64, shape.count) {
            let pattern = dense::Pattern::row(shape.bytes, to.stride as i64);
            for row in 0..shape.rows {
                let to = to.moved(shape.distances.1.wrapping_mul(row as isize));
                let source = source.add(row * row_bytes);
                let (done, packed) = pattern.unpack(source, end, to.start, shape.count);
                let rest = to.moved(to.stride * done as isize);
                let from = Strided {
                    start: source.add(packed).cast_mut(),
                    stride: shape.bytes as isize,
                };
                let left = Grid::row(shape.bytes, shape.count - done);
                best_runs(from, rest, Packed::Source, left);
            }
            return;
        }
        let from = Strided {
            start: source.cast_mut(),
            stride: shape.bytes as isize,
        };
        let distances = (row_bytes as isize, shape.distances.1);
        best_runs(from, to, Packed::Source, Grid { distances, ..shape });
    }
}

/// Rows of a tile, and runs of one that are copied before the next row is looked at.
pub(crate) const TILE: usize = 8;

/// Copies `rows` rows of `count` runs each, in squares, so that neighbouring runs of neighbouring rows are used while their
/// cache lines are at hand. `distances` are those of rows on both sides.
///
/// # Safety
/// All runs are readable and writable, and do not overlap.
pub(crate) unsafe fn tile(
    from: Strided,
    to: Strided,
    Grid {
        bytes,
        count,
        rows,
        distances,
    }: Grid,
) {
    macro_rules! squares {
        ($copy:expr) => {{
            let mut start = 0;
            while start < count {
                let end = count.min(start + TILE);
                for row in 0..rows as isize {
                    for index in start..end {
                        let from = from.at(index).wrapping_offset(distances.0 * row);
                        let to = to.at(index).wrapping_offset(distances.1 * row);
                        // SAFETY: the caller's promise; the copy moves `bytes` bytes.
                        unsafe { $copy(from, to) };
                    }
                }
                start = end;
            }
        }};
    }
    match bytes {
        1 => squares!(one::<u8>),
        2 => squares!(one::<u16>),
        4 => squares!(one::<u32>),
        8 => squares!(one::<u64>),
        16 => squares!(one::<Sixteen>),
        _ => squares!(|from, to| run(from, to, bytes)),
    }
}
