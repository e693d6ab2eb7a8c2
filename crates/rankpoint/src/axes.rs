// SPDX-License-Identifier: MIT OR Apache-2.0
//! The axes of a view: which elements of a slice an index of `N` dimensions leads to.
//!
//! Different indices below the shape lead to different elements, and all of them lie in the slice: true of a whole array,
//! and kept by each change.

use std::array::from_fn;
use std::fmt;
use std::ops::Range;

use engine::{Error, ErrorClass, Result};

/// Elements in each dimension, and how many elements of the slice they are apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axes<const N: usize> {
    shape: [usize; N],
    strides: [usize; N],
}

#[cold]
fn wrong<R>(argument: &'static str, value: impl fmt::Debug, expected: String) -> Result<R> {
    let value = format!("{value:?}");
    Err(Error::argument(
        ErrorClass::ERR_ARG,
        argument,
        value,
        expected,
    ))
}

impl<const N: usize> Axes<N> {
    /// Of memory that the caller knows.
    pub(crate) const fn of(shape: [usize; N], strides: [usize; N]) -> Self {
        Self { shape, strides }
    }

    /// All elements of a slice, the last index fastest.
    pub(crate) fn row_major(length: usize, shape: [usize; N]) -> Result<Self> {
        let mut strides = [1usize; N];
        let mut elements = Some(1usize);
        for (stride, &size) in strides.iter_mut().zip(&shape).rev() {
            // Beyond an overflow strides do not matter: only a shape without elements passes the check then.
            *stride = elements.unwrap_or(0);
            elements = elements.and_then(|elements| elements.checked_mul(size));
        }
        let elements = if shape.contains(&0) {
            Some(0)
        } else {
            elements
        };
        if elements != Some(length) {
            return wrong(
                "shape",
                shape,
                format!("{length} elements, as the slice has"),
            );
        }
        Ok(Self { shape, strides })
    }

    pub(crate) fn part(self, ranges: [Range<usize>; N]) -> Result<(usize, Self)> {
        let fits =
            |(range, &size): (&Range<usize>, &usize)| range.start <= range.end && range.end <= size;
        if !ranges.iter().zip(&self.shape).all(fits) {
            let expected = format!("ranges within the shape {:?}", self.shape);
            return wrong("ranges", ranges, expected);
        }
        let shape = from_fn(|dimension| ranges[dimension].len());
        let part = Self { shape, ..self };
        if part.len() == 0 {
            // Its first element need not exist.
            return Ok((0, part));
        }
        let starts = ranges.iter().zip(self.strides);
        Ok((
            starts.map(|(range, stride)| range.start * stride).sum(),
            part,
        ))
    }

    pub(crate) fn step(mut self, dimension: usize, step: usize) -> Result<Self> {
        self.check(dimension)?;
        if step == 0 {
            return wrong("step", step, "1 or more".to_owned());
        }
        let count = self.shape[dimension].div_ceil(step);
        // The distance matters where there are two elements at it, which lie in the slice; else it might overflow.
        if count > 1 {
            self.strides[dimension] = self.strides[dimension].saturating_mul(step);
        }
        self.shape[dimension] = count;
        Ok(self)
    }

    pub(crate) fn permuted(self, order: [usize; N]) -> Result<Self> {
        if (0..N).any(|dimension| !order.contains(&dimension)) {
            return wrong("order", order, format!("each of 0..{N} once"));
        }
        Ok(Self {
            shape: order.map(|dimension| self.shape[dimension]),
            strides: order.map(|dimension| self.strides[dimension]),
        })
    }

    pub(crate) fn transposed(mut self) -> Self {
        self.shape.reverse();
        self.strides.reverse();
        self
    }

    /// The low part, the offset of the high part, and the high part.
    pub(crate) fn split_at(self, dimension: usize, index: usize) -> Result<(Self, usize, Self)> {
        self.check(dimension)?;
        let whole: [Range<usize>; N] = self.shape.map(|size| 0..size);
        let (mut low, mut high) = (whole.clone(), whole);
        if index > self.shape[dimension] {
            let expected = format!("at most {}", self.shape[dimension]);
            return wrong("index", index, expected);
        }
        low[dimension].end = index;
        high[dimension].start = index;
        let (offset, high) = self.part(high)?;
        Ok((self.part(low)?.1, offset, high))
    }

    /// Offsets and axes of equal parts.
    pub(crate) fn cut(
        self,
        dimension: usize,
        parts: usize,
    ) -> Result<impl Iterator<Item = (usize, Self)>> {
        self.check(dimension)?;
        let whole = self.shape[dimension];
        if parts == 0 || !whole.is_multiple_of(parts) {
            return wrong("parts", parts, format!("a divisor of {whole}"));
        }
        let mut part = self;
        part.shape[dimension] = whole / parts;
        let distance = if part.len() == 0 {
            0
        } else {
            part.shape[dimension] * self.strides[dimension]
        };
        Ok((0..parts).map(move |index| (index * distance, part)))
    }

    fn check(&self, dimension: usize) -> Result<()> {
        if dimension < N {
            return Ok(());
        }
        wrong("dimension", dimension, format!("a dimension below {N}"))
    }

    pub(crate) const fn shape(&self) -> [usize; N] {
        self.shape
    }

    pub(crate) fn len(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        self.shape.iter().product()
    }

    /// Where an index leads to.
    pub(crate) fn offset(&self, index: [usize; N]) -> Option<usize> {
        let inside = index.iter().zip(&self.shape).all(|(i, size)| i < size);
        inside.then(|| index.iter().zip(&self.strides).map(|(i, s)| i * s).sum())
    }

    /// Where all indices lead to, in row-major order.
    pub(crate) fn offsets(self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(move |position| {
            let mut rest = position;
            let mut offset = 0;
            for (size, stride) in self.shape.iter().zip(&self.strides).rev() {
                offset += rest % size * stride;
                rest /= size;
            }
            offset
        })
    }

    /// Size and distance of each dimension.
    pub(crate) fn each(&self) -> impl DoubleEndedIterator<Item = (usize, isize)> {
        let strides = self.strides.iter().map(|&stride| stride as isize);
        self.shape.iter().copied().zip(strides)
    }
}

impl Axes<2> {
    /// Blocks of a slice that begin at equal distances.
    pub(crate) fn strided(length: usize, block: usize, stride: usize) -> Result<Self> {
        if block == 0 || block > stride {
            let expected = format!("1 or more, and at most the stride {stride}");
            return wrong("block", block, expected);
        }
        let count = match length.checked_sub(block) {
            Some(rest) => rest / stride + 1,
            None => 0,
        };
        Ok(Self {
            shape: [count, block],
            strides: [stride, 1],
        })
    }
}

impl<const N: usize> fmt::Debug for Axes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} by {:?}", self.shape, self.strides)
    }
}
