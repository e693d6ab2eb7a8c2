// SPDX-License-Identifier: MIT OR Apache-2.0
//! The canonical form of a type map: which bytes, in packing order, without the history of its construction.
//!
//! A form is a list of *nests* (or of equal runs, which take less memory); a nest is one block of bytes repeated along dimensions,
//! innermost first. Where pieces are forms of more than a few runs themselves, they stay *members* of a compound form, which
//! takes memory for each piece and not for what is in it. Repeating a form of
//! one nest only adds a dimension to it, and repeating several adds a dimension around all of them, so nothing that is
//! regular is ever expanded, however it was described. Dimensions that continue each other are joined, and blocks that
//! touch are one block. The order of the bytes is always that of the type map. Every dimension at least doubles the size,
//! which has 63 bits: there are fewer than 64 of them.

use std::fmt;
use std::ops::Deref;

use super::{Member, Members, Nests, Observer, Rule, tell};
use crate::offsets::Offsets;

/// Contiguous bytes at an offset from the element's base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Bytes from the base address, may be negative.
    pub offset: i64,
    /// Length in bytes.
    pub bytes: usize,
}

/// Something repeated `count` times, `stride` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Repetitions.
    pub count: usize,
    /// Bytes from one to the next, may be negative.
    pub stride: i64,
    /// Packed bytes of one repetition.
    pub bytes: usize,
}

/// Dimensions, innermost first. The only one of a vector needs no memory of its own.
#[derive(Clone)]
pub struct Dimensions(Room);

#[derive(Clone)]
enum Room {
    One(Dimension),
    Any(Vec<Dimension>),
}

impl Dimensions {
    /// None.
    pub const NONE: Self = Self(Room::Any(Vec::new()));

    /// All of them.
    pub const fn as_slice(&self) -> &[Dimension] {
        match &self.0 {
            Room::One(dimension) => std::slice::from_ref(dimension),
            Room::Any(dimensions) => dimensions.as_slice(),
        }
    }

    /// Adds one around the others.
    pub(crate) fn push(&mut self, outer: Dimension) {
        match &mut self.0 {
            Room::One(inner) => self.0 = Room::Any(vec![*inner, outer]),
            Room::Any(none) if none.is_empty() => self.0 = Room::One(outer),
            Room::Any(dimensions) => dimensions.push(outer),
        }
    }

    fn last_mut(&mut self) -> Option<&mut Dimension> {
        match &mut self.0 {
            Room::One(dimension) => Some(dimension),
            Room::Any(dimensions) => dimensions.last_mut(),
        }
    }

    /// The outermost one is repeated so often.
    pub(crate) fn set_last_count(&mut self, count: usize) {
        if let Some(last) = self.last_mut() {
            last.count = count;
        }
    }
}

impl Default for Dimensions {
    fn default() -> Self {
        Self::NONE
    }
}

impl Deref for Dimensions {
    type Target = [Dimension];

    fn deref(&self) -> &[Dimension] {
        self.as_slice()
    }
}

impl PartialEq for Dimensions {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Dimensions {}

impl fmt::Debug for Dimensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// One block repeated along dimensions, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nest {
    /// The first repetition's block.
    pub block: Block,
    /// Innermost first.
    pub dimensions: Dimensions,
    /// Where it begins among the packed bytes of the nests that it is one of.
    pub packed_before: usize,
}

/// The bytes of one element, in packing order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One nest; no bytes at all if its block is empty.
    Regular(Nest),
    /// Equal runs of bytes at these offsets, and dimensions around all of them, innermost first.
    List {
        /// In packing order. Types made of this one share them.
        offsets: Offsets,
        /// Bytes of each run.
        bytes: usize,
        /// Innermost first.
        dimensions: Dimensions,
    },
    /// Several nests, and dimensions around all of them, innermost first.
    Irregular {
        /// In packing order. Types made of this one share them.
        nests: Nests,
        /// Innermost first.
        dimensions: Dimensions,
    },
    /// Several forms at offsets, and dimensions around all of them, innermost first.
    Compound {
        /// In packing order. Types made of this one share them.
        members: Members,
        /// Innermost first.
        dimensions: Dimensions,
    },
}

/// Upper limit of the dimensions around a block or around several nests, with one for the elements of a message.
pub const MAX_DIMENSIONS: usize = 64;

