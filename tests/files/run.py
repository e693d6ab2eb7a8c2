#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds libraries that use MPI's files with our mpicc, and runs their own parallel tests.

usage: run.py PREFIX FOLDER [LIBRARY | LIBRARY/TEST]...

PREFIX is where Rankpoint is installed, FOLDER a place to work in, whose builds are kept. LIBRARY is one of romio (the tests of the
implementation in MPICH), hdf5, pnetcdf, netcdf and h5py; without a name all are run. NetCDF needs HDF5 and PnetCDF, h5py needs HDF5 and
mpi4py: these are built before. The last line printed is "N passed, N failed, N skipped"; "skipped: WHY" and the exit status 77 where
no sources can be had.
"""

import os
import shutil
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import libraries
import usage
from debian import Unavailable, command


def run(library, place, names):
    """Runs the tests of a library, or those that are named; returns how many passed, failed and were skipped."""
    try:
        tests = library.build(place)
    except Unavailable as why:
        print(f"{library.name}: skipped: {why}", flush=True)
        return 0, 0, 1
    counts = [0, 0, 0]
    for test in tests:
        if names and test.name not in names:
            continue
        start = time.monotonic()
        printed, status = command(test.words, test.folder, test.settings)
        failed = (status != 0 and not test.may_fail) or test.expected not in printed
        counts[failed] += 1
        verdict = f"FAILED with {status}" if failed else "passed"
        print(f"  {library.name}/{test.name}: {verdict} in {time.monotonic() - start:.0f} s", flush=True)
        if failed:
            print(printed[-6000:], flush=True)
    return counts


def main():
    prefix, folder, *words = sys.argv[1:]
    place = libraries.Place(Path(prefix).resolve(), Path(folder).resolve())
    for tool in ["make", "m4", "cc"]:
        if not shutil.which(tool):
            print(f"skipped: there is no {tool}")
            sys.exit(77)
    # Programs that were built with libtool find the library by its run path, those of Python by this.
    os.environ["LD_LIBRARY_PATH"] = str(place.prefix / "lib")
    chosen = [word.partition("/")[::2] for word in words] or [(library.name, "") for library in libraries.ALL]
    total = [0, 0, 0]
    for library in libraries.ALL:
        names = [test for name, test in chosen if name == library.name]
        if names:
            counts = run(library, place, [] if "" in names else names)
            total = [sum(pair) for pair in zip(total, counts)]
    if sum(total[:2]) == 0:
        print("skipped: no sources of these libraries can be had")
        sys.exit(77)
    print("{} passed, {} failed, {} skipped".format(*total))
    sys.exit(total[1] != 0)


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
