# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fetches the sources of MPICH's test suite and builds its programs with our mpicc.

They are those of the Debian package mpich, from where the machine's own apt gets its packages.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from debian import Source, Unavailable, command, must, once

__all__ = ["Unavailable", "programs"]

VERSION = "4.0.2"
SOURCE = Source(
    project="MPICH",
    version=VERSION,
    archive=f"mpich_{VERSION}.orig.tar.xz",
    sha256="b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860",
    package="libmpich12",
)
# The only part of the archive that is wanted.
SUITE = f"mpich-{VERSION}/test/mpi"
CONFIGURE = ["--disable-fortran", "--disable-cxx", "--disable-romio", "--enable-strictmpi", "--disable-dependency-tracking"]
# The suite's own check of the compiler wants a flag that the programs are then built without: mpif.h has interfaces.
FORTRAN = ["--enable-fortran=all", *CONFIGURE[1:], "FFLAGS=-fallow-argument-mismatch", "FCFLAGS=-fallow-argument-mismatch"]
FFLAGS = ["FFLAGS=-w -fcray-pointer", "FCFLAGS=-w -fcray-pointer"]
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
# Requests of files are those of messages.
DEFINED = "-DHAVE_PTHREAD_BARRIER_INIT=1 -DMPIO_USES_MPI_REQUEST=1"
CFLAGS = " ".join([f"-O1 -w {DEFINED}", *(f"-D{old}={new}" for old, new in RENAMED.items())])
# The libraries of the suite, which libtool builds; the programs are linked without it.
LIBRARIES = ["dtpools", "util"]
LIBTOOL = f"LIBTOOL=sh {Path(__file__).with_name('link.sh')}"
# Programs of standard MPI that the suite's strict configuration leaves out.
MORE = {
    "rma": ["aint", "aint_collattach"],
    "io": [
        "i_bigtype", "i_hindexed_io", "i_rdwrord", "i_setviewcur", "i_aggregation1", "i_aggregation2", "i_coll_test", "i_darray_read",
        "i_hindexed", "i_noncontig_coll", "i_noncontig_coll2", "i_types_with_zeros",
    ],
    "f77/io": ["i_setviewcurf", "iwriteatallf"],
    "f90/io": ["i_setviewcurf90", "iwriteatallf90"],
    "f08/io": ["i_fcoll_test", "iwriteatallf90"],
    "f77/rma": ["aintf"],
    "f90/rma": ["aintf90"],
    "f77/ext": ["allocmemf"],
    "f90/ext": ["allocmemf90"],
    "f08/rma": ["aintf08"],
    "f08/ext": ["allocmemf90"],
}
# The suite tests the module mpi_f08 of MPICH only.
ONLY_MPICH = ' -a "$FROM_MPICH" = "yes"'
JOBS = 2


def programs(prefix, folder, directories, fortran=False):
    """The folder of the suite, with the programs of these directories built against these headers; kept for the next time."""
    suite = folder / SUITE
    flags = FORTRAN if fortran else CONFIGURE
    names = ["mpi.h", "mpif.h"] if fortran else ["mpi.h"]
    headers = [(prefix / "include" / name).read_text(encoding="utf-8") for name in names]
    state = "\n".join([str(prefix), CFLAGS, *flags, *headers])
    once(folder / "configured", state, lambda: configure(prefix, folder, suite, flags))
    for part in [*LIBRARIES, *directories]:
        name = part.replace("/", ".")
        more = [*FFLAGS] if part in LIBRARIES else [*FFLAGS, LIBTOOL, *MORE.get(part, [])]
        once(folder / f"built.{name}", "\n".join([state, *more]), lambda: make(suite / part, folder / f"make.{name}.log", more))
    return suite


def configure(prefix, folder, suite, flags):
    """Unpacks the suite and configures it for our library."""
    folder.mkdir(parents=True, exist_ok=True)
    SOURCE.fetch(folder)
    print(f"building MPICH's tests with {prefix}/bin/mpicc, which takes minutes ...", flush=True)
    for old in [suite, *folder.glob("built.*")]:
        command(["rm", "-rf", str(old)])
    SOURCE.unpack(folder, SUITE)
    script = suite / "configure"
    script.write_text(script.read_text(encoding="utf-8").replace(ONLY_MPICH, ""), encoding="utf-8")
    wrappers = [f"CC={prefix}/bin/mpicc", f"F77={prefix}/bin/mpif77", f"FC={prefix}/bin/mpif90"]
    must(["./configure", *flags, f"--with-mpi={prefix}", *wrappers], suite)


def make(directory, log, more):
    """Builds, with these further words for make, what can be built: what is missing afterwards is compared with the list."""
    printed, _ = command(["make", "-k", f"-j{JOBS}", f"CFLAGS={CFLAGS}", "all", *more], directory)
    log.write_text(printed, encoding="utf-8")
