# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads plugins in Fortran beside mpi4py, or beside the C library where there is no mpi4py, each RTLD_LOCAL as Python loads modules.

usage: load.py PLUGIN...

A plugin is libNAME.so and has a function NAME, which takes a communicator as an INTEGER and returns the sum of the ranks' numbers.
"""

import ctypes
import sys
from pathlib import Path

try:
    from mpi4py import MPI
except ImportError:
    MPI = None


def world():
    """MPI_COMM_WORLD as an INTEGER, with MPI initialised, and what ends it."""
    if MPI:
        return MPI.COMM_WORLD.Dup().py2f(), lambda: None
    library = ctypes.CDLL("libmpi_abi.so.1", mode=ctypes.RTLD_LOCAL)
    assert library.MPI_Init(None, None) == 0
    # The value of the handle.
    return 0x101, library.MPI_Finalize


def main():
    comm, end = world()
    found = []
    for path in map(Path, sys.argv[1:]):
        plugin = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
        function = getattr(plugin, path.stem.removeprefix("lib"))
        function.argtypes, function.restype = [ctypes.c_int], ctypes.c_int
        found += [function(comm), function(0x101)]
    # Two ranks.
    assert all(number == 3 for number in found), found
    print("PASS with mpi4py" if MPI else "PASS")
    end()


main()
