// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the ranks of a file compare, and how they fail alike.

use std::sync::Arc;

use storage::Fault;

use super::failure::failed;
use crate::coll;
use crate::comm::Comm;
use crate::errors::{ERROR_CLASSES, Error, ErrorClass, Result};
use crate::task::run_collective;

/// An argument that all ranks give alike: its name, the word by which it is compared, and its text.
pub(super) struct Argument {
    pub(super) name: &'static str,
    pub(super) word: u64,
    pub(super) text: String,
}

impl Argument {
    pub(super) fn number(name: &'static str, value: i64) -> Self {
        Self {
            name,
            word: value.cast_unsigned(),
            text: value.to_string(),
        }
    }

    /// A text; only its digest travels.
    pub(super) fn text(name: &'static str, value: &str) -> Self {
        let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self {
            name,
            word: value.bytes().fold(0xcbf2_9ce4_8422_2325, step),
            text: value.to_owned(),
        }
    }
}

/// Every rank's words, in rank order. No rank returns before all ranks have called.
pub(super) fn gather(comm: &Arc<Comm>, call: &'static str, words: &[u64]) -> Result<Vec<u64>> {
    run_collective(comm, call, coll::gather_words(comm.clone(), words))
}

/// Waits for all ranks.
pub(super) fn barrier(comm: &Arc<Comm>, call: &'static str) -> Result<()> {
    run_collective(comm, call, coll::barrier(comm.clone()))
}

/// Compares arguments. No rank returns before all ranks have called.
///
/// # Errors
/// MPI_ERR_NOT_SAME, at all ranks, with two of them that differ.
pub(super) fn same(comm: &Arc<Comm>, call: &'static str, arguments: &[Argument]) -> Result<()> {
    let own: Vec<u64> = arguments.iter().map(|argument| argument.word).collect();
    let all = gather(comm, call, &own)?;
    for (index, argument) in arguments.iter().enumerate() {
        let of = |rank: usize| all[rank * own.len() + index];
        let ranks = comm.size() as usize;
        let Some(other) = (1..ranks).find(|&rank| of(rank) != of(0)) else {
            continue;
        };
        let (value, expected) = (
            format!("{} at rank {}", argument.text, comm.rank()),
            format!("the same at all ranks: those of ranks 0 and {other} differ"),
        );
        let class = ErrorClass::ERR_NOT_SAME;
        return Err(Error::argument(class, argument.name, value, expected));
    }
    Ok(())
}

/// The outcome of what each rank did by itself: an error at one is an error of the same class at all.
///
/// # Errors
/// The own error, or one that names the rank which failed.
pub(super) fn settle<T>(comm: &Arc<Comm>, call: &'static str, own: Result<T>) -> Result<T> {
    let class = own.as_ref().err().map_or(0, |error| error.class().0);
    let all = gather(comm, call, &[u64::from(class.cast_unsigned())])?;
    let failed = all.iter().position(|&class| class != 0);
    match (own, failed) {
        (Ok(value), None) => Ok(value),
        (Ok(_), Some(rank)) => {
            let class = ErrorClass((all[rank] as u32).cast_signed());
            let row = ERROR_CLASSES.iter().find(|row| row.0 == class.0);
            let what = row.map_or("an error of the program's", |row| row.2);
            let text = format!("rank {rank} of the file failed: {what}");
            Err(Error::new(class, text))
        }
        (Err(error), _) => Err(error),
    }
}

/// As [`settle`], for what one rank does for all: the others give `None`.
///
/// # Errors
/// The same at all ranks.
pub(super) fn settle_fault(
    comm: &Arc<Comm>,
    call: &'static str,
    own: Option<Fault>,
    what: &str,
) -> Result<()> {
    let errno = own.map_or(0, |fault| fault.errno);
    let all = gather(comm, call, &[u64::from(errno.cast_unsigned())])?;
    match all.iter().find(|&&errno| errno != 0) {
        None => Ok(()),
        Some(&errno) => {
            let errno = (errno as u32).cast_signed();
            Err(failed(Fault { errno }, what))
        }
    }
}
