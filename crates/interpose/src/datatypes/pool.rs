// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for packed data: blocks of a power of two, kept for the next messages. Memory of the host, memory of the host that is pinned for
//! GPUs, and memory of GPUs have a pool each.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use layout_cuda::{CudaError, DeviceMemory, Gpu, PinnedMemory};

use crate::sync::AtomicUsize;

/// The smallest block is 2 to the power of this: a cache line, which is also the alignment of those of the host.
const SMALLEST: u32 = 6;
const CLASSES: usize = (usize::BITS - SMALLEST) as usize;

static HOST: Pool<Heap> = Pool::new();
pub(super) static PINNED: Pool<PinnedMemory> = Pool::new();
pub(super) static DEVICE: Pool<DeviceMemory> = Pool::new();

/// Most bytes that each pool keeps.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Sets how many bytes each pool keeps.
pub(super) fn limit(bytes: usize) {
    LIMIT.store(bytes, Relaxed);
}

/// The most bytes of the host that there were at a time.
pub(super) fn peak() -> usize {
    HOST.peak()
}

/// Blocks of a kind.
pub(super) struct Pool<B> {
    /// Those of each class that nobody uses.
    free: [Mutex<Vec<B>>; CLASSES],
    /// Bytes that are kept in `free`.
    kept: AtomicUsize,
    /// Bytes of all blocks, and the most that there were.
    allocated: AtomicUsize,
    peak: AtomicUsize,
    /// How many blocks were asked for, and how many of them were made.
    requests: AtomicUsize,
    allocations: AtomicUsize,
}

/// The class of the smallest block that has so many bytes, rounded up.
fn class_of(bytes: usize) -> u32 {
    let bits = usize::BITS - bytes.saturating_sub(1).leading_zeros();
    bits.saturating_sub(SMALLEST)
}

/// The bytes of blocks of a class; `class_of` gives none whose blocks have more than 2^62.
const fn bytes_of(class: u32) -> usize {
    1 << (class + SMALLEST)
}

impl<B> Pool<B> {
    const fn new() -> Self {
        Self {
            free: [const { Mutex::new(Vec::new()) }; CLASSES],
            kept: AtomicUsize::new(0),
            allocated: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            allocations: AtomicUsize::new(0),
        }
    }

    /// The most bytes that there were at a time.
    pub(super) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// How many blocks were asked for.
    pub(super) fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }

    /// How many blocks were made.
    pub(super) fn allocations(&self) -> usize {
        self.allocations.load(Relaxed)
    }

    /// A block of at least so many bytes: one that nobody uses and that suits, or a new one.
    fn take<E>(
        &'static self,
        bytes: usize,
        suits: impl Fn(&B) -> bool,
        make: impl FnOnce(usize) -> Result<B, E>,
    ) -> Result<Lease<B>, E> {
        self.requests.fetch_add(1, Relaxed);
        let class = class_of(bytes);
        let size = bytes_of(class);
        let free = self.free[class as usize].lock().ok();
        let found = free.and_then(|mut free| {
            let last = free.iter().rposition(suits)?;
            Some(free.swap_remove(last))
        });
        let block = match found {
            Some(block) => {
                self.kept.fetch_sub(size, Relaxed);
                block
            }
            None => {
                let block = make(size)?;
                self.allocations.fetch_add(1, Relaxed);
                let all = self.allocated.fetch_add(size, Relaxed) + size;
                self.peak.fetch_max(all, Relaxed);
                block
            }
        };
        Ok(Lease {
            pool: self,
            class,
            block: Some(block),
        })
    }

    /// Takes a block back.
    fn give(&self, block: B, class: u32) {
        let size = bytes_of(class);
        let kept = self.kept.fetch_add(size, Relaxed) + size;
        if kept <= LIMIT.load(Relaxed)
            && let Ok(mut free) = self.free[class as usize].lock()
        {
            free.push(block);
            return;
        }
        self.kept.fetch_sub(size, Relaxed);
        self.allocated.fetch_sub(size, Relaxed);
    }
}

/// A block that is used, and given back when this is dropped.
pub(super) struct Lease<B: 'static> {
    pool: &'static Pool<B>,
    class: u32,
    /// There until it is given back.
    block: Option<B>,
}

impl<B> Drop for Lease<B> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.pool.give(block, self.class);
        }
    }
}

