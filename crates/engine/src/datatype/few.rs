// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short lists of numbers that need no memory of their own.

use std::ops::Deref;

/// A list of numbers; up to `N` of them lie in the object itself.
#[derive(Clone, Debug)]
pub struct Few<T, const N: usize> {
    /// How many of the few count; none where there are many.
    length: usize,
    few: [T; N],
    many: Vec<T>,
}

impl<T: Copy, const N: usize> Few<T, N> {
    /// None yet; `filler` takes the places of those that do not count.
    pub(super) const fn new(filler: T) -> Self {
        Self {
            length: 0,
            few: [filler; N],
            many: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, number: T) {
        self.extend_from_slice(&[number]);
    }

    pub(super) fn extend_from_slice(&mut self, numbers: &[T]) {
        self.extend(numbers.iter().copied());
    }

    /// Appends numbers whose number is known.
    pub(super) fn extend(&mut self, numbers: impl ExactSizeIterator<Item = T>) {
        let (old, new) = (self.length, self.length + numbers.len());
        if self.many.is_empty() && new <= N {
            for (place, number) in self.few[old..new].iter_mut().zip(numbers) {
                *place = number;
            }
            self.length = new;
            return;
        }
        if self.many.is_empty() {
            // Most long lists are all but one or two numbers in the second part.
            self.many.reserve_exact(new);
            self.many.extend_from_slice(&self.few[..old]);
            self.length = 0;
        }
        self.many.extend(numbers);
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.many.is_empty() {
            &self.few[..self.length]
        } else {
            &self.many
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
