// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constructors of type maps, without an observer.

use crate::build::{ArrayOrder, Builder, Share, Slice};
use crate::error::Result;
use crate::form::Silent;
use crate::layout::Layout;

impl Layout {
    /// `count` elements in a row (MPI_Type_contiguous).
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits.
    pub fn contiguous(count: usize, old: &Self) -> Result<Self> {
        Builder::new(&mut Silent).contiguous(count, old)
    }

    /// `count` blocks of `length` elements, `stride` elements apart (MPI_Type_vector).
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits.
    pub fn vector(count: usize, length: usize, stride: i64, old: &Self) -> Result<Self> {
        Builder::new(&mut Silent).vector(count, length, stride, old)
    }

    /// `count` blocks of `length` elements, `stride` bytes apart (MPI_Type_create_hvector).
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits.
    pub fn hvector(count: usize, length: usize, stride: i64, old: &Self) -> Result<Self> {
        Builder::new(&mut Silent).hvector(count, length, stride, old)
    }

    /// Blocks of `(displacement in bytes, elements)` (MPI_Type_create_hindexed and relatives).
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits, or the blocks exceed memory.
    pub fn hindexed(pieces: impl IntoIterator<Item = (i64, usize)>, old: &Self) -> Result<Self> {
        Builder::new(&mut Silent).hindexed(pieces, old)
    }

    /// Blocks of `length` elements at displacements in units of `unit` bytes (MPI_Type_create_indexed_block and relatives).
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits, or the blocks exceed memory.
    pub fn equal_blocks(
        length: usize,
        places: impl ExactSizeIterator<Item = i64> + Clone,
        unit: i64,
        old: &Self,
    ) -> Result<Self> {
        Builder::new(&mut Silent).equal_blocks(length, places, unit, old)
    }

    /// Pieces of `(displacement in bytes, elements, layout)` (MPI_Type_create_struct).
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits, or the blocks exceed memory.
    pub fn structure<'a>(pieces: impl IntoIterator<Item = (i64, usize, &'a Self)>) -> Result<Self> {
        Builder::new(&mut Silent).structure(pieces)
    }

    /// A box of an array (MPI_Type_create_subarray); its bounds are those of the whole array. Slices in the order in which
    /// the program names the dimensions.
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits.
    pub fn subarray(slices: &[Slice], order: ArrayOrder, old: &Self) -> Result<Self> {
        Builder::new(&mut Silent).subarray(slices, order, old)
    }

    /// A process's part of a distributed array (MPI_Type_create_darray); its bounds are those of the whole array. Shares in
    /// the order in which the program names the dimensions.
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits.
    pub fn darray(shares: &[Share], order: ArrayOrder, old: &Self) -> Result<Self> {
        Builder::new(&mut Silent).darray(shares, order, old)
    }

    /// `count` copies of `old`, `stride` bytes apart.
    ///
    /// # Errors
    /// When a size or an offset exceeds 63 bits.
    pub fn repeated(count: usize, stride: i64, old: &Self) -> Result<Self> {
        Builder::new(&mut Silent).repeated(count, stride, old)
    }
}
