// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries: rows of one table, each with a name that filters match and profiles have.

use crate::session::{Outcome, Session};

/// How an entry is measured.
type Measure = dyn Fn(&Session, &str) -> Outcome;

/// A row of the table.
pub struct Entry {
    /// Its name, such as `copy/memcpy/flushed`; the part before the first `/` is its group.
    pub name: String,
    /// What is measured, and the unit of its axis.
    pub title: String,
    /// Whether it belongs to a quick profile.
    pub is_quick: bool,
    /// Whether it needs two processors, whose distance a virtual machine may change meanwhile.
    pub has_two_ends: bool,
    /// Whether other processes are measured, which choose their processors themselves.
    pub is_outside: bool,
    measure: Box<Measure>,
}

impl Entry {
    /// An entry of full profiles on one processor.
    pub fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        measure: impl Fn(&Session, &str) -> Outcome + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            is_quick: false,
            has_two_ends: false,
            is_outside: false,
            measure: Box::new(measure),
        }
    }

    /// The same in quick profiles, too.
    #[must_use]
    pub fn quick(self) -> Self {
        self.quick_if(true)
    }

    /// The same in quick profiles, too, if so.
    #[must_use]
    pub fn quick_if(mut self, is_quick: bool) -> Self {
        self.is_quick = is_quick;
        self
    }

    /// The same on two processors.
    #[must_use]
    pub fn two_ends(mut self) -> Self {
        self.has_two_ends = true;
        self
    }

    /// The same in processes of its own.
    #[must_use]
    pub fn outside(mut self) -> Self {
        self.is_outside = true;
        self
    }

    /// Measures it.
    ///
    /// # Errors
    /// Why there is nothing to measure here.
    pub fn measure(&self, session: &Session) -> Outcome {
        (self.measure)(session, &self.name)
    }
}
