// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the memory of MPI_Win_allocate_shared lies: one block holds the parts of all members in the order of their ranks, unless all of
//! them allow parts that lie apart (`alloc_shared_noncontig`; MPI-5.0, section 12.2.3).

use std::sync::Arc;

use sys::limits;

use super::create::segment_offset;
use super::heap;
use super::told::{self, Told};
use super::window::Owned;
use crate::coll::Collective;
use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};
use crate::task::block_on;

/// Gives each member its address and its place in the node segment; returns where this member's memory lies. Until then the
/// addresses are those of the segment, and members that allow parts that lie apart have taken their own.
///
/// # Errors
/// MPI_ERR_NO_MEM.
pub(super) fn lay_out(
    comm: &Arc<Comm>,
    all: &mut [Told],
    owned: &mut Vec<Owned>,
    call: &'static str,
) -> Result<*mut u8> {
    let me = comm.rank() as usize;
    if !told::may_all_lie_apart(all) {
        if all[me].shared != 0 {
            // Others want one block.
            heap::give_back(comm.process(), vec![owned.remove(0)]);
        }
        share_one_block(comm, all, owned, call)?;
    }
    for told in all.iter_mut() {
        told.address = match told.shared.checked_sub(1) {
            Some(offset) => told.address.wrapping_add(offset),
            None => 0,
        };
    }
    let own = all[me];
    let offset = own.shared.checked_sub(1);
    let address = offset.and_then(|offset| comm.process().node().address(offset, own.bytes));
    Ok(address.map_or(std::ptr::null_mut(), |address| address.as_ptr()))
}

/// Lays the memory of all members one behind the other, in memory of the first one.
fn share_one_block(
    comm: &Arc<Comm>,
    all: &mut [Told],
    owned: &mut Vec<Owned>,
    call: &'static str,
) -> Result<()> {
    let total = all
        .iter()
        .try_fold(0u64, |sum, told| sum.checked_add(told.bytes));
    let total = total.filter(|&total| isize::try_from(total).is_ok());
    let mut start = 0;
    if comm.rank() == 0
        && let Some(total) = total
        && let Ok(memory) = heap::take(comm.process(), total as usize)
    {
        start = segment_offset(comm, memory.address, memory.bytes).map_or(0, |offset| 1 + offset);
        owned.push(memory);
    }
    let mut coll = Collective::new(comm.clone());
    let start = block_on(comm.vci(), call, async {
        let mut word = [start];
        coll.bcast_words(&mut word, 0).await;
        coll.outcome().map(|()| word[0])
    })?;
    if start == 0 {
        let limits = limits::of_shared_memory();
        let text = format!("no room in the node segment for the memory of all members{limits}");
        return Err(Error::new(ErrorClass::ERR_NO_MEM, text));
    }
    let mut next = start;
    for told in all.iter_mut() {
        told.shared = next;
        next += told.bytes;
    }
    Ok(())
}
