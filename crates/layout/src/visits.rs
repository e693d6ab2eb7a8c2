// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many parts of forms the code reads, which tests bound: a walk over a range of the packed bytes may read the parts of
//! that range and search for the first of them, and nothing else that grows with the number of parts.

#[cfg(test)]
thread_local! {
    static VISITED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Records that so many parts are read. Costs nothing outside tests.
#[inline(always)]
pub(crate) fn visit(parts: usize) {
    #[cfg(test)]
    VISITED.with(|visited| visited.set(visited.get() + parts));
    #[cfg(not(test))]
    let _ = parts;
}

/// The parts that `action` reads.
#[cfg(test)]
pub(crate) fn visited_by(action: impl FnOnce()) -> usize {
    VISITED.with(|visited| visited.set(0));
    action();
    VISITED.with(std::cell::Cell::get)
}

/// Records a binary search among so many parts.
#[inline(always)]
pub(crate) fn visit_search(parts: usize) {
    visit(parts.ilog2() as usize + 1);
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "copies work on addresses")]

    use std::ops::Range;

    use super::*;
    use crate::layout::Layout;

    /// An interpreter sees fewer.
    const PARTS: usize = if cfg!(miri) { 200 } else { 3000 };
    const MEMBERS: usize = PARTS / 10;
    const CHUNK: usize = 100;

    /// Layouts without equal distances, and how many parts one element of each has. A member is searched for a nest, and its
    /// two nests are read for what lies at its ends and between.
    fn shapes() -> Vec<(Layout, usize)> {
        let byte = Layout::named(1, 1);
        // Numbers that look random: nothing repeats.
        let noise = |at: i64| (at.wrapping_mul(6_364_136_223_846_793_005) >> 40) & 3;
        let places = |width: i64| (0..PARTS as i64).map(move |at| at * (width + 4) + noise(at));
        let list = || Layout::hindexed(places(8).map(|at| (at, 8)), &byte).unwrap();
        let runs = || {
            let length = |at: i64| 5 + noise(at + 1) as usize;
            Layout::hindexed(places(8).map(|at| (at, length(at))), &byte).unwrap()
        };
        let row = Layout::repeated(3, 5, &Layout::named(2, 2)).unwrap();
        let rows = || {
            let kind = |at: i64| {
                if noise(at) == 0 {
                    (4, &byte)
                } else {
                    (1, &row)
                }
            };
            let pieces = places(20).map(|at| (at, kind(at).0, kind(at).1));
            Layout::structure(pieces).unwrap()
        };
        let pair = Layout::structure([(0, 2, &byte), (4, 4, &byte)]).unwrap();
        let pairs = || {
            let places = places(800).take(MEMBERS);
            Layout::hindexed(places.map(|at| (at, 100)), &pair).unwrap()
        };
        let twice = |old: Layout| Layout::repeated(2, old.extent() + 9, &old).unwrap();
        vec![
            (list(), PARTS),
            (runs(), PARTS),
            (rows(), PARTS),
            (twice(list()), 2 * PARTS),
            (twice(runs()), 2 * PARTS),
            (twice(rows()), 2 * PARTS),
            (pairs(), MEMBERS * 8),
            (twice(pairs()), 2 * MEMBERS * 8),
        ]
    }

    /// The parts read while each chunk of the packed bytes is handled by itself.
    fn visited_in_chunks(layout: &Layout, mut handle: impl FnMut(Range<usize>)) -> usize {
        visited_by(|| {
            for start in (0..layout.size()).step_by(CHUNK) {
                handle(start..(start + CHUNK).min(layout.size()));
            }
        })
    }

    /// A chunk is found by a search; it shares its first and last part with its neighbours, and enters one more.
    fn most_visits(layout: &Layout, parts: usize) -> usize {
        let each = PARTS.ilog2() as usize + 4;
        parts + layout.size().div_ceil(CHUNK) * each
    }

    #[test]
    fn chunks_read_their_own_parts_and_search_for_the_first() {
        for (layout, parts) in shapes() {
            let (first, bytes) = layout.span(1).unwrap();
            assert!(first >= 0);
            let mut memory = vec![0u8; first as usize + bytes];
            let mut packed = [0u8; CHUNK];
            let most = most_visits(&layout, parts);
            let visited = visited_in_chunks(&layout, |chunk| {
                // SAFETY: the memory holds an element.
                unsafe { layout.pack(memory.as_ptr(), chunk, packed.as_mut_ptr()) };
            });
            assert!((1..=most).contains(&visited), "{visited} to pack");
            let visited = visited_in_chunks(&layout, |chunk| {
                // SAFETY: the memory holds an element.
                unsafe { layout.unpack(memory.as_mut_ptr(), chunk, packed.as_ptr()) };
            });
            assert!((1..=most).contains(&visited), "{visited} to unpack");
        }
    }

    #[test]
    fn chunks_are_copied_between_layouts_without_a_look_at_the_others() {
        for (source, parts) in shapes() {
            for (target, others) in shapes() {
                if source.size() != target.size() {
                    continue;
                }
                let memory = vec![0u8; source.span(1).unwrap().1 + 100];
                let mut copied = vec![0u8; target.span(1).unwrap().1 + 100];
                let most = most_visits(&source, parts) + most_visits(&target, others);
                let visited = visited_in_chunks(&source, |chunk| {
                    // SAFETY: both memories hold an element.
                    unsafe {
                        source.copy(memory.as_ptr(), &target, copied.as_mut_ptr(), chunk);
                    }
                });
                assert!((1..=most).contains(&visited), "{visited} to copy");
            }
        }
    }
}
