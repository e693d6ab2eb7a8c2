// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers of messages: values, slices, and views of memory that is not one run of bytes.
//!
//! # Safety
//! This file turns typed data into addresses and layouts. That is sound because [`Datatype`] names the bytes that may be read
//! and, through an exclusive reference, overwritten with anything.
#![expect(unsafe_code, reason = "the traits promise facts about memory")]

use engine::coll::Block;
use engine::coll::fast::Span;
use engine::datatype::{NamedSignature, Predefined, checks_types};
use engine::p2p::Memory;
use engine::{Error, ErrorClass, Result};
use layout::{Layout, LayoutError, SharedLayout};

use crate::data::{Datatype, Values, is_dense, value_types};

/// Which bytes of memory a message consists of.
#[derive(Debug)]
pub struct Region {
    base: *mut u8,
    bytes: usize,
    /// Layout and number of elements, where the data are not one run from `base` on.
    layout: Option<(SharedLayout, usize)>,
    types: Basics,
}

/// Which basic types a region consists of: looked up only where that is checked.
#[derive(Debug)]
pub(crate) enum Basics {
    /// Nobody has said.
    Unknown,
    /// Elements of the predefined type with this number.
    Predefined(u32),
    /// Values whose types are told by this function.
    Values(fn() -> Option<Values>),
    /// These, once.
    Made(Box<NamedSignature>),
}

impl Basics {
    /// Of values of a type.
    pub(crate) const fn of<T: Datatype>() -> Self {
        match T::BASIC {
            Some(code) => Self::Predefined(code),
            None => Self::Values(value_types::<T>),
        }
    }
}

static BYTE: Layout = Layout::named(1, 1);

impl Region {
    /// One run of bytes.
    #[inline(always)]
    pub(crate) const fn run(base: *mut u8, bytes: usize) -> Self {
        Self {
            base,
            bytes,
            layout: None,
            types: Basics::Unknown,
        }
    }

    /// The same memory, of these basic types.
    #[inline(always)]
    pub(crate) fn typed(self, types: Basics) -> Self {
        Self { types, ..self }
    }

    /// `count` elements of a layout.
    pub(crate) fn laid_out(base: *mut u8, count: usize, layout: SharedLayout) -> Result<Self> {
        let Some(memory) = Memory::laid_out(base, count, &layout) else {
            return Err(unfit(LayoutError::Overflow));
        };
        let (base, bytes) = (memory.base, memory.bytes);
        Ok(match memory.layout {
            None => Self::run(base, bytes),
            Some(_) => Self {
                base,
                bytes,
                layout: Some((layout, count)),
                types: Basics::Unknown,
            },
        })
    }

    /// `count` values in a row.
    #[inline(always)]
    pub(crate) fn values<T: Datatype>(base: *const T, count: usize) -> Result<Self> {
        if let Some((base, bytes)) = run_of(base.cast_mut(), count) {
            return Ok(Self::run(base, bytes).typed(const { Basics::of::<T>() }));
        }
        let unit = T::unit();
        let layout = SharedLayout::Forever(unit.layout);
        let elements = count.wrapping_mul(unit.repeat);
        let region = Self::laid_out(base.cast_mut().cast(), elements, layout)?;
        Ok(region.typed(const { Basics::of::<T>() }))
    }

    /// Packs data that are not one run of bytes, if they fit.
    pub(crate) fn pack_into(&self, target: &mut [u8]) -> Option<usize> {
        let (layout, _) = self.layout.as_ref()?;
        let target = target.get_mut(..self.bytes)?;
        // SAFETY: the data are readable (Buffer), the target is as long, and of the caller's own.
        unsafe { layout.pack(self.base, 0..self.bytes, target.as_mut_ptr()) };
        Some(self.bytes)
    }

    /// Packed length in bytes.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The run of bytes that it is, if it is one: as short collectives take it.
    #[inline(always)]
    pub(crate) fn dense(&self) -> Option<Span> {
        match self.layout {
            None => Span::new(self.base, self.bytes),
            Some(_) => None,
        }
    }

