// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a GPU for packed bytes on their way. It is allocated by the first copies that need it and kept, because allocating is slow and
//! freeing waits for all work of the GPU.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::error::CudaError;
use crate::gpu::Gpu;
use crate::memory::DeviceMemory;

/// The least that is allocated, in bytes.
const LEAST_BYTES: usize = 64 << 10;
/// The most that is kept of a GPU, in bytes.
const MOST_KEPT_BYTES: usize = 32 << 20;

/// Memory that is lent to nobody, with its lengths, of all GPUs.
static KEPT: Mutex<Vec<(usize, DeviceMemory)>> = Mutex::new(Vec::new());

fn with_kept<R>(action: impl FnOnce(&mut Vec<(usize, DeviceMemory)>) -> R) -> R {
    action(&mut KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The shortest memory of a GPU with at least so many bytes.
fn take(gpu: &'static Gpu, bytes: usize) -> Option<(usize, DeviceMemory)> {
    with_kept(|kept| {
        let fits = |one: &(usize, DeviceMemory)| one.0 >= bytes && ptr::eq(one.1.gpu(), gpu);
        let fitting = kept.iter().enumerate().filter(|(_, one)| fits(one));
        let (index, _) = fitting.min_by_key(|(_, one)| one.0)?;
        Some(kept.swap_remove(index))
    })
}

/// Frees what is kept of a GPU.
fn clear(gpu: &'static Gpu) {
    let is_of = |one: &mut (usize, DeviceMemory)| ptr::eq(one.1.gpu(), gpu);
    let freed: Vec<_> = with_kept(|kept| kept.extract_if(.., is_of).collect());
    drop(freed);
}

/// Keeps memory, or frees it where enough is kept.
fn keep(bytes: usize, memory: DeviceMemory) {
    let refused = with_kept(|kept| {
        let same = kept.iter().filter(|one| ptr::eq(one.1.gpu(), memory.gpu()));
        let all: usize = same.map(|one| one.0).sum();
        if all + bytes > MOST_KEPT_BYTES {
            return Some(memory);
        }
        kept.push((bytes, memory));
        None
    });
    drop(refused);
}

/// Memory of a GPU that goes back to the pool of its GPU when this is dropped. Work on it is complete by then.
#[derive(Debug)]
pub struct Bounce {
    bytes: usize,
    memory: Option<DeviceMemory>,
}

impl Bounce {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.memory.as_ref().map_or(0, DeviceMemory::address)
    }
}

impl Drop for Bounce {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            keep(self.bytes, memory);
        }
    }
}

impl Gpu {
    /// Memory of this GPU for so many bytes, of which the pool may have some.
    ///
    /// # Errors
    /// When there is not so much.
    pub fn bounce(&'static self, bytes: usize) -> Result<Bounce, CudaError> {
        let new = |bytes: usize| Ok((bytes, self.allocate(bytes)?));
        let found = match take(self, bytes) {
            Some(found) => Ok(found),
            None => new(bytes.next_power_of_two().max(LEAST_BYTES)),
        };
        let (bytes, memory) = found.or_else(|_: CudaError| {
            clear(self);
            new(bytes)
        })?;
        let memory = Some(memory);
        Ok(Bounce { bytes, memory })
    }
}
