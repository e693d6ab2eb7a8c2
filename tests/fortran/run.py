#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles programs with each face of the Fortran bindings and runs them.

usage: run.py PREFIX FOLDER [--mpi=PREFIX] [--every-compiler]

PREFIX is where Rankpoint is installed, FOLDER a place to work in. The echo test calls every procedure on a library that prints what
arrives (echo.py); the programs of this folder run on Rankpoint, and with --mpi= on another MPI of the standard ABI, too. The first
line of a program says with how many ranks it runs and what else it is compiled with, NAME:FLAG only by compilers of that name.
--every-compiler does all with the other compilers, too, that are here and can use every face. The last line printed is "N passed,
N failed, N skipped"; "skipped: WHY" and the exit status 77 where there is no Fortran compiler.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import echo
import usage

HERE = Path(__file__).parent
LIMIT_S = "60"
# Of many random sections.
RANDOM_LIMIT_S = "600"
# The library may be this large, and needs no other libraries: above all none of a Fortran compiler.
MOST_BYTES = 3_000_000
NEEDED = ("libmpi_abi.so", "libc.so", "libgcc_s.so", "ld-linux")
# Beside the one that mpifort takes.
COMPILERS = ["gfortran-11", "gfortran-13", "gfortran-14", "flang-new-19", "flang-20"]


