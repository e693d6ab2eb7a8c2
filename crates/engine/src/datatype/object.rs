// SPDX-License-Identifier: MIT OR Apache-2.0
//! The datatype object.

use std::fmt;
use std::sync::{Arc, OnceLock};

use layout::{Layout, SharedLayout};
use sys::sync::{AtomicBool, AtomicU64, Mutex, Ordering};

use super::Memory;
use super::contents::{Combiner, Contents, Old, Olds};
use super::predefined::Predefined;
use super::sequence::NamedSignature;
use crate::attr::Attributes;
use crate::errors::{Error, ErrorClass, Result};

/// A datatype. Shared by reference: types made of it and operations under way keep it alive after MPI_Type_free.
pub struct Datatype {
    layout: Layout,
    /// The layout as a shared object, made when the first operation needs it; predefined types keep it for ever.
    shared: OnceLock<SharedLayout>,
    /// The row of a predefined type.
    row: Option<&'static Predefined>,
    /// The predefined type whose reductions work on this type.
    reduces_as: Option<&'static Predefined>,
    /// Basic elements of one element.
    elements: u64,
    /// Size of every basic element, if they all have the same.
    element_bytes: Option<usize>,
    contents: Contents,
    committed: AtomicBool,
    /// The largest count of elements that is known to contain no byte twice.
    distinct: AtomicU64,
    /// The sequence of basic types, made on first use.
    pub(super) typed: OnceLock<NamedSignature>,
    /// The predefined type of all basic elements, looked up on first use.
    pub(super) basic: OnceLock<Option<&'static Predefined>>,
    name: Mutex<String>,
    /// The C face's handle of this object; 0 if it has none.
    pub handle: AtomicU64,
    /// Cached attributes.
    pub attributes: Attributes,
}

impl Datatype {
    pub(super) fn predefined(row: &'static Predefined) -> Arc<Self> {
        let parts = super::elements::basic_parts(row);
        let mut datatype = Self::new(
            row.shape.layout(),
            Contents::of(Combiner::Named),
            parts.len() as u64,
            (parts[0] == parts[parts.len() - 1]).then_some(parts[0]),
        );
        // One layout for each row of the table, kept for ever.
        let forever: &'static Layout = Box::leak(Box::new(row.shape.layout()));
        datatype.shared = OnceLock::from(SharedLayout::Forever(forever));
        datatype.row = Some(row);
        datatype.reduces_as = Some(row);
        datatype.committed = AtomicBool::new(true);
        datatype.name = Mutex::new(row.name.to_owned());
        datatype.handle = AtomicU64::new(u64::from(row.code));
        Arc::new(datatype)
    }

    /// Inlined, so that the object is built in its final place.
    #[inline(always)]
    pub(super) fn new(
        layout: Layout,
        contents: Contents,
        elements: u64,
        element_bytes: Option<usize>,
    ) -> Self {
        Self {
            layout,
            shared: OnceLock::new(),
            row: None,
            reduces_as: None,
            elements,
            element_bytes,
            contents,
            committed: AtomicBool::new(false),
            distinct: AtomicU64::new(0),
            typed: OnceLock::new(),
            basic: OnceLock::new(),
            name: Mutex::new(String::new()),
            handle: AtomicU64::new(0),
            attributes: Attributes::default(),
        }
    }

    /// The same as a type on which the predefined reductions of `row` work; committed from the start.
    pub(super) fn reducing_as(mut self, row: &'static Predefined) -> Self {
        self.reduces_as = Some(row);
        self.committed = AtomicBool::new(true);
        self
    }

    /// A new type that was constructed in the same way, without the name and the attributes of this one; a predefined type is the same.
    #[must_use]
    pub fn equivalent(self: &Arc<Self>) -> Arc<Self> {
        if self.reduces_as.is_some() {
            return self.clone();
        }
        let new = Self::new(
            self.layout.clone(),
            self.contents.clone(),
            self.elements,
            self.element_bytes,
        );
        new.committed.store(self.is_committed(), Ordering::Relaxed);
        Arc::new(new)
    }

    /// Which bytes belong to an element.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The layout for operations, which may outlive the type.
    pub fn shared_layout(&self) -> &SharedLayout {
        self.shared.get_or_init(|| self.layout.clone().into())
    }