/// The dimensions that nearly all types stay below, with that of the elements: a position among so few is cheap to set up.
pub(crate) const FEW: usize = 4;

/// How often dimensions repeat what they are around of.
fn copies(dimensions: &[Dimension]) -> usize {
    let counts = dimensions.iter().map(|it| it.count);
    counts.product()
}

/// Adds a dimension around others; whether it was joined with the outermost of them.
fn add_dimension(dimensions: &mut Dimensions, outer: Dimension) -> bool {
    if let Some(last) = dimensions.last_mut()
        && last.end() == Some(outer.stride)
    {
        last.count *= outer.count;
        return true;
    }
    dimensions.push(outer);
    false
}

impl Dimension {
    /// Where the next repetition would be, from the first.
    pub(crate) fn end(&self) -> Option<i64> {
        i64::try_from(self.count).ok()?.checked_mul(self.stride)
    }
}

impl Nest {
    /// Packed bytes.
    pub fn bytes(&self) -> usize {
        self.dimensions
            .last()
            .map_or(self.block.bytes, |outer| outer.bytes * outer.count)
    }

    /// Contiguous runs of bytes.
    pub(crate) fn runs(&self) -> usize {
        copies(&self.dimensions)
    }

    /// Repeats the nest; the rule by which that was simplified.
    pub(crate) fn repeat(&mut self, count: usize, stride: i64) -> Option<Rule> {
        let bytes = self.bytes();
        if self.dimensions.is_empty() && i64::try_from(bytes) == Ok(stride) {
            self.block.bytes *= count;
            return Some(Rule::Fold);
        }
        let outer = Dimension {
            count,
            stride,
            bytes,
        };
        add_dimension(&mut self.dimensions, outer).then_some(Rule::Flatten)
    }
}

impl Form {
    pub(crate) const EMPTY: Self = Self::run(0);

    /// `bytes` bytes at offset 0.
    pub(crate) const fn run(bytes: usize) -> Self {
        Self::Regular(Nest {
            block: Block { offset: 0, bytes },
            dimensions: Dimensions::NONE,
            packed_before: 0,
        })
    }

    /// Several nests, nothing simplified.
    pub(crate) fn irregular(nests: impl Iterator<Item = Nest>) -> Self {
        Self::Irregular {
            nests: Nests::new(nests),
            dimensions: Dimensions::NONE,
        }
    }

    /// The only block of a form without holes.
    pub(crate) const fn single_block(&self) -> Option<Block> {
        match self {
            Self::Regular(nest) if nest.dimensions.as_slice().is_empty() => Some(nest.block),
            _ => None,
        }
    }

    /// Adds a dimension; the rule by which that was simplified.
    pub(crate) fn repeat(&mut self, outer: Dimension) -> Option<Rule> {
        match self {
            Self::Regular(nest) => nest.repeat(outer.count, outer.stride),
            Self::List { dimensions, .. }
            | Self::Irregular { dimensions, .. }
            | Self::Compound { dimensions, .. } => {
                add_dimension(dimensions, outer).then_some(Rule::Flatten)
            }
        }
    }

    /// The dimensions around the innermost part: the block, the list or the pattern.
    pub const fn dimensions(&self) -> &[Dimension] {
        self.as_dimensions().as_slice()
    }

    pub(crate) const fn as_dimensions(&self) -> &Dimensions {
        match self {
            Self::Regular(Nest { dimensions, .. })
            | Self::List { dimensions, .. }
            | Self::Irregular { dimensions, .. }
            | Self::Compound { dimensions, .. } => dimensions,
        }
    }

    /// Whether positions in it, with the elements around, have few dimensions.
    pub(crate) const fn is_shallow(&self) -> bool {
        matches!(self, Self::Regular(_) | Self::List { .. }) && self.dimensions().len() < FEW
    }

