// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a datatype of the library to a layout, by its envelope and its contents (MPI-5.0, section 5.1.13).
//!
//! The forms for large counts are used: the others refuse types that were made by them.

use layout::{ArrayOrder, Layout, Share, Slice};
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::leaf;
use crate::table::REAL;

/// Types inside each other at most; decoding recurses.
const DEEPEST: u32 = 64;
/// Derived types that one type may be made of; each place where one occurs counts.
const MOST_PARTS: u32 = 10_000;

/// A datatype as this library sees it.
pub(super) struct Decoded {
    /// Where its bytes are.
    pub(super) layout: Layout,
    /// Blocks of the description, whether or not they touch.
    pub(super) blocks: usize,
    /// Whether blocks are listed one by one.
    pub(super) is_listed: bool,
    /// Whether libraries are known to disagree about types of this kind.
    pub(super) is_doubtful: bool,
    /// Whether the library has the same bounds by itself.
    pub(super) is_exact: bool,
}

/// The record of a construction.
struct Contents {
    combiner: i32,
    integers: Vec<i32>,
    addresses: Vec<MPI_Aint>,
    counts: Vec<MPI_Count>,
    types: Vec<MPI_Datatype>,
}

/// Size, lower bound and extent of a datatype, and true lower bound and true extent, in bytes, as the library reports them.
fn bounds(datatype: MPI_Datatype) -> Option<[MPI_Count; 5]> {
    let mut it = [0; 5];
    let [size, low, extent, true_low, true_extent] = &mut it;
    let library = REAL.get();
    // SAFETY: a datatype of the program, and places of this function.
    let codes = unsafe {
        [
            (library.MPI_Type_size_c)(datatype, size),
            (library.MPI_Type_get_extent_c)(datatype, low, extent),
            (library.MPI_Type_get_true_extent_c)(datatype, true_low, true_extent),
        ]
    };
    (codes == [mpi::MPI_SUCCESS; 3]).then_some(it)
}

/// Constructor of a datatype, and how many integers, addresses, large counts and datatypes made it.
struct Envelope {
    combiner: i32,
    numbers: [MPI_Count; 4],
}

impl Envelope {
    /// Asks the library.
    fn of(datatype: MPI_Datatype) -> Option<Self> {
        let (mut combiner, mut numbers) = (0, [0; 4]);
        let [integers, addresses, counts, types] = &mut numbers;
        let library = REAL.get();
        // SAFETY: a datatype of the program, and places of this function.
        let code = unsafe {
            (library.MPI_Type_get_envelope_c)(
                datatype,
                integers,
                addresses,
                counts,
                types,
                &raw mut combiner,
            )
        };
        (code == mpi::MPI_SUCCESS).then_some(Self { combiner, numbers })
    }

    /// Whether the type is predefined, with a small handle or another.
    fn is_basic(&self) -> bool {
        matches!(
            self.combiner,
            mpi::MPI_COMBINER_NAMED
                | mpi::MPI_COMBINER_F90_REAL
                | mpi::MPI_COMBINER_F90_COMPLEX
                | mpi::MPI_COMBINER_F90_INTEGER
        )
    }

    /// What made the type. The datatypes are handles that [`release`] has to give back.
    fn contents(&self, datatype: MPI_Datatype) -> Option<Contents> {
        let [integers, addresses, counts, types] = self.numbers;
        let number = |number: MPI_Count| usize::try_from(number).ok();
        let mut it = Contents {
            combiner: self.combiner,
            integers: vec![0; number(integers)?],
            addresses: vec![0; number(addresses)?],
            counts: vec![0; number(counts)?],
            types: vec![mpi::MPI_DATATYPE_NULL; number(types)?],
        };
        // SAFETY: a datatype of the program, and arrays of the lengths that are passed.
        let code = unsafe {
            (REAL.get().MPI_Type_get_contents_c)(
                datatype,
                integers,
                addresses,
                counts,
                types,
                it.integers.as_mut_ptr(),
                it.addresses.as_mut_ptr(),
                it.counts.as_mut_ptr(),
                it.types.as_mut_ptr(),
            )
        };
        (code == mpi::MPI_SUCCESS).then_some(it)
    }
}

