// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing tried out.
#![expect(unsafe_code, reason = "packing works on addresses")]

use std::time::{Duration, Instant};

use layout::Layout;

/// Most memory that is used.
const MOST_BYTES: usize = 1 << 30;
/// How long it is tried.
const TIME: Duration = Duration::from_millis(200);

/// Packs `count` elements again and again, and gives the best speed in GB/s.
pub(super) fn pack(layout: &Layout, count: usize) -> Result<f64, String> {
    let bytes = layout.size().saturating_mul(count);
    let fits = |&(_, span): &(i64, usize)| span.saturating_add(bytes) <= MOST_BYTES;
    let (first, span) = layout.span(count).filter(fits).ok_or_else(|| {
        "more than 1 GiB of memory is needed to measure this; try fewer elements".to_owned()
    })?;
    if bytes == 0 {
        return Err("there is nothing to pack".to_owned());
    }
    let memory = vec![1u8; span];
    let mut packed = vec![0u8; bytes];
    let base = memory.as_ptr().wrapping_offset(-(first as isize));
    let mut best = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < TIME {
        let before = Instant::now();
        // Long enough for the clock.
        let times = (100_000 / bytes).max(1);
        for _ in 0..times {
            // SAFETY: `memory` is the span of the elements from `base` on, and `packed` has their packed size.
            unsafe { layout.pack(base, 0..bytes, packed.as_mut_ptr()) };
        }
        std::hint::black_box(&packed);
        best = best.min(before.elapsed() / times as u32);
    }
    Ok(bytes as f64 / best.as_nanos().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_measured_and_limits_named() {
        let vector = Layout::vector(100, 1, -3, &Layout::named(8, 8)).unwrap();
        assert!(pack(&vector, 10).unwrap() > 0.0);
        assert!(pack(&vector, 1 << 40).unwrap_err().contains("1 GiB"));
        assert!(pack(&vector, 0).unwrap_err().contains("nothing"));
    }
}
