// SPDX-License-Identifier: MIT OR Apache-2.0
//! One layout through a driver: packed and unpacked on the device, and compared with the processor's kernels.

use std::ops::Range;

use layout::Layout;
use layout_cuda::{Gpu, Stream};

use crate::layouts::{packed, pattern, unpack};

/// The byte of laid-out memory before something is unpacked into it.
const BEFORE: u8 = 0x33;

/// Packs and unpacks the bytes `range` of elements of a layout on a device, in memory of which no byte more is there.
pub(crate) fn check(gpu: &'static Gpu, layout: &Layout, range: Range<usize>) {
    let elements = range.end.div_ceil(layout.size().max(1)).max(1);
    let (low, span) = layout.span(elements).expect("small");
    let memory: Vec<u8> = (0..span).map(pattern).collect();
    let expected = packed(layout, &memory, -low, range.clone());
    let laid_out = gpu.allocate(span).expect("small");
    let target = gpu.allocate(range.len()).expect("small");
    let base = laid_out.address().wrapping_add_signed(-low);
    let on_device = gpu.prepare(layout).expect("a small table");
    let mut found = vec![0; range.len()];
    let mut image = vec![0; span];
    let before = vec![BEFORE; span];
    let mut wanted = before.clone();
    unpack(layout, &mut wanted, -low, range.clone(), &expected);
    let stream = Stream::default();
    // SAFETY: both memories are as long as the layout and the range need.
    unsafe {
        gpu.copy_in(laid_out.address(), memory.as_ptr(), span)
            .expect("copies");
        let packed_at = target.address();
        on_device
            .pack(base, range.clone(), packed_at, stream)
            .expect("packs");
        gpu.copy_out(packed_at, found.as_mut_ptr(), found.len())
            .expect("copies");
        gpu.copy_in(laid_out.address(), before.as_ptr(), span)
            .expect("copies");
        on_device
            .unpack(base, range.clone(), packed_at, stream)
            .expect("unpacks");
        gpu.copy_out(laid_out.address(), image.as_mut_ptr(), span)
            .expect("copies");
    }
    gpu.synchronize(stream).expect("nothing is left");
    assert!(found == expected, "packed: {layout:?} {range:?}");
    assert!(image == wanted, "unpacked: {layout:?} {range:?}");
}
