// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layouts of strided views. Programs send the same few views again and again, so each thread keeps those that it described
//! lately: what MPI_Type_commit is for in C.

use std::cell::RefCell;

use engine::Result;
use layout::{Layout, LayoutError, SharedLayout};

use crate::buffer::{Basics, Region, unfit};
use crate::data::{Datatype, is_dense};

/// Layouts that a thread keeps.
const KEPT: usize = 32;
/// Dimensions of a view whose layout is kept, without those that are part of a run.
const DIMENSIONS: usize = 4;

/// How many elements there are in a dimension, and how many bytes they are apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Dimension {
    count: usize,
    stride_bytes: i64,
}

const ONE: Dimension = Dimension {
    count: 1,
    stride_bytes: 0,
};

/// The elements of the innermost dimension.
#[derive(Clone, Copy)]
enum Innermost {
    /// So many bytes.
    Bytes(usize),
    /// A struct with padding, so many times.
    Values(&'static Layout, usize),
}

impl Innermost {
    /// A key that equal values share. Layouts of structs live as long as the program.
    fn identity(self) -> (usize, usize) {
        match self {
            Self::Bytes(bytes) => (0, bytes),
            Self::Values(unit, count) => (std::ptr::from_ref(unit).addr(), count),
        }
    }

    fn layout(self) -> std::result::Result<Layout, LayoutError> {
        match self {
            Self::Bytes(bytes) => Ok(Layout::named(bytes, bytes)),
            Self::Values(unit, count) => Layout::contiguous(count, unit),
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
struct Key {
    run: (usize, usize),
    dimensions: [Dimension; DIMENSIONS],
}

impl Key {
    fn slot(&self) -> usize {
        let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut hash = mix(self.run.0 as u64, self.run.1 as u64);
        for dimension in &self.dimensions {
            hash = mix(
                mix(hash, dimension.count as u64),
                dimension.stride_bytes as u64,
            );
        }
        (hash >> 32) as usize % KEPT
    }
}

thread_local! {
    static RECENT: RefCell<[Option<(Key, SharedLayout)>; KEPT]> =
        const { RefCell::new([const { None }; KEPT]) };
}

/// The bytes of elements at `start`, which are so many elements apart in each dimension, the last of which is the innermost.
pub(crate) fn region<T: Datatype>(
    start: *const T,
    axes: impl DoubleEndedIterator<Item = (usize, isize)>,
) -> Result<Region> {
    let base = start.cast_mut().cast::<u8>();
    let overflow = || unfit(LayoutError::Overflow);
    let mut run = if is_dense::<T>() {
        Innermost::Bytes(size_of::<T>())
    } else {
        let unit = T::unit();
        Innermost::Values(unit.layout, unit.repeat)
    };
    let mut empty = T::PACKED_BYTES == 0;
    // From the innermost on.
    let mut dimensions = Vec::new();
    let mut kept = [ONE; DIMENSIONS];
    for (count, stride) in axes.rev() {
        let stride_bytes = (stride as i64).wrapping_mul(size_of::<T>() as i64);
        empty |= count == 0;
        match &mut run {
            _ if count <= 1 => {}
            Innermost::Bytes(bytes)
                if dimensions.is_empty() && kept[0] == ONE && stride_bytes == *bytes as i64 =>
            {
                *bytes = bytes.checked_mul(count).ok_or_else(overflow)?;
            }
            _ => {
                let dimension = Dimension {
                    count,
                    stride_bytes,
                };
                match kept.iter_mut().find(|kept| **kept == ONE) {
                    Some(free) => *free = dimension,
                    None => dimensions.push(dimension),
                }
            }
        }
    }
    if empty {
        return Ok(Region::run(base, 0));
    }
    if let (Innermost::Bytes(bytes), ONE) = (run, kept[0]) {
        return Ok(Region::run(base, bytes).typed(const { Basics::of::<T>() }));
    }
    let describe = || {
        let all = kept.iter().filter(|kept| **kept != ONE).chain(&dimensions);
        let layout = all.fold(run.layout(), |inner, dimension| {
            Layout::repeated(dimension.count, dimension.stride_bytes, &inner?)
        });
        layout.map(SharedLayout::from).map_err(unfit)
    };
    let layout = if dimensions.is_empty() {
        let key = Key {
            run: run.identity(),
            dimensions: kept,
        };
        recent(key, describe)?
    } else {
        describe()?
    };
    Ok(Region::laid_out(base, 1, layout)?.typed(const { Basics::of::<T>() }))
}

/// The layout of a view, described now unless that was done lately.
fn recent(key: Key, describe: impl Fn() -> Result<SharedLayout>) -> Result<SharedLayout> {
    let found = RECENT.try_with(|recent| {
        let entry = &mut recent.borrow_mut()[key.slot()];
        match entry {
            Some((known, layout)) if *known == key => Ok(layout.clone()),
            _ => {
                let layout = describe()?;
                *entry = Some((key, layout.clone()));
                Ok(layout)
            }
        }
    });
    // A thread that ends has none any more.
    found.unwrap_or_else(|_| describe())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(axes: &[(usize, isize)]) -> Vec<(i64, usize)> {
        let found = region::<u16>(std::ptr::null(), axes.iter().copied()).unwrap();
        let (_, count, layout) = found.into_parts();
        let blocks = layout.blocks();
        let all = (0..count as i64).flat_map(|index| {
            let at = index * layout.extent();
            blocks
                .iter()
                .map(move |block| (block.offset + at, block.bytes))
        });
        all.collect()
    }

    #[test]
    fn contiguous_dimensions_are_one_run() {
        let runs = |axes: &[(usize, isize)]| {
            let found = region::<u16>(std::ptr::null(), axes.iter().copied()).unwrap();
            found.memory().layout.is_none().then(|| found.bytes())
        };
        assert_eq!(runs(&[(3, 8), (2, 4), (4, 1)]), Some(48));
        assert_eq!(runs(&[(1, 77), (2, 4), (1, 9), (4, 1)]), Some(16));
        assert_eq!(runs(&[(3, 9), (0, 4), (4, 1)]), Some(0));
        assert_eq!(runs(&[(3, 9), (4, 1)]), None);
        assert_eq!(runs(&[(4, 2)]), None);
        assert_eq!(runs(&[]), Some(2));
    }

    #[test]
    fn what_is_kept_is_what_is_described() {
        let shapes: [&[(usize, isize)]; 5] = [
            &[(3, 9), (4, 1)],
            &[(3, 1), (4, 9)],
            &[(2, 100), (3, 9), (4, -1)],
            &[
                (2, 1000),
                (2, 500),
                (2, 200),
                (2, 90),
                (2, 40),
                (2, 10),
                (3, 2),
            ],
            &[(4, 1), (3, 9)],
        ];
        let expected: Vec<_> = shapes.map(blocks).into();
        assert_eq!(expected[0], [(0, 8), (18, 8), (36, 8)]);
        assert_eq!(expected[1][..3], [(0, 2), (18, 2), (36, 2)]);
        assert_eq!(expected[2][..3], [(0, 2), (-2, 2), (-4, 2)]);
        assert_eq!((expected[3].len(), expected[3][191]), (192, (2 * 1844, 2)));
        // Many others in between, so that slots are taken by others, and the same again.
        for round in 0..3 {
            for stride in 2..100 {
                assert_eq!(blocks(&[(2, stride)])[1], (2 * stride as i64, 2), "{round}");
            }
            assert_eq!(shapes.map(blocks)[..], expected[..]);
        }
    }

    #[test]
    fn sizes_beyond_memory_are_errors() {
        let huge = [(usize::MAX / 2, 0isize), (8, 0)];
        assert!(region::<u64>(std::ptr::null(), huge.into_iter()).is_err());
        let huge = [(usize::MAX / 4, 1isize)];
        assert!(region::<u64>(std::ptr::null(), huge.into_iter()).is_err());
    }
}