/// Memory of the host.
pub(super) struct Heap {
    address: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, and nothing about that belongs to a thread.
unsafe impl Send for Heap {}
// SAFETY: it hands out an address and nothing else.
unsafe impl Sync for Heap {}

impl Heap {
    fn new(bytes: usize) -> Result<Self, NoMemory> {
        let layout = Layout::from_size_align(bytes, 1 << SMALLEST).map_err(|_| NoMemory)?;
        // SAFETY: a size that is not 0.
        let address = NonNull::new(unsafe { alloc(layout) }).ok_or(NoMemory)?;
        Ok(Self { address, layout })
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and nobody else has it.
        unsafe { dealloc(self.address.as_ptr(), self.layout) };
    }
}

/// The host has no memory left.
struct NoMemory;

/// Memory of at least so many bytes.
pub(super) enum Temporary {
    /// Of the host.
    Host(Lease<Heap>),
    /// Of the host, pinned for GPUs.
    Pinned(Lease<PinnedMemory>),
    /// Of a GPU.
    Device(Lease<DeviceMemory>),
}

impl Temporary {
    /// Memory of the host, if there is as much.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let lease = HOST.take(bytes, |_| true, Heap::new).ok()?;
        Some(Self::Host(lease))
    }

    /// Pinned memory of the host.
    pub(super) fn pinned(bytes: usize, gpu: &'static Gpu) -> Result<Self, CudaError> {
        let lease = PINNED.take(bytes, |_| true, |size| gpu.allocate_pinned(size))?;
        Ok(Self::Pinned(lease))
    }

    /// Memory of a GPU.
    pub(super) fn device(bytes: usize, gpu: &'static Gpu) -> Result<Self, CudaError> {
        let suits = |block: &DeviceMemory| ptr::eq(block.gpu(), gpu);
        let lease = DEVICE.take(bytes, suits, |size| gpu.allocate(size))?;
        Ok(Self::Device(lease))
    }

    /// Where it begins.
    pub(super) fn address(&self) -> *mut u8 {
        let address = match self {
            Self::Host(lease) => lease.block.as_ref().map(|heap| heap.address.as_ptr()),
            Self::Pinned(lease) => lease.block.as_ref().map(PinnedMemory::address),
            Self::Device(lease) => lease.block.as_ref().map(|memory| {
                let address = memory.address() as usize;
                ptr::with_exposed_provenance_mut(address)
            }),
        };
        address.unwrap_or(ptr::null_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::{Lease, Pool, Temporary, bytes_of, class_of};

    #[test]
    fn blocks_are_rounded_up() {
        let size = |bytes| bytes_of(class_of(bytes));
        assert_eq!(
            [0, 1, 64, 65, 128, 4097].map(size),
            [64, 64, 64, 128, 128, 8192]
        );
    }

    /// Takes blocks of these sizes, and gives them back together.
    fn round(pool: &'static Pool<usize>, sizes: &[(usize, usize)]) {
        let all = sizes.iter().flat_map(|&(number, bytes)| {
            (0..number).map(move |_| pool.take(bytes, |_| true, Ok::<_, ()>))
        });
        let all: Vec<Lease<usize>> = all.collect::<Result<_, _>>().expect("nothing fails");
        let are_long = all.iter().all(|lease| lease.block >= Some(64));
        assert!(are_long);
    }

    /// The exchange of halos of TEMPI's unit test on 512 nodes with 6 processes each: 100 iterations in which three rounds take blocks of
    /// both pools. Those of the first round serve all others.
    #[test]
    fn blocks_serve_again() {
        static PINNED: Pool<usize> = Pool::new();
        static DEVICE: Pool<usize> = Pool::new();
        const MIB: usize = 1 << 20;
        for _ in 0..100 * 3 {
            round(&PINNED, &[(16, 2 * MIB), (192, 32 << 10), (128, 256)]);
            round(&DEVICE, &[(80, 2 * MIB)]);
        }
        assert_eq!((PINNED.requests(), DEVICE.requests()), (100_800, 24_000));
        assert_eq!((PINNED.allocations(), DEVICE.allocations()), (336, 80));
        assert_eq!(PINNED.peak() as f64 / MIB as f64, 38.03125);
        assert_eq!(DEVICE.peak(), 160 * MIB);
    }

    /// Memory of one owner does not serve another one.
    #[test]
    fn blocks_stay_with_their_owner() {
        static POOL: Pool<usize> = Pool::new();
        let take = |owner: usize| {
            let lease = POOL.take(100, |block| *block == owner, |_| Ok::<_, ()>(owner));
            let lease = lease.expect("nothing fails");
            assert_eq!(lease.block, Some(owner));
        };
        [1, 2, 1, 2].into_iter().for_each(take);
        assert_eq!((POOL.requests(), POOL.allocations()), (4, 2));
    }

    #[test]
    fn memory_of_the_host_is_writable() {
        let memory = Temporary::new(100).expect("100 bytes");
        // SAFETY: so many bytes.
        unsafe { memory.address().write_bytes(1, 100) };
        assert!(memory.address().addr().is_multiple_of(64));
    }
}
