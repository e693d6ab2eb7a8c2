// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays of the crate `ndarray` as buffers (feature `ndarray`): whole arrays and slices of them, in any order of memory.
//!
//! # Safety
//! An array's elements lie where its strides say; one that can be changed has no element twice, which its crate promises.
#![expect(unsafe_code, reason = "the traits promise facts about memory")]

use engine::Result;
use ndarray::{Array, ArrayBase, ArrayView, ArrayViewMut, Data, Dimension};

use crate::buffer::{Buffer, BufferMut, Region, lend};
use crate::data::Datatype;
use crate::strides::region;

fn axes<S: Data, D: Dimension>(
    array: &ArrayBase<S, D>,
) -> impl DoubleEndedIterator<Item = (usize, isize)> {
    let strides = array.strides().iter().copied();
    array.shape().iter().copied().zip(strides)
}

// SAFETY: the array's elements are initialised and borrowed with it.
unsafe impl<T: Datatype, S: Data<Elem = T>, D: Dimension> Buffer for ArrayBase<S, D> {
    fn region(&self) -> Result<Region> {
        region(self.as_ptr(), axes(self))
    }
}

macro_rules! exclusive {
    ($([$($parameters:tt)*] $array:ty;)*) => {
        $(
            // SAFETY: the array's elements are borrowed exclusively with it, and are different ones (file head). Arrays that
            // share their elements are not here: they move when they are changed.
            unsafe impl<$($parameters)* T: Datatype, D: Dimension> BufferMut for $array {
                type View<'b>
                    = ArrayViewMut<'b, T, D>
                where
                    Self: 'b;

                fn region_mut(&mut self) -> Result<Region> {
                    let start = self.as_mut_ptr();
                    region(start, axes(self))
                }

                fn view(&mut self) -> ArrayViewMut<'_, T, D> {
                    self.view_mut()
                }
            }
        )*
    };
}

exclusive! {
    [] Array<T, D>;
    ['a,] ArrayViewMut<'a, T, D>;
}

lend! { [T: Datatype, D: Dimension] ArrayView<'a, T, D>, shorter ArrayView<'b, T, D>, clone }
lend! { [T: Datatype, D: Dimension] exclusive ArrayViewMut<'a, T, D>, shorter ArrayViewMut<'b, T, D>, view_mut }
