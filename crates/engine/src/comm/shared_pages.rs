// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages of the node segment that this process took and does not use: the segment only grows, so they are kept for the next use.

use std::collections::BTreeMap;

/// Free ranges of the segment: length by offset, in bytes. No two of them touch.
#[derive(Debug, Default)]
pub(super) struct FreePages(BTreeMap<u64, u64>);

impl FreePages {
    /// Takes a range out of the shortest one that is long enough.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let fitting = self.0.iter().filter(|(_, free)| **free >= bytes);
        let (&offset, &free) = fitting.min_by_key(|(_, free)| **free)?;
        self.0.remove(&offset);
        if free > bytes {
            self.0.insert(offset + bytes, free - bytes);
        }
        Some(offset)
    }

    /// Keeps a range, joined with its neighbours.
    pub(super) fn give(&mut self, mut offset: u64, mut bytes: u64) {
        if let Some((&before, &free)) = self.0.range(..offset).next_back()
            && before + free == offset
        {
            self.0.remove(&before);
            (offset, bytes) = (before, free + bytes);
        }
        if let Some(after) = self.0.remove(&(offset + bytes)) {
            bytes += after;
        }
        self.0.insert(offset, bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_become_one_range() {
        let mut pages = FreePages::default();
        for offset in [4096, 12288, 8192, 40960] {
            pages.give(offset, 4096);
        }
        assert_eq!(pages.0, BTreeMap::from([(4096, 12288), (40960, 4096)]));
        assert_eq!(pages.take(4096), Some(40960));
        assert_eq!(pages.take(8192), Some(4096));
        assert_eq!(pages.take(8192), None);
        assert_eq!(pages.take(4096), Some(12288));
        assert!(pages.0.is_empty());
    }

    proptest! {
        /// What is taken is never handed out twice, and nothing is lost.
        #[test]
        fn ranges_in_use_are_disjoint(steps in proptest::collection::vec((any::<bool>(), 1..6u64), 1..80)) {
            let (mut pages, mut top, mut used) = (FreePages::default(), 0, Vec::<(u64, u64)>::new());
            for (takes, size) in steps {
                if takes || used.is_empty() {
                    let offset = pages.take(size).unwrap_or_else(|| {
                        top += size;
                        top - size
                    });
                    prop_assert!(used.iter().all(|&(o, s)| offset + size <= o || o + s <= offset));
                    used.push((offset, size));
                } else {
                    let (offset, size) = used.swap_remove(size as usize % used.len());
                    pages.give(offset, size);
                }
                let held: u64 = used.iter().map(|(_, size)| size).sum();
                prop_assert_eq!(held + pages.0.values().sum::<u64>(), top);
            }
        }
    }
}
