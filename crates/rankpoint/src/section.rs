// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections of arrays: strided views of a slice in any number of dimensions, which messages are sent from and received into
//! without a copy (MPI_Type_vector, MPI_Type_create_subarray).
//!
//! # Safety
//! A view holds the address of its first element. Every index below its shape leads to an element of the slice that it was
//! made of, and in an exclusive view no two do to the same one: `Axes` keeps that through all that views can be made into.
//! Exclusive views of disjoint parts hold no references, so that their elements may lie between each other's.
#![expect(
    unsafe_code,
    reason = "views of disjoint elements that lie between each other"
)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use engine::Result;

use crate::axes::Axes;
use crate::buffer::{Buffer, BufferMut, Region, lend};
use crate::data::Datatype;
use crate::strides::region;

/// A view of some elements of a slice that form an array of `N` dimensions. A message holds them in row-major order: the
/// last index is the fastest.
///
/// ```
/// use rankpoint::Section;
///
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let numbers: Vec<u32> = (0..24).collect();
/// let array = Section::new(&numbers, [2, 3, 4])?;
/// let middle = array.part([0..2, 1..2, 1..3])?;
/// assert_eq!(middle.to_vec(), [5, 6, 17, 18]);
///
/// // Every second column of the first plane, sent as they lie and received in a row.
/// let columns = array.part([0..1, 0..3, 0..4])?.step(2, 2)?;
/// world.send(&columns, world.rank(), 0)?;
/// assert_eq!(world.recv_vec::<u32>(world.rank(), 0)?.0, [0, 2, 4, 6, 8, 10]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Section<'a, T, const N: usize> {
    start: *const T,
    axes: Axes<N>,
    data: PhantomData<&'a [T]>,
}

/// An exclusive view of some elements of a slice that form an array of `N` dimensions; see [`Section`].
///
/// ```
/// use rankpoint::SectionMut;
///
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// // A matrix sent by rows and received by columns arrives transposed.
/// let (mut matrix, me) = ([0u8; 6], world.rank());
/// world.send(&[1u8, 2, 3, 4, 5, 6], me, 0)?;
/// world.recv(&mut SectionMut::new(&mut matrix, [3, 2])?.transposed(), me, 0)?;
/// assert_eq!(matrix, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// While a message arrives in one part, the others can be used:
///
/// ```
/// # use rankpoint::SectionMut;
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// # let me = world.rank();
/// let mut field = vec![0.0; 6 * 8];
/// let (mut inner, halo) = SectionMut::new(&mut field, [6, 8])?.split_at(1, 7)?;
/// world.scope(|scope| {
///     let arrival = scope.irecv(halo, me, 0)?;
///     inner.fill(1.0);
///     world.send(&[2.0; 6], me, 0)?;
///     arrival.wait()?;
///     Ok(())
/// })?;
/// assert_eq!(field[6..9], [1.0, 2.0, 1.0]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// but not the part itself, nor what it was split from:
///
/// ```compile_fail
/// # use rankpoint::SectionMut;
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// # let me = world.rank();
/// let mut field = vec![0.0; 6 * 8];
/// let (inner, halo) = SectionMut::new(&mut field, [6, 8])?.split_at(1, 7)?;
/// world.scope(|scope| {
///     let arrival = scope.irecv(halo, me, 0)?;
///     field[0] = 1.0;
///     arrival.wait()?;
///     Ok(())
/// })?;
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct SectionMut<'a, T, const N: usize> {
    start: *mut T,
    axes: Axes<N>,
    data: PhantomData<&'a mut [T]>,
}

// SAFETY: a view is as a reference to its elements.
unsafe impl<T: Sync, const N: usize> Send for Section<'_, T, N> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize> Sync for Section<'_, T, N> {}
// SAFETY: a view is as an exclusive reference to its elements.
unsafe impl<T: Send, const N: usize> Send for SectionMut<'_, T, N> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize> Sync for SectionMut<'_, T, N> {}