    /// As point-to-point operations take it.
    #[inline(always)]
    pub(crate) fn memory(&self) -> Memory<'_> {
        Memory {
            base: self.base,
            bytes: self.bytes,
            layout: self.layout.as_ref().map(|(layout, count)| (layout, *count)),
            types: match self.types {
                Basics::Unknown => None,
                _ if checks_types() => self.types(),
                _ => None,
            },
        }
    }

    /// The basic types of an element, and the number of elements, where they are known.
    #[cold]
    #[inline(never)]
    fn types(&self) -> Option<(&NamedSignature, usize)> {
        match &self.types {
            Basics::Unknown => None,
            Basics::Predefined(code) => {
                let datatype = Predefined::find(*code)?.datatype();
                Some((datatype.typed(), self.bytes / datatype.size()))
            }
            Basics::Values(types) => {
                let (typed, bytes) = types()?;
                Some((typed, self.bytes.checked_div(bytes)?))
            }
            Basics::Made(typed) => Some((typed, 1)),
        }
    }

    /// As collectives take it.
    ///
    /// # Safety
    /// That of [`Block::new`]: the memory stays borrowed until the collective is complete.
    pub(crate) unsafe fn into_block(self) -> Block {
        let (layout, count) = self
            .layout
            .unwrap_or((SharedLayout::Forever(&BYTE), self.bytes));
        // SAFETY: the caller's promise.
        unsafe { Block::new(self.base, count, layout) }
    }

    /// Base address, elements and layout.
    pub(crate) fn into_parts(self) -> (*mut u8, usize, SharedLayout) {
        let (layout, count) = self
            .layout
            .unwrap_or((SharedLayout::Forever(&BYTE), self.bytes));
        (self.base, count, layout)
    }
}

/// The error of a view that cannot be described.
#[cold]
pub(crate) fn unfit(error: LayoutError) -> Error {
    Error::new(ErrorClass::ERR_BUFFER, error.to_string())
}

/// Data that can be sent: a value, a slice, or a view of memory ([`Section`](crate::Section), [`Indexed`](crate::Indexed),
/// [`Parts`](crate::Parts), with the feature `ndarray` its arrays).
///
/// ```compile_fail
/// # let universe = rankpoint::Universe::init()?;
/// let words = ["no".to_owned()];
/// universe.world().send(&words[..], 0, 0)?;
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// # Safety
/// The bytes of the region are initialised data of values that are borrowed as long as the buffer is; a run is the whole region.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent",
    note = "values and slices of types that implement `rankpoint::Datatype`, and views of them, can; a vector as `data[..]`"
)]
pub unsafe trait Buffer {
    /// The bytes, in the order in which they travel.
    #[doc(hidden)]
    fn region(&self) -> Result<Region>;

    /// Address and length, where the type says that the data are one run of bytes.
    #[doc(hidden)]
    #[inline(always)]
    fn run(&self) -> Option<(*const u8, usize)> {
        None
    }
}

/// Memory that can receive data: a value, a slice, or an exclusive view.
///
/// A view that only reads cannot:
///
/// ```compile_fail
/// # let universe = rankpoint::Universe::init()?;
/// let data = [0.0f64; 12];
/// let mut column = rankpoint::Section::strided(&data, 1, 4)?;
/// universe.world().recv(&mut column, 0, 0)?;
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// # Safety
/// The bytes of [`Self::region_mut`] are borrowed exclusively as long as the buffer is, no byte occurs twice, and anything
/// may be written to them; [`Self::run_mut`] is the whole region.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be received into",
    note = "values and slices of types that implement `rankpoint::Datatype`, and exclusive views of them, can; a vector as `data[..]`",
    note = "`recv_vec` makes a vector of a message of any length"
)]
pub unsafe trait BufferMut: Buffer {
    /// The same memory borrowed for a shorter time: a reference or a view.
    type View<'b>
    where
        Self: 'b;

    /// The bytes, in the order in which they travel.
    #[doc(hidden)]
    fn region_mut(&mut self) -> Result<Region>;

    /// As [`Buffer::run`].
    #[doc(hidden)]
    #[inline(always)]
    fn run_mut(&mut self) -> Option<(*mut u8, usize)> {
        None
    }

