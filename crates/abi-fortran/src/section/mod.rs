// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of any type and rank with a BIND(C) interface: the compiler passes a descriptor.
//!
//! gfortran and flang agree on the part that is read here (Fortran 2018, 18.5.3): base address, bytes of an element, rank, and for
//! each dimension lower bound, extent and distance in bytes.
//!
//! A buffer whose elements follow each other is passed as it is. A section of an array is one of MPI's virtual contiguous buffers
//! (MPI-5.0, section 19.1.12): a call that has finished with its buffers when it returns gets a copy of the elements, whatever its
//! count and its datatype are. A call that goes on behind its return gets a datatype that describes the section, if the program's
//! own is predefined and count and datatype mean whole elements of it (`described`); any other one refuses sections.
//!
//! [`buffer`] has the descriptors and what calls get, [`datatype`] the datatypes of sections. The entry points of `mpi_f08` are
//! generated and use the functions below; `tests/fortran/faces.f90` passes sections of all kinds.

mod buffer;
mod datatype;

pub(crate) use buffer::{Descriptor, described, for_call, lasting, refuse};