    /// Whether comparing it with another form takes no longer for more parts.
    pub(crate) fn compares_at_once(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List { offsets: mine, .. }, Self::List { offsets, .. }) => {
                mine.share_table_with(offsets)
            }
            (Self::Irregular { nests: mine, .. }, Self::Irregular { nests, .. }) => {
                mine.are_shared_with(nests)
            }
            (Self::Compound { members: mine, .. }, Self::Compound { members, .. }) => {
                mine.are_shared_with(members)
            }
            _ => true,
        }
    }

    /// Packed bytes.
    pub fn bytes(&self) -> usize {
        let inside = match self {
            Self::Regular(nest) => return nest.bytes(),
            Self::List { offsets, bytes, .. } => offsets.len() * bytes,
            Self::Irregular { nests, .. } => nests.bytes(),
            Self::Compound { members, .. } => members.bytes(),
        };
        self.dimensions()
            .iter()
            .fold(inside, |bytes, outer| bytes * outer.count)
    }

    /// Contiguous runs of bytes in what the dimensions repeat.
    pub fn repeated_runs(&self) -> usize {
        match self {
            Self::Regular(_) => 1,
            Self::List { offsets, .. } => offsets.len(),
            Self::Irregular { nests, .. } => nests.runs(),
            Self::Compound { members, .. } => members.runs(),
        }
    }

    /// Contiguous runs of bytes of an element. No more than its bytes, unless those are none.
    pub(crate) fn runs(&self) -> usize {
        self.repeated_runs() * copies(self.dimensions())
    }

    /// Runs, nests or members, when each of its repetitions has its own.
    pub(crate) fn pieces(&self) -> usize {
        let inside = match self {
            Self::Regular(_) => return 1,
            Self::List { offsets, .. } => offsets.len(),
            Self::Irregular { nests, .. } => nests.count(),
            Self::Compound { members, .. } => members.count(),
        };
        inside * copies(self.dimensions())
    }

    /// Offset of the first run; of the first member's base.
    pub(crate) fn first_offset(&self) -> i64 {
        match self {
            Self::Regular(nest) => nest.block.offset,
            Self::List { offsets, .. } => offsets.get(0),
            Self::Irregular { nests, .. } => nests.at(0).block.offset,
            Self::Compound { members, .. } => members.at(0).offset,
        }
    }

    /// Whether both are copies of one list, but for the dimensions around it.
    pub(crate) fn repeats_the_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::List { offsets, bytes, .. },
                Self::List {
                    offsets: theirs,
                    bytes: each,
                    ..
                },
            ) => bytes == each && offsets.share_table_with(theirs) && offsets == theirs,
            (Self::Irregular { .. }, Self::Irregular { .. })
            | (Self::Compound { .. }, Self::Compound { .. }) => self.compares_at_once(other),
            _ => false,
        }
    }

    /// Levels of compound forms.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Compound { members, .. } => members.depth(),
            _ => 0,
        }
    }

    /// Several forms, nothing simplified.
    pub(crate) fn compound(members: Vec<Member>) -> Self {
        Self::Compound {
            members: Members::new(members),
            dimensions: Dimensions::NONE,
        }
    }

    pub(crate) fn dimensions_mut(&mut self) -> &mut Dimensions {
        match self {
            Self::Regular(Nest { dimensions, .. })
            | Self::List { dimensions, .. }
            | Self::Irregular { dimensions, .. }
            | Self::Compound { dimensions, .. } => dimensions,
        }
    }

    /// Makes it this form `count` (> 0) times, `stride` bytes apart, and tells of it; the caller has checked that the product
    /// of sizes fits.
    #[inline]
    pub(crate) fn told_repeat(
        &mut self,
        count: usize,
        stride: i64,
        size: usize,
        observer: &mut impl Observer,
    ) {
        let outer = Dimension {
            count,
            stride,
            bytes: size,
        };
        tell(observer, Rule::Repeat, || {
            let mut asked = self.clone();
            asked.dimensions_mut().push(outer);
            asked
        });
        let rule = if count == 1 || size == 0 {
            Some(Rule::Elide)
        } else {
            self.repeat(outer)
        };
        if let Some(rule) = rule {
            tell(observer, rule, || self.clone());
        }
    }

    /// Moves it; `None` if some of it has no place there.
    pub(crate) fn shift(&mut self, by: i64) -> Option<()> {
        match self {
            Self::Regular(nest) => nest.block.offset = nest.block.offset.checked_add(by)?,
            Self::List { offsets, .. } => *offsets = offsets.moved(by)?,
            Self::Irregular { nests, .. } => nests.shift(by)?,
            Self::Compound { members, .. } => members.shift(by)?,
        }
        Some(())
    }
}
