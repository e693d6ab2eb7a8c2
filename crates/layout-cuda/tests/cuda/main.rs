// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels for GPUs, on machines that have none: NVIDIA's assembler takes their text (`assemble`), an interpreter runs it
//! against the processor's kernels (`interpret`), and a double of the driver is given it the way that a driver would be (`double`).
//! Where this machine has a GPU, it runs them, too (`device`).
#![expect(unsafe_code, reason = "packing works on addresses")]
#![expect(clippy::expect_used, reason = "a failure fails the test")]

mod assemble;
mod device;
mod double;
mod interpret;
mod layouts;
mod roundtrip;
