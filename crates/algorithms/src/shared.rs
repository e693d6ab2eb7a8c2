// SPDX-License-Identifier: MIT OR Apache-2.0
//! How operations are cut into turns of the memory that members share.

use crate::case::Case;

/// Most members of such memory: each looks at the stamps of all others.
pub const MOST_MEMBERS: u32 = 128;
/// Most turns that pieces of more than two members are cut into when an area holds only little of each, and what is not little,
/// in bytes.
const MOST_TURNS: usize = 256;
const LARGE_PART: usize = 4 << 10;

/// Bytes of one member's area, by the number of members.
pub fn area_bytes(members: u32) -> usize {
    ((2 << 20) / members.next_power_of_two() as usize).clamp(2 << 10, 128 << 10)
}

/// How an operation is cut into turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Number of turns.
    pub count: usize,
    /// What one of them moves at most: bytes, or elements where they are combined.
    pub most: usize,
}

impl Turns {
    /// As many turns as `amount` needs.
    pub fn of(amount: usize, most: usize) -> Self {
        Self {
            count: amount.div_ceil(most.max(1)),
            most,
        }
    }

    /// The turns, and the bytes that a member with `bytes` bytes shows in one of them at most.
    pub fn shown(self, bytes: usize) -> (usize, usize) {
        (self.count, self.most.min(bytes))
    }

    /// The same where `most` counts elements, of `bytes` bytes each, of `count` in all.
    pub fn shown_elements(self, count: usize, bytes: usize) -> (usize, usize) {
        (self.count, self.most.min(count) * bytes)
    }

    /// The same where so many pieces are shown.
    pub const fn shown_pieces(self, pieces: usize) -> (usize, usize) {
        (self.count, self.most * pieces)
    }
}

/// Whole pieces, or a vector, of `bytes` bytes.
pub fn pieces(bytes: usize, members: u32) -> Turns {
    Turns::of(bytes, area_bytes(members))
}

/// Pieces up to which a member shows its own one, too: all of them are one run of bytes then.
pub const WITH_OWN_BYTES: usize = 2 << 10;

/// How many pieces of `bytes` bytes a member shows: of two members twice as much of the other's piece a turn. Of more it would gain
/// little, and parts of a page would no longer be whole ones.
pub const fn shown_of(bytes: usize, members: u32) -> usize {
    members as usize - (members == 2 && bytes > WITH_OWN_BYTES) as usize
}

/// Whether so many turns that move `part` bytes of each piece beat messages.
const fn is_worth_it(turns: usize, part: usize, members: u32) -> bool {
    turns <= MOST_TURNS || part >= LARGE_PART || members == 2
}

/// Parts of as many pieces as a member shows; `None` if that takes too many turns.
pub fn parts(bytes: usize, members: u32) -> Option<Turns> {
    let room = area_bytes(members) / shown_of(bytes, members);
    let most = if bytes <= room {
        bytes
    } else {
        // Turns of whole lines, equally long as far as that goes.
        let count = bytes.div_ceil((room / 64 * 64).max(1));
        bytes
            .div_ceil(count)
            .next_multiple_of(64)
            .min(room / 16 * 16)
    };
    let turns = Turns::of(bytes, most);
    (most > 0 && is_worth_it(turns.count, most, members)).then_some(turns)
}

/// Whole elements of a vector that is combined; `None` if an area does not hold one.
pub fn elements(case: &Case) -> Option<Turns> {
    let size = case.bytes / case.elements.max(1);
    let most = area_bytes(case.ranks) / size.max(1);
    (most > 0).then(|| Turns::of(case.elements, most))
}

/// The turns of an allreduce in which each of two members combines half of the elements: two a step, for operands and results, of
/// at most `most` elements each; `None` where one turn or two are enough for all operands.
pub fn halves(case: &Case) -> Option<Turns> {
    let whole = elements(case).filter(|turns| case.ranks == 2 && turns.count > 2)?;
    Some(Turns {
        count: 2 * case.elements.div_ceil(2 * whole.most),
        most: whole.most,
    })
}

/// The parts of a vector that is combined, as many as there are members: the whole vector in one turn if an area holds it, else
/// whole elements of each part; `None` if that takes too many turns.
pub fn element_parts(case: &Case) -> Option<Turns> {
    let size = (case.total / case.elements.max(1)).max(1);
    let count = case.bytes / size;
    if case.total <= area_bytes(case.ranks) {
        return Some(Turns {
            count: 1,
            most: count,
        });
    }
    let room = area_bytes(case.ranks) / case.ranks as usize;
    // Whole lines where elements allow it.
    let most = room / 64 * 64 / size;
    let turns = Turns::of(count, most);
    (most > 0 && is_worth_it(turns.count, most * size, case.ranks)).then_some(turns)
}
