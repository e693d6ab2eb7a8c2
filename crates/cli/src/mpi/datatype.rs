// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derived datatypes, and packing them.

use std::ffi::c_void;

use mpi_abi_sys::constants::{
    MPI_BYTE, MPI_CHAR, MPI_COMM_SELF, MPI_DATATYPE_NULL, MPI_DOUBLE, MPI_INT, MPI_ORDER_C,
};
use mpi_abi_sys::types::MPI_Datatype;

use super::{Mpi, int};

/// Types whose packing is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    /// 64 KiB in blocks of so many bytes, as far apart as they are long.
    Blocks(i32),
    /// A face of three doubles' depth of a cube of 262 doubles: 65,536 rows of 24 bytes.
    Face,
    /// 256 x 256 doubles, column by column.
    Transpose,
    /// 20,000 doubles at irregular offsets.
    Irregular,
    /// 20,000 doubles at offsets that are a vector's.
    Regular,
    /// 20,000 structs of an int, a double and six characters.
    Struct,
}

/// Elements of the indexed types and structs.
const MANY: usize = 20_000;
/// Edge of the cube with its margins, in doubles, and without.
const CUBE: i32 = 262;
const INNER: i32 = 256;

/// A committed datatype.
pub(crate) struct Derived<'a> {
    mpi: &'a Mpi,
    handle: MPI_Datatype,
    /// Elements that are packed at once.
    count: i32,
    /// Packed bytes of all of them.
    pub(crate) bytes: usize,
    /// Bytes of memory that they span.
    pub(crate) span: usize,
}

impl<'a> Derived<'a> {
    /// Makes and commits a type.
    pub(crate) fn new(mpi: &'a Mpi, shape: Shape) -> Self {
        let mut handle = MPI_DATATYPE_NULL;
        let new = &raw mut handle;
        let doubles = MANY * size_of::<f64>();
        let (count, bytes, span) = match shape {
            Shape::Blocks(length) => {
                let blocks = 65_536 / length;
                call!(
                    mpi,
                    MPI_Type_vector(blocks, length, 2 * length, MPI_BYTE, new)
                );
                (1, 65_536, 2 * 65_536)
            }
            Shape::Face => {
                face(mpi, new);
                let edge = CUBE as usize;
                (1, (INNER * INNER) as usize * 24, edge * edge * edge * 8)
            }
            Shape::Transpose => {
                transpose(mpi, new);
                let bytes = (INNER * INNER) as usize * 8;
                (1, bytes, bytes)
            }
            Shape::Irregular | Shape::Regular => {
                let offsets = offsets(shape);
                call!(
                    mpi,
                    MPI_Type_create_indexed_block(int(MANY), 1, offsets.as_ptr(), MPI_DOUBLE, new)
                );
                (1, doubles, (offsets[MANY - 1] as usize + 1) * 8)
            }
            Shape::Struct => {
                let lengths = [1, 1, 6];
                let offsets = [0, 8, 16];
                let types = [MPI_INT, MPI_DOUBLE, MPI_CHAR];
                let mut tight = MPI_DATATYPE_NULL;
                call!(
                    mpi,
                    MPI_Type_create_struct(
                        3,
                        lengths.as_ptr(),
                        offsets.as_ptr(),
                        types.as_ptr(),
                        &raw mut tight
                    )
                );
                call!(mpi, MPI_Type_create_resized(tight, 0, 24, new));
                call!(mpi, MPI_Type_free(&raw mut tight));
                (int(MANY), MANY * 18, MANY * 24)
            }
        };
        call!(mpi, MPI_Type_commit(&raw mut handle));
        Self {
            mpi,
            handle,
            count,
            bytes,
            span,
        }
    }

    /// Packs `memory` into `packed`.
    pub(crate) fn pack(&self, memory: &[u8], packed: &mut [u8]) {
        assert!(memory.len() >= self.span && packed.len() >= self.bytes);
        let mut position = 0;
        let from = memory.as_ptr().cast::<c_void>();
        let to = packed.as_mut_ptr().cast::<c_void>();
        call!(
            self.mpi,
            MPI_Pack(
                from,
                self.count,
                self.handle,
                to,
                int(self.bytes),
                &raw mut position,
                MPI_COMM_SELF
            )
        );
    }

    /// Unpacks `packed` into `memory`.
    pub(crate) fn unpack(&self, packed: &[u8], memory: &mut [u8]) {
        assert!(memory.len() >= self.span && packed.len() >= self.bytes);
        let mut position = 0;
        let from = packed.as_ptr().cast::<c_void>();
        let to = memory.as_mut_ptr().cast::<c_void>();
        call!(
            self.mpi,
            MPI_Unpack(
                from,
                int(self.bytes),
                &raw mut position,
                to,
                self.count,
                self.handle,
                MPI_COMM_SELF
            )
        );
    }
}

fn face(mpi: &Mpi, new: *mut MPI_Datatype) {
    let (sizes, inner, starts) = ([CUBE; 3], [INNER, INNER, 3], [3; 3]);
    call!(
        mpi,
        MPI_Type_create_subarray(
            3,
            sizes.as_ptr(),
            inner.as_ptr(),
            starts.as_ptr(),
            MPI_ORDER_C,
            MPI_DOUBLE,
            new
        )
    );
}

fn transpose(mpi: &Mpi, new: *mut MPI_Datatype) {
    let (mut column, mut narrow) = (MPI_DATATYPE_NULL, MPI_DATATYPE_NULL);
    call!(
        mpi,
        MPI_Type_vector(INNER, 1, INNER, MPI_DOUBLE, &raw mut column)
    );
    call!(mpi, MPI_Type_create_resized(column, 0, 8, &raw mut narrow));
    call!(mpi, MPI_Type_contiguous(INNER, narrow, new));
    call!(mpi, MPI_Type_free(&raw mut column));
    call!(mpi, MPI_Type_free(&raw mut narrow));
}

impl Drop for Derived<'_> {
    fn drop(&mut self) {
        call!(self.mpi, MPI_Type_free(&raw mut self.handle));
    }
}

/// Offsets of the indexed types, in doubles: even numbers, or steps of 2 to 8 that look random.
fn offsets(shape: Shape) -> Vec<i32> {
    let (mut at, mut random) = (0, 1u32);
    (0..int(MANY))
        .map(|index| {
            if shape == Shape::Regular {
                return 2 * index;
            }
            let here = at;
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            at += 2 + ((random >> 24) % 7) as i32;
            here
        })
        .collect()
}