/// Operations that both kinds of views have.
macro_rules! reshape {
    ($name:ident) => {
        impl<'a, T: Datatype, const N: usize> $name<'a, T, N> {
            const fn at(&self, offset: usize, axes: Axes<N>) -> Self {
                Self {
                    start: self.start.wrapping_add(offset),
                    axes,
                    data: PhantomData,
                }
            }

            /// Elements in each dimension.
            pub const fn shape(&self) -> [usize; N] {
                self.axes.shape()
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                self.axes.len()
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The elements whose indices are in these ranges (MPI_Type_create_subarray).
            ///
            /// # Errors
            /// When a range ends beyond the shape or before it starts.
            pub fn part(self, ranges: [Range<usize>; N]) -> Result<Self> {
                let (offset, axes) = self.axes.part(ranges)?;
                Ok(self.at(offset, axes))
            }

            /// Every `step`-th index of a dimension, from 0 on.
            ///
            /// # Errors
            /// When there is no such dimension, or the step is 0.
            pub fn step(self, dimension: usize, step: usize) -> Result<Self> {
                let axes = self.axes.step(dimension, step)?;
                Ok(self.at(0, axes))
            }

            /// The dimensions in another order: dimension `i` is the one that is `order[i]` now.
            ///
            /// # Errors
            /// When `order` does not name each dimension once.
            pub fn permuted(self, order: [usize; N]) -> Result<Self> {
                let axes = self.axes.permuted(order)?;
                Ok(self.at(0, axes))
            }

            /// The dimensions in reverse order. A column-major array is the transpose of a row-major one.
            #[must_use]
            pub fn transposed(self) -> Self {
                let axes = self.axes.transposed();
                self.at(0, axes)
            }

            /// The elements with indices below `index` in a dimension, and the others.
            ///
            /// # Errors
            /// When there is no such dimension, or `index` is beyond it.
            pub fn split_at(self, dimension: usize, index: usize) -> Result<(Self, Self)> {
                let (low, offset, high) = self.axes.split_at(dimension, index)?;
                Ok((self.at(0, low), self.at(offset, high)))
            }

            /// Equal parts along a dimension: one for each rank of a gather, say.
            ///
            /// # Errors
            /// When there is no such dimension, or it cannot be cut into equal parts.
            pub fn cut(self, dimension: usize, parts: usize) -> Result<Vec<Self>> {
                let cuts = self.axes.cut(dimension, parts)?;
                Ok(cuts.map(|(offset, axes)| self.at(offset, axes)).collect())
            }
        }

        impl<T: Datatype, const N: usize> fmt::Debug for $name<'_, T, N> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.axes)
            }
        }
    };
}

reshape! { Section }
reshape! { SectionMut }

impl<'a, T: Datatype, const N: usize> Section<'a, T, N> {
    /// Elements that are so many elements apart in each dimension, from an address on: memory that is no slice of the program.
    ///
    /// # Safety
    /// Every index below the shape leads to an initialised element, and for `'a` nobody writes these elements.
    pub const unsafe fn from_raw(start: *const T, shape: [usize; N], strides: [usize; N]) -> Self {
        Self {
            start,
            axes: Axes::of(shape, strides),
            data: PhantomData,
        }
    }

    /// A slice as a row-major array.
    ///
    /// # Errors
    /// When the shape has not as many elements as the slice.
    pub fn new(data: &'a [T], shape: [usize; N]) -> Result<Self> {
        Ok(Self {
            start: data.as_ptr(),
            axes: Axes::row_major(data.len(), shape)?,
            data: PhantomData,
        })
    }

    /// The element at an index; `None` outside the shape.
    pub fn get(&self, index: [usize; N]) -> Option<T> {
        let offset = self.axes.offset(index)?;
        // SAFETY: an index below the shape leads to an element (file head), which is borrowed.
        Some(unsafe { self.start.add(offset).read() })
    }

    /// The elements in the order of a message.
    pub fn to_vec(&self) -> Vec<T> {
        // SAFETY: offsets of a view lead to its elements (file head), which are borrowed.
        let element = |offset| unsafe { self.start.add(offset).read() };
        self.axes.offsets().map(element).collect()
    }
}

impl<'a, T: Datatype> Section<'a, T, 2> {
    /// Blocks of `block` elements of a slice that begin `stride` elements apart, as many as it holds whole
    /// (MPI_Type_vector). A column of a row-major matrix is `strided(&matrix[column..], 1, columns)`.
    ///
    /// # Errors
    /// When `block` is 0, or exceeds `stride`.
    pub fn strided(data: &'a [T], block: usize, stride: usize) -> Result<Self> {
        Ok(Self {
            start: data.as_ptr(),
            axes: Axes::strided(data.len(), block, stride)?,
            data: PhantomData,
        })
    }
}

