// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rank's own elements in a window.
//!
//! # Safety
//! As for windows: no references, and relaxed atomic accesses of the [`Granule`].
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use engine::rma::Granule;

use crate::data::zeros;
use crate::places::Address;
use crate::threads::Threads;
use crate::{Plain, Window};

/// The elements of this rank in a window. Other ranks may write them at any time inside their epochs, so there are no references to
/// them: elements are copied.
///
/// An element that another rank or thread writes at the same time is read as it was or as it will be if it is a number of at most 8 bytes.
/// Of a larger one or a struct, parts may be old and others new: each part is as long as the largest of 1, 2, 4 and 8 bytes that divides
/// size and alignment of the element. Threads may use it at once. Nothing here orders accesses: epochs do, or messages.
#[derive(Clone, Copy)]
pub struct Local<'w, E> {
    pub(crate) base: *mut E,
    pub(crate) length: usize,
    pub(crate) window: PhantomData<&'w E>,
}

// SAFETY: the address is that of memory which all threads access by relaxed atomics; the elements are `Send` (Datatype).
unsafe impl<E: Plain> Send for Local<'_, E> {}
// SAFETY: as for `Send`.
unsafe impl<E: Plain> Sync for Local<'_, E> {}

impl<E: Plain, T: Threads> Window<'_, E, T> {
    /// This rank's elements.
    pub fn local(&self) -> Local<'_, E> {
        Local {
            base: self.window.base().cast(),
            length: self.len(),
            window: PhantomData,
        }
    }
}

impl<E: Plain> Local<'_, E> {
    /// As that of [`Window`].
    const GRANULE: Granule = Granule::of::<E>();

    /// The address of this rank's first element, for operations of other ranks that name places by addresses.
    pub fn address(&self) -> Address<E> {
        Address::from_bits(self.base.addr() as u64)
    }

    fn at(&self, index: usize) -> *mut E {
        assert!(index < self.length, "element {index} of {}", self.length);
        self.base.wrapping_add(index)
    }

    /// An element.
    ///
    /// # Panics
    /// When `index` is not below the number of elements.
    pub fn load(&self, index: usize) -> E {
        let mut element = MaybeUninit::<E>::uninit();
        let (from, to) = (self.at(index).cast(), element.as_mut_ptr().cast());
        // SAFETY: inside the window's memory, of which the element is whole granules; any bytes are a value (Plain).
        unsafe {
            Self::GRANULE.load(from, to, size_of::<E>());
            element.assume_init()
        }
    }

    /// Replaces an element.
    ///
    /// # Panics
    /// As for [`Self::load`].
    pub fn store(&self, index: usize, value: E) {
        let (from, to) = ((&raw const value).cast(), self.at(index).cast());
        // SAFETY: as for `load`.
        unsafe { Self::GRANULE.store(from, to, size_of::<E>()) };
    }

    /// Copies all elements.
    pub fn to_vec(&self) -> Vec<E> {
        let mut all: Vec<E> = zeros(self.length);
        let (from, to) = (self.base.cast(), all.as_mut_ptr().cast());
        // SAFETY: as for `load`, of all elements.
        unsafe { Self::GRANULE.load(from, to, size_of_val(&*all)) };
        all
    }

    /// Replaces elements from the first one on.
    ///
    /// # Panics
    /// When there are more than in the window.
    pub fn copy_from(&self, values: &[E]) {
        let (count, length) = (values.len(), self.length);
        assert!(count <= length, "{count} elements for {length}");
        let (from, to) = (values.as_ptr().cast(), self.base.cast());
        // SAFETY: as for `load`, of the first elements.
        unsafe { Self::GRANULE.store(from, to, size_of_val(values)) };
    }
}
