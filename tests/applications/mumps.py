#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds MUMPS, a direct solver in Fortran and C, with our mpifort and mpicc, and solves equations with it.

usage: mumps.py PREFIX FOLDER

PREFIX is where Rankpoint is installed, FOLDER a place to work in, whose build is kept. The programs are those of MUMPS' own examples, whose
solutions are known, and mumps/poisson.f90; each runs on 1, 2 and 4 ranks. MUMPS needs ScaLAPACK only for large roots of its tree: what it
names of that comes from its own library for one process, and the programs do not call it. The last line printed is "N passed, N failed,
N skipped"; "skipped: WHY" and the exit status 77 where the sources or LAPACK cannot be had.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import usage
from debian import Source, Unavailable, command, must, once

VERSION = "5.5.1"
SOURCE = Source(
    project="MUMPS",
    version=VERSION,
    archive=f"mumps_{VERSION}.orig.tar.gz",
    sha256="1abff294fa47ee4cfd50dfd5c595942b72ebfcedce08142a75a99ab35014fa15",
    package="libmumps-5.5",
)
TOP = f"MUMPS_{VERSION}"
POISSON = Path(__file__).with_name("mumps") / "poisson.f90"
RANKS = [1, 2, 4]
LIMIT_S = "120"
# Where the procedures of ScaLAPACK begin in the library for one process, behind those of MPI.
STUBS = "C     BLACS"
SIZES = "#ifndef MUMPS_INT_H\n#define MUMPS_INT_H\n#define MUMPS_INTSIZE32\n#endif\n"
MAKEFILE = """LPORDDIR = $(topdir)/PORD/lib/
IPORD = -I$(topdir)/PORD/include/
LPORD = -L$(LPORDDIR) -lpord
ORDERINGSF = -Dpord
ORDERINGSC = -Dpord
LORDERINGS = $(LPORD)
IORDERINGSC = $(IPORD)
LIBEXT = .a
# What comes behind these words needs a blank.
OUTC = -o $(NOTHING)
OUTF = -o $(NOTHING)
RM = rm -f
CC = {prefix}/bin/mpicc
FC = {prefix}/bin/mpifort
FL = {prefix}/bin/mpifort
AR = ar r $(NOTHING)
RANLIB = ranlib
LIBBLAS = -lblas
LIBOTHERS = -lpthread
CDEFS = -DAdd_
OPTF = -O1 -w -fallow-argument-mismatch
OPTC = -O1 -I. -w
OPTL = -O1
LIBS = $(topdir)/scalapack.o -llapack
"""
# Programs, what they read, and what they print of the solution.
PROGRAMS = [
    ("examples/dsimpletest", "examples/input_simpletest_real", [1, 2, 3, 4, 5]),
    ("examples/c_example", None, [1, 2]),
    ("poisson", None, None),
]


def build(prefix, folder):
    """The folder of MUMPS, built against this header; kept for the next time."""
    top = folder / TOP
    mpifort = f"{prefix}/bin/mpifort"
    headers = [(prefix / "include" / name).read_text(encoding="utf-8") for name in ("mpi.h", "mpif.h")]
    state = "\n".join([str(prefix), MAKEFILE, *headers])

    def anew():
        folder.mkdir(parents=True, exist_ok=True)
        SOURCE.fetch(folder)
        print(f"building MUMPS with {mpifort} ...", flush=True)
        command(["rm", "-rf", str(top)])
        SOURCE.unpack(folder, TOP)
        (top / "Makefile.inc").write_text(f"topdir = {top}\n{MAKEFILE.format(prefix=prefix)}", encoding="utf-8")
        (top / "include/mumps_int_def.h").write_text(SIZES, encoding="utf-8")
        alone = (top / "libseq/mpi.f").read_text(encoding="utf-8")
        (top / "scalapack.f").write_text(STUBS + alone.partition(STUBS)[2], encoding="utf-8")
        must([mpifort, "-w", "-O1", "-c", "scalapack.f"], top)
        # Its rules for modules do not allow several at a time.
        must(["make", "d"], top)

    once(folder / "built", state, anew)
    libraries = ["-Llib", "-ldmumps", "-lmumps_common", "-lpord", "scalapack.o", "-llapack", "-lblas", "-lpthread"]
    must([mpifort, "-O1", "-Iinclude", str(POISSON), "-o", "poisson", *libraries], top)
    return top


def solution(printed):
    """The numbers behind the word, in Fortran's form or in C's."""
    found = printed.rpartition("olution is")[2].splitlines()
    words = found[0].replace("(", " ").replace(")", " ").split() if found else []
    try:
        return [float(word) for word in words if word != ":"]
    except ValueError:
        return []


def wrong(prefix, top, name, file, expected, ranks):
    """What is wrong with a run; nothing if all is right."""
    words = [f"{prefix}/bin/mpiexec", "--timeout", LIMIT_S, "-n", str(ranks), str(top / name)]
    if file:
        words = ["sh", "-c", f'exec "$@" < {top / file}', "sh", *words]
    printed, status = command(words, top)
    if status != 0:
        return f"ended with {status}:\n{printed[-2000:]}"
    if expected is None:
        return None if "PASS" in printed else printed[-2000:]
    found = solution(printed)
    is_right = len(found) == len(expected) and all(abs(a - b) < 1e-9 for a, b in zip(found, expected))
    return None if is_right else f"the solution is {found}, not {expected}:\n{printed[-1000:]}"


def main():
    prefix, folder = (Path(word).resolve() for word in sys.argv[1:3])
    printed, status = command(["gfortran", "-print-file-name=liblapack.so"])
    if status != 0 or "/" not in printed:
        print("skipped: there is no gfortran or no LAPACK (Debian packages gfortran, libblas-dev and liblapack-dev)")
        sys.exit(77)
    try:
        top = build(prefix, folder)
    except Unavailable as why:
        print(f"skipped: {why}")
        sys.exit(77)
    counts = [0, 0]
    for name, file, expected in PROGRAMS:
        for ranks in RANKS:
            what = wrong(prefix, top, name, file, expected, ranks)
            counts[bool(what)] += 1
            print(f"  {name} on {ranks}: {what or 'as expected'}", flush=True)
    print(f"{counts[0]} passed, {counts[1]} failed, 0 skipped")
    sys.exit(bool(counts[1]))


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
