// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the kernels for GPUs as PTX, for an assembler or a reader: `cargo run -p rankpoint-layout-cuda --example ptx`.

use std::io::{Result, Write as _, stdout};

fn main() -> Result<()> {
    stdout().write_all(layout_cuda::module_text().as_bytes())
}