impl<'a, T: Datatype, const N: usize> SectionMut<'a, T, N> {
    /// As [`Section::from_raw`].
    ///
    /// # Safety
    /// Every index below the shape leads to an initialised element, no two to the same one, and for `'a` nobody else uses these elements.
    pub const unsafe fn from_raw(start: *mut T, shape: [usize; N], strides: [usize; N]) -> Self {
        Self {
            start,
            axes: Axes::of(shape, strides),
            data: PhantomData,
        }
    }

    /// A slice as a row-major array.
    ///
    /// # Errors
    /// When the shape has not as many elements as the slice.
    pub fn new(data: &'a mut [T], shape: [usize; N]) -> Result<Self> {
        Ok(Self {
            start: data.as_mut_ptr(),
            axes: Axes::row_major(data.len(), shape)?,
            data: PhantomData,
        })
    }

    /// The same elements, to be read.
    pub const fn as_section(&self) -> Section<'_, T, N> {
        Section {
            start: self.start,
            axes: self.axes,
            data: PhantomData,
        }
    }

    /// The same elements for a shorter time.
    pub const fn reborrow(&mut self) -> SectionMut<'_, T, N> {
        SectionMut {
            start: self.start,
            axes: self.axes,
            data: PhantomData,
        }
    }

    /// The element at an index; `None` outside the shape.
    pub fn get(&self, index: [usize; N]) -> Option<T> {
        self.as_section().get(index)
    }

    /// The element at an index, to be changed; `None` outside the shape.
    pub fn get_mut(&mut self, index: [usize; N]) -> Option<&mut T> {
        let offset = self.axes.offset(index)?;
        // SAFETY: an index below the shape leads to an element (file head), which is borrowed exclusively with the view.
        Some(unsafe { &mut *self.start.add(offset) })
    }

    /// The elements in the order of a message.
    pub fn to_vec(&self) -> Vec<T> {
        self.as_section().to_vec()
    }

    /// Sets all elements.
    pub fn fill(&mut self, value: T) {
        for offset in self.axes.offsets() {
            // SAFETY: offsets of a view lead to its elements (file head), which are borrowed exclusively.
            unsafe { self.start.add(offset).write(value) };
        }
    }
}

impl<'a, T: Datatype> SectionMut<'a, T, 2> {
    /// Blocks of `block` elements of a slice that begin `stride` elements apart, as many as it holds whole; see
    /// [`Section::strided`].
    ///
    /// # Errors
    /// When `block` is 0, or exceeds `stride`.
    pub fn strided(data: &'a mut [T], block: usize, stride: usize) -> Result<Self> {
        Ok(Self {
            start: data.as_mut_ptr(),
            axes: Axes::strided(data.len(), block, stride)?,
            data: PhantomData,
        })
    }
}

// SAFETY: the view's elements are initialised and borrowed with it.
unsafe impl<T: Datatype, const N: usize> Buffer for Section<'_, T, N> {
    fn region(&self) -> Result<Region> {
        region(self.start, self.axes.each())
    }
}

// SAFETY: as above.
unsafe impl<T: Datatype, const N: usize> Buffer for SectionMut<'_, T, N> {
    fn region(&self) -> Result<Region> {
        region(self.start, self.axes.each())
    }
}

// SAFETY: the view's elements are borrowed exclusively with it, and are different ones (file head).
unsafe impl<T: Datatype, const N: usize> BufferMut for SectionMut<'_, T, N> {
    type View<'b>
        = SectionMut<'b, T, N>
    where
        Self: 'b;

    fn region_mut(&mut self) -> Result<Region> {
        region(self.start, self.axes.each())
    }

    fn view(&mut self) -> SectionMut<'_, T, N> {
        self.reborrow()
    }
}

lend! { [T: Datatype, const N: usize] Section<'a, T, N>, shorter Section<'b, T, N>, clone }
lend! { [T: Datatype, const N: usize] exclusive SectionMut<'a, T, N>, shorter SectionMut<'b, T, N>, reborrow }
