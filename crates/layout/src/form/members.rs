// SPDX-License-Identifier: MIT OR Apache-2.0
//! The members of a compound form: forms at offsets, which they share with the types that they come from.
//!
//! A member that is not repeated may be a compound form only up to [`MAX_DEPTH`] levels. Repetitions at least double the size,
//! which has 63 bits, so that no form is deeper than the sum of both, and walks may recurse.

use std::ops::Deref;
use std::sync::Arc;

use super::Form;
use crate::visits::{visit, visit_search};

/// Most levels of compound forms that are members without being repeated.
pub(crate) const MAX_DEPTH: usize = 8;

/// A form at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Bytes from the base address, may be negative.
    pub offset: i64,
    /// Its own offsets are relative to that.
    pub form: Form,
    /// Packed bytes.
    pub bytes: usize,
    /// Where it begins among the packed bytes of all members.
    pub packed_before: usize,
}

impl Member {
    pub(crate) fn new(offset: i64, form: Form) -> Self {
        let bytes = form.bytes();
        Self {
            offset,
            form,
            bytes,
            packed_before: 0,
        }
    }
}

/// Members in packing order, at least one. Copies share them.
#[derive(Clone, Debug)]
pub struct Members(Arc<Table>);

#[derive(Clone, Debug)]
struct Table {
    all: Vec<Member>,
    runs: usize,
    depth: usize,
}

impl Members {
    /// Members one after the other, whatever they say of their places.
    pub(crate) fn new(mut all: Vec<Member>) -> Self {
        let (mut packed_before, mut runs, mut depth) = (0, 0, 0);
        for member in &mut all {
            member.packed_before = packed_before;
            packed_before += member.bytes;
            runs += member.form.runs();
            depth = depth.max(member.form.depth());
        }
        all.shrink_to_fit();
        Self(Arc::new(Table {
            all,
            runs,
            depth: depth + 1,
        }))
    }

    /// Moves all of them; `None` if some have no place there.
    pub(crate) fn shift(&mut self, by: i64) -> Option<()> {
        for member in &mut Arc::make_mut(&mut self.0).all {
            member.offset = member.offset.checked_add(by)?;
        }
        Some(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.all.len()
    }

    /// Packed bytes.
    pub(crate) fn bytes(&self) -> usize {
        let end = |last: &Member| last.packed_before + last.bytes;
        self.0.all.last().map_or(0, end)
    }

    /// Contiguous runs of bytes.
    pub(crate) fn runs(&self) -> usize {
        self.0.runs
    }

    /// Levels of compound forms.
    pub(crate) fn depth(&self) -> usize {
        self.0.depth
    }

    /// The member with this index.
    pub(crate) fn at(&self, index: usize) -> &Member {
        visit(1);
        &self.0.all[index]
    }

    /// The member that holds a packed byte: its index, and the byte inside of it.
    pub(crate) fn find(&self, position: usize) -> (usize, usize) {
        let all = &self.0.all;
        visit_search(all.len());
        let index = all.partition_point(|member| member.packed_before <= position) - 1;
        (index, position - all[index].packed_before)
    }

    /// Whether both are copies of the same members.
    pub(crate) fn are_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// All of them.
impl Deref for Members {
    type Target = [Member];

    fn deref(&self) -> &[Member] {
        visit(self.0.all.len());
        &self.0.all
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        self.are_shared_with(other) || **self == **other
    }
}

impl Eq for Members {}
