// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derived datatypes, and packing them.

use std::ffi::c_void;
use std::sync::OnceLock;

use mpi_abi_sys::constants::{
    MPI_BYTE, MPI_CHAR, MPI_COMM_SELF, MPI_COMM_WORLD, MPI_DATATYPE_NULL, MPI_DOUBLE, MPI_INT,
    MPI_ORDER_C,
};
use mpi_abi_sys::types::MPI_Datatype;

use super::Mpi;
use super::call::{call, int};

/// Types whose packing is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    /// 64 KiB in blocks of so many bytes, as far apart as they are long.
    Blocks(i32),
    /// 1 MiB of doubles with gaps of one between them.
    Vector,
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
    /// A box of 24 x 24 x 24 doubles of 40 x 40 x 40, described in one of several ways.
    Box(Description),
}

/// How a box is described.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Description {
    Subarray,
    /// Vectors of vectors.
    Vectors,
    /// A list of rows.
    Rows,
    /// A struct of planes.
    Planes,
    /// A list of elements.
    Elements,
}

/// Elements of the indexed types and structs.
const MANY: usize = 20_000;
/// Edge of the cube with its margins, in doubles, and without.
const CUBE: i32 = 262;
const INNER: i32 = 256;

/// Edge of the array around the small box, of the box, and where that begins, in doubles.
const BOX_EDGE: i32 = 40;
const BOX: i32 = 24;
const BOX_START: i32 = 8;
/// Bytes of the vector that is sent.
const VECTOR_BYTES: usize = 1 << 20;

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
            Shape::Vector => {
                let bytes = VECTOR_BYTES;
                call!(mpi, MPI_Type_vector(int(bytes / 8), 1, 2, MPI_DOUBLE, new));
                (1, bytes, 2 * bytes)
            }
            Shape::Box(description) => {
                r#box(mpi, description, new);
                let (box_edge, edge) = (BOX as usize, BOX_EDGE as usize);
                (1, box_edge.pow(3) * 8, edge.pow(3) * 8)
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
                structure(mpi, new);
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

    /// Sends `memory`.
    pub(crate) fn send(&self, memory: &[u8], to: i32, tag: i32) {
        assert!(memory.len() >= self.span);
        let from = memory.as_ptr().cast::<c_void>();
        call!(
            self.mpi,
            MPI_Send(from, self.count, self.handle, to, tag, MPI_COMM_WORLD)
        );
    }

    /// Receives into `memory`.
    pub(crate) fn receive(&self, memory: &mut [u8], from: i32, tag: i32) {
        assert!(memory.len() >= self.span);
        let to = memory.as_mut_ptr().cast::<c_void>();
        let status = std::ptr::null_mut();
        call!(
            self.mpi,
            MPI_Recv(
                to,
                self.count,
                self.handle,
                from,
                tag,
                MPI_COMM_WORLD,
                status
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

fn structure(mpi: &Mpi, new: *mut MPI_Datatype) {
    let (lengths, offsets) = ([1, 1, 6], [0, 8, 16]);
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
}

/// The first double of each row of the face.
pub(crate) fn face_rows() -> impl Iterator<Item = usize> {
    let (edge, inside) = (CUBE as usize, 3..3 + INNER as usize);
    let plane = inside.clone();
    plane.flat_map(move |z| inside.clone().map(move |y| (z * edge + y) * edge + 3))
}

/// The first double of each row of the box.
fn rows() -> impl Iterator<Item = i32> {
    let inside = BOX_START..BOX_START + BOX;
    inside.clone().flat_map(move |z| {
        let row = move |y| (z * BOX_EDGE + y) * BOX_EDGE + BOX_START;
        inside.clone().map(row)
    })
}

fn r#box(mpi: &Mpi, description: Description, new: *mut MPI_Datatype) {
    let bytes: Vec<isize> = rows().map(|at| at as isize * 8).collect();
    let (mut row, mut plane, mut cube) = (MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL);
    match description {
        Description::Subarray => {
            let (sizes, inner, starts) = ([BOX_EDGE; 3], [BOX; 3], [BOX_START; 3]);
            let (sizes, inner, starts) = (sizes.as_ptr(), inner.as_ptr(), starts.as_ptr());
            call!(
                mpi,
                MPI_Type_create_subarray(3, sizes, inner, starts, MPI_ORDER_C, MPI_DOUBLE, new)
            );
        }
        Description::Vectors => {
            let (line, square) = (BOX_EDGE as isize * 8, (BOX_EDGE * BOX_EDGE) as isize * 8);
            call!(mpi, MPI_Type_contiguous(BOX, MPI_DOUBLE, &raw mut row));
            call!(
                mpi,
                MPI_Type_create_hvector(BOX, 1, line, row, &raw mut plane)
            );
            call!(
                mpi,
                MPI_Type_create_hvector(BOX, 1, square, plane, &raw mut cube)
            );
            let start = bytes.as_ptr();
            call!(mpi, MPI_Type_create_hindexed_block(1, 1, start, cube, new));
        }
        Description::Rows => {
            let lengths = vec![BOX; bytes.len()];
            let (count, lengths) = (int(bytes.len()), lengths.as_ptr());
            let starts = bytes.as_ptr();
            call!(
                mpi,
                MPI_Type_create_hindexed(count, lengths, starts, MPI_DOUBLE, new)
            );
        }
        Description::Planes => {
            call!(
                mpi,
                MPI_Type_vector(BOX, BOX, BOX_EDGE, MPI_DOUBLE, &raw mut plane)
            );
            let starts: Vec<isize> = bytes.iter().step_by(BOX as usize).copied().collect();
            let (ones, planes) = (vec![1; starts.len()], vec![plane; starts.len()]);
            let (ones, starts, planes) = (ones.as_ptr(), starts.as_ptr(), planes.as_ptr());
            call!(mpi, MPI_Type_create_struct(BOX, ones, starts, planes, new));
        }
        Description::Elements => {
            let places: Vec<i32> = rows().flat_map(|at| at..at + BOX).collect();
            let (count, places) = (int(places.len()), places.as_ptr());
            call!(
                mpi,
                MPI_Type_create_indexed_block(count, 1, places, MPI_DOUBLE, new)
            );
        }
    }
    for part in [row, plane, cube]
        .iter_mut()
        .filter(|part| **part != MPI_DATATYPE_NULL)
    {
        call!(mpi, MPI_Type_free(part));
    }
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
pub(crate) fn offsets(shape: Shape) -> &'static [i32] {
    static REGULAR: OnceLock<Vec<i32>> = OnceLock::new();
    static IRREGULAR: OnceLock<Vec<i32>> = OnceLock::new();
    if shape == Shape::Regular {
        return REGULAR.get_or_init(|| (0..int(MANY)).map(|index| 2 * index).collect());
    }
    IRREGULAR.get_or_init(|| {
        let (mut at, mut random) = (0, 1u32);
        (0..MANY)
            .map(|_| {
                let here = at;
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                at += 2 + ((random >> 24) % 7) as i32;
                here
            })
            .collect()
    })
}
