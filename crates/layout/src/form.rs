// SPDX-License-Identifier: MIT OR Apache-2.0
//! The canonical form of a type map: which bytes, in packing order, without the history of its construction.
//!
//! A form is a list of *nests* (or of equal runs, which take less memory); a nest is one block of bytes repeated along dimensions, innermost first. Repeating a form of
//! one nest only adds a dimension to it, and repeating several adds a dimension around all of them, so nothing that is
//! regular is ever expanded, however it was described. Dimensions that continue each other are joined, and blocks that
//! touch are one block. The order of the bytes is always that of the type map. Every dimension at least doubles the size,
//! which has 63 bits: there are fewer than 64 of them.

use crate::error::{LayoutError, Result};

/// Contiguous bytes at an offset from the element's base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Bytes from the base address, may be negative.
    pub offset: i64,
    /// Length in bytes.
    pub bytes: usize,
}

/// Something repeated `count` times, `stride` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) count: usize,
    pub(crate) stride: i64,
    /// Packed bytes of one repetition.
    pub(crate) bytes: usize,
}

/// One block repeated along dimensions, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nest {
    pub(crate) block: Block,
    pub(crate) dimensions: Vec<Dimension>,
}

/// The bytes of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One nest; no bytes at all if its block is empty.
    Regular(Nest),
    /// Equal runs of bytes at these offsets, and dimensions around all of them, innermost first.
    List {
        offsets: Vec<i64>,
        /// Bytes of each run.
        bytes: usize,
        dimensions: Vec<Dimension>,
    },
    /// Several nests, and dimensions around all of them, innermost first.
    Irregular {
        nests: Vec<Nest>,
        /// Packed position of each nest.
        packed_before: Vec<usize>,
        dimensions: Vec<Dimension>,
    },
}

/// Most nests of an irregular form; more would take gigabytes.
const MAX_NESTS: usize = 1 << 26;
/// Upper limit of the dimensions around a block or around several nests, with one for the elements of a message.
pub(crate) const MAX_DIMENSIONS: usize = 64;

fn add_dimension(dimensions: &mut Vec<Dimension>, count: usize, stride: i64, bytes: usize) {
    if let Some(last) = dimensions.last_mut()
        && i64::try_from(last.count)
            .ok()
            .and_then(|steps| steps.checked_mul(last.stride))
            == Some(stride)
    {
        last.count *= count;
        return;
    }
    dimensions.push(Dimension {
        count,
        stride,
        bytes,
    });
}

impl Nest {
    pub(crate) fn bytes(&self) -> usize {
        self.dimensions
            .last()
            .map_or(self.block.bytes, |outer| outer.bytes * outer.count)
    }

    fn repeat(&mut self, count: usize, stride: i64) {
        let bytes = self.bytes();
        if self.dimensions.is_empty() && i64::try_from(bytes) == Ok(stride) {
            self.block.bytes *= count;
        } else {
            add_dimension(&mut self.dimensions, count, stride, bytes);
        }
    }
}

impl Form {
    pub(crate) const EMPTY: Self = Self::run(0);

    /// `bytes` bytes at offset 0.
    pub(crate) const fn run(bytes: usize) -> Self {
        Self::Regular(Nest {
            block: Block { offset: 0, bytes },
            dimensions: Vec::new(),
        })
    }

    /// The only block of a form without holes.
    pub(crate) const fn single_block(&self) -> Option<Block> {
        match self {
            Self::Regular(nest) if nest.dimensions.is_empty() => Some(nest.block),
            _ => None,
        }
    }

    /// This form `count` (> 0) times, `stride` bytes apart; the caller has checked that the product of sizes fits.
    pub(crate) fn repeated(&self, count: usize, stride: i64, size: usize) -> Self {
        let mut form = self.clone();
        if count > 1 && size > 0 {
            match &mut form {
                Self::Regular(nest) => nest.repeat(count, stride),
                Self::List { dimensions, .. } | Self::Irregular { dimensions, .. } => {
                    add_dimension(dimensions, count, stride, size);
                }
            }
        }
        form
    }
}

/// Gathers forms in packing order, joins neighbours, and finds the simplest form of the whole.
#[derive(Default)]
pub(crate) struct Gather {
    nests: Vec<Nest>,
}

