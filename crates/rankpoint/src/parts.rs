// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages put together from memory anywhere: blocks of a slice, and buffers of any types (MPI_Type_indexed,
//! MPI_Type_create_struct with addresses).
//!
//! # Safety
//! Each part is borrowed as long as the whole is, exclusively where the whole is received into, so that no byte occurs twice
//! in it. What a view was described by when it was made does not change.
#![expect(unsafe_code, reason = "memory that is described by addresses")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use engine::datatype::{NamedSignature, checks_types};
use engine::{Error, ErrorClass, Result};
use layout::{Layout, SharedLayout};

use crate::buffer::{Basics, Buffer, BufferMut, Incoming, Outgoing, Region, lend, unfit};
use crate::data::Datatype;

/// Blocks of a slice, in any order; a block may occur more than once (MPI_Type_indexed).
///
/// ```
/// use rankpoint::{Indexed, IndexedMut};
///
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let mut words = [10u16, 11, 12, 13, 14, 15];
/// world.send(&Indexed::new(&words, [4..6, 0..1])?, world.rank(), 0)?;
/// world.recv(&mut IndexedMut::new(&mut words, [1..2, 3..5])?, world.rank(), 0)?;
/// assert_eq!(words, [10, 14, 12, 15, 10, 15]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
#[derive(Clone)]
pub struct Indexed<'a, T> {
    blocks: Blocks,
    data: PhantomData<&'a [T]>,
}

/// Blocks of a slice that is borrowed exclusively, in any order; see [`Indexed`].
pub struct IndexedMut<'a, T> {
    blocks: Blocks,
    data: PhantomData<&'a mut [T]>,
}

/// Blocks of memory: a base address and a layout.
#[derive(Clone)]
struct Blocks {
    base: *mut u8,
    layout: SharedLayout,
    /// Which basic types an element consists of.
    types: fn() -> Basics,
}

// SAFETY: the views are as references to their elements.
unsafe impl<T: Sync> Send for Indexed<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Indexed<'_, T> {}
// SAFETY: as an exclusive reference to its elements.
unsafe impl<T: Send> Send for IndexedMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for IndexedMut<'_, T> {}

impl Blocks {
    fn new<T: Datatype>(base: *mut T, length: usize, blocks: &[Range<usize>]) -> Result<Self> {
        let outside = |block: &&Range<usize>| block.start > block.end || block.end > length;
        if let Some(block) = blocks.iter().find(outside) {
            return wrong_blocks(block, format!("blocks within the {length} elements"));
        }
        let unit = T::unit();
        let blocks = blocks.iter().map(|block| {
            // Within a slice neither overflows.
            let offset_bytes = block.start.wrapping_mul(size_of::<T>()) as i64;
            (offset_bytes, block.len().wrapping_mul(unit.repeat))
        });
        let layout = Layout::hindexed(blocks, unit.layout).map_err(unfit)?;
        Ok(Self {
            base: base.cast(),
            layout: layout.into(),
            types: Basics::of::<T>,
        })
    }

    fn region(&self) -> Result<Region> {
        Ok(Region::laid_out(self.base, 1, self.layout.clone())?.typed((self.types)()))
    }
}

#[cold]
fn wrong_blocks<R>(block: &Range<usize>, expected: String) -> Result<R> {
    let value = format!("{block:?}");
    Err(Error::argument(
        ErrorClass::ERR_ARG,
        "blocks",
        value,
        expected,
    ))
}

impl<'a, T: Datatype> Indexed<'a, T> {
    /// These blocks of a slice; a message holds them in this order.
    ///
    /// # Errors
    /// When a block ends outside the slice.
    pub fn new(data: &'a [T], blocks: impl IntoIterator<Item = Range<usize>>) -> Result<Self> {
        let blocks: Vec<_> = blocks.into_iter().collect();
        Ok(Self {
            blocks: Blocks::new(data.as_ptr().cast_mut(), data.len(), &blocks)?,
            data: PhantomData,
        })
    }
}

impl<'a, T: Datatype> IndexedMut<'a, T> {
    /// These blocks of a slice; a message fills them in this order.
    ///
    /// # Errors
    /// When a block ends outside the slice, or two have an element in common.
    pub fn new(data: &'a mut [T], blocks: impl IntoIterator<Item = Range<usize>>) -> Result<Self> {
        let blocks: Vec<_> = blocks.into_iter().collect();
        let described = Blocks::new(data.as_mut_ptr(), data.len(), &blocks)?;
        let mut sorted = blocks;
        sorted.retain(|block| !block.is_empty());
        sorted.sort_unstable_by_key(|block| block.start);
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].end > pair[1].start) {
            return wrong_blocks(&pair[1], format!("no elements of block {:?}", pair[0]));
        }
        Ok(Self {
            blocks: described,
            data: PhantomData,
        })
    }

    /// The same blocks for a shorter time.
    pub fn reborrow(&mut self) -> IndexedMut<'_, T> {
        IndexedMut {
            blocks: self.blocks.clone(),
            data: PhantomData,
        }
    }
}

