// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short lists of numbers that need no memory of their own.

use std::ops::Deref;

/// A list of numbers; up to `N` (at most 255) of them lie in the object itself.
#[derive(Clone, Debug)]
pub enum Few<T, const N: usize> {
    /// How many of them count, and room for all.
    Inside(u8, [T; N]),
    /// More.
    Outside(Vec<T>),
}

impl<T: Copy, const N: usize> Few<T, N> {
    /// None yet; `filler` takes the places of those that do not count.
    #[inline]
    pub(super) const fn new(filler: T) -> Self {
        Self::Inside(0, [filler; N])
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
        match self {
            Self::Inside(length, places) => {
                let (old, new) = (usize::from(*length), usize::from(*length) + numbers.len());
                if new <= N {
                    for (place, number) in places[old..new].iter_mut().zip(numbers) {
                        *place = number;
                    }
                    *length = new as u8;
                } else {
                    // Most long lists are all but one or two numbers in the second part.
                    let mut many = Vec::with_capacity(new);
                    many.extend_from_slice(&places[..old]);
                    many.extend(numbers);
                    *self = Self::Outside(many);
                }
            }
            Self::Outside(many) => many.extend(numbers),
        }
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Inside(length, places) => &places[..usize::from(*length)],
            Self::Outside(many) => many,
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