impl Gather {
    /// Appends `form`, whose elements have `size` bytes, at offset `at`.
    pub(crate) fn add(&mut self, form: &Form, at: i64, size: usize) -> Result<()> {
        if size == 0 {
            return Ok(());
        }
        match form {
            Form::Regular(nest) => self.add_nest(nest, at),
            Form::List {
                offsets,
                bytes,
                dimensions,
            } => repetitions(dimensions, at, |at| {
                for &offset in offsets {
                    let block = Block {
                        offset,
                        bytes: *bytes,
                    };
                    self.add_run(block, at)?;
                }
                Ok(())
            }),
            Form::Irregular {
                nests, dimensions, ..
            } => repetitions(dimensions, at, |at| {
                nests.iter().try_for_each(|nest| self.add_nest(nest, at))
            }),
        }
    }

    fn add_run(&mut self, block: Block, at: i64) -> Result<()> {
        let run = Nest {
            block,
            dimensions: Vec::new(),
        };
        self.add_nest(&run, at)
    }

    fn add_nest(&mut self, nest: &Nest, at: i64) -> Result<()> {
        let offset = at
            .checked_add(nest.block.offset)
            .ok_or(LayoutError::Overflow)?;
        if let Some(last) = self.nests.last_mut()
            && nest.dimensions.is_empty()
            && last.dimensions.is_empty()
            && last.block.offset + last.block.bytes as i64 == offset
        {
            last.block.bytes += nest.block.bytes;
            return Ok(());
        }
        if self.nests.len() >= MAX_NESTS {
            return Err(LayoutError::TooManyBlocks);
        }
        self.nests
            .try_reserve(1)
            .map_err(|_| LayoutError::TooManyBlocks)?;
        self.nests.push(Nest {
            block: Block {
                offset,
                bytes: nest.block.bytes,
            },
            dimensions: nest.dimensions.clone(),
        });
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Form {
        let Some(first) = self.nests.first() else {
            return Form::EMPTY;
        };
        let stride = self.nests.get(1).map_or(0, |second| {
            second.block.offset.wrapping_sub(first.block.offset)
        });
        let regular = self.nests.windows(2).all(|pair| {
            pair[1].block.offset.checked_sub(pair[0].block.offset) == Some(stride)
                && pair[1].block.bytes == pair[0].block.bytes
                && pair[1].dimensions == pair[0].dimensions
        });
        if regular {
            let count = self.nests.len();
            let mut nest = self.nests.swap_remove(0);
            if count > 1 {
                nest.repeat(count, stride);
            }
            return Form::Regular(nest);
        }
        let bytes = first.block.bytes;
        let are_equal_runs = self
            .nests
            .iter()
            .all(|nest| nest.dimensions.is_empty() && nest.block.bytes == bytes);
        if are_equal_runs {
            return Form::List {
                offsets: self.nests.iter().map(|nest| nest.block.offset).collect(),
                bytes,
                dimensions: Vec::new(),
            };
        }
        let mut position = 0;
        let packed_before = self
            .nests
            .iter()
            .map(|nest| {
                position += nest.bytes();
                position - nest.bytes()
            })
            .collect();
        self.nests.shrink_to_fit();
        Form::Irregular {
            nests: self.nests,
            packed_before,
            dimensions: Vec::new(),
        }
    }
}

/// Calls `action` with the offset of each repetition along dimensions, starting with `at`.
fn repetitions(
    dimensions: &[Dimension],
    at: i64,
    mut action: impl FnMut(i64) -> Result<()>,
) -> Result<()> {
    let copies = dimensions.iter().try_fold(1usize, |product, dimension| {
        product.checked_mul(dimension.count)
    });
    let copies = copies.ok_or(LayoutError::TooManyBlocks)?;
    let mut index = vec![0usize; dimensions.len()];
    for _ in 0..copies {
        let offset = index
            .iter()
            .zip(dimensions)
            .map(|(&i, dimension)| i as i64 * dimension.stride)
            .sum::<i64>();
        action(at.checked_add(offset).ok_or(LayoutError::Overflow)?)?;
        for (i, dimension) in index.iter_mut().zip(dimensions) {
            *i += 1;
            if *i < dimension.count {
                break;
            }
            *i = 0;
        }
    }
    Ok(())
}
