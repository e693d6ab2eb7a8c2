// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives among endpoints that move blocks of different sizes: lists of blocks on the side of the program, which travel behind a
//! table of their bytes.

use std::ffi::c_void;

use ::endpoints::command::Operation;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffers::{Data, Output};
use super::collectives::{Buffer, collective, gathered, matching, scattered};
use super::comm::{Comm, comm_or_next};
use super::elements::{Elements, Shape};
use super::endpoint::Task;
use super::errors::named;
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Gatherv,
        MPI_Gatherv_c,
        MPI_Scatterv,
        MPI_Scatterv_c,
        MPI_Allgatherv,
        MPI_Allgatherv_c,
        MPI_Alltoallv,
        MPI_Alltoallv_c,
        MPI_Alltoallw,
        MPI_Alltoallw_c,
        ..next
    }
}

/// A list of a call with a number for each member.
trait Numbers {
    /// The number of a member.
    ///
    /// # Safety
    /// The program's list is as long as there are members.
    unsafe fn of(self, member: i32) -> MPI_Count;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Numbers for *const $number {
            unsafe fn of(self, member: i32) -> MPI_Count {
                // SAFETY: the caller's promise.
                unsafe { *self.add(member as usize) as MPI_Count }
            }
        }
    )*};
}

numbers!(i32 MPI_Count MPI_Aint);

/// The blocks of all members in a buffer: how many elements, and at which one each begins.
///
/// # Safety
/// The lists are those of a call on the communicator.
unsafe fn blocks(
    comm: &Comm,
    base: *const c_void,
    counts: impl Numbers + Copy,
    places: impl Numbers + Copy,
    datatype: MPI_Datatype,
) -> Result<Vec<Elements>, i32> {
    let shape = Shape::of(datatype)?;
    let block = |member| {
        // SAFETY: the caller's promise.
        let (first, count) = unsafe { (places.of(member), counts.of(member)) };
        shape.elements(base, first, count)
    };
    (0..comm.size).map(block).collect()
}

/// The same where each block has a type of its own and begins at a byte.
///
/// # Safety
/// As above.
unsafe fn blocks_of_types(
    comm: &Comm,
    base: *const c_void,
    counts: impl Numbers + Copy,
    places: impl Numbers + Copy,
    datatypes: *const MPI_Datatype,
) -> Result<Vec<Elements>, i32> {
    let block = |member: i32| {
        // SAFETY: the caller's promise.
        let (offset, count, datatype) = unsafe {
            let datatype = *datatypes.add(member as usize);
            (places.of(member), counts.of(member), datatype)
        };
        Shape::of(datatype)?.elements_at(base, offset, count)
    };
    (0..comm.size).map(block).collect()
}

/// A block of this member for all, to blocks of all.
fn gather_all(comm: &Comm, from: Buffer, blocks: Result<Vec<Elements>, i32>) -> Result<Task, i32> {
    let blocks = blocks?;
    let own = blocks.get(comm.rank as usize).ok_or(mpi::MPI_ERR_INTERN)?;
    let input = match from.is_in_place() {
        true => own.clone(),
        false => Elements::new(from.base, from.count, from.datatype)?,
    };
    let mut command = comm.command(Operation::GatherAllBlocks);
    command.count = matching(input.bytes(), own.bytes())?;
    Ok(Task {
        command,
        input: Some(Data::One(input)),
        output: Output::Results(Data::Blocks(blocks)),
    })
}

/// Blocks for all members, `None` where those are sent that are replaced, to blocks of all.
fn exchange(
    comm: &Comm,
    from: Option<Result<Vec<Elements>, i32>>,
    to: Result<Vec<Elements>, i32>,
) -> Result<Task, i32> {
    let to = to?;
    let from = from.unwrap_or_else(|| Ok(to.clone()))?;
    Ok(Task {
        command: comm.command(Operation::ExchangeBlocks),
        input: Some(Data::Blocks(from)),
        output: Output::Results(Data::Blocks(to)),
    })
}

macro_rules! collectives {
    ($($gather:ident $scatter:ident $gather_all:ident $exchange:ident $of_types:ident $count:ty, $place:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $gather(
            from: *const c_void, sent: $count, sent_type: MPI_Datatype, to: *mut c_void, counts: *const $count,
            places: *const $place, datatype: MPI_Datatype, root: i32, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(
                comm, $gather(from, sent, sent_type, to, counts, places, datatype, root, comm));
            // SAFETY: the program's lists.
            let blocks = || unsafe { blocks(&comm, to, counts, places, datatype) };
            let task = gathered(&comm, root, Buffer::new(from, sent, sent_type), blocks);
            collective(&comm, named!($gather), task)
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $scatter(
            from: *const c_void, counts: *const $count, places: *const $place, sent_type: MPI_Datatype,
            to: *mut c_void, count: $count, datatype: MPI_Datatype, root: i32, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(
                comm, $scatter(from, counts, places, sent_type, to, count, datatype, root, comm));
            // SAFETY: the program's lists.
            let blocks = || unsafe { blocks(&comm, from, counts, places, sent_type) };
            let task = scattered(&comm, root, Buffer::new(to, count, datatype), blocks);
            collective(&comm, named!($scatter), task)
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $gather_all(
            from: *const c_void, sent: $count, sent_type: MPI_Datatype, to: *mut c_void, counts: *const $count,
            places: *const $place, datatype: MPI_Datatype, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(
                comm, $gather_all(from, sent, sent_type, to, counts, places, datatype, comm));
            // SAFETY: the program's lists.
            let blocks = unsafe { blocks(&comm, to, counts, places, datatype) };
            let task = gather_all(&comm, Buffer::new(from, sent, sent_type), blocks);
            collective(&comm, named!($gather_all), task)
        }
        collectives!(exchange $exchange blocks MPI_Datatype, $count, $place);
        collectives!(exchange $of_types blocks_of_types *const MPI_Datatype, $count, $place);
    )*};
    (exchange $name:ident $blocks:ident $datatype:ty, $count:ty, $place:ty) => {
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $name(
            from: *const c_void, sent: *const $count, sent_places: *const $place, sent_type: $datatype,
            to: *mut c_void, counts: *const $count, places: *const $place, datatype: $datatype, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(
                comm, $name(from, sent, sent_places, sent_type, to, counts, places, datatype, comm));
            let is_in_place = from.addr() == mpi::MPI_IN_PLACE;
            // SAFETY: the program's lists.
            let (from, to) = unsafe {
                let from = (!is_in_place).then(|| $blocks(&comm, from, sent, sent_places, sent_type));
                (from, $blocks(&comm, to, counts, places, datatype))
            };
            collective(&comm, named!($name), exchange(&comm, from, to))
        }
    };
}

collectives! {
    MPI_Gatherv MPI_Scatterv MPI_Allgatherv MPI_Alltoallv MPI_Alltoallw i32, i32;
    MPI_Gatherv_c MPI_Scatterv_c MPI_Allgatherv_c MPI_Alltoallv_c MPI_Alltoallw_c MPI_Count, MPI_Aint;
}
