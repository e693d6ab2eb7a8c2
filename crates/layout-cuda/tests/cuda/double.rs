// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way through the driver, with a double of it: opening, contexts, modules, launches, memory, errors.

use std::sync::OnceLock;

use layout::Layout;
use layout_cuda::{CudaError, Driver, Gpu, MemorySpace, Stream};

use crate::layouts::Numbers;
use crate::roundtrip::check;

fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let me = std::env::current_exe().expect("a test has a file");
        let file = me.with_file_name("libcuda_double.so");
        Driver::open(file.to_str().expect("a readable path")).expect("the double opens")
    })
}

#[test]
fn the_double_says_what_it_is() {
    assert_eq!(driver().version(), Ok((12, 9)));
    assert_eq!(driver().devices(), Ok(1));
    assert_eq!(
        driver().device_name(0).expect("device 0"),
        "double of a GPU"
    );
    let error = driver().device_name(7).expect_err("one device");
    let text = error.to_string();
    assert_eq!(
        text,
        "cuDeviceGet with device 7: CUDA_ERROR_INVALID_DEVICE (101), there is no device 7"
    );
}

#[test]
fn missing_drivers_are_named() {
    let error = Driver::open("libcuda_nowhere.so.1").expect_err("there is none");
    assert_eq!(error.to_string(), "libcuda_nowhere.so.1 not found");
    let error = Driver::open("libc.so.6").expect_err("no driver");
    let symbol = "cuInit";
    let file = "libc.so.6".to_owned();
    assert_eq!(error, CudaError::OldDriver { file, symbol });
    assert_eq!(error.to_string(), "libc.so.6 has no function cuInit");
}

#[test]
fn contexts_are_found_and_restored() {
    assert!(Gpu::current(driver()).expect("answered").is_none());
    let gpu = Gpu::primary(driver(), 0).expect("device 0");
    assert!(Gpu::current(driver()).expect("answered").is_none());
    assert!(std::ptr::eq(
        gpu,
        Gpu::primary(driver(), 0).expect("device 0")
    ));
    let error = Gpu::primary(driver(), 1)
        .map(|_| ())
        .expect_err("one device");
    assert!(error.to_string().starts_with("cuDeviceGet with device 1: "));
}

#[test]
fn addresses_have_places() {
    let gpu = Gpu::primary(driver(), 0).expect("device 0");
    let memory = gpu.allocate(100).expect("100 bytes");
    let place = |address| driver().space_of(address).expect("answered");
    assert!(
        matches!(place(memory.address() + 99), MemorySpace::Device(found) if std::ptr::eq(found, gpu))
    );
    assert!(matches!(place(memory.address() + 100), MemorySpace::Host));
    let here = 1u8;
    assert!(matches!(
        place((&raw const here).addr() as u64),
        MemorySpace::Host
    ));
    let address = memory.address();
    let found = driver().allocation_of(address + 9).expect("answered");
    let found = found.expect("of the device");
    assert_eq!((found.start, found.bytes, found.ordinal), (address, 100, 0));
    assert!(found.contains(address + 1, 99) && !found.contains(address + 1, 100));
    assert!(!found.contains(address - 1, 1) && found.contains(address + 100, 0));
    drop(memory);
    assert!(matches!(place(address), MemorySpace::Host));
}

/// Memory on its way is lent again, and not lent twice at a time.
#[test]
fn bounce_memory_is_used_again() {
    let gpu = Gpu::primary(driver(), 0).expect("device 0");
    let (one, other) = (gpu.bounce(5).expect("5"), gpu.bounce(5).expect("5"));
    let (first, second) = (one.address(), other.address());
    assert_ne!(first, second);
    drop((one, other));
    let again = gpu.bounce(60_000).expect("60000");
    assert!([first, second].contains(&again.address()));
    let long = gpu.bounce(1 << 20).expect("a mebibyte");
    assert!(![first, second].contains(&long.address()));
}

/// Kernels write pinned memory, which stays the host's.
#[test]
fn pinned_memory_is_reached_by_both() {
    let gpu = Gpu::primary(driver(), 0).expect("device 0");
    let pinned = gpu.allocate_pinned(80).expect("80 bytes");
    let owner = driver().space_of(pinned.address().addr() as u64);
    assert!(matches!(owner.expect("answered"), MemorySpace::Host));
    let vector = Layout::vector(10, 1, 2, &Layout::named(8, 8)).expect("small");
    let vector = gpu.prepare(&vector).expect("no table");
    let data: Vec<u8> = (0..152).collect();
    let memory = gpu.allocate(data.len()).expect("152 bytes");
    // SAFETY: nothing is touched beyond both memories.
    let packed = unsafe {
        gpu.copy_in(memory.address(), data.as_ptr(), data.len())
            .expect("copied");
        let to = pinned.address().addr() as u64;
        vector
            .pack(memory.address(), 0..80, to, Stream::default())
            .expect("packed");
        gpu.synchronize(Stream::default()).expect("waited");
        std::slice::from_raw_parts(pinned.address(), 80)
    };
    let blocks = data.chunks(8).step_by(2).flatten().copied();
    assert_eq!(packed, blocks.collect::<Vec<u8>>());
}

/// All the way: tables, launches and copies, with device memory of which no byte more is there.
#[test]
fn layouts_pack_and_unpack_on_the_device() {
    let gpu = Gpu::primary(driver(), 0).expect("device 0");
    let mut numbers = Numbers::new(11);
    for _ in 0..150 {
        let layout = numbers.layout();
        let elements = 1 + numbers.below(3);
        let range = numbers.range(layout.size() * elements);
        check(gpu, &layout, range);
    }
}

#[test]
fn stray_accesses_are_errors_that_name_the_kernel() {
    let gpu = Gpu::primary(driver(), 0).expect("device 0");
    let vector = Layout::vector(10, 1, 2, &Layout::named(8, 8)).expect("small");
    let on_device = gpu.prepare(&vector).expect("no table");
    let (short, target) = (
        gpu.allocate(100).expect("100"),
        gpu.allocate(80).expect("80"),
    );
    // SAFETY: nothing is touched beyond the memory, which is what is tested.
    let result =
        unsafe { on_device.pack(short.address(), 0..80, target.address(), Stream::default()) };
    let text = result.expect_err("the vector is longer").to_string();
    assert!(text.starts_with("cuLaunchKernel with kernel rankpoint_pack_nest1_8 in 1 blocks: CUDA_ERROR_ILLEGAL_ADDRESS (700), thread 6 of"), "{text}");
    let error = gpu
        .allocate(usize::MAX / 2)
        .map(|_| ())
        .expect_err("too much");
    assert!(error.to_string().contains("cuMemAlloc with"), "{error}");
}
