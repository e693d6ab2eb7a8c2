// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of any type and rank with a BIND(C) interface: the compiler passes a descriptor.
//!
//! gfortran and flang agree on the part that is read here (Fortran 2018, 18.5.3): base address, bytes of an element, rank, and for
//! each dimension lower bound, extent and distance in bytes.
//!
//! A buffer whose elements follow each other is passed as it is. A section of an array is one of MPI's virtual contiguous buffers
//! (MPI-5.0, section 19.1.12), and so is each call's count, datatype and displacement. What a call gets in its place:
//!
//! | call | what it gets |
//! |---|---|
//! | uses no more than the elements at the start that follow each other | the address |
//! | nonblocking, with a count and a predefined datatype for all of the buffer; one-sided without a request | the address, and a datatype of the section |
//! | other, until it returns, until its request completes, or until the other half of a split call on a file | a copy of the elements |
//! | calls that lend memory to MPI | an error |
//!
//! [`descriptor`] has the descriptors, [`used`] computes which bytes a call uses, [`buffer`] finds what it gets, [`mod@datatype`],
//! [`items`] and [`mod@copy`] make that, and [`pending`] keeps the copies of operations under way. The entry points of `mpi_f08` are generated and
//! use the functions below; `tests/fortran/sections.f90` passes sections in all kinds of calls.

mod buffer;
mod copy;
mod datatype;
mod descriptor;
mod items;
mod pending;
pub(crate) mod used;

pub(crate) use buffer::{Buffers, Life, Object, allocated, allocated_elsewhere};
pub(crate) use descriptor::{Descriptor, address, is_in_place, is_section};
pub(crate) use pending::{begun, completing, ended, released, settle, starting};
