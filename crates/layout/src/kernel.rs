// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between laid-out memory and packed bytes, for any range of the packed bytes.

use std::ops::Range;

use crate::form::{Form, Layout};

impl Layout {
    /// Packs the bytes `range` of the packed form of the elements at `base` into `target`.
    ///
    /// # Safety
    /// All bytes that the elements touched by `range` describe relative to `base` are readable, and `target` is writable
    /// for the length of `range` and does not overlap them.
    pub unsafe fn pack(&self, base: *const u8, range: Range<usize>, mut target: *mut u8) {
        self.for_each_run(range, |offset, bytes| {
            // SAFETY: the run is part of an element the caller vouches for; `target` advances by what was written.
            unsafe {
                copy(base.wrapping_offset(offset as isize), target, bytes);
                target = target.add(bytes);
            }
        });
    }

    /// Unpacks `source` into the bytes `range` of the packed form of the elements at `base`.
    ///
    /// # Safety
    /// As for [`Layout::pack`], with the memory at `base` writable and `source` readable.
    pub unsafe fn unpack(&self, base: *mut u8, range: Range<usize>, mut source: *const u8) {
        self.for_each_run(range, |offset, bytes| {
            // SAFETY: the run is part of an element the caller vouches for; `source` advances by what was read.
            unsafe {
                copy(source, base.wrapping_offset(offset as isize), bytes);
                source = source.add(bytes);
            }
        });
    }

    /// Calls `action` with the offset and length of each contiguous run in the packed bytes `range`, in packing order.
    pub fn for_each_run(&self, range: Range<usize>, mut action: impl FnMut(i64, usize)) {
        if self.size() == 0 {
            return;
        }
        let mut position = range.start;
        while position < range.end {
            let element = position / self.size();
            let within = position % self.size();
            let (mut index, mut skip) = self.locate(within);
            let base = self.extent() * element as i64;
            let element_end = (element + 1) * self.size();
            while position < range.end.min(element_end) {
                let block = self.block(index);
                let bytes = (block.bytes - skip).min(range.end - position);
                action(base + block.offset + skip as i64, bytes);
                position += bytes;
                skip = 0;
                index += 1;
            }
        }
    }

    /// The block that holds packed position `within` of an element, and the bytes of it that lie before.
    fn locate(&self, within: usize) -> (usize, usize) {
        match &self.form {
            Form::Strided { bytes, .. } => (within / bytes, within % bytes),
            Form::Blocks { packed_before, .. } => {
                let index = packed_before.partition_point(|&start| start <= within) - 1;
                (index, within - packed_before[index])
            }
        }
    }
}

/// Copies one run; short fixed lengths without a call.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes, and they do not overlap.
#[inline(always)]
unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; each arm copies exactly `bytes` bytes.
    unsafe {
        match bytes {
            1 => target.write(source.read()),
            4 => target
                .cast::<u32>()
                .write_unaligned(source.cast::<u32>().read_unaligned()),
            8 => target
                .cast::<u64>()
                .write_unaligned(source.cast::<u64>().read_unaligned()),
            16 => target
                .cast::<u128>()
                .write_unaligned(source.cast::<u128>().read_unaligned()),
            _ => std::ptr::copy_nonoverlapping(source, target, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs by the definition: every byte of every block of every element.
    fn oracle(layout: &Layout, memory: &[u8], base: usize, count: usize) -> Vec<u8> {
        let mut packed = Vec::new();
        for element in 0..count as i64 {
            for block in layout.blocks() {
                let at = base as i64 + element * layout.extent() + block.offset;
                packed.extend_from_slice(&memory[at as usize..at as usize + block.bytes]);
            }
        }
        packed
    }

    #[test]
    fn any_range_packs_and_unpacks_like_the_definition() {
        let byte = Layout::named(1, 1);
        let double = Layout::named(8, 8);
        let column = Layout::vector(5, 1, 7, &double).unwrap();
        let ragged = Layout::hindexed(&[(40, 3), (0, 2), (100, 1)], &double).unwrap();
        let nested = Layout::hvector(2, 1, 600, &ragged).unwrap();
        let backwards = Layout::hvector(4, 1, -16, &double).unwrap();
        let mixed = Layout::structure(&[(0, 1, &double), (9, 3, &byte), (16, 1, &column)])
            .unwrap()
            .resized(0, 400);
        for layout in [byte, double, column, ragged, nested, backwards, mixed] {
            let memory: Vec<u8> = (0..8192u32).map(|i| (i * 31 + i / 256) as u8).collect();
            let base = 1024;
            let all = oracle(&layout, &memory, base, 3);
            assert_eq!(all.len(), layout.size() * 3);
            for start in 0..all.len() {
                for end in [start, start + 1, (start + all.len()) / 2, all.len()] {
                    let end = end.min(all.len());
                    let mut packed = vec![0u8; end - start];
                    let mut copy = vec![0u8; memory.len()];
                    // SAFETY: three elements around `base` lie inside `memory`; `packed` is as long as the range.
                    unsafe {
                        layout.pack(memory.as_ptr().add(base), start..end, packed.as_mut_ptr());
                        layout.unpack(copy.as_mut_ptr().add(base), start..end, packed.as_ptr());
                    }
                    assert_eq!(packed, all[start..end], "{layout:?} {start}..{end}");
                    assert_eq!(oracle(&layout, &copy, base, 3)[start..end], all[start..end]);
                }
            }
        }
    }

    #[test]
    fn equal_objects_have_equal_forms() {
        let float = Layout::named(4, 4);
        let vector = Layout::vector(6, 2, 5, &float).unwrap();
        let pieces: Vec<_> = (0..6).map(|i| (i * 20, 2)).collect();
        assert_eq!(Layout::hindexed(&pieces, &float).unwrap(), vector);
        assert!(
            Layout::vector(3, 4, 4, &float)
                .unwrap()
                .contiguous_start(1)
                .is_some()
        );
        assert_eq!(vector.true_extent(), 108);
    }

    #[test]
    fn overflow_is_an_error() {
        let double = Layout::named(8, 8);
        assert!(Layout::contiguous(usize::MAX / 4, &double).is_err());
    }
}
