# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fetches the sources of MPICH's test suite and builds its programs with our mpicc.

They are those of the Debian package mpich, from where the machine's own apt gets its packages.
"""

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

VERSION = "4.0.2"
SOURCES = f"mpich_{VERSION}.orig.tar.xz"
SHA256 = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
# A package of the same source, whose place is also that of the source.
PACKAGE = "libmpich12"
# The only part of the archive that is wanted.
SUITE = f"mpich-{VERSION}/test/mpi"
HELPER = "/usr/lib/apt/apt-helper"
CONFIGURE = ["--disable-fortran", "--disable-cxx", "--disable-romio", "--enable-strictmpi", "--disable-dependency-tracking"]
# Functions that the standard ABI has under other names, with the same meaning: so more programs build.
RENAMED = {
    "MPI_Type_hvector": "MPI_Type_create_hvector",
    "MPI_Type_hindexed": "MPI_Type_create_hindexed",
    "MPI_Type_struct": "MPI_Type_create_struct",
    "MPI_Errhandler_create": "MPI_Comm_create_errhandler",
    "MPI_Errhandler_set": "MPI_Comm_set_errhandler",
    "PMPI_Message_c2f": "PMPI_Message_toint",
    "PMPI_Message_f2c": "PMPI_Message_fromint",
    "MPIX_Delete_error_class": "MPI_Remove_error_class",
    "MPIX_Delete_error_code": "MPI_Remove_error_code",
    "MPIX_Delete_error_string": "MPI_Remove_error_string",
}
# Threads wait for each other asleep: the barrier that the suite has of its own takes a core from a thread that has work.
CFLAGS = " ".join(["-O1 -w -DHAVE_PTHREAD_BARRIER_INIT=1", *(f"-D{old}={new}" for old, new in RENAMED.items())])
JOBS = 2


class Unavailable(Exception):
    """The suite cannot be had on this machine, for a reason that is no fault of the code."""


def command(words, folder=None):
    """What a command printed, both ways, and its exit status."""
    done = subprocess.run(
        words, cwd=folder, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return done.stdout, done.returncode


def must(words, folder=None):
    """What a command printed that has to succeed."""
    printed, status = command(words, folder)
    if status != 0:
        sys.exit(f"{' '.join(map(str, words))} ended with {status}:\n{printed[-4000:]}")
    return printed


def package_address():
    """Where apt would fetch the package from, or nothing."""
    printed, status = command(["apt-get", "-qq", "download", "--print-uris", PACKAGE])
    found = [line.split()[:2] for line in printed.splitlines() if line.startswith("'")]
    if status != 0 or not found:
        return None
    address, name = found[0]
    if not name.startswith(f"{PACKAGE}_{VERSION}"):
        raise Unavailable(f"apt has {name} here, and the lists are for MPICH {VERSION} of Debian 12")
    return address.strip("'")


def whole(path):
    """Whether the file is there with the content that it should have."""
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == SHA256


def fetch(path):
    """Has apt fetch the sources."""
    if whole(path):
        return
    if not Path(HELPER).exists():
        raise Unavailable("there is no apt on this machine to fetch the suite with")
    address = package_address()
    if address is None and os.geteuid() == 0:
        print("apt knows no packages: apt-get update", flush=True)
        command(["apt-get", "update", "-qq"])
        address = package_address()
    if address is None:
        raise Unavailable(f"apt knows no package {PACKAGE} (offline, or no lists of packages and not root)")
    address = f"{address.rpartition('/')[0]}/{SOURCES}"
    print(f"fetching {SOURCES} with apt", flush=True)
    printed, status = command([HELPER, "download-file", address, str(path), f"SHA256:{SHA256}"])
    if status != 0 or not whole(path):
        raise Unavailable(f"apt could not fetch {SOURCES}: {' '.join(printed.split())[-200:]}")


def programs(prefix, folder, directories):
    """The folder of the suite, with the programs of these directories built against this header; kept for the next time."""
    suite = folder / SUITE
    header = (prefix / "include/mpi.h").read_text(encoding="utf-8")
    state = "\n".join([str(prefix), CFLAGS, *CONFIGURE, header])
    once(folder / "configured", state, lambda: configure(prefix, folder, suite))
    for part in ["dtpools", "util", *directories]:
        name = part.replace("/", ".")
        once(folder / f"built.{name}", state, lambda: make(suite / part, folder / f"make.{name}.log"))
    return suite


def once(stamp, state, action):
    """Does something, unless the stamp says that it was done in this state."""
    if stamp.exists() and stamp.read_text(encoding="utf-8") == state:
        return
    action()
    stamp.write_text(state, encoding="utf-8")


def configure(prefix, folder, suite):
    """Unpacks the suite and configures it for our library."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / SOURCES
    fetch(archive)
    print(f"building MPICH's tests with {prefix}/bin/mpicc, which takes minutes ...", flush=True)
    for old in [suite, *folder.glob("built.*")]:
        command(["rm", "-rf", str(old)])
    with tarfile.open(archive) as tar:
        wanted = (member for member in tar if member.name.startswith(SUITE + "/"))
        # What the digest vouches for needs no filter, which older versions of Python do not have.
        tar.extractall(folder, members=wanted)
    must(["./configure", *CONFIGURE, f"--with-mpi={prefix}", f"CC={prefix}/bin/mpicc"], suite)


def make(directory, log):
    """Builds what can be built: what is missing afterwards is compared with the list."""
    printed, _ = command(["make", "-k", f"-j{JOBS}", f"CFLAGS={CFLAGS}"], directory)
    log.write_text(printed, encoding="utf-8")
