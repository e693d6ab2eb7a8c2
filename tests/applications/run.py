#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds hypre, a library of parallel solvers, with our mpicc, and runs tests of its own.

usage: run.py PREFIX FOLDER [--quick] [TEST...]

PREFIX is where Rankpoint is installed, FOLDER a place to work in, whose build of hypre is kept. Each test runs hypre's programs on 1
to 9 ranks, and compares what they print: residuals and iterations of one problem divided among ranks in several ways, and
those that hypre's authors have saved. TEST is a name such as sstruct/cube; --quick runs some that use all programs. The last line printed is "N passed, N failed, N skipped";
"skipped: WHY" and the exit status 77 where the sources cannot be had.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import usage
from debian import Source, Unavailable, command, must, once

VERSION = "2.26.0"
SOURCE = Source(
    project="hypre",
    version=VERSION,
    archive=f"hypre_{VERSION}.orig.tar.gz",
    sha256="c214084bddc61a06f3758d82947f7f831e76d7e3edeac2c78bb82d597686e05d",
    package=f"libhypre-{VERSION}",
)
SOURCES = f"hypre-{VERSION}/src"
CFLAGS = "-O1 -w"
CONFIGURE = ["--with-MPI", "--disable-fortran"]
PROGRAMS = ["struct", "struct_migrate", "sstruct", "ij"]
# Of hypre's tests, those that take seconds; together they use all four programs.
TESTS = [
    "struct/migrate",
    "struct/pfmgorient",
    "struct/smgbase2d",
    "sstruct/addtovalues",
    "sstruct/cube",
    "sstruct/cycred",
    "sstruct/default2d",
    "sstruct/neighborpart",
    "sstruct/sharedpart",
    "ij/matrix",
    "ij/vector",
]
QUICK_TESTS = ["struct/migrate", "struct/smgbase2d", "sstruct/cube", "sstruct/neighborpart", "ij/matrix"]
# How far numbers, relatively, may be from those that were saved on another machine.
TOLERANCE = ["-rtol", "1e-2"]
JOBS = 2
LIMIT_S = 60


def build(prefix, folder):
    """The folder of hypre's tests, with its programs built against this header; kept for the next time."""
    sources = folder / SOURCES
    header = (prefix / "include/mpi.h").read_text(encoding="utf-8")
    state = "\n".join([str(prefix), CFLAGS, *CONFIGURE, *PROGRAMS, header])

    def anew():
        folder.mkdir(parents=True, exist_ok=True)
        SOURCE.fetch(folder)
        print(f"building hypre with {prefix}/bin/mpicc ...", flush=True)
        command(["rm", "-rf", str(sources)])
        SOURCE.unpack(folder, SOURCES)
        compilers = [f"CC={prefix}/bin/mpicc", f"CXX={prefix}/bin/mpicxx", f"CFLAGS={CFLAGS}"]
        must(["./configure", *CONFIGURE, *compilers], sources)
        must(["make", f"-j{JOBS}"], sources)
        must(["make", f"-j{JOBS}", *PROGRAMS], sources / "test")

    once(folder / "built", state, anew)
    return sources / "test"


def run(prefix, tests, name):
    """What is wrong with a test: empty if nothing is."""
    directory, test = name.split("/")
    directory = tests / f"TEST_{directory}"
    for old in [*directory.glob(f"{test}.err*"), *directory.glob(f"{test}.out*"), *directory.glob(f"{test}.fil*")]:
        old.unlink()
    launcher = f"{prefix}/bin/mpiexec --timeout {LIMIT_S} -n"
    script = f"{directory.name}/{test}.sh"
    printed, status = command(["bash", "./runtest.sh", "-mpi", launcher, *TOLERANCE, script], tests)
    # What the programs and the comparisons complain of.
    complaints = directory / f"{test}.err"
    if status != 0 or not complaints.exists():
        return f"runtest.sh ended with {status}\n{printed}"
    lines = complaints.read_text(encoding="utf-8", errors="replace").splitlines()
    if not list(directory.glob(f"{test}.out*")):
        return "no program ran"
    return "\n".join(line for line in lines if line.strip())


def main():
    quick = "--quick" in sys.argv
    prefix, folder, *names = [word for word in sys.argv[1:] if word != "--quick"]
    names = names or (QUICK_TESTS if quick else TESTS)
    prefix, folder = Path(prefix).resolve(), Path(folder).resolve()
    try:
        tests = build(prefix, folder)
    except Unavailable as why:
        print(f"skipped: {why}")
        sys.exit(77)
    failed = 0
    for name in names:
        wrong = run(prefix, tests, name)
        failed += bool(wrong)
        print(f"hypre {name}: {'FAILED' if wrong else 'passed'}", flush=True)
        if wrong:
            print(wrong[-3000:], flush=True)
    print(f"{len(names) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed != 0)


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