impl Contents {
    /// Numbers in elements from `at` on: the list of a constructor with `int`, or behind each other in one for large counts.
    fn numbers(&self, at: usize, length: usize) -> Option<Vec<i64>> {
        let end = at.checked_add(length)?;
        match self.counts.is_empty() {
            true => Some(
                self.integers
                    .get(at..end)?
                    .iter()
                    .map(|&it| it.into())
                    .collect(),
            ),
            false => Some(self.counts.get(at..end)?.to_vec()),
        }
    }

    /// Numbers in bytes: the addresses, or in a constructor for large counts those from `at` on.
    fn bytes(&self, at: usize, length: usize) -> Option<Vec<i64>> {
        match self.counts.is_empty() {
            true => Some(
                self.addresses
                    .get(..length)?
                    .iter()
                    .map(|&it| it as i64)
                    .collect(),
            ),
            false => Some(self.counts.get(at..at.checked_add(length)?)?.to_vec()),
        }
    }

    /// The number at `at`, which must not be negative.
    fn natural(&self, at: usize) -> Option<usize> {
        usize::try_from(*self.numbers(at, 1)?.first()?).ok()
    }

    /// Numbers from `at` on, none of them negative.
    fn naturals(&self, at: usize, length: usize) -> Option<Vec<usize>> {
        let numbers = self.numbers(at, length)?;
        numbers.iter().map(|&it| usize::try_from(it).ok()).collect()
    }
}

/// A datatype of the program as a layout; `None` where that cannot be what the library means.
pub(super) fn decode(datatype: MPI_Datatype) -> Option<Decoded> {
    at_depth(datatype, 0, &mut { MOST_PARTS })
}

/// A layout with the bounds that the library reports, and whether it had them. Libraries round the extent of a structure in different
/// ways, and disagree about where members without data are; but the data have one size, and lie in between.
fn placed(layout: Layout, datatype: MPI_Datatype) -> Option<(Layout, bool)> {
    let [size, low, extent, true_low, true_extent] = bounds(datatype)?;
    if i64::try_from(layout.size()) != Ok(size) {
        return None;
    }
    let data = (layout.true_lower_bound(), layout.true_extent());
    let is_same = (layout.lower_bound(), layout.extent()) == (low, extent);
    if is_same && (size == 0 || data == (true_low, true_extent)) {
        return Some((layout, true));
    }
    let is_inside = data.0 >= true_low && data.0 + data.1 <= true_low + true_extent;
    if size > 0 && !is_inside {
        return None;
    }
    Some((layout.resized(low, extent).ok()?, size == 0))
}

/// Decodes a type inside `depth` others, while there are parts `left` to look at.
fn at_depth(datatype: MPI_Datatype, depth: u32, left: &mut u32) -> Option<Decoded> {
    let envelope = Envelope::of(datatype)?;
    if envelope.is_basic() {
        return basic(datatype);
    }
    *left = left.checked_sub(1)?;
    let contents = envelope.contents(datatype)?;
    let parts = contents.types.iter().map(|&part| match depth < DEEPEST {
        true if leaf::is_predefined(part) => basic(part),
        true => at_depth(part, depth + 1, left),
        false => None,
    });
    let parts: Option<Vec<Decoded>> = parts.collect();
    for part in &contents.types {
        release(*part);
    }
    let parts = parts?;
    let (layout, blocks) = match (contents.combiner, parts.as_slice()) {
        (mpi::MPI_COMBINER_STRUCT, _) => structure(&contents, &parts)?,
        (mpi::MPI_COMBINER_VALUE_INDEX, [value, index]) => {
            (leaf::pair(&value.layout, &index.layout)?, 2)
        }
        (_, [old]) => derived(&contents, old)?,
        _ => return None,
    };
    let (layout, is_exact) = placed(layout, datatype)?;
    let is_list = matches!(
        contents.combiner,
        mpi::MPI_COMBINER_STRUCT
            | mpi::MPI_COMBINER_VALUE_INDEX
            | mpi::MPI_COMBINER_INDEXED
            | mpi::MPI_COMBINER_HINDEXED
            | mpi::MPI_COMBINER_INDEXED_BLOCK
            | mpi::MPI_COMBINER_HINDEXED_BLOCK
    );
    Some(Decoded {
        is_listed: is_list || parts.iter().any(|part| part.is_listed),
        is_doubtful: contents.combiner == mpi::MPI_COMBINER_DARRAY
            || layout.extent() < 0
            || parts.iter().any(|part| part.is_doubtful),
        is_exact,
        layout,
        blocks,
    })
}