    /// The same memory borrowed for a shorter time. What it gives must not let the memory be taken out of the buffer.
    #[doc(hidden)]
    fn view(&mut self) -> Self::View<'_>;
}

/// Address and length of values in a row, where these are nothing but their bytes.
#[inline(always)]
const fn run_of<T: Datatype>(base: *mut T, count: usize) -> Option<(*mut u8, usize)> {
    if const { !is_dense::<T>() } {
        return None;
    }
    // The bytes of values fit into the address space.
    Some((base.cast(), count.wrapping_mul(size_of::<T>())))
}

/// As [`run_of`], of values that are read.
#[inline(always)]
fn run_to_read<T: Datatype>(base: *const T, count: usize) -> Option<(*const u8, usize)> {
    run_of(base.cast_mut(), count).map(|(base, bytes)| (base.cast_const(), bytes))
}

// SAFETY: one value, whose data `Datatype` describes.
unsafe impl<T: Datatype> Buffer for T {
    #[inline(always)]
    fn region(&self) -> Result<Region> {
        Region::values(&raw const *self, 1)
    }

    #[inline(always)]
    fn run(&self) -> Option<(*const u8, usize)> {
        run_to_read(&raw const *self, 1)
    }
}

// SAFETY: as for reading, of a value borrowed exclusively.
unsafe impl<T: Datatype> BufferMut for T {
    type View<'b> = &'b mut T;

    fn view(&mut self) -> &mut T {
        self
    }

    #[inline(always)]
    fn region_mut(&mut self) -> Result<Region> {
        Region::values(&raw mut *self, 1)
    }

    #[inline(always)]
    fn run_mut(&mut self) -> Option<(*mut u8, usize)> {
        run_of(&raw mut *self, 1)
    }
}

// SAFETY: values in a row, whose data `Datatype` describes.
unsafe impl<T: Datatype> Buffer for [T] {
    #[inline(always)]
    fn region(&self) -> Result<Region> {
        Region::values(self.as_ptr(), self.len())
    }

    #[inline(always)]
    fn run(&self) -> Option<(*const u8, usize)> {
        run_to_read(self.as_ptr(), self.len())
    }
}

// SAFETY: as for reading, of values borrowed exclusively.
unsafe impl<T: Datatype> BufferMut for [T] {
    type View<'b> = &'b mut [T];

    fn view(&mut self) -> &mut [T] {
        self
    }

    #[inline(always)]
    fn region_mut(&mut self) -> Result<Region> {
        Region::values(self.as_mut_ptr(), self.len())
    }

    #[inline(always)]
    fn run_mut(&mut self) -> Option<(*mut u8, usize)> {
        run_of(self.as_mut_ptr(), self.len())
    }
}

/// Borrowed memory that can be lent on for a shorter time.
///
/// # Safety
/// The result of [`Self::lend`] does not let the memory be taken out: when the loan ends, this value refers to the same memory as
/// before.
pub unsafe trait Lend {
    /// The same memory borrowed for a shorter time.
    type View<'b>
    where
        Self: 'b;

    /// Lends the memory.
    #[doc(hidden)]
    fn lend(&mut self) -> Self::View<'_>;
}

/// Data of a nonblocking send: memory that stays borrowed for `'a`, as a reference to a [`Buffer`] or a view by value.
///
/// # Safety
/// The bytes of the region are initialised and borrowed for `'a`; a run is the whole region.
pub unsafe trait Outgoing<'a>: Lend {
    /// The bytes, in the order in which they travel.
    #[doc(hidden)]
    fn outgoing(&self) -> Result<Region>;

    /// As [`Buffer::run`].
    #[doc(hidden)]
    #[inline(always)]
    fn outgoing_run(&self) -> Option<(*const u8, usize)> {
        None
    }
}

/// Memory of a nonblocking receive, which stays borrowed exclusively for `'a`: a reference to a [`BufferMut`] or a view
/// by value.
///
/// # Safety
/// The bytes of the region are borrowed exclusively for `'a`, none occurs twice, and anything may be written to them;
/// [`Self::incoming_run`] is the whole region.
pub unsafe trait Incoming<'a>: Outgoing<'a> {
    /// The bytes, in the order in which they travel.
    #[doc(hidden)]
    fn incoming(&mut self) -> Result<Region>;

