// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of sections, which calls get in their places.
//!
//! A buffer that a call may store to has its elements twice: as the call gets them, and as they were. Only bytes that differ are
//! stored in the section, so an operation that is under way on other elements of it keeps what it has stored there.

use core::ffi::c_void;

use super::descriptor::{Descriptor, Dimension};

/// The elements of a section.
pub(super) struct Copy {
    base: *mut u8,
    element_bytes: usize,
    dimensions: Vec<Dimension>,
    elements: Vec<u8>,
    /// Of a buffer that the call may store to.
    before: Option<Vec<u8>>,
}

// SAFETY: the section is the program's, which lets no other thread use it while a call has it.
unsafe impl Send for Copy {}

/// Calls a function with the address of each element of a section in the order of the array, until it returns false.
///
/// # Safety
/// `base` and the dimensions are those of a section.
unsafe fn each(
    base: *mut u8,
    dimensions: &[Dimension],
    visit: &mut impl FnMut(*mut u8) -> bool,
) -> bool {
    let Some((outer, inner)) = dimensions.split_last() else {
        return visit(base);
    };
    // SAFETY: the caller's promise.
    (0..outer.extent)
        .all(|index| unsafe { each(base.offset(index * outer.stride_bytes), inner, visit) })
}

impl Copy {
    /// The first elements of a section, `bytes` long or to the end of the element there.
    ///
    /// # Safety
    /// The compiler made the descriptor, whose array has that many bytes.
    pub(super) unsafe fn new(descriptor: &Descriptor, bytes: usize, is_stored: bool) -> Self {
        let element_bytes = descriptor.element_bytes;
        let mut copy = Self {
            base: descriptor.base.cast(),
            element_bytes,
            // SAFETY: the caller's promise.
            dimensions: unsafe { descriptor.dimensions() }.to_vec(),
            elements: vec![0; bytes.next_multiple_of(element_bytes)],
            before: is_stored.then(Vec::new),
        };
        // SAFETY: as above.
        unsafe { copy.take() };
        copy
    }

    /// The address of the copy, which the C call gets in place of the section.
    pub(super) fn address(&self) -> *mut c_void {
        self.elements.as_ptr().cast_mut().cast()
    }

    /// Whether this is the address of the section.
    pub(super) fn is_of(&self, buffer: *mut c_void) -> bool {
        self.base == buffer.cast()
    }

    /// Takes the elements from the section.
    ///
    /// # Safety
    /// The section is readable.
    pub(super) unsafe fn take(&mut self) {
        let mut to = self.elements.chunks_exact_mut(self.element_bytes);
        // SAFETY: the caller's promise.
        unsafe {
            each(self.base, &self.dimensions, &mut |element| {
                let Some(to) = to.next() else {
                    return false;
                };
                core::ptr::copy_nonoverlapping(element, to.as_mut_ptr(), to.len());
                true
            });
        }
        if let Some(before) = &mut self.before {
            before.clone_from(&self.elements);
        }
    }

    /// Stores what the call changed.
    ///
    /// # Safety
    /// The section is writable.
    pub(super) unsafe fn give_back(&self) {
        let Some(before) = &self.before else {
            return;
        };
        let size = self.element_bytes;
        let mut all = (self.elements.chunks_exact(size)).zip(before.chunks_exact(size));
        // SAFETY: the caller's promise.
        unsafe {
            each(self.base, &self.dimensions, &mut |element| {
                let Some((now, before)) = all.next() else {
                    return false;
                };
                if now != before {
                    let changed = now.iter().zip(before).enumerate();
                    for (index, (now, _)) in changed.filter(|(_, (now, before))| now != before) {
                        *element.add(index) = *now;
                    }
                }
                true
            });
        }
    }
}
