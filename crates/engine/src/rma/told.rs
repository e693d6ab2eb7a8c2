// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the members of a window tell each other when they make it, and whether it agrees.

use super::hints::WindowHints;
use crate::errors::{Error, ErrorClass, Result};

/// What a member tells the others, in this order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// The error class of a member that cannot take part; 0 of one that can.
    pub(super) failure: u64,
    /// Where the memory lies in the member's own address space.
    pub(super) address: u64,
    /// 1 + its offset in the node segment; 0 for private memory.
    pub(super) shared: u64,
    pub(super) bytes: u64,
    pub(super) unit: u64,
    /// 1 + the offset of the board; 0 for none.
    pub(super) board: u64,
    pub(super) pid: u64,
    /// Address of a word with a value that the others know: what they read there shows that they may read.
    pub(super) witness: u64,
    /// 1 of a member that executes what others post in its cell.
    pub(super) helps: u64,
    /// What the member says of all members: see [`promises`].
    pub(super) promises: u64,
    /// Bytes of its [`super::granule::Granule`].
    pub(super) granule: u64,
    /// VCIs over which it would spread puts and gets by messages.
    pub(super) vcis: u64,
    /// 1 of a member whose memory is a GPU's, which only its own process reaches; of one in a dynamic window, if it may attach such memory.
    pub(super) device: u64,
}

/// The hint same_size.
const SAME_SIZE: u64 = 1;
/// The hint same_disp_unit.
const SAME_UNIT: u64 = 2;
/// The hint alloc_shared_noncontig.
const NONCONTIGUOUS: u64 = 4;

/// The promises that a member with these hints makes for all members; those of sizes and units count only where they are checked.
pub(super) fn promises(hints: &WindowHints, is_checked: bool) -> u64 {
    let bit = |key: &str, bit: u64| if hints.is_true(key) { bit } else { 0 };
    let checked = bit("same_size", SAME_SIZE) | bit("same_disp_unit", SAME_UNIT);
    bit("alloc_shared_noncontig", NONCONTIGUOUS) | if is_checked { checked } else { 0 }
}

/// Whether all members allow that their memory does not lie one part behind the other.
pub(super) fn may_all_lie_apart(all: &[Told]) -> bool {
    all.iter().all(|told| told.promises & NONCONTIGUOUS != 0)
}

/// Refuses members that differ in what one of them says is the same.
///
/// # Errors
/// MPI_ERR_SIZE, MPI_ERR_DISP, at all members.
pub(super) fn check_promises(all: &[Told]) -> Result<()> {
    let checks = [
        (SAME_SIZE, "same_size", ErrorClass::ERR_SIZE),
        (SAME_UNIT, "same_disp_unit", ErrorClass::ERR_DISP),
    ];
    for (bit, key, class) in checks {
        let value = |told: &Told| {
            if bit == SAME_SIZE {
                told.bytes
            } else {
                told.unit
            }
        };
        let Some(promising) = all.iter().position(|told| told.promises & bit != 0) else {
            continue;
        };
        let Some(other) = all.iter().position(|told| value(told) != value(&all[0])) else {
            continue;
        };
        let what = match bit {
            SAME_SIZE => "windows",
            _ => "displacement units",
        };
        let text = format!(
            "rank {promising} gave the hint {key}, but ranks 0 and {other} have {what} of {} and {} bytes: RANKPOINT_CHECK=hints",
            value(&all[0]),
            value(&all[other])
        );
        return Err(Error::new(class, text));
    }
    Ok(())
}

/// Refuses members whose elements differ, where safe code accesses them; members that are C programs may do what they like.
///
/// # Errors
/// MPI_ERR_DISP, at all members.
pub(super) fn check_elements(all: &[Told]) -> Result<()> {
    let mut elements = all.iter().enumerate().filter(|(_, told)| told.granule != 0);
    let Some((first, model)) = elements.next() else {
        return Ok(());
    };
    let of = |told: &Told| (told.unit, told.granule);
    let Some((other, told)) = elements.find(|(_, told)| of(told) != of(model)) else {
        return Ok(());
    };
    let text = format!(
        "ranks {first} and {other} have elements of {} and {} bytes, aligned to {} and {} bytes, in one window; all members need the same type",
        model.unit, told.unit, model.granule, told.granule
    );
    Err(Error::new(ErrorClass::ERR_DISP, text))
}

impl Told {
    /// Number of words.
    pub(super) const WORDS: usize = 13;

    /// It as words.
    pub(super) const fn words(&self) -> [u64; Self::WORDS] {
        let Self {
            failure,
            address,
            shared,
            bytes,
            unit,
            board,
            pid,
            witness,
            helps,
            promises,
            granule,
            vcis,
            device,
        } = *self;
        [
            failure, address, shared, bytes, unit, board, pid, witness, helps, promises, granule,
            vcis, device,
        ]
    }

    /// That of another member, from its words.
    pub(super) fn of(words: &[u64]) -> Self {
        let mut all = [0; Self::WORDS];
        all.copy_from_slice(words);
        let [
            failure,
            address,
            shared,
            bytes,
            unit,
            board,
            pid,
            witness,
            helps,
            promises,
            granule,
            vcis,
            device,
        ] = all;
        Self {
            failure,
            address,
            shared,
            bytes,
            unit,
            board,
            pid,
            witness,
            helps,
            promises,
            granule,
            vcis,
            device,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: u64, unit: u64, promises: u64) -> Told {
        Told {
            bytes,
            unit,
            promises,
            ..Told::default()
        }
    }

    #[test]
    fn a_broken_promise_names_ranks_and_values() {
        let sizes = [told(8, 1, 0), told(8, 2, SAME_SIZE), told(24, 1, 0)];
        let error = check_promises(&sizes).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_SIZE);
        let text = error.to_string();
        let expected =
            "rank 1 gave the hint same_size, but ranks 0 and 2 have windows of 8 and 24 bytes";
        assert!(text.contains(expected), "{text}");
        let units = [told(8, 4, SAME_UNIT), told(0, 8, 0)];
        let error = check_promises(&units).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_DISP);
        assert!(
            error.to_string().contains("units of 4 and 8 bytes"),
            "{error}"
        );
    }

    #[test]
    fn different_elements_are_refused_with_ranks_and_sizes() {
        let element = |unit, granule| Told {
            granule,
            ..told(64, unit, 0)
        };
        let all = [told(8, 1, 0), element(8, 8), element(8, 8), element(4, 4)];
        check_elements(&all[..3]).unwrap();
        let error = check_elements(&all).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_DISP);
        let expected = "ranks 1 and 3 have elements of 8 and 4 bytes";
        assert!(error.to_string().contains(expected), "{error}");
        let aligned = check_elements(&[element(8, 8), element(8, 2)]).unwrap_err();
        assert!(
            aligned.to_string().contains("aligned to 8 and 2"),
            "{aligned}"
        );
    }

    #[test]
    fn members_may_differ_in_what_nobody_promised() {
        check_promises(&[told(8, 4, SAME_UNIT), told(16, 4, 0)]).unwrap();
        check_promises(&[told(8, 4, SAME_SIZE), told(8, 1, SAME_SIZE)]).unwrap();
        check_promises(&[told(8, 4, 0), told(16, 1, 0)]).unwrap();
    }
}