    /// As [`Buffer::run`].
    #[doc(hidden)]
    #[inline(always)]
    fn incoming_run(&mut self) -> Option<(*mut u8, usize)> {
        None
    }
}

// SAFETY: what is borrowed to be read can be copied, and stays.
unsafe impl<B: Buffer + ?Sized> Lend for &B {
    type View<'b>
        = &'b B
    where
        Self: 'b;

    fn lend(&mut self) -> &B {
        self
    }
}

// SAFETY: a buffer is borrowed as long as the reference to it.
unsafe impl<'a, B: Buffer + ?Sized> Outgoing<'a> for &'a B {
    fn outgoing(&self) -> Result<Region> {
        (**self).region()
    }

    #[inline(always)]
    fn outgoing_run(&self) -> Option<(*const u8, usize)> {
        (**self).run()
    }
}

// SAFETY: the buffer's views do not let its memory be taken out.
unsafe impl<B: BufferMut + ?Sized> Lend for &mut B {
    type View<'b>
        = B::View<'b>
    where
        Self: 'b;

    fn lend(&mut self) -> B::View<'_> {
        (**self).view()
    }
}

// SAFETY: a buffer is borrowed as long as the reference to it.
unsafe impl<'a, B: BufferMut + ?Sized> Outgoing<'a> for &'a mut B {
    fn outgoing(&self) -> Result<Region> {
        (**self).region()
    }

    #[inline(always)]
    fn outgoing_run(&self) -> Option<(*const u8, usize)> {
        (**self).run()
    }
}

// SAFETY: as above, exclusively.
unsafe impl<'a, B: BufferMut + ?Sized> Incoming<'a> for &'a mut B {
    fn incoming(&mut self) -> Result<Region> {
        (**self).region_mut()
    }

    #[inline(always)]
    fn incoming_run(&mut self) -> Option<(*mut u8, usize)> {
        (**self).run_mut()
    }
}

// SAFETY: nothing is lent.
unsafe impl Lend for () {
    type View<'b> = ();

    fn lend(&mut self) {}
}

// SAFETY: each part stays.
unsafe impl<A: Lend, B: Lend> Lend for (A, B) {
    type View<'b>
        = (A::View<'b>, B::View<'b>)
    where
        Self: 'b;

    fn lend(&mut self) -> Self::View<'_> {
        (self.0.lend(), self.1.lend())
    }
}

// SAFETY: each part stays.
unsafe impl<L: Lend> Lend for Vec<L> {
    type View<'b>
        = Vec<L::View<'b>>
    where
        Self: 'b;

    fn lend(&mut self) -> Self::View<'_> {
        self.iter_mut().map(L::lend).collect()
    }
}

/// Views are given to nonblocking operations by value; `shorter` is the type of the same view for a shorter time.
macro_rules! lend {
    ([$($parameters:tt)*] $view:ty, shorter $shorter:ty, $lend:ident) => {
        // SAFETY: a loan is a view of its own of the same memory.
        unsafe impl<'a, $($parameters)*> $crate::buffer::Lend for $view {
            type View<'b> = $shorter where Self: 'b;

            fn lend(&mut self) -> Self::View<'_> {
                self.$lend()
            }
        }

        // SAFETY: the view borrows its memory for 'a.
        unsafe impl<'a, $($parameters)*> $crate::buffer::Outgoing<'a> for $view {
            fn outgoing(&self) -> engine::Result<$crate::buffer::Region> {
                $crate::buffer::Buffer::region(self)
            }
        }
    };
    ([$($parameters:tt)*] exclusive $view:ty, shorter $shorter:ty, $lend:ident) => {
        $crate::buffer::lend! { [$($parameters)*] $view, shorter $shorter, $lend }

        // SAFETY: the view borrows its memory exclusively for 'a.
        unsafe impl<'a, $($parameters)*> $crate::buffer::Incoming<'a> for $view {
            fn incoming(&mut self) -> engine::Result<$crate::buffer::Region> {
                $crate::buffer::BufferMut::region_mut(self)
            }
        }
    };
}
pub(crate) use lend;