/// A type that is not made of others.
fn basic(datatype: MPI_Datatype) -> Option<Decoded> {
    let [size, low, extent, ..] = bounds(datatype)?;
    let (size, extent) = (usize::try_from(size).ok()?, usize::try_from(extent).ok()?);
    let layout = leaf::layout(datatype, size, extent).filter(|_| low == 0)?;
    Some(Decoded {
        layout,
        blocks: 1,
        is_listed: false,
        is_doubtful: false,
        is_exact: true,
    })
}

/// Gives back a handle that the library made for the contents.
fn release(mut datatype: MPI_Datatype) {
    if leaf::is_predefined(datatype) {
        return;
    }
    if Envelope::of(datatype).is_some_and(|envelope| !envelope.is_basic()) {
        // SAFETY: a handle that get_contents has made, which nobody uses any more. A failure leaves it with the library.
        unsafe { (REAL.get().MPI_Type_free)(&raw mut datatype) };
    }
}

/// All constructors with one old type: the new layout, and the blocks of its description.
fn derived(it: &Contents, old: &Decoded) -> Option<(Layout, usize)> {
    let layout = &old.layout;
    let made = match it.combiner {
        mpi::MPI_COMBINER_DUP => return Some((layout.clone(), old.blocks)),
        mpi::MPI_COMBINER_RESIZED => {
            let bytes = it.bytes(0, 2)?;
            return Some((layout.resized(bytes[0], bytes[1]).ok()?, old.blocks));
        }
        mpi::MPI_COMBINER_CONTIGUOUS => {
            let count = it.natural(0)?;
            let blocks = if old.layout.is_contiguous() { 1 } else { count };
            return Some((
                Layout::contiguous(count, layout).ok()?,
                blocks.saturating_mul(old.blocks),
            ));
        }
        mpi::MPI_COMBINER_VECTOR => {
            let (count, stride) = (it.natural(0)?, it.numbers(2, 1)?[0]);
            (
                Layout::vector(count, it.natural(1)?, stride, layout).ok()?,
                count,
            )
        }
        mpi::MPI_COMBINER_HVECTOR => {
            let (count, stride) = (it.natural(0)?, it.bytes(2, 1)?[0]);
            (
                Layout::hvector(count, it.natural(1)?, stride, layout).ok()?,
                count,
            )
        }
        mpi::MPI_COMBINER_INDEXED => {
            let count = it.natural(0)?;
            let extent = layout.extent();
            let places = it.numbers(1 + count, count)?;
            let places = places.iter().map(|place| place.checked_mul(extent));
            let places: Vec<i64> = places.collect::<Option<_>>()?;
            let pieces = places.into_iter().zip(it.naturals(1, count)?);
            (Layout::hindexed(pieces, layout).ok()?, count)
        }
        mpi::MPI_COMBINER_HINDEXED => {
            let count = it.natural(0)?;
            let pieces = it.bytes(1 + count, count)?.into_iter();
            let pieces = pieces.zip(it.naturals(1, count)?);
            (Layout::hindexed(pieces, layout).ok()?, count)
        }
        mpi::MPI_COMBINER_INDEXED_BLOCK => {
            let (count, length) = (it.natural(0)?, it.natural(1)?);
            let places = it.numbers(2, count)?.into_iter();
            let made = Layout::equal_blocks(length, places, layout.extent(), layout);
            (made.ok()?, count)
        }
        mpi::MPI_COMBINER_HINDEXED_BLOCK => {
            let (count, length) = (it.natural(0)?, it.natural(1)?);
            let places = it.bytes(2, count)?.into_iter();
            (Layout::equal_blocks(length, places, 1, layout).ok()?, count)
        }
        mpi::MPI_COMBINER_SUBARRAY => subarray(it, layout)?,
        mpi::MPI_COMBINER_DARRAY => darray(it, layout)?,
        _ => return None,
    };
    // A block of an old type that is not contiguous is one for each of its elements.
    let blocks = match old.layout.is_contiguous() {
        true => made.1,
        false => (made.0.size() / layout.size().max(1)).saturating_mul(old.blocks),
    };
    Some((made.0, blocks))
}