    /// Packed size of an element in bytes.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// The row of a predefined type; `None` for derived types.
    pub const fn row(&self) -> Option<&'static Predefined> {
        self.row
    }

    /// The predefined type whose reductions work on this type: itself, or the type that a result of
    /// MPI_Type_create_f90_real and its relatives stands for.
    pub const fn reduces_as(&self) -> Option<&'static Predefined> {
        self.reduces_as
    }

    /// Basic elements of one element, as MPI_Get_elements counts them.
    pub const fn elements(&self) -> u64 {
        self.elements
    }

    /// Size of every basic element, if they all have the same.
    pub const fn element_bytes(&self) -> Option<usize> {
        self.element_bytes
    }

    /// The record of the construction, while the type is made.
    pub(super) const fn contents_mut(&mut self) -> &mut Contents {
        &mut self.contents
    }

    /// How the type was constructed.
    pub const fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Makes the type usable for communication (MPI_Type_commit). The layout is canonical already.
    pub fn commit(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }

    /// Whether the type can be used for communication.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// The name given by MPI_Type_set_name; that of its handle for a predefined type.
    pub fn name(&self) -> String {
        self.name.lock().map_or_else(
            |poisoned| poisoned.into_inner().clone(),
            |name| name.clone(),
        )
    }

    /// Renames the type.
    pub fn set_name(&self, name: &str) {
        match self.name.lock() {
            Ok(mut guard) => name.clone_into(&mut guard),
            Err(poisoned) => name.clone_into(&mut poisoned.into_inner()),
        }
    }

    /// The memory of `count` elements at `base`.
    ///
    /// # Errors
    /// MPI_ERR_TYPE when the type is not committed, MPI_ERR_COUNT when the size exceeds the address space.
    #[inline]
    pub fn memory(&self, base: *mut u8, count: usize) -> Result<Memory<'_>> {
        if !self.is_committed() {
            return Err(uncommitted(self));
        }
        let shared = || self.shared_layout();
        Memory::of_elements(base, count, &self.layout, shared).ok_or_else(|| too_large(self, count))
    }

    /// Whether `count` elements can be received into: no byte of them occurs twice, as far as that is known.
    ///
    /// # Errors
    /// MPI_ERR_TYPE when one does.
    pub fn check_target(&self, count: usize) -> Result<()> {
        if count as u64 <= self.distinct.load(Ordering::Relaxed) {
            return Ok(());
        }
        if let Some(offset) = self.layout.repeated_byte(count) {
            return Err(overlapping(self, count, offset));
        }
        self.distinct.store(count as u64, Ordering::Relaxed);
        Ok(())
    }

    /// The type's description in error texts.
    #[cold]
    pub fn describe(&self) -> String {
        let name = self.name();
        if name.is_empty() {
            format!(
                "an unnamed type ({:?}, {} bytes)",
                self.contents.combiner,
                self.size()
            )
        } else {
            name
        }
    }
}

#[cold]
#[inline(never)]
fn uncommitted(datatype: &Datatype) -> Error {
    Error::argument(
        ErrorClass::ERR_TYPE,
        "datatype",
        datatype.describe(),
        "a committed datatype (MPI_Type_commit)",
    )
}

#[cold]
#[inline(never)]
fn overlapping(datatype: &Datatype, count: usize, offset: i64) -> Error {
    let expected = format!(
        "a type without overlaps to receive into: the byte at offset {offset} occurs twice in {count} of it"
    );
    Error::argument(
        ErrorClass::ERR_TYPE,
        "datatype",
        datatype.describe(),
        expected,
    )
}

#[cold]
#[inline(never)]
fn too_large(datatype: &Datatype, count: usize) -> Error {
    let expected = format!(
        "a count whose bytes fit into the address space ({} bytes each)",
        datatype.size()
    );
    Error::argument(ErrorClass::ERR_COUNT, "count", count, expected)
}

impl fmt::Debug for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Drop for Datatype {
    /// Releases the old types iteratively: recursion over a long chain of constructors would overflow the stack.
    fn drop(&mut self) {
        let mut chain = match std::mem::take(&mut self.contents.types) {
            Olds::None | Olds::One(Old::Predefined(_)) => return,
            Olds::One(Old::Derived(part)) => Some(part),
            Olds::Many(parts) => {
                if parts.iter().all(|part| matches!(part, Old::Predefined(_))) {
                    return;
                }
                return let_go(parts);
            }
        };
        // A single old type needs no list.
        while let Some(mut part) = chain.take() {
            match last_types(&mut part) {
                Olds::None | Olds::One(Old::Predefined(_)) => {}
                Olds::One(Old::Derived(part)) => chain = Some(part),
                Olds::Many(parts) => let_go(parts),
            }
        }
    }
}

/// Releases types and all their old types.
fn let_go(parts: Vec<Old>) {
    let derived = |part| match part {
        Old::Predefined(_) => None,
        Old::Derived(part) => Some(part),
    };
    let mut left: Vec<Arc<Datatype>> = parts.into_iter().filter_map(derived).collect();
    while let Some(mut part) = left.pop() {
        match last_types(&mut part) {
            Olds::None => {}
            Olds::One(part) => left.extend(derived(part)),
            Olds::Many(parts) => left.extend(parts.into_iter().filter_map(derived)),
        }
    }
}

/// Takes the old types out of a type if the caller is its last owner. Of two owners that release the type at once possibly
/// neither is the last here: then the later release drops the type with all its old types.
fn last_types(datatype: &mut Arc<Datatype>) -> Olds {
    let taken = Arc::get_mut(datatype).map(|last| std::mem::take(&mut last.contents.types));
    taken.unwrap_or_default()
}
