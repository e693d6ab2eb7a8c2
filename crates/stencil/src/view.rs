// SPDX-License-Identifier: MIT OR Apache-2.0
//! Views of quantities by global coordinates.
#![expect(unsafe_code, reason = "arrays are addresses")]

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

use rankpoint::Plain;

/// A point by its coordinates x, y, z in the whole grid. Halos beyond the ends have coordinates below 0 and from the grid's side on.
pub(crate) type Point = [i64; 3];

/// An array: where point 0, 0, 0 of the grid would be, and the distances of rows and planes in elements.
#[derive(Clone, Copy)]
pub(crate) struct Array {
    pub(crate) first: *mut u8,
    /// The point of the first element.
    pub(crate) origin: Point,
    pub(crate) row: usize,
    pub(crate) plane: usize,
}

impl Array {
    /// Elements from the first one to a point, which is not below it in any axis.
    const fn offset(&self, [x, y, z]: Point) -> usize {
        let [x0, y0, z0] = self.origin;
        (x - x0) as usize + (y - y0) as usize * self.row + (z - z0) as usize * self.plane
    }
}

/// Points with `ranges[a]` along each axis.
pub(crate) type Ranges = [Range<i64>; 3];

#[track_caller]
fn check_point(ranges: &Ranges, point: Point) {
    let is_inside = ranges
        .iter()
        .zip(point)
        .all(|(range, at)| range.contains(&at));
    assert!(is_inside, "point {point:?}: expected one in {ranges:?}");
}

#[track_caller]
fn check_row(ranges: &Ranges, xs: &Range<i64>, y: i64, z: i64) {
    let [own_xs, ys, zs] = ranges;
    let is_inside = own_xs.start <= xs.start
        && xs.start <= xs.end
        && xs.end <= own_xs.end
        && ys.contains(&y)
        && zs.contains(&z);
    assert!(
        is_inside,
        "row {xs:?}, {y}, {z}: expected one in {ranges:?}"
    );
}

/// A quantity to be read.
pub struct View<'a, T> {
    array: Array,
    ranges: Ranges,
    data: PhantomData<&'a [T]>,
}

impl<'a, T: Plain> View<'a, T> {
    /// # Safety
    /// The array has elements of this type at all points of the ranges, which nobody writes for `'a`.
    pub(crate) const unsafe fn new(array: Array, ranges: Ranges) -> Self {
        Self {
            array,
            ranges,
            data: PhantomData,
        }
    }

    /// The points that can be read.
    pub fn region(&self) -> [Range<i64>; 3] {
        self.ranges.clone()
    }

    /// The element at a point.
    ///
    /// # Panics
    /// When the point is outside of the region.
    #[track_caller]
    pub fn at(&self, point: [i64; 3]) -> T {
        check_point(&self.ranges, point);
        // SAFETY: the point is in the ranges (new).
        unsafe {
            self.array
                .first
                .cast::<T>()
                .add(self.array.offset(point))
                .read()
        }
    }

    /// The address of a point's element, and how many elements rows and planes are apart: for kernels that are not Rust. Reading
    /// outside of the region, where an exchange may write, is undefined.
    ///
    /// # Panics
    /// When the point is outside of the region.
    #[track_caller]
    pub fn raw(&self, point: [i64; 3]) -> (*const T, [usize; 2]) {
        check_point(&self.ranges, point);
        let first = self.array.first.cast::<T>().cast_const();
        let strides = [self.array.row, self.array.plane];
        (first.wrapping_add(self.array.offset(point)), strides)
    }

    /// The elements of a row.
    ///
    /// # Panics
    /// When a point of it is outside of the region.
    #[track_caller]
    pub fn row(&self, xs: Range<i64>, y: i64, z: i64) -> &'a [T] {
        check_row(&self.ranges, &xs, y, z);
        if xs.is_empty() {
            return &[];
        }
        let offset = self.array.offset([xs.start, y, z]);
        let length = (xs.end - xs.start) as usize;
        // SAFETY: the points are in the ranges, and x is the fastest axis (new).
        unsafe { slice::from_raw_parts(self.array.first.cast::<T>().add(offset), length) }
    }
}

/// A quantity to be written.
pub struct ViewMut<'a, T> {
    array: Array,
    ranges: Ranges,
    /// Where a step notes that the view exists.
    taken: Option<(&'a Cell<u64>, u64)>,
    data: PhantomData<&'a mut [T]>,
}

impl<'a, T: Plain> ViewMut<'a, T> {
    /// # Safety
    /// The array has elements of this type at all points of the ranges, which nobody else uses for `'a`.
    pub(crate) const unsafe fn new(
        array: Array,
        ranges: Ranges,
        taken: Option<(&'a Cell<u64>, u64)>,
    ) -> Self {
        Self {
            array,
            ranges,
            taken,
            data: PhantomData,
        }
    }

    /// The points that can be written.
    pub fn region(&self) -> [Range<i64>; 3] {
        self.ranges.clone()
    }

    /// Writes the element at a point.
    ///
    /// # Panics
    /// When the point is outside of the region.
    #[track_caller]
    pub fn set(&mut self, point: [i64; 3], value: T) {
        check_point(&self.ranges, point);
        // SAFETY: the point is in the ranges (new).
        unsafe {
            self.array
                .first
                .cast::<T>()
                .add(self.array.offset(point))
                .write(value)
        };
    }

    /// As [`View::raw`], to be written.
    ///
    /// # Panics
    /// When the point is outside of the region.
    #[track_caller]
    pub fn raw(&mut self, point: [i64; 3]) -> (*mut T, [usize; 2]) {
        check_point(&self.ranges, point);
        let first = self.array.first.cast::<T>();
        let strides = [self.array.row, self.array.plane];
        (first.wrapping_add(self.array.offset(point)), strides)
    }

    /// The elements of a row.
    ///
    /// # Panics
    /// When a point of it is outside of the region.
    #[track_caller]
    pub fn row_mut(&mut self, xs: Range<i64>, y: i64, z: i64) -> &mut [T] {
        check_row(&self.ranges, &xs, y, z);
        if xs.is_empty() {
            return &mut [];
        }
        let offset = self.array.offset([xs.start, y, z]);
        let length = (xs.end - xs.start) as usize;
        // SAFETY: the points are in the ranges, x is the fastest axis, and the view is borrowed exclusively (new).
        unsafe { slice::from_raw_parts_mut(self.array.first.cast::<T>().add(offset), length) }
    }
}

impl<T> Drop for ViewMut<'_, T> {
    fn drop(&mut self) {
        if let Some((taken, bit)) = self.taken {
            taken.set(taken.get() & !bit);
        }
    }
}
