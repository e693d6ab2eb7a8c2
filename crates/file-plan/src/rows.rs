// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of ranges.

use std::ops::Range;

/// `count` ranges of `bytes` bytes, `stride` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where the first one begins.
    pub offset: u64,
    /// Bytes of each.
    pub bytes: u64,
    /// How many there are.
    pub count: u64,
    /// From the begin of one to that of the next.
    pub stride: u64,
}

/// Words of a row in messages.
const WORDS: usize = 4;

/// Ranges of a file, in the order in which a rank has their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(Vec<Row>);

impl Rows {
    /// Adds a range.
    pub fn push(&mut self, offset: u64, bytes: u64) {
        if let Some(last) = self.0.last_mut() {
            if last.count == 1 && last.offset + last.bytes == offset {
                last.bytes += bytes;
                return;
            }
            if last.bytes == bytes && last.count == 1 && offset > last.offset {
                (last.count, last.stride) = (2, offset - last.offset);
                return;
            }
            if last.bytes == bytes
                && last.count > 1
                && last.stride.checked_mul(last.count) == offset.checked_sub(last.offset)
            {
                last.count += 1;
                return;
            }
        }
        self.0.push(Row {
            offset,
            bytes,
            count: 1,
            stride: 0,
        });
    }

    /// Each range.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().flat_map(|row| {
            (0..row.count).map(|index| {
                let start = row.offset + index * row.stride;
                start..start + row.bytes
            })
        })
    }

    /// Bytes of all ranges.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|row| row.bytes * row.count).sum()
    }

    /// Bytes of the ranges that lie before an offset.
    pub fn bytes_before(&self, offset: u64) -> u64 {
        let before = |range: Range<u64>| offset.clamp(range.start, range.end) - range.start;
        self.ranges().map(before).sum()
    }

    /// Whether all ranges lie in a part of the file.
    pub fn lie_in(&self, part: &Range<u64>) -> bool {
        self.0.iter().all(|row| {
            let far = row.stride.checked_mul(row.count.saturating_sub(1));
            let end = far
                .and_then(|far| row.offset.checked_add(far))
                .and_then(|last| last.checked_add(row.bytes));
            row.offset >= part.start && end.is_some_and(|end| end <= part.end)
        })
    }

    /// As words of a message.
    pub fn to_words(&self) -> Vec<u64> {
        let words = |row: &Row| [row.offset, row.bytes, row.count, row.stride];
        self.0.iter().flat_map(words).collect()
    }

    /// The ranges of the words of a message.
    pub fn of_words(words: &[u64]) -> Self {
        let row = |words: &[u64]| Row {
            offset: words[0],
            bytes: words[1],
            count: words[2],
            stride: words[3],
        };
        Self(words.chunks_exact(WORDS).map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ranges_at_equal_distances_are_one_row() {
        let mut rows = Rows::default();
        for index in 0..1000 {
            rows.push(100 + index * 16, 8);
        }
        assert_eq!(rows.0.len(), 1);
        assert_eq!(rows.bytes(), 8000);
        assert_eq!(rows.bytes_before(132), 16);
        assert_eq!(rows.bytes_before(120), 12);
        assert!(rows.lie_in(&(100..16_092)) && !rows.lie_in(&(100..16_091)));
        assert_eq!(Rows::of_words(&rows.to_words()), rows);
    }

    #[test]
    fn any_ranges_come_back_in_order() {
        let given = [
            (0, 4),
            (4, 4),
            (20, 8),
            (36, 8),
            (52, 8),
            (70, 8),
            (10, 2),
            (10, 2),
        ];
        let mut rows = Rows::default();
        for (offset, bytes) in given {
            rows.push(offset, bytes);
        }
        let expected = [0..8, 20..28, 36..44, 52..60, 70..78, 10..12, 10..12];
        assert!(rows.ranges().eq(expected));
    }
}
