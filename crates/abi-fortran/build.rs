// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the entry points, the sentinels and the tables of callbacks, and makes the library need `libmpi_abi.so.1`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_abi_sys::fortran;

/// Procedures of the program that may be operations at a time, and error handlers of each kind.
const OPERATIONS: usize = 1024;
const HANDLERS: usize = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo passes a build script its folder this way"
    )]
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("library.rs"), fortran::library())?;
    std::fs::write(out.join("sentinels.rs"), fortran::data_symbols())?;
    std::fs::write(out.join("program.rs"), fortran::entries(""))?;
    std::fs::write(out.join("profiling.rs"), fortran::entries("P"))?;
    std::fs::write(out.join("trampolines.rs"), trampolines()?)?;
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpifort_rankpoint.so.1");
    // The MPI library beside it, unless the program or LD_LIBRARY_PATH bring another.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--no-as-needed");
    // Line tables of generated code would be most of the file; backtraces have the names of the procedures all the same.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--strip-all");
    println!("cargo:rustc-cdylib-link-arg={}", stand_in(&out)?.display());
    Ok(())
}

/// An empty library with the name of the MPI library: whatever library a program loads under that name serves.
fn stand_in(out: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let (library, empty) = (out.join("libmpi_abi.so"), out.join("empty.s"));
    std::fs::write(&empty, "")?;
    let status = Command::new("cc")
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-o"])
        .arg(&library)
        .arg(&empty)
        .status()?;
    if status.success() {
        Ok(library)
    } else {
        Err("cc cannot link an empty library".into())
    }
}

/// A C function for each slot of a procedure.
fn trampolines() -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for (name, function, kind, count) in [
        ("OPERATIONS", "operation", "Operation", OPERATIONS),
        (
            "LARGE_OPERATIONS",
            "large_operation",
            "LargeOperation",
            OPERATIONS,
        ),
    ] {
        table(&mut text, name, function, kind, count)?;
    }
    for kind in ["Comm", "File", "Session", "Win"] {
        let name = format!("{}_HANDLERS", kind.to_uppercase());
        let function = format!("{}_handler", kind.to_lowercase());
        table(&mut text, &name, &function, "Handler", HANDLERS)?;
    }
    Ok(text)
}

fn table(
    text: &mut String,
    name: &str,
    function: &str,
    kind: &str,
    count: usize,
) -> std::fmt::Result {
    writeln!(text, "/// By slot.")?;
    writeln!(
        text,
        "pub(super) static {name}: Slots<{kind}, {count}> = Slots::new(["
    )?;
    for number in 0..count {
        writeln!(text, "    {function}::<{number}>,")?;
    }
    writeln!(text, "]);")
}