def run(words, folder, settings=None):
    """What a command printed, both ways, and its exit status."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env={**os.environ, **(settings or {})}, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return done.stdout, done.returncode


def echoed(mpifort, folder, face, by_keyword, mode):
    """What is wrong with the calls of a face."""
    program = echo.Program(face, by_keyword, mode)
    (folder / "echo.f90").write_text(program.text(), encoding="utf-8")
    printed, status = run([*mpifort, "-O0", "echo.f90", "-o", "echo"], folder)
    if status != 0:
        return [printed[-3000:]]
    printed, status = run(["timeout", LIMIT_S, "./echo"], folder, {"LD_LIBRARY_PATH": str(folder / "lib")})
    wrong = [f"exit status {status}"] if status else []
    arrived = (folder / "calls").read_text(encoding="utf-8").splitlines()
    returned = [line.strip() for line in printed.splitlines() if line.strip()]
    for title, found, expected in [("C got", arrived, [echo.calls(function, mode) for function in program.names()]),
                                   ("Fortran got", returned, [echo.results(function, mode) for function in program.names()])]:
        wrong += [f"{title} '{one}', not '{other}'" for one, other in zip(found, expected) if one != other][:20]
        if len(found) != len(expected):
            wrong.append(f"{title} {len(found)} lines, not {len(expected)}: {found[-1:]}")
    return wrong


def all_echoed(prefix, mpifort, folder):
    """The number of calls of all faces that arrived, and what is wrong."""
    (folder / "lib").mkdir(exist_ok=True)
    (folder / "echo.c").write_text(echo.library(), encoding="utf-8")
    words = ["-w", "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "echo.c", "-o", "lib/libmpi_abi.so.1"]
    printed, status = run(["cc", f"-I{prefix}/include", *words], folder)
    if status != 0:
        return 0, [printed[-3000:]]
    passed, wrong = 0, []
    ways = [("mpif.h", False, ""), ("mpi", False, ""), ("mpi", True, ""), ("mpi_f08", False, ""), ("mpi_f08", True, "")]
    ways += [(face, False, mode) for face in ("mpif.h", "mpi", "mpi_f08") for mode in ("bottom", "in place")]
    for face, by_keyword, mode in ways:
        found = echoed(mpifort, folder, face, by_keyword, mode)
        wrong += [f"echo of {face}{' by keyword' if by_keyword else ''} {mode}: {what}" for what in found]
        passed += 0 if found else len(echo.Program(face, by_keyword, mode).names())
    return passed, wrong


def library(prefix):
    """What is wrong with the library itself: its size, and what it needs."""
    path = prefix / "lib/libmpifort_rankpoint.so.1"
    wrong = []
    if path.stat().st_size > MOST_BYTES:
        wrong.append(f"{path} has {path.stat().st_size} bytes, and may have {MOST_BYTES}")
    printed, _ = run(["readelf", "-d", path], prefix)
    needed = [line.split("[")[1].rstrip("]") for line in printed.splitlines() if "(NEEDED)" in line]
    wrong += [f"{path} needs {name}" for name in needed if not name.startswith(NEEDED)]
    return wrong if needed else [f"readelf does not say what {path} needs"]


def programs(mpifort, folder, launchers):
    """The number of programs that ran, and what is wrong."""
    passed, wrong = 0, []
    compiler = run([*mpifort, "-showme:command"], folder)[0]
    for source in sorted([*HERE.glob("*.f90"), *HERE.glob("*.f")]):
        head = source.read_text(encoding="utf-8").splitlines()[1]
        ranks, *flags = head.partition("RANKS:")[2].split()
        settings = dict(flag.split("=") for flag in flags if flag.startswith("RANKPOINT_"))
        flags = [flag.split(":") for flag in flags if not flag.startswith("RANKPOINT_")]
        flags = [flag for *only, flag in flags if all(name in compiler for name in only)]
        program = folder / source.stem
        printed, status = run([*mpifort, source, *flags, "-o", program], folder, settings)
        if status != 0:
            wrong.append(f"{source.name} does not compile: {printed[-3000:]}")
            continue
        for number in ranks.split(","):
            for name, words, more in launchers:
                printed, status = run([*words, "-n", number, program], folder, more)
                if status != 0 or "PASS" not in printed:
                    wrong.append(f"{source.name} with {number} ranks on {name}: exit status {status}: {printed[-2000:]}")
                else:
                    passed += 1
    return passed, wrong


def random_sections(prefix, folder, launchers, cases):
    """The number of runs of calls with random sections, and what is wrong."""
    program = folder / "random_sections"
    words = ["-O1", "-Wall", "-Wextra", "-Werror", HERE / "random/random_sections.c", "-o", program, "-lmpifort_abi"]
    printed, status = run([prefix / "bin/mpicc", *words], folder)
    if status != 0:
        return 0, [f"random_sections.c does not compile: {printed[-3000:]}"]
    passed, wrong = 0, []
    for number in ["1", "2"]:
        for name, words, more in launchers:
            printed, status = run([*words, "-n", number, program, str(cases)], folder, more)
            if status != 0 or f"PASS {cases} cases" not in printed:
                wrong.append(f"random_sections with {number} ranks on {name}: exit status {status}: {printed[-2000:]}")
            else:
                passed += 1
    return passed, wrong


def plugins(prefix, mpifort, folder):
    """What is wrong with two plugins that Python loads, each RTLD_LOCAL."""
    paths = []
    for source in sorted((HERE / "plugins").glob("*.f90")):
        paths.append(folder / f"lib{source.stem}.so")
        printed, status = run([*mpifort, "-shared", "-fPIC", source, "-o", paths[-1]], folder)
        if status != 0:
            return [f"{source.name} does not compile: {printed[-3000:]}"]
    words = [prefix / "bin/mpiexec", "--timeout", LIMIT_S, "-n", "2", sys.executable, HERE / "plugins/load.py", *paths]
    printed, status = run(words, folder, {"LD_LIBRARY_PATH": str(prefix / "lib")})
    return [] if status == 0 and "PASS" in printed else [f"plugins: exit status {status}: {printed[-2000:]}"]


def launched(prefix, others, limit_s):
    """How programs are started on Rankpoint and on other libraries: name, command, settings."""
    launchers = [("Rankpoint", [prefix / "bin/mpiexec", "--timeout", limit_s], {})]
    for other in others:
        settings = {"LD_LIBRARY_PATH": str(other / "lib"), "MPIEXEC_TIMEOUT": limit_s}
        launchers.append((str(other), [other / "bin/mpiexec"], settings))
    return launchers


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--mpi=")]
    prefix, folder = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("--")]
    if not any(shutil.which(name) for name in ["gfortran", "flang", "flang-new", "flang-new-19"]):
        print("skipped: there is no Fortran compiler (Debian package gfortran)")
        sys.exit(77)
    others = [Path(option[len("--mpi="):]).resolve() for option in options]
    launchers = launched(prefix, others, LIMIT_S)
    compilers = [name for name in COMPILERS if shutil.which(name)] if "--every-compiler" in sys.argv else []
    passed, wrong = 0, library(prefix)
    for flags, place in [([], folder), *(([f"-fc={name}"], folder / name) for name in compilers)]:
        place.mkdir(parents=True, exist_ok=True)
        mpifort = [prefix / "bin/mpifort", *flags]
        counts = [all_echoed(prefix, mpifort, place), programs(mpifort, place, launchers)]
        passed += sum(count for count, _ in counts)
        wrong += [what for _, all_wrong in counts for what in all_wrong]
        found = plugins(prefix, mpifort, place)
        passed, wrong = passed + (not found), wrong + found
        print(" ".join(flags) or "usual compiler")
        print(f"  echo               {counts[0][0]} calls\n  programs           {counts[1][0]} runs")
    cases = 100_000 if "--every-compiler" in sys.argv else 1000
    runs, found = random_sections(prefix, folder, launched(prefix, others, RANDOM_LIMIT_S), cases)
    passed, wrong = passed + runs, wrong + found
    print(f"random sections\n  programs           {runs} runs of {cases} cases")
    for what in wrong:
        print(what)
    print(f"{passed} passed, {len(wrong)} failed, 0 skipped")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
