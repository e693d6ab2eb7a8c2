// SPDX-License-Identifier: MIT OR Apache-2.0
//! Duplicating a communicator into a place that the program names (`MPIX_Comm_dup_predefined`).

use std::sync::Arc;

use super::members::dup;
use crate::coll;
use crate::comm::{Comm, MOST_PREDEFINED, Predefined};
use crate::errors::{Error, ErrorClass, Result};
use crate::task::run_collective;

/// Told instead of a place by a member that cannot take part, with why: the place is none, or it is filled.
const NO_PLACE: u64 = 1 << 32;
const FILLED: u64 = 2 << 32;

/// A duplicate of `parent` in the place with a number, the same at all members, until it is freed.
///
/// # Errors
/// MPI_ERR_COMM, at all members, when one of them gives no number of a place, that of a filled one, or another one; those of
/// [`dup`].
pub fn dup_predefined(
    parent: &Arc<Comm>,
    place: Option<usize>,
    call: &'static str,
) -> Result<Arc<Comm>> {
    let own = match place.filter(|&place| place < MOST_PREDEFINED) {
        None => NO_PLACE,
        Some(place) if Predefined::at(place).is_filled() => FILLED | place as u64,
        Some(place) => place as u64,
    };
    // Both groups of an intercommunicator have to agree.
    if let Some(local) = parent.local() {
        check(parent, local, own, call)?;
    } else {
        check(parent, parent, own, call)?;
    }
    let made = dup(parent, call)?;
    Predefined::at(own as usize).fill(&made);
    Ok(made)
}

/// Compares the places of the members of a group.
fn check(parent: &Arc<Comm>, members: &Arc<Comm>, own: u64, call: &'static str) -> Result<()> {
    let words = [own];
    let all = coll::gather_words(members.clone(), &words);
    let all = run_collective(members, call, all)?;
    let Some(rank) = all
        .iter()
        .position(|&word| word != all[0] || word >= NO_PLACE)
    else {
        return Ok(());
    };
    let name = |word: u64| format!("MPIX_COMM_{}", (word & !FILLED & !NO_PLACE) + 1);
    let value = match (own, all[rank]) {
        (NO_PLACE, _) => "no such handle".to_owned(),
        (own, _) if own & FILLED != 0 => format!("{}, which is a communicator already", name(own)),
        (own, NO_PLACE) => format!("{}, and no such handle at rank {rank}", name(own)),
        (own, other) if other & FILLED != 0 => {
            format!(
                "{}, which is a communicator already at rank {rank}",
                name(own)
            )
        }
        (own, other) => format!("{} here and {} at rank {rank}", name(own), name(other)),
    };
    let expected = format!("one of MPIX_COMM_1..{MOST_PREDEFINED}, unused, the same at all ranks");
    let error = Error::argument(ErrorClass::ERR_COMM, "predefined", value, expected);
    Err(parent.annotate(error))
}
