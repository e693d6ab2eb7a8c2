// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exchanges by `shared` and by `packed` take no memory after the first one, except what the library takes for early messages.
#![expect(unsafe_code, reason = "an allocator that counts")]
#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::disallowed_types, reason = "a count of this process")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use rankpoint::Communicator;
use stencil::{Domain, Method, Methods, Radius};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: all calls are those of the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The fewest allocations in one of many exchanges, and those in all of them.
fn allocations(world: &Communicator<'_>, method: Method) -> (u64, u64) {
    let mut builder = Domain::on(world, [16, 12, 8])
        .radius(Radius::constant(2))
        .methods(Methods::only(method));
    builder.quantity::<f64>("some");
    builder.quantity::<u8>("other");
    let mut domain = builder.realize().unwrap();
    domain.exchange().unwrap();
    let (mut fewest, mut all) = (u64::MAX, 0);
    for _ in 0..100 {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        domain.exchange().unwrap();
        let taken = ALLOCATIONS.load(Ordering::Relaxed) - before;
        (fewest, all) = (fewest.min(taken), all + taken);
    }
    (fewest, all)
}

#[rankpoint::test(ranks = [1, 2, 4], timeout = 60)]
fn exchanges_take_no_memory(world: Communicator<'_>) -> rankpoint::Result<()> {
    assert_eq!(allocations(&world, Method::Shared).1, 0);
    // The library takes some for messages that arrive before their receive.
    assert_eq!(allocations(&world, Method::Packed).0, 0);
    Ok(())
}
