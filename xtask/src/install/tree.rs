// SPDX-License-Identifier: MIT OR Apache-2.0
//! The installed tree.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::profile::Profile;
use crate::shell;

/// Programs and libraries: what cargo calls them, and where they go.
const BUILT: &[(&str, &str)] = &[
    ("mpiexec", "bin/mpiexec"),
    ("rankpoint", "bin/rankpoint"),
    ("libmpi_abi.so", "lib/libmpi_abi.so.1"),
    ("libmpifort_rankpoint.so", "lib/libmpifort_rankpoint.so.1"),
    (
        "librankpoint_interpose.so",
        "lib/rankpoint/interpose/libmpi_abi.so.1",
    ),
    (
        "rankpoint-endpoint-proxy",
        "lib/rankpoint/rankpoint-endpoint-proxy",
    ),
];

const LINKS: &[(&str, &str)] = &[
    ("bin/mpirun", "mpiexec"),
    ("bin/mpic++", "mpicxx"),
    ("bin/mpicc_abi", "mpicc"),
    ("bin/mpicxx_abi", "mpicxx"),
    ("bin/mpif90", "mpifort"),
    ("bin/mpif77", "mpifort"),
    ("bin/mpifort_abi", "mpifort"),
    ("lib/libmpi_abi.so", "libmpi_abi.so.1"),
    ("lib/libmpifort_abi.so", "libmpifort_rankpoint.so.1"),
    ("lib/libmpifort_abi.so.1", "libmpifort_rankpoint.so.1"),
    // For programs that were built with an older MPICH.
    ("lib/libmpi_abi.so.0", "libmpi_abi.so.1"),
];

/// Compiler wrappers: name, suffix of the variable that names another compiler, compiler.
const WRAPPERS: &[(&str, &str, &str)] = &[("mpicc", "CC", "cc"), ("mpicxx", "CXX", "c++")];

/// What memcheck is not to report.
pub(crate) const SUPPRESSIONS: &str = "share/rankpoint/valgrind.supp";

const TEXTS: &[(&str, &str)] = &[
    ("include/mpi_rankpoint.h", include_str!("mpi_rankpoint.h")),
    (
        "include/mpi_rankpoint_inline.h",
        include_str!("mpi_rankpoint_inline.h"),
    ),
    ("lib/pkgconfig/rankpoint.pc", include_str!("rankpoint.pc")),
    (
        "lib/cmake/rankpoint/rankpoint-config.cmake",
        include_str!("rankpoint-config.cmake"),
    ),
    (
        "lib/cmake/rankpoint/rankpoint-config-version.cmake",
        include_str!("rankpoint-config-version.cmake"),
    ),
    (SUPPRESSIONS, include_str!("valgrind.supp")),
];

/// Programs of examples, to build with mpicc.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "share/rankpoint/examples/heat2d.c",
        include_str!("../../../examples/heat2d.c"),
    ),
    (
        "share/rankpoint/examples/halo2d.c",
        include_str!("../../../examples/apps/halo2d.c"),
    ),
    (
        "share/rankpoint/examples/bspmm.c",
        include_str!("../../../examples/apps/bspmm.c"),
    ),
    (
        "share/rankpoint/examples/shortest_path.h",
        include_str!("../../../examples/shortest-path/shortest_path.h"),
    ),
    (
        "share/rankpoint/examples/mass_cg.c",
        include_str!("../../../examples/shortest-path/mass_cg.c"),
    ),
    (
        "share/rankpoint/examples/lennard_jones.c",
        include_str!("../../../examples/shortest-path/lennard_jones.c"),
    ),
    (
        "share/rankpoint/examples/halo.h",
        include_str!("../../../examples/interpose/halo.h"),
    ),
    (
        "share/rankpoint/examples/halo_pack.c",
        include_str!("../../../examples/interpose/halo_pack.c"),
    ),
    (
        "share/rankpoint/examples/halo_types.c",
        include_str!("../../../examples/interpose/halo_types.c"),
    ),
    (
        "share/rankpoint/examples/endpoints.c",
        include_str!("../../../examples/endpoints/endpoints.c"),
    ),
    (
        "share/rankpoint/examples/fft_exchange.c",
        include_str!("../../../examples/endpoints/fft_exchange.c"),
    ),
    (
        "share/rankpoint/examples/dslash.c",
        include_str!("../../../examples/endpoints/dslash.c"),
    ),
];

