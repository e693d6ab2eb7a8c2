// SPDX-License-Identifier: MIT OR Apache-2.0
//! The installed tree, as build systems use it, after it has been moved.

use std::path::Path;

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

/// Copies the tree to another place and compiles from there in every way that is offered.
pub(super) fn all(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC, tools::PKG_CONFIG, tools::CMAKE]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let moved = shell::target().join("moved prefix");
    // It need not exist.
    drop(std::fs::remove_dir_all(&moved));
    shell::run(shell::command("cp").arg("-a").arg(&prefix).arg(&moved))?;
    let program = shell::target().join("moved-ring");
    let source = "tests/c/ring.c";
    let mut wrong = Vec::new();
    let mut ways = 0;
    let mut attempt = |name: &str, outcome: Result<(), String>| {
        ways += 1;
        if let Err(text) = outcome {
            wrong.push(format!("{name}: {text}"));
        }
    };
    for wrapper in ["mpicc", "mpicc_abi"] {
        let compiled = shell::compile(&moved.join("bin").join(wrapper), source, &program);
        attempt(wrapper, compiled.and_then(|()| runs(&moved, &program)));
    }
    attempt("mpicxx", cxx(&moved, &program));
    attempt("mpicc -c", in_two_steps(&moved, source, &program));
    attempt("mpicc -showme", shows(&moved));
    if tools::need(&[tools::FORTRAN]).is_ok() {
        attempt("mpifort", fortran(&moved, &program));
        attempt("cmake with Fortran", cmake_fortran(&prefix));
    }
    attempt("examples", examples(&moved, &program));
    attempt("pkg-config", pkg_config(&moved));
    // CMake cannot take flags apart whose paths have blanks; the original place has none.
    attempt("cmake", cmake(&prefix));
    let passed = ways - wrong.len();
    Found::runs(passed, wrong, "ways to compile from a moved tree")
}

