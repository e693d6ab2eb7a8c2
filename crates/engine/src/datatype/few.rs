// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short lists of numbers that need no memory of their own.

use std::ops::Deref;

/// A list of numbers; up to `N` of them lie in the object itself.
#[derive(Clone, Debug)]
pub struct Few<T, const N: usize> {
    /// All of them, where there are many.
    #[expect(
        clippy::box_collection,
        reason = "one word in an object that hardly ever has one"
    )]
    many: Option<Box<Vec<T>>>,
    /// How many of the few count.
    length: usize,
    few: [T; N],
}

impl<T: Copy, const N: usize> Few<T, N> {
    /// None yet; `filler` takes the places of those that do not count.
    #[inline(always)]
    pub(super) const fn new(filler: T) -> Self {
        Self {
            many: None,
            length: 0,
            few: [filler; N],
        }
    }

    pub(super) fn push(&mut self, number: T) {
        self.extend_from_slice(&[number]);
    }

    pub(super) fn extend_from_slice(&mut self, numbers: &[T]) {
        self.extend(numbers.iter().copied());
    }

    /// Appends numbers whose number is known.
    #[inline]
    pub(super) fn extend(&mut self, numbers: impl ExactSizeIterator<Item = T>) {
        let (old, new) = (self.length, self.length + numbers.len());
        match &mut self.many {
            None if new <= N => {
                for (place, number) in self.few[old..new].iter_mut().zip(numbers) {
                    *place = number;
                }
                self.length = new;
            }
            None => {
                // Most long lists are all but one or two numbers in the second part.
                let mut many = Vec::with_capacity(new);
                many.extend_from_slice(&self.few[..old]);
                many.extend(numbers);
                self.many = Some(Box::new(many));
            }
            Some(many) => many.extend(numbers),
        }
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.many {
            None => &self.few[..self.length],
            Some(many) => many,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_hold_what_was_put_in() {
        for length in 0..12i32 {
            for first in 0..=length {
                let mut list = Few::<i32, 4>::new(0);
                list.extend(0..first);
                list.extend_from_slice(&(first..length).collect::<Vec<_>>());
                list.push(77);
                let expected: Vec<i32> = (0..length).chain([77]).collect();
                assert_eq!(list[..], expected[..]);
            }
        }
    }
}