/// Builds the release and installs it into `target/prefix`; gives that folder.
pub(crate) fn into_target() -> Result<PathBuf, String> {
    built_as(Profile::Release)
}

/// Builds a profile and installs it into a folder of the target folder; gives that folder.
pub(crate) fn built_as(profile: Profile) -> Result<PathBuf, String> {
    let prefix = profile.folder();
    install(&prefix, profile)?;
    Ok(prefix)
}

pub(super) fn install(prefix: &Path, profile: Profile) -> Result<(), String> {
    let programs = [
        "-p",
        "rankpoint-launch",
        "-p",
        "rankpoint-cli",
        "-p",
        "rankpoint-interpose",
        "-p",
        "rankpoint-abi-fortran",
        "-p",
        "rankpoint-endpoints",
    ];
    let library = ["-p", "rankpoint-abi"];
    let mut build = vec!["build", "--quiet", "--release"];
    build.extend(programs);
    let features = profile.features();
    if features.is_none() {
        build.extend(library);
    }
    shell::cargo(&build)?;
    if let Some(features) = features {
        let mut build = vec!["build", "--quiet", "--profile", profile.name()];
        build.extend(library);
        build.extend(["--features", features]);
        shell::cargo(&build)?;
    }
    for (from, to) in BUILT {
        // Programs are the same in all profiles.
        let profile = if to.starts_with("lib/libmpi") {
            profile
        } else {
            Profile::Release
        };
        let from = shell::target().join(profile.name()).join(from);
        let data = fs::read(&from).map_err(|error| format!("{}: {error}", from.display()))?;
        put(prefix, to, &data, 0o755)?;
    }
    let header = printed(prefix, &["info", "--header"])?;
    put(prefix, "include/mpi.h", &header, 0o644)?;
    for (source, place) in [
        ("mpif.h", "include/mpif.h"),
        ("plain/mpif.h", "include/rankpoint/plain/mpif.h"),
    ] {
        let header = printed(prefix, &["fortran", "source", source])?;
        put(prefix, place, &header, 0o644)?;
    }
    let version = env!("CARGO_PKG_VERSION");
    for (name, variable, compiler) in WRAPPERS {
        let script = include_str!("mpicc.sh")
            .replace("@VARIABLE@", variable)
            .replace("@COMPILER@", compiler)
            .replace("@VERSION@", version);
        put(prefix, &format!("bin/{name}"), script.as_bytes(), 0o755)?;
    }
    let script = include_str!("mpifort.sh").replace("@VERSION@", version);
    put(prefix, "bin/mpifort", script.as_bytes(), 0o755)?;
    for (name, text) in EXAMPLES {
        put(prefix, name, text.as_bytes(), 0o644)?;
    }
    for (name, text) in TEXTS {
        let text = text.replace("@VERSION@", version);
        put(prefix, name, text.as_bytes(), 0o644)?;
    }
    for (link, target) in LINKS {
        let path = prefix.join(link);
        // It need not exist.
        drop(fs::remove_file(&path));
        symlink(target, &path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Writes beside the old file and takes its place: a program that runs from it keeps what it has.
fn put(prefix: &Path, name: &str, data: &[u8], mode: u32) -> Result<(), String> {
    let path = prefix.join(name);
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(told)?;
    }
    let mut fresh = path.clone().into_os_string();
    fresh.push(".new");
    fs::write(&fresh, data).map_err(told)?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(mode)).map_err(told)?;
    fs::rename(&fresh, &path).map_err(told)
}

/// What the command that was just installed prints.
fn printed(prefix: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let output = shell::output(shell::command(prefix.join("bin/rankpoint")).args(arguments))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("`rankpoint {}` failed", arguments.join(" ")))
    }
}