fn runs(prefix: &Path, program: &Path) -> Result<(), String> {
    let mut job = shell::command(prefix.join("bin/mpirun"));
    let output = shell::output(job.args(["-n", "2", "--timeout", "60"]).arg(program))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.contains("PASS") {
        return Ok(());
    }
    Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

fn cxx(prefix: &Path, program: &Path) -> Result<(), String> {
    let source = program.with_extension("cc");
    let text = "#include <mpi.h>\n#include <cstdio>\nint main() { MPI_Init(nullptr, nullptr); std::puts(\"PASS\"); return MPI_Finalize(); }\n";
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    shell::run(
        shell::command(prefix.join("bin/mpicxx"))
            .arg(&source)
            .arg("-o")
            .arg(program),
    )?;
    runs(prefix, program)
}

fn in_two_steps(prefix: &Path, source: &str, program: &Path) -> Result<(), String> {
    let (mpicc, object) = (prefix.join("bin/mpicc"), program.with_extension("o"));
    shell::run(
        shell::command(&mpicc)
            .args(["-c", source, "-o"])
            .arg(&object),
    )?;
    shell::run(shell::command(&mpicc).arg(&object).arg("-o").arg(program))?;
    runs(prefix, program)
}

/// The wrapper for Fortran, for several programs at once before there are modules, and with flags that it does not support.
fn fortran(prefix: &Path, program: &Path) -> Result<(), String> {
    let mpifort = prefix.join("bin/mpifort");
    // It need not exist.
    drop(std::fs::remove_dir_all(
        prefix.join("lib/rankpoint/fortran"),
    ));
    let compiled = std::thread::scope(|scope| {
        let compile = |number: u32| {
            let object = program.with_extension(format!("{number}.o"));
            let mut command = shell::command(&mpifort);
            command.args(["-c", "tests/fortran/faces.f90", "-o"]);
            shell::run(command.arg(object))
        };
        let started: Vec<_> = (0..4)
            .map(|number| scope.spawn(move || compile(number)))
            .collect();
        let mut joined = started.into_iter().map(|thread| thread.join());
        joined.try_for_each(|outcome| {
            outcome.unwrap_or_else(|_| Err("a compiler's thread panicked".to_owned()))
        })
    });
    compiled?;
    let mut command = shell::command(&mpifort);
    command.args(["tests/fortran/faces.f90", "-o"]).arg(program);
    shell::run(&mut command)?;
    runs(prefix, program)?;
    for (flag, why) in [
        ("-fdefault-integer-8", "changes the size of INTEGER"),
        ("-finteger-4-integer-8", "changes the size of INTEGER"),
        ("-freal-4-real-8", "changes the size of REAL*4"),
        ("-fdefault-real-10", "makes REALs of 10 bytes"),
    ] {
        let mut command = shell::command(&mpifort);
        let output = shell::output(command.args([flag, "tests/fortran/faces.f90"]))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(1) || !said.contains(why) {
            return Err(format!("{flag}: {}: {said}", output.status));
        }
    }
    Ok(())
}

/// CMake's own module finds the three faces.
fn cmake_fortran(prefix: &Path) -> Result<(), String> {
    let folder = shell::target().join("cmake-fortran");
    // It need not exist.
    drop(std::fs::remove_dir_all(&folder));
    let mut wrapper = std::ffi::OsString::from("-DMPI_Fortran_COMPILER=");
    wrapper.push(prefix.join("bin/mpifort"));
    let mut configure = shell::command("cmake");
    configure
        .args(["-S", "tests/cmake/fortran", "-B"])
        .arg(&folder);
    shell::run(configure.arg(wrapper))?;
    shell::run(shell::command("cmake").arg("--build").arg(&folder))?;
    runs(prefix, &folder.join("faces"))
}

/// The installed examples compile.
fn examples(prefix: &Path, program: &Path) -> Result<(), String> {
    let folder = prefix.join("share/rankpoint/examples");
    let names = [
        "heat2d.c",
        "halo2d.c",
        "bspmm.c",
        "mass_cg.c",
        "lennard_jones.c",
        "halo_pack.c",
        "halo_types.c",
        "fft_exchange.c",
        "dslash.c",
    ];
    for name in names {
        let mut command = shell::command(prefix.join("bin/mpicc"));
        let source = folder.join(name);
        let words = ["-pthread", "-lm", "-o"];
        shell::run(command.arg(&source).args(words).arg(program))?;
    }
    Ok(())
}

/// What build systems ask the wrapper.
fn shows(prefix: &Path) -> Result<(), String> {
    let expected = [
        ("-show", "-lmpi_abi"),
        ("-showme:compile", "-I"),
        ("-showme:link", "-Wl,-rpath,"),
        ("-showme:incdirs", "include"),
        ("-compile-info", "-I"),
        ("-link-info", "-L"),
    ];
    for (flag, part) in expected {
        let output = shell::output(shell::command(prefix.join("bin/mpicc")).arg(flag))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !said.contains(part) {
            return Err(format!(
                "{flag} says '{}', expected something with {part}",
                said.trim()
            ));
        }
    }
    Ok(())
}

/// Both ways of CMake: its own module and our package.
fn cmake(prefix: &Path) -> Result<(), String> {
    let folder = shell::target().join("cmake");
    // It need not exist.
    drop(std::fs::remove_dir_all(&folder));
    let mut root = std::ffi::OsString::from("-DCMAKE_PREFIX_PATH=");
    root.push(prefix);
    let mut wrapper = std::ffi::OsString::from("-DMPI_C_COMPILER=");
    wrapper.push(prefix.join("bin/mpicc"));
    let mut cxx = std::ffi::OsString::from("-DMPI_CXX_COMPILER=");
    cxx.push(prefix.join("bin/mpicxx"));
    let mut configure = shell::command("cmake");
    configure.args(["-S", "tests/cmake", "-B"]).arg(&folder);
    let configured = shell::output(configure.args([root, wrapper, cxx]))?;
    let built = shell::output(shell::command("cmake").arg("--build").arg(&folder))?;
    for output in [configured, built] {
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            return Err(String::from_utf8_lossy(&text).into_owned());
        }
    }
    runs(prefix, &folder.join("by_module"))?;
    runs(prefix, &folder.join("by_package"))
}

fn pkg_config(prefix: &Path) -> Result<(), String> {
    let mut command = shell::command("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let output = shell::output(command.args(["--cflags", "--libs", "rankpoint"]))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if said.contains("-lmpi_abi") && said.contains("/include") {
        return Ok(());
    }
    Err(format!("says '{}'", said.trim()))
}
