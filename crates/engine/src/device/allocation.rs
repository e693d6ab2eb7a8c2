// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of GPUs that programs ask for by the info key `rankpoint_memory`.

use layout_cuda::{CudaError, DeviceMemory, Driver, Gpu};
use sys::signals;

use super::detect;

/// The info key. Its value is `system` or `cuda:device`, which a colon and the number of a GPU may follow.
pub const MEMORY_KEY: &str = "rankpoint_memory";
/// The value of memory of the host.
pub const SYSTEM: &str = "system";
const CUDA: &str = "cuda:device";

/// Memory of a GPU, which is freed when this is dropped.
#[derive(Debug)]
pub struct GpuMemory(DeviceMemory);

impl GpuMemory {
    /// Its address.
    pub fn address(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.0.address() as usize)
    }
}

/// The GPU that a value of the key names.
enum Named {
    /// That of the calling thread's context, or the first one.
    Any,
    Number(i32),
}

impl Named {
    fn parse(value: &str) -> Option<Self> {
        match value.strip_prefix(CUDA)?.strip_prefix(':') {
            None => (value == CUDA).then_some(Self::Any),
            Some(number) => {
                let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
                let number = number.parse().ok().filter(|_| is_number)?;
                Some(Self::Number(number))
            }
        }
    }
}

/// Whether the key may have this value.
pub(crate) fn is_memory(value: &str) -> bool {
    value == SYSTEM || Named::parse(value).is_some()
}

/// Memory as a value of the key asks for it; `None` for that of the host, also where there is no such GPU or none of its memory is left.
pub fn allocate_as(value: &str, bytes: usize) -> Option<GpuMemory> {
    let named = Named::parse(value).filter(|_| bytes > 0 && detect::may_come())?;
    // Initialises the driver, because the program requests it.
    signals::keeping_actions(Driver::get).ok()?;
    let driver = detect::driver()?;
    let memory = || -> Result<DeviceMemory, CudaError> {
        let gpu = match named {
            Named::Number(number) => Gpu::primary(driver, number)?,
            Named::Any => match Gpu::current(driver)? {
                Some(gpu) => gpu,
                None => Gpu::primary(driver, 0)?,
            },
        };
        gpu.allocate(bytes)
    };
    memory().ok().map(GpuMemory)
}

#[cfg(test)]
mod tests {
    use super::is_memory;

    #[test]
    fn values_name_the_host_or_a_gpu() {
        for value in ["system", "cuda:device", "cuda:device:0", "cuda:device:12"] {
            assert!(is_memory(value), "{value}");
        }
        let wrong = [
            "",
            "cuda",
            "cuda:device:",
            "cuda:device:x",
            "cuda:device:-1",
            "cuda:device:+1",
            "cuda:devices",
            "cuda:managed",
            "rocm:device",
            "cuda:device:99999999999",
        ];
        for value in wrong {
            assert!(!is_memory(value), "{value}");
        }
    }
}
