// SPDX-License-Identifier: MIT OR Apache-2.0
//! The canonical forms of a type map and the constructors that reach them.

use std::fmt;

/// Why a layout cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// A size or an offset exceeds 63 bits.
    Overflow,
    /// More blocks than fit into memory.
    TooManyBlocks,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overflow => "a size or an offset of the type exceeds 63 bits",
            Self::TooManyBlocks => "the type has more blocks than fit into memory",
        })
    }
}

impl std::error::Error for LayoutError {}

/// Contiguous bytes at an offset from the element's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes from the base address, may be negative.
    pub offset: i64,
    /// Length in bytes, not zero.
    pub bytes: usize,
}

/// The bytes of one element, in packing order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `count` blocks of `bytes` bytes, `stride` bytes apart; a contiguous element has one.
    Strided {
        start: i64,
        bytes: usize,
        count: usize,
        stride: i64,
    },
    /// Any blocks; `packed_before[i]` is the packed position of block `i`.
    Blocks {
        blocks: Box<[Block]>,
        packed_before: Box<[usize]>,
    },
}

/// A type map: which bytes belong to an element, and how far elements are apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) form: Form,
    size: usize,
    lower_bound: i64,
    extent: i64,
    true_lower_bound: i64,
    true_upper_bound: i64,
}

type Result<T> = std::result::Result<T, LayoutError>;

fn to_signed(value: usize) -> Result<i64> {
    i64::try_from(value).map_err(|_| LayoutError::Overflow)
}

fn product(a: i64, b: i64) -> Result<i64> {
    a.checked_mul(b).ok_or(LayoutError::Overflow)
}

fn sum(a: i64, b: i64) -> Result<i64> {
    a.checked_add(b).ok_or(LayoutError::Overflow)
}

impl Layout {
    /// A basic type of `size` bytes whose elements lie `extent` bytes apart.
    pub const fn named(size: usize, extent: usize) -> Self {
        Self {
            form: Form::Strided {
                start: 0,
                bytes: size,
                count: if size == 0 { 0 } else { 1 },
                stride: size as i64,
            },
            size,
            lower_bound: 0,
            extent: extent as i64,
            true_lower_bound: 0,
            true_upper_bound: size as i64,
        }
    }

    /// Packed size of an element in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Distance of consecutive elements in bytes.
    pub const fn extent(&self) -> i64 {
        self.extent
    }

    /// Lower bound in bytes.
    pub const fn lower_bound(&self) -> i64 {
        self.lower_bound
    }

    /// Offset of the first byte that holds data.
    pub const fn true_lower_bound(&self) -> i64 {
        self.true_lower_bound
    }

    /// Span of the bytes that hold data.
    pub const fn true_extent(&self) -> i64 {
        self.true_upper_bound - self.true_lower_bound
    }

    /// Offset of the data when `count` elements are one contiguous run of bytes, else `None`.
    pub fn contiguous_start(&self, count: usize) -> Option<i64> {
        match self.form {
            _ if self.size == 0 || count == 0 => Some(0),
            Form::Strided {
                start, count: 1, ..
            } if count == 1 || self.extent == self.size as i64 => Some(start),
            _ => None,
        }
    }

    /// Number of contiguous blocks of an element.
    pub const fn block_count(&self) -> usize {
        match &self.form {
            Form::Strided { count, .. } => *count,
            Form::Blocks { blocks, .. } => blocks.len(),
        }
    }

    /// Block `index` of an element.
    pub(crate) fn block(&self, index: usize) -> Block {
        match &self.form {
            Form::Strided {
                start,
                bytes,
                stride,
                ..
            } => Block {
                offset: start + stride * index as i64,
                bytes: *bytes,
            },
            Form::Blocks { blocks, .. } => blocks[index],
        }
    }

