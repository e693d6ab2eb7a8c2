// SPDX-License-Identifier: MIT OR Apache-2.0
//! The nests of an irregular form: what walks need to know of all of them is found out once.

use std::ops::Deref;
use std::sync::Arc;

use super::Nest;
use crate::visits::{visit, visit_search};

/// Nests in packing order, at least one. Copies share them.
#[derive(Clone, Debug)]
pub struct Nests {
    all: Arc<[Nest]>,
    /// Contiguous runs of bytes.
    runs: usize,
}

impl Nests {
    /// Nests one after the other, whatever they say of their places.
    pub(crate) fn new(nests: impl Iterator<Item = Nest>) -> Self {
        let (mut packed_before, mut runs) = (0, 0);
        let placed = nests.map(|nest| {
            let before = packed_before;
            packed_before += nest.bytes();
            runs += nest.runs();
            Nest {
                packed_before: before,
                ..nest
            }
        });
        let all = placed.collect();
        Self { all, runs }
    }

    /// Moves all of them; `None` if some have no place there.
    pub(crate) fn shift(&mut self, by: i64) -> Option<()> {
        for nest in Arc::make_mut(&mut self.all) {
            nest.block.offset = nest.block.offset.checked_add(by)?;
        }
        Some(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Packed bytes.
    pub(crate) fn bytes(&self) -> usize {
        let end = |last: &Nest| last.packed_before + last.bytes();
        self.all.last().map_or(0, end)
    }

    /// Contiguous runs of bytes.
    pub(crate) const fn runs(&self) -> usize {
        self.runs
    }

    /// Whether no nest has dimensions: every dimension has at least two repetitions.
    pub(crate) fn are_runs(&self) -> bool {
        self.runs == self.all.len()
    }

    /// The nest with this index.
    pub(crate) fn at(&self, index: usize) -> &Nest {
        visit(1);
        &self.all[index]
    }

    /// The nest that holds a packed byte: its index, and the byte inside of it.
    pub(crate) fn find(&self, position: usize) -> (usize, usize) {
        visit_search(self.all.len());
        let starts_before = |nest: &Nest| nest.packed_before <= position;
        let index = self.all.partition_point(starts_before) - 1;
        (index, position - self.all[index].packed_before)
    }

    /// Whether both are copies of the same nests.
    pub(crate) fn are_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.all, &other.all)
    }
}

/// All of them.
impl Deref for Nests {
    type Target = [Nest];

    fn deref(&self) -> &[Nest] {
        visit(self.all.len());
        &self.all
    }
}

impl PartialEq for Nests {
    fn eq(&self, other: &Self) -> bool {
        self.are_shared_with(other) || **self == **other
    }
}

impl Eq for Nests {}
