// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of the system that a task needs: says so before it installs one, and what to do where it may not.

use std::os::unix::fs::MetadataExt as _;

use crate::shell;

/// A program, how to see that it is there, and the Debian package that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    probe: &'static [&'static str],
    /// Names of Debian packages.
    package: &'static str,
}

pub(crate) const CC: Tool = Tool {
    name: "a C compiler",
    probe: &["cc", "--version"],
    package: "gcc",
};
pub(crate) const CXX: Tool = Tool {
    name: "a C++ compiler",
    probe: &["c++", "--version"],
    package: "g++",
};
/// What mpifort takes if nothing else is named.
pub(crate) const FORTRAN: Tool = Tool {
    name: "a Fortran compiler",
    probe: &["gfortran", "--version"],
    package: "gfortran",
};
pub(crate) const VALGRIND: Tool = Tool {
    name: "valgrind",
    probe: &["valgrind", "--version"],
    package: "valgrind",
};
pub(crate) const MAKE: Tool = Tool {
    name: "make",
    probe: &["make", "--version"],
    package: "make",
};
/// With the module that unpacks archives.
pub(crate) const PYTHON: Tool = Tool {
    name: "Python",
    probe: &["python3", "-c", "import lzma"],
    package: "python3",
};
pub(crate) const PIP: Tool = Tool {
    name: "Python's pip",
    probe: &["python3", "-m", "pip", "--version"],
    package: "python3-pip",
};
/// For building Python's MPI bindings.
pub(crate) const PYTHON_HEADERS: Tool = Tool {
    name: "Python's C headers",
    probe: &[
        "python3",
        "-c",
        "import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_paths()['include'] + '/Python.h'))",
    ],
    package: "python3-dev",
};
pub(crate) const CMAKE: Tool = Tool {
    name: "cmake",
    probe: &["cmake", "--version"],
    package: "cmake make g++",
};
pub(crate) const PKG_CONFIG: Tool = Tool {
    name: "pkg-config",
    probe: &["pkg-config", "--version"],
    package: "pkg-config",
};
/// For a virtual machine with a device that this one lacks.
pub(crate) const QEMU: Tool = Tool {
    name: "QEMU",
    probe: &["qemu-system-x86_64", "--version"],
    package: "qemu-system-x86",
};
/// What the first process of a virtual machine runs.
pub(crate) const BUSYBOX: Tool = Tool {
    name: "a static busybox",
    probe: &["busybox", "true"],
    package: "busybox-static",
};
/// The libraries of RDMA devices, with the plugin of the emulated one.
pub(crate) const VERBS: Tool = Tool {
    name: "rdma-core's libraries",
    probe: &[
        "sh",
        "-c",
        "ldconfig -p | grep -q librdmacm && ls /usr/lib/*/libibverbs/librxe*",
    ],
    package: "libibverbs1 ibverbs-providers librdmacm1 iproute2",
};

impl Tool {
    /// Whether it is there.
    pub(crate) fn exists(&self) -> bool {
        let mut command = shell::command(self.probe[0]);
        let output = command.args(&self.probe[1..]).output();
        output.is_ok_and(|output| output.status.success())
    }
}

/// Installs what is missing.
///
/// # Errors
/// A sentence that names what is missing and how to get it.
pub(crate) fn need(tools: &[Tool]) -> Result<(), String> {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !tool.exists()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    let (names, packages) = (names.join(", "), packages.join(" "));
    if !is_root() {
        return Err(format!(
            "{names} needed, and only root may install it: apt-get install {packages}"
        ));
    }
    shell::say(&format!("{names} needed: apt-get install {packages}"));
    let mut update = shell::command("apt-get");
    shell::run(update.args(["update", "-qq"]))?;
    let mut install = shell::command("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    shell::run(
        install
            .args(["install", "-y", "-qq", "--no-install-recommends"])
            .args(packages.split(' ')),
    )?;
    match missing.iter().find(|tool| !tool.exists()) {
        Some(tool) => Err(format!(
            "{} is still missing after apt-get install {}",
            tool.name, tool.package
        )),
        None => Ok(()),
    }
}

fn is_root() -> bool {
    // The owner of a process's folder is the user that it runs as.
    std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}