/// A message of several buffers, of any types, anywhere in memory (MPI_Type_create_struct). It holds them in the order in
/// which they were added; no bytes are copied to put them together.
///
/// ```
/// use rankpoint::{Parts, PartsMut, Section};
///
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let (header, field) = ([7u16, 2], vec![0.5f64; 12]);
/// let column = Section::strided(&field, 1, 4)?;
/// let message = Parts::new().with(&header)?.with(&field[..2])?.with(column)?;
/// world.send(&message, world.rank(), 0)?;
///
/// let (mut kind, mut width, mut numbers) = (0u16, 0u16, [0.0f64; 5]);
/// let mut message = PartsMut::new().with(&mut kind)?.with(&mut width)?.with(&mut numbers)?;
/// world.recv(&mut message, world.rank(), 0)?;
/// assert_eq!((kind, width, numbers), (7, 2, [0.5; 5]));
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// A part cannot be received into twice:
///
/// ```compile_fail
/// let mut number = 0u32;
/// let message = rankpoint::PartsMut::new().with(&mut number)?.with(&mut number)?;
/// drop(message);
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// nor be gone before the message is:
///
/// ```compile_fail
/// let mut message = rankpoint::Parts::new();
/// {
///     let number = 0u32;
///     message = message.with(&number)?;
/// }
/// drop(message);
/// # Ok::<(), rankpoint::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Parts<'a> {
    list: List,
    parts: PhantomData<&'a ()>,
}

/// A message of several exclusively borrowed buffers, to be received into; see [`Parts`].
#[derive(Default)]
pub struct PartsMut<'a> {
    list: List,
    parts: PhantomData<&'a mut ()>,
}

/// Addresses, numbers of elements and their layouts; and the basic types of each part, where they are checked and known.
#[derive(Clone, Default)]
struct List {
    parts: Vec<(*mut u8, usize, SharedLayout)>,
    types: Vec<Option<(u64, NamedSignature)>>,
}

// SAFETY: parts are data (Datatype: Send) behind references that were given.
unsafe impl Send for PartsMut<'_> {}

impl List {
    fn add(&mut self, region: Region) {
        if region.bytes() > 0 {
            if checks_types() {
                let types = region.memory().types;
                let types = types.map(|(typed, count)| (count as u64, typed.clone()));
                self.types.push(types);
            }
            let part = region.into_parts();
            // The message is addressed from its first part; the others' memory is reached through these addresses.
            let _ = part.0.expose_provenance();
            self.parts.push(part);
        }
    }

    fn region(&self) -> Result<Region> {
        let Some(first) = self.parts.first() else {
            return Ok(Region::run(std::ptr::dangling_mut(), 0));
        };
        let base = first.0.addr();
        let blocks = self.parts.iter().map(|(start, count, layout)| {
            let distance = start.addr().wrapping_sub(base) as i64;
            let layout: &Layout = layout;
            (distance, *count, layout)
        });
        let layout = Layout::structure(blocks).map_err(unfit)?;
        let base = std::ptr::with_exposed_provenance_mut(base);
        let region = Region::laid_out(base, 1, layout.into())?;
        // Parts that were added before anything was checked have said nothing.
        let known: Option<Vec<_>> = self.types.iter().cloned().collect();
        Ok(match known {
            Some(types) if types.len() == self.parts.len() => {
                let typed = NamedSignature::of_parts("parts", types.into_iter());
                region.typed(Basics::Made(Box::new(typed)))
            }
            _ => region,
        })
    }
}

impl<'a> Parts<'a> {
    /// No parts yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more part at the end: a reference to a buffer, or a view.
    ///
    /// # Errors
    /// When the part cannot be described.
    pub fn with(mut self, part: impl Outgoing<'a>) -> Result<Self> {
        self.list.add(part.outgoing()?);
        Ok(self)
    }
}

impl<'a> PartsMut<'a> {
    /// No parts yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more part at the end: an exclusive reference to a buffer, or an exclusive view.
    ///
    /// # Errors
    /// When the part cannot be described.
    pub fn with(mut self, mut part: impl Incoming<'a>) -> Result<Self> {
        self.list.add(part.incoming()?);
        Ok(self)
    }

    /// The same parts for a shorter time.
    pub fn reborrow(&mut self) -> PartsMut<'_> {
        PartsMut {
            list: self.list.clone(),
            parts: PhantomData,
        }
    }
}

/// Sends read what a view describes.
macro_rules! readable {
    ([$($parameters:tt)*] $view:ty, $field:ident) => {
        // SAFETY: what the view describes is initialised and borrowed with it (file head).
        unsafe impl<$($parameters)*> Buffer for $view {
            fn region(&self) -> Result<Region> {
                self.$field.region()
            }
        }

        impl<$($parameters)*> fmt::Debug for $view {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let bytes = self.region().map_or(0, |region| region.bytes());
                write!(f, "{bytes} bytes of data in parts")
            }
        }
    };
}

/// Receives write what an exclusive view describes.
macro_rules! writable {
    ([$($parameters:tt)*] $view:ty, $field:ident, $shorter:ty) => {
        readable! { [$($parameters)*] $view, $field }

        // SAFETY: what the view describes is borrowed exclusively, and no byte occurs twice (file head).
        unsafe impl<$($parameters)*> BufferMut for $view {
            type View<'b> = $shorter where Self: 'b;

            fn region_mut(&mut self) -> Result<Region> {
                self.$field.region()
            }

            fn view(&mut self) -> Self::View<'_> {
                self.reborrow()
            }
        }
    };
}

readable! { [T: Datatype] Indexed<'_, T>, blocks }
readable! { [] Parts<'_>, list }
writable! { [T: Datatype] IndexedMut<'_, T>, blocks, IndexedMut<'b, T> }
writable! { [] PartsMut<'_>, list, PartsMut<'b> }
lend! { [T: Datatype] Indexed<'a, T>, shorter Indexed<'b, T>, clone }
lend! { [T: Datatype] exclusive IndexedMut<'a, T>, shorter IndexedMut<'b, T>, reborrow }
lend! { [] Parts<'a>, shorter Parts<'b>, clone }
lend! { [] exclusive PartsMut<'a>, shorter PartsMut<'b>, reborrow }
