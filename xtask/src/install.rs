// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask install`: the tree that users build and run with. It can be moved: everything finds itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::shell;

const WRAPPER: &str = r#"#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Compiles and links MPI programs with Rankpoint. -show prints the command; -compile-info and -link-info a part of it.
here=$(CDPATH= cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
prefix=$(dirname -- "$here")
compiler=${RANKPOINT_LAUNCH_@VARIABLE@:-@COMPILER@}
compile="-I$prefix/include"
link="-L$prefix/lib -Wl,-rpath,$prefix/lib -lmpi_abi"
linking=yes
for argument in "$@"; do
    case $argument in
        -show | -showme) show=all ;;
        -compile-info | -compile_info | -showme:compile) show=compile ;;
        -link-info | -link_info | -showme:link) show=link ;;
        -c | -E | -S | -M | -MM) linking=no ;;
    esac
done
case ${show:-no} in
    all) echo "$compiler $compile $link"; exit 0 ;;
    compile) echo "$compiler $compile"; exit 0 ;;
    link) echo "$compiler $link"; exit 0 ;;
esac
if [ $# -eq 0 ]; then
    echo "$(basename -- "$0"): no input files" >&2
    exit 1
fi
[ $linking = yes ] || link=
# shellcheck disable=SC2086
exec $compiler $compile "$@" $link
"#;

const PKG_CONFIG: &str = "prefix=${pcfiledir}/../..\nincludedir=${prefix}/include\nlibdir=${prefix}/lib\n\n\
    Name: rankpoint\nDescription: Rankpoint, an MPI library with the MPI 5.0 standard ABI\nVersion: @VERSION@\n\
    Cflags: -I${includedir}\nLibs: -L${libdir} -Wl,-rpath,${libdir} -lmpi_abi\n";

const CMAKE: &str = r#"# SPDX-License-Identifier: MIT OR Apache-2.0
get_filename_component(_rankpoint_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET rankpoint::mpi)
  add_library(rankpoint::mpi SHARED IMPORTED)
  set_target_properties(rankpoint::mpi PROPERTIES
    IMPORTED_LOCATION "${_rankpoint_prefix}/lib/libmpi_abi.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_rankpoint_prefix}/include")
endif()
set(rankpoint_MPIEXEC "${_rankpoint_prefix}/bin/mpiexec")
set(rankpoint_FOUND TRUE)
"#;

/// `--prefix DIR`.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let [flag, prefix] = arguments else {
        return Err("install needs --prefix DIR".to_owned());
    };
    if flag != "--prefix" {
        return Err(format!("install needs --prefix DIR, not {flag}"));
    }
    let prefix = std::path::absolute(prefix).map_err(|error| error.to_string())?;
    install(&prefix)?;
    shell::say(&format!(
        "Installed into {}. Add {}/bin to PATH.",
        prefix.display(),
        prefix.display()
    ));
    Ok(())
}

/// Builds the release and installs it.
pub(crate) fn install(prefix: &Path) -> Result<(), String> {
    shell::cargo(&[
        "build",
        "--release",
        "-p",
        "rankpoint-abi",
        "-p",
        "rankpoint-launch",
        "-p",
        "rankpoint-cli",
    ])?;
    let release = shell::target().join("release");
    let put = |from: PathBuf, to: &str, mode: u32| -> Result<(), String> {
        let to = prefix.join(to);
        let told =
            |error: std::io::Error| format!("{} -> {}: {error}", from.display(), to.display());
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(told)?;
        }
        // A running program keeps the old file; writing into it would crash it.
        let _ = fs::remove_file(&to);
        fs::copy(&from, &to).map_err(told)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).map_err(told)
    };
    put(release.join("mpiexec"), "bin/mpiexec", 0o755)?;
    put(release.join("rankpoint"), "bin/rankpoint", 0o755)?;
    put(release.join("libmpi_abi.so"), "lib/libmpi_abi.so.1", 0o755)?;
    write(prefix, "include/mpi.h", &header(prefix)?, 0o644)?;
    for (name, variable, compiler) in [("mpicc", "CC", "cc"), ("mpicxx", "CXX", "c++")] {
        let script = WRAPPER
            .replace("@VARIABLE@", variable)
            .replace("@COMPILER@", compiler);
        write(prefix, &format!("bin/{name}"), &script, 0o755)?;
    }
    let version = env!("CARGO_PKG_VERSION");
    write(
        prefix,
        "lib/pkgconfig/rankpoint.pc",
        &PKG_CONFIG.replace("@VERSION@", version),
        0o644,
    )?;
    write(
        prefix,
        "lib/cmake/rankpoint/rankpoint-config.cmake",
        CMAKE,
        0o644,
    )?;
    for (link, target) in [
        ("bin/mpirun", "mpiexec"),
        ("bin/mpic++", "mpicxx"),
        ("bin/mpicc_abi", "mpicc"),
        ("bin/mpicxx_abi", "mpicxx"),
        ("lib/libmpi_abi.so", "libmpi_abi.so.1"),
        ("lib/libmpi_abi.so.0", "libmpi_abi.so.1"),
    ] {
        let path = prefix.join(link);
        let _ = fs::remove_file(&path);
        symlink(target, &path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn write(prefix: &Path, name: &str, text: &str, mode: u32) -> Result<(), String> {
    let path = prefix.join(name);
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(told)?;
    }
    fs::write(&path, text).map_err(told)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(told)
}

/// The C header, from the command that was just installed.
fn header(prefix: &Path) -> Result<String, String> {
    let output =
        shell::output(shell::command(prefix.join("bin/rankpoint")).args(["info", "--header"]))?;
    if !output.status.success() {
        return Err("`rankpoint info --header` failed".to_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