    /// Contiguous runs of an element, in packing order.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        (0..self.block_count()).map(|index| self.block(index))
    }

    /// `count` elements in a row (MPI_Type_contiguous).
    ///
    /// # Errors
    /// When sizes exceed 63 bits.
    pub fn contiguous(count: usize, old: &Self) -> Result<Self> {
        Self::hvector(1, count, 0, old)
    }

    /// `count` blocks of `length` elements, `stride` elements apart (MPI_Type_vector).
    ///
    /// # Errors
    /// When sizes exceed 63 bits.
    pub fn vector(count: usize, length: usize, stride: i64, old: &Self) -> Result<Self> {
        Self::hvector(count, length, product(stride, old.extent)?, old)
    }

    /// `count` blocks of `length` elements, `stride` bytes apart (MPI_Type_create_hvector).
    ///
    /// # Errors
    /// When sizes exceed 63 bits.
    pub fn hvector(count: usize, length: usize, stride: i64, old: &Self) -> Result<Self> {
        let inner = Self::repeated(length, old.extent, old)?;
        Self::repeated(count, stride, &inner)
    }

    /// Blocks of `(displacement in bytes, elements)` (MPI_Type_create_hindexed and relatives).
    ///
    /// # Errors
    /// When sizes exceed 63 bits.
    pub fn hindexed(pieces: &[(i64, usize)], old: &Self) -> Result<Self> {
        let parts: Vec<_> = pieces
            .iter()
            .map(|&(at, length)| (at, length, old))
            .collect();
        Self::structure(&parts)
    }

    /// Pieces of `(displacement in bytes, elements, layout)` (MPI_Type_create_struct, without alignment padding).
    ///
    /// # Errors
    /// When sizes exceed 63 bits.
    pub fn structure(pieces: &[(i64, usize, &Self)]) -> Result<Self> {
        let mut builder = Builder::default();
        for &(at, length, old) in pieces {
            builder.add(at, &Self::repeated(length, old.extent, old)?, length == 0)?;
        }
        builder.finish()
    }

    /// The same bytes with other bounds (MPI_Type_create_resized).
    #[must_use]
    pub fn resized(&self, lower_bound: i64, extent: i64) -> Self {
        Self {
            lower_bound,
            extent,
            ..self.clone()
        }
    }

    /// `count` copies of `old`, `stride` bytes apart, with the bounds that MPI gives them.
    fn repeated(count: usize, stride: i64, old: &Self) -> Result<Self> {
        if count == 0 || (old.size == 0 && old.extent == 0) {
            return Ok(Self::named(0, 0));
        }
        let span = product(to_signed(count - 1)?, stride)?;
        let (low, high) = (span.min(0), span.max(0));
        let form = match old.form {
            _ if count == 1 => old.form.clone(),
            Form::Strided {
                start,
                bytes,
                count: 1,
                ..
            } => {
                if stride == to_signed(bytes)? {
                    let bytes = bytes.checked_mul(count).ok_or(LayoutError::Overflow)?;
                    Form::Strided {
                        start,
                        bytes,
                        count: 1,
                        stride: to_signed(bytes)?,
                    }
                } else {
                    Form::Strided {
                        start,
                        bytes,
                        count,
                        stride,
                    }
                }
            }
            Form::Strided {
                start,
                bytes,
                count: inner,
                stride: step,
            } if product(step, to_signed(inner)?)? == stride => {
                let count = inner.checked_mul(count).ok_or(LayoutError::Overflow)?;
                Form::Strided {
                    start,
                    bytes,
                    count,
                    stride: step,
                }
            }
            _ => return Self::repeated_blocks(count, stride, old),
        };
        Ok(Self {
            form,
            size: old
                .size
                .checked_mul(count)
                .filter(|&s| i64::try_from(s).is_ok())
                .ok_or(LayoutError::Overflow)?,
            lower_bound: sum(old.lower_bound, low)?,
            extent: sum(old.extent, high - low)?,
            true_lower_bound: sum(old.true_lower_bound, low)?,
            true_upper_bound: sum(old.true_upper_bound, high)?,
        })
    }

    fn repeated_blocks(count: usize, stride: i64, old: &Self) -> Result<Self> {
        let mut builder = Builder::default();
        for index in 0..count {
            builder.add(product(to_signed(index)?, stride)?, old, false)?;
        }
        builder.finish()
    }
}

/// Gathers blocks in packing order, joining neighbours, and finds the simplest form.
#[derive(Default)]
struct Builder {
    blocks: Vec<Block>,
    bounds: Option<(i64, i64)>,
    true_bounds: Option<(i64, i64)>,
    size: usize,
}

fn widen(bounds: &mut Option<(i64, i64)>, low: i64, high: i64) {
    *bounds = Some(bounds.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
}

impl Builder {
    fn add(&mut self, at: i64, part: &Layout, skip: bool) -> Result<()> {
        if skip {
            return Ok(());
        }
        let low = sum(at, part.lower_bound)?;
        widen(&mut self.bounds, low, sum(low, part.extent)?);
        if part.size == 0 {
            return Ok(());
        }
        widen(
            &mut self.true_bounds,
            sum(at, part.true_lower_bound)?,
            sum(at, part.true_upper_bound)?,
        );
        self.size = self
            .size
            .checked_add(part.size)
            .filter(|&s| i64::try_from(s).is_ok())
            .ok_or(LayoutError::Overflow)?;
        self.blocks
            .try_reserve(part.block_count())
            .map_err(|_| LayoutError::TooManyBlocks)?;
        for block in part.blocks() {
            let offset = sum(at, block.offset)?;
            match self.blocks.last_mut() {
                Some(last) if last.offset + last.bytes as i64 == offset => {
                    last.bytes += block.bytes
                }
                _ => self.blocks.push(Block {
                    offset,
                    bytes: block.bytes,
                }),
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Layout> {
        let (low, high) = self.bounds.unwrap_or((0, 0));
        let (true_low, true_high) = self.true_bounds.unwrap_or((0, 0));
        Ok(Layout {
            form: simplest(self.blocks),
            size: self.size,
            lower_bound: low,
            extent: high.checked_sub(low).ok_or(LayoutError::Overflow)?,
            true_lower_bound: true_low,
            true_upper_bound: true_high,
        })
    }
}

fn simplest(blocks: Vec<Block>) -> Form {
    let Some(&first) = blocks.first() else {
        return Form::Strided {
            start: 0,
            bytes: 0,
            count: 0,
            stride: 0,
        };
    };
    let stride = blocks
        .get(1)
        .map_or(first.bytes as i64, |second| second.offset - first.offset);
    let regular = blocks.iter().enumerate().all(|(index, block)| {
        block.bytes == first.bytes && block.offset == first.offset + stride * index as i64
    });
    if regular {
        return Form::Strided {
            start: first.offset,
            bytes: first.bytes,
            count: blocks.len(),
            stride,
        };
    }
    let mut position = 0;
    let packed_before = blocks
        .iter()
        .map(|block| {
            position += block.bytes;
            position - block.bytes
        })
        .collect();
    Form::Blocks {
        blocks: blocks.into_boxed_slice(),
        packed_before,
    }
}
