// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of GPUs in the calls of MPI. Its data travel through memory of the host: they are packed on the GPU and copied out before an operation
//! reads them, and copied in and unpacked there after it has written them. In between they are memory of the host like any other.
//!
//! | module | content |
//! |---|---|
//! | [`detect`] | whether the process may have memory of a GPU: `RANKPOINT_GPU`, and drivers that are loaded late |
//! | [`owner`] | in which GPU's memory a buffer is, and whether it ends there |
//! | [`failure`] | errors of the driver as errors of MPI, and GPUs that have failed for good |
//! | [`moves`] | copies between a GPU and the host, of any layout |
//! | [`tables`] | layouts that the kernels of a GPU have used before |
//! | [`staged`] | the packed bytes of a message |
//! | [`kinds`] | the kinds of memory that MPI takes, as programs ask for them |
//! | [`mod@counts`] | what the process has done with GPUs |
//! | [`host_copy`] | copies of buffers for operations that reach every byte by the processor |
//! | [`allocation`] | memory of a GPU that programs ask for |
//! | [`scattered`] | elements at several places, as a service of a window finds them |
//!
//! Faces ask for the owner of an address only if [`start`] or [`have_come`] has found a driver; otherwise no path reaches this module. The
//! answer is never kept: ranges are freed and used again for other kinds of memory. Memory of a GPU always has a layout, contiguous or
//! not, so that no path accesses its bytes directly.
//!
//! # Safety
//! Device memory is the program's until the operation is complete, as host memory is (contracts of `isend` and `irecv`).

mod allocation;
mod counts;
mod detect;
mod failure;
mod host_copy;
mod kinds;
mod moves;
mod owner;
mod scattered;
mod staged;
mod tables;

pub(crate) use allocation::is_memory;
pub use allocation::{GpuMemory, MEMORY_KEY, SYSTEM, allocate_as};
pub(crate) use counts::counts;
pub(crate) use detect::is_live;
pub use detect::{Devices, have_come, may_come, start};
pub use host_copy::{Form, HostCopy};
pub use kinds::{memory_kinds, takes_gpu_memory};
pub(crate) use moves::OnDevice;
pub use moves::{copy, packed_at};
pub(crate) use owner::device_of_bytes;
pub use owner::{Device, device_of, is_own_memory};
pub(crate) use scattered::Scattered;
pub(crate) use staged::Staged;
