// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of measurements as PTX text, for the first processors that have what they use (sm_70), which newer ones run too.

use std::fmt::Write as _;

/// Bytes of arguments of the kernels that do nothing.
pub(crate) const ARGUMENTS: [usize; 14] = [
    0, 1, 4, 8, 32, 64, 96, 128, 256, 512, 1024, 2048, 3072, 4096,
];

/// Name of the kernel that waits for as many cycles as its parameter says.
pub(super) const WAIT: &str = "rankpoint_scope_wait";

/// Name of the kernel that does nothing with so many bytes.
pub(super) fn empty(bytes: usize) -> String {
    format!("rankpoint_scope_empty_{bytes}")
}

/// The module with all kernels.
pub(super) fn module_text() -> String {
    let mut text = String::from(".version 6.0\n.target sm_70\n.address_size 64\n");
    let _ = write!(
        text,
        "\n.visible .entry {WAIT}(.param .align 8 .b8 params[8])
{{
\t.reg .pred %less;
\t.reg .b64 %wanted, %first, %now;
\tld.param.u64 %wanted, [params+0];
\tmov.u64 %first, %clock64;
$again:
\tmov.u64 %now, %clock64;
\tsub.u64 %now, %now, %first;
\tsetp.lt.u64 %less, %now, %wanted;
\t@%less bra $again;
\tret;
}}
"
    );
    for bytes in ARGUMENTS {
        let name = empty(bytes);
        let parameter = match bytes {
            0 => String::new(),
            _ => format!(".param .align 8 .b8 params[{bytes}]"),
        };
        let _ = write!(
            text,
            "\n.visible .entry {name}({parameter})\n{{\n\tret;\n}}\n"
        );
    }
    text
}