fn structure(it: &Contents, parts: &[Decoded]) -> Option<(Layout, usize)> {
    let count = it.natural(0)?;
    let lengths = it.naturals(1, count)?;
    let places = it.bytes(1 + count, count)?;
    let pieces = places.iter().zip(&lengths).zip(parts);
    let pieces = pieces.map(|((&place, &length), part)| (place, length, &part.layout));
    let layout = Layout::structure(pieces).ok()?;
    let blocks = lengths.iter().zip(parts);
    let blocks = blocks.map(|(&length, part)| match part.layout.is_contiguous() {
        true => usize::from(length > 0),
        false => length.saturating_mul(part.blocks),
    });
    (parts.len() == count).then(|| (layout, blocks.fold(0, usize::saturating_add)))
}

fn order(order: i32) -> Option<ArrayOrder> {
    match order {
        mpi::MPI_ORDER_C => Some(ArrayOrder::C),
        mpi::MPI_ORDER_FORTRAN => Some(ArrayOrder::Fortran),
        _ => None,
    }
}

fn subarray(it: &Contents, old: &Layout) -> Option<(Layout, usize)> {
    let dimensions = usize::try_from(*it.integers.first()?).ok()?;
    // Those of a constructor for large counts begin a list of their own.
    let at = usize::from(it.counts.is_empty());
    let sizes = it.naturals(at, 3 * dimensions)?;
    let slices: Vec<Slice> = (0..dimensions)
        .map(|index| Slice {
            size: sizes[index],
            subsize: sizes[dimensions + index],
            start: sizes[2 * dimensions + index],
        })
        .collect();
    let order = order(*it.integers.last()?)?;
    let row = match order {
        ArrayOrder::C => slices.last()?.subsize,
        ArrayOrder::Fortran => slices.first()?.subsize,
    };
    let layout = Layout::subarray(&slices, order, old).ok()?;
    let elements = layout.size() / old.size().max(1);
    Some((layout, elements / row.max(1)))
}

fn darray(it: &Contents, old: &Layout) -> Option<(Layout, usize)> {
    let natural = |at: usize| usize::try_from(*it.integers.get(at)?).ok();
    let (mut rest, dimensions) = (natural(1)?, natural(2)?);
    // The list of global sizes is among the counts of a constructor for large counts.
    let (sizes, further) = match it.counts.is_empty() {
        true => (it.naturals(3, dimensions)?, 3 + dimensions),
        false => (it.naturals(0, dimensions)?, 3),
    };
    let mut shares = vec![Share::all(1); dimensions];
    for index in (0..dimensions).rev() {
        let kind = *it.integers.get(further + index)?;
        let argument = *it.integers.get(further + dimensions + index)?;
        let processes = natural(further + 2 * dimensions + index)?.max(1);
        let coordinate = rest % processes;
        rest /= processes;
        let length = |default| match argument {
            mpi::MPI_DISTRIBUTE_DFLT_DARG => Some(default),
            _ => usize::try_from(argument).ok(),
        };
        let size = sizes[index];
        shares[index] = match kind {
            mpi::MPI_DISTRIBUTE_NONE => Share::all(size),
            mpi::MPI_DISTRIBUTE_BLOCK => {
                Share::block(size, length(size.div_ceil(processes))?, coordinate)
            }
            mpi::MPI_DISTRIBUTE_CYCLIC => Share::cyclic(size, length(1)?, processes, coordinate),
            _ => return None,
        };
    }
    let order = order(*it.integers.get(further + 3 * dimensions)?)?;
    let layout = Layout::darray(&shares, order, old).ok()?;
    let elements = layout.size() / old.size().max(1);
    Some((layout, elements))
}
