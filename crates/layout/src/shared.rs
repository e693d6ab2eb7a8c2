// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layouts that several owners name.

use std::ops::Deref;
use std::sync::Arc;

use crate::layout::Layout;

/// A layout with several owners. Basic types live as long as the program, so naming them counts nothing.
#[derive(Clone, Debug)]
pub enum SharedLayout {
    /// Lives as long as the program.
    Forever(&'static Layout),
    /// Lives as long as its last owner.
    Counted(Arc<Layout>),
}

impl Deref for SharedLayout {
    type Target = Layout;

    #[inline]
    fn deref(&self) -> &Layout {
        match self {
            Self::Forever(layout) => layout,
            Self::Counted(layout) => layout,
        }
    }
}

impl From<Layout> for SharedLayout {
    fn from(layout: Layout) -> Self {
        Self::Counted(Arc::new(layout))
    }
}

impl PartialEq for SharedLayout {
    fn eq(&self, other: &Self) -> bool {
        let (mine, theirs): (&Layout, &Layout) = (self, other);
        std::ptr::eq(mine, theirs) || mine == theirs
    }
}

impl Eq for SharedLayout {}
