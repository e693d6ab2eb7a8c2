// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels on the GPU of this machine, where there is one.

use layout::{ArrayOrder, Layout, Slice};
use layout_cuda::{Driver, Gpu, MemorySpace};

use crate::layouts::Numbers;
use crate::roundtrip::check;

/// The first GPU of this machine, or why there is none.
fn gpu() -> Result<&'static Gpu, String> {
    let driver = Driver::get().map_err(ToString::to_string)?;
    Ok(Gpu::primary(driver, 0).expect("the driver takes the kernels"))
}

#[test]
fn random_layouts_pack_and_unpack_on_this_gpu() {
    let gpu = match gpu() {
        Ok(gpu) => gpu,
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let mut numbers = Numbers::new(17);
    for _ in 0..3000 {
        let layout = numbers.layout();
        let elements = 1 + numbers.below(3);
        let range = numbers.range(layout.size() * elements);
        check(gpu, &layout, range);
    }
}

/// Copies of many blocks, whose threads run at once, with ranges that begin and end within words.
#[test]
fn large_layouts_pack_and_unpack_on_this_gpu() {
    let gpu = match gpu() {
        Ok(gpu) => gpu,
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let double = Layout::named(8, 8);
    let column = Layout::vector(300_000, 1, 7, &double).expect("small");
    let slices = [(300, 200, 50), (200, 150, 10), (100, 33, 1)];
    let slices = slices.map(|(size, subsize, start)| Slice {
        size,
        subsize,
        start,
    });
    let block = Layout::subarray(&slices, ArrayOrder::C, &double).expect("small");
    let places = (0..50_000i64).map(|place| (place * 56 + place % 3 * 8, 2));
    let list = Layout::hindexed(places, &double).expect("small");
    let places = (0..40_000i64).map(|place| (place * 64, 1 + place as usize % 6));
    let runs = Layout::hindexed(places, &double).expect("small");
    let bytes = Layout::hvector(1_000_000, 3, 5, &Layout::named(1, 1)).expect("small");
    for layout in [column, block, list, runs, bytes] {
        let all = layout.size() * 2;
        check(gpu, &layout, 0..all);
        check(gpu, &layout, 13..all - 7);
        check(gpu, &layout, all / 3..all / 2);
    }
}

#[test]
fn addresses_of_this_gpu_are_told_from_those_of_the_host() {
    let gpu = match gpu() {
        Ok(gpu) => gpu,
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let memory = gpu.allocate(100).expect("100 bytes");
    let place = |address| gpu.driver().space_of(address).expect("answered");
    assert!(
        matches!(place(memory.address() + 99), MemorySpace::Device(found) if std::ptr::eq(found, gpu))
    );
    let here = 1u8;
    assert!(matches!(
        place((&raw const here).addr() as u64),
        MemorySpace::Host
    ));
}
