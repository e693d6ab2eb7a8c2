// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counting basic elements (MPI-5.0, section 5.1.11): MPI_Get_count and MPI_Get_elements.

use super::contents::{Combiner, Old};
use super::predefined::{Predefined, Shape};
use super::{Contents, Datatype};

/// Sizes of the basic elements of a predefined type: a pair has two.
pub(super) fn basic_parts(row: &Predefined) -> Vec<usize> {
    match row.shape {
        Shape::Pair(value, index) => vec![value.size(), index.size()],
        shape => vec![shape.size()],
    }
}

impl Datatype {
    /// The number of whole elements that `bytes` packed bytes are (MPI_Get_count); `None` is MPI_UNDEFINED.
    pub fn count_of(&self, bytes: u64) -> Option<u64> {
        match self.size() as u64 {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then_some(bytes / size),
        }
    }

    /// The number of basic elements that `bytes` packed bytes are (MPI_Get_elements); `None` is MPI_UNDEFINED.
    pub fn elements_of(&self, bytes: u64) -> Option<u64> {
        let size = self.size() as u64;
        if size == 0 {
            return (bytes == 0).then_some(0);
        }
        let mut found = (bytes / size).checked_mul(self.elements())?;
        let mut rest = bytes % size;
        let mut datatype = self;
        while rest > 0 {
            if let Some(each) = datatype.element_bytes() {
                let each = each as u64;
                return rest.is_multiple_of(each).then(|| found + rest / each);
            }
            if let Some(row) = datatype.row() {
                // A pair: the value is complete or nothing is.
                return (rest == basic_parts(row)[0] as u64).then_some(found + 1);
            }
            let (before, left, inside) = descend(datatype.contents(), rest, |part| {
                (part.size() as u64, part.elements())
            })?;
            found += before;
            rest = left;
            datatype = inside;
        }
        Some(found)
    }

    /// The packed bytes of so many basic elements (the inverse of [`Self::elements_of`]); `None` when they do not fit.
    pub fn bytes_of_elements(&self, count: i64) -> Option<u64> {
        let count = u64::try_from(count).ok()?;
        let whole = count.checked_div(self.elements()).unwrap_or(0);
        let mut found = whole.checked_mul(self.size() as u64)?;
        let mut rest = count - whole * self.elements();
        let mut datatype = self;
        while rest > 0 && self.elements() > 0 {
            if let Some(each) = datatype.element_bytes() {
                return found.checked_add(rest.checked_mul(each as u64)?);
            }
            if let Some(row) = datatype.row() {
                return found.checked_add(basic_parts(row)[0] as u64);
            }
            let (before, left, inside) = descend(datatype.contents(), rest, |part| {
                (part.elements(), part.size() as u64)
            })?;
            found = found.checked_add(before)?;
            rest = left;
            datatype = inside;
        }
        Some(found)
    }
}

/// Walks the parts of one element until `rest` of a measure ends inside one: the other measure of what lies before it, what
/// is left, and its type. `measures` gives a part's measure that `rest` counts, and the other.
fn descend(
    contents: &Contents,
    mut rest: u64,
    measures: impl Fn(&Datatype) -> (u64, u64),
) -> Option<(u64, u64, &Datatype)> {
    let mut found = 0;
    let lengths = contents.block_lengths();
    let mut last = None;
    for (part, length) in contents.types.iter().zip(lengths) {
        let (measure, other) = measures(part);
        if measure == 0 {
            continue;
        }
        let whole = (rest / measure).min(length);
        found += whole * other;
        rest -= whole * measure;
        last = Some(part);
        if rest < measure && whole < length {
            break;
        }
    }
    last.map(|part: &Old| (found, rest, &***part))
}

impl Contents {
    /// How many elements of each of its types one element consists of, for a walk in packing order that stays inside one
    /// element: the only type of all constructors but the struct may repeat without end.
    pub(super) fn block_lengths(&self) -> Vec<u64> {
        if self.combiner != Combiner::Struct {
            return vec![u64::MAX; self.types.len()];
        }
        let blocks = self.types.len();
        if self.is_large() {
            self.counts[1..=blocks].iter().map(|&n| n as u64).collect()
        } else {
            self.integers[1..=blocks]
                .iter()
                .map(|&n| n as u64)
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Width, predefined};
    use super::*;

    fn named(code: u32) -> Arc<Datatype> {
        Predefined::find(code).unwrap().datatype().clone()
    }

    #[test]
    fn partial_elements_count_their_basic_parts() {
        let (int, double) = (named(predefined::INT), named(predefined::DOUBLE));
        let record =
            Datatype::structure(&[2, 1], &[0, 8], &[int.clone(), double], Width::Int).unwrap();
        let three = Datatype::contiguous(3, &record, Width::Int).unwrap();
        let nested = Datatype::structure(&[1, 4], &[0, 64], &[three, int], Width::Count).unwrap();
        assert_eq!(nested.elements(), 13);
        let expected = [
            (0, Some(0)),
            (4, Some(1)),
            (8, Some(2)),
            (12, None),
            (16, Some(3)),
            (20, Some(4)),
            (48, Some(9)),
            (52, Some(10)),
            (64, Some(13)),
            (68, Some(14)),
        ];
        for (bytes, elements) in expected {
            assert_eq!(nested.elements_of(bytes), elements, "{bytes} bytes");
            if let Some(elements) = elements {
                assert_eq!(nested.bytes_of_elements(elements as i64), Some(bytes));
            }
        }
        assert_eq!(nested.count_of(128), Some(2));
        assert_eq!(nested.count_of(65), None);
    }

    #[test]
    fn pairs_are_two_elements() {
        let pair = named(predefined::DOUBLE_INT);
        assert_eq!(pair.elements_of(12), Some(2));
        assert_eq!(pair.elements_of(20), Some(3));
        assert_eq!(pair.elements_of(16), None);
    }
}
