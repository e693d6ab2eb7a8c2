// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing and unpacking in the memory of NVIDIA GPUs.
//!
//! The kernels are PTX text that this crate writes ([`module_text`]); the driver compiles it when a context is first used. The driver's
//! library is opened at run time, so nothing here needs one to build, and without one [`Driver::get`] says so. Regular forms,
//! lists and patterns of unequal runs all have kernels; a thread copies words of 1 to 16 bytes, whatever divides all distances.
//!
//! ```no_run
//! # fn main() -> Result<(), layout_cuda::CudaError> {
//! use layout::Layout;
//! use layout_cuda::{Driver, Gpu, Stream};
//! let driver = Driver::get().map_err(Clone::clone)?;
//! let gpu = Gpu::primary(driver, 0)?;
//! let column = Layout::vector(1000, 1, 1000, &Layout::named(8, 8))?;
//! let (matrix, packed) = (gpu.allocate(8_000_000)?, gpu.allocate(8_000)?);
//! let column = gpu.prepare(&column)?;
//! // Sound, because the column lies in the matrix and fits into the packed memory.
//! unsafe { column.pack(matrix.address(), 0..8_000, packed.address(), Stream::default())? };
//! gpu.synchronize(Stream::default())?;
//! # Ok(())
//! # }
//! ```
//!
//! Life of the data: `plan` turns a form and a range into launches, without a GPU; `params` is what a launch tells a kernel;
//! `emit` writes the kernels; `gpu` loads and launches them through `driver`; `memory` allocates and says which GPU an
//! address belongs to; `pool` lends memory that it keeps; `device_layout` packs and unpacks.
//!
//! Tests: `cuda` assembles the text with NVIDIA's assembler where that is at hand, runs it in an interpreter against the
//! processor's kernels, and goes through a double of the driver.

mod device_layout;
mod driver;
mod emit;
mod error;
mod gpu;
mod memory;
mod params;
mod plan;
mod pool;

pub use device_layout::DeviceLayout;
pub use driver::{DRIVER_FILE, Driver, Handle};
pub use emit::{Direction, KernelName, Shape, module_text};
pub use error::CudaError;
pub use gpu::{Gpu, Stream};
pub use memory::{Allocation, DeviceMemory, MemorySpace, PinnedMemory};
pub use plan::{Addresses, Launch, Plan, Tuning};
pub use pool::Bounce;
