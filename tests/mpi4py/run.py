#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds mpi4py with our mpicc and runs those of its tests that pass.txt lists.

usage: run.py PREFIX FOLDER [--quick] [--flags=WORDS]

PREFIX is where Rankpoint is installed, FOLDER a place to work in, whose build of mpi4py is kept. A line of pass.txt names a
file of mpi4py's test folder and the numbers of ranks that it has to pass on; NAME=VALUE is set for it, and -TEXT leaves out the
tests whose names contain TEXT. Tests find NumPy, which makes most of them several times as long; with --quick those of the files
marked +numpy alone. --flags are for mpiexec. --quick runs each file once, on the most ranks up to 4, files with the same settings in
one job. Plugins in Fortran are loaded beside mpi4py where there is gfortran. The last line printed is "N passed, N failed, N
skipped", counted in test functions and ranks.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import usage

VERSION = "4.1.2"
NUMPY = "numpy>=2,<3"
# Its one source file takes minutes to optimise, and its tests spend their time in Python.
CFLAGS = "-O0 -g0"
LIMIT_S = 300
PLUGINS = Path(__file__).resolve().parents[1] / "fortran/plugins"
# More ranks than the cores of most machines, and few enough for Python.
QUICK_RANKS = 4


def pip(*arguments, **variables):
    """Runs pip; its output is shown when it fails."""
    command = [sys.executable, "-m", "pip", *arguments]
    done = subprocess.run(
        command, env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")


def build(prefix, folder):
    """The folders of the built package, of NumPy and of the tests; built once for each state of the header."""
    source = folder / f"mpi4py-{VERSION}"
    site, numpy = folder / "site", folder / "numpy"
    stamp = folder / "built"
    state = (prefix / "include/mpi.h").read_text(encoding="utf-8") + NUMPY + CFLAGS
    if stamp.exists() and stamp.read_text(encoding="utf-8") == state:
        return site, numpy, source / "test"
    folder.mkdir(parents=True, exist_ok=True)
    print(f"building mpi4py {VERSION} with {prefix}/bin/mpicc, which takes minutes ...", flush=True)
    pip("download", "--no-deps", "--no-binary", "mpi4py", "--dest", str(folder), f"mpi4py=={VERSION}")
    archive = folder / f"mpi4py-{VERSION}.tar.gz"
    with tarfile.open(archive) as tar:
        # Debian 12's Python has no filters.
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    pip(
        "install", "--upgrade", "--no-deps", "--no-binary", "mpi4py", "--target", str(site), str(archive),
        MPICC=str(prefix / "bin/mpicc"), CFLAGS=CFLAGS,
    )
    pip("install", "--upgrade", "--only-binary", ":all:", "--target", str(numpy), NUMPY)
    stamp.write_text(state, encoding="utf-8")
    return site, numpy, source / "test"


def listed():
    """File names, numbers of ranks, what is set, what is left out and what is marked, of pass.txt."""
    text = Path(__file__).with_name("pass.txt").read_text(encoding="utf-8")
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    left_out = [[word[1:] for word in words[1:] if word.startswith("-")] for words in lines]
    numbers = [[int(word) for word in words[1:] if word.isdigit()] for words in lines]
    settings = [dict(word.split("=") for word in words[1:] if "=" in word) for words in lines]
    marks = [{word for word in words[1:] if word.startswith("+")} for words in lines]
    return [(words[0], *rest) for words, *rest in zip(lines, numbers, settings, left_out, marks) if words]


def jobs(rows, quick):
    """The jobs for rows of pass.txt: names of files, ranks, what is set, what is left out, and whether there is NumPy."""
    if not quick:
        return [([name], ranks, *rest, True) for name, numbers, *rest, _ in rows for ranks in numbers]
    together = {}
    for name, numbers, settings, left_out, marks in rows:
        ranks = max(number for number in numbers if number <= QUICK_RANKS)
        with_numpy = "+numpy" in marks
        # Tests are left out by their names alone, so files with such tests have jobs of their own.
        alike = (ranks, with_numpy, *settings.items(), *([name] if left_out else []))
        names, *_ = together.setdefault(alike, ([], ranks, settings, left_out, with_numpy))
        names.append(name)
    return list(together.values())


def run(prefix, flags, sites, tests, names, ranks, settings, left_out):
    """Passed, failed and skipped tests of files on so many ranks with these folders of packages, and what was printed."""
    command = [str(prefix / "bin/mpiexec"), *flags, "--timeout", str(LIMIT_S), "-l", "-n", str(ranks)]
    command += [sys.executable, "main.py", "-q", "-i", f"({'|'.join(names)})\\.py"]
    command += [word for text in left_out for word in ("-x", text)]
    path = os.pathsep.join(map(str, sites))
    # A rank has one core at most, and NumPy's threads would take the others'.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **settings, "PYTHONPATH": path}
    environment["LD_LIBRARY_PATH"] = str(prefix / "lib")
    done = subprocess.run(
        command, cwd=tests, env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
    )
    counted = [int(number) for number in re.findall(r"Ran (\d+) tests?", done.stdout)]
    skipped = sum(int(number) for number in re.findall(r"skipped=(\d+)", done.stdout))
    if done.returncode != 0 or len(counted) != ranks:
        return 0, max(sum(counted), 1), 0, done.stdout
    if sum(counted) == 0:
        return 0, 1, 0, f"{' '.join(names)} has no tests"
    return sum(counted) - skipped, 0, skipped, done.stdout


def fortran(prefix, folder, site):
    """Passed, failed and skipped: two plugins in Fortran beside mpi4py, where there is a compiler; and what was printed."""
    if not shutil.which("gfortran"):
        return 0, 0, 1, "no gfortran"
    paths = [folder / f"lib{source.stem}.so" for source in sorted(PLUGINS.glob("*.f90"))]
    for path in paths:
        command = [prefix / "bin/mpifort", "-fc=gfortran", "-shared", "-fPIC", PLUGINS / f"{path.stem[3:]}.f90", "-o", path]
        subprocess.run([str(word) for word in command], check=True)
    command = [prefix / "bin/mpiexec", "--timeout", LIMIT_S, "-n", 2, sys.executable, PLUGINS / "load.py", *paths]
    environment = {**os.environ, "PYTHONPATH": str(site), "LD_LIBRARY_PATH": str(prefix / "lib")}
    done = subprocess.run(
        [str(word) for word in command], env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
    )
    passed = done.returncode == 0 and "PASS with mpi4py" in done.stdout
    return int(passed), int(not passed), 0, done.stdout


def main():
    quick = "--quick" in sys.argv[3:]
    flags = [word for option in sys.argv[3:] if option.startswith("--flags=") for word in shlex.split(option[8:])]
    prefix, folder = (Path(argument).resolve() for argument in sys.argv[1:3])
    site, numpy, tests = build(prefix, folder)
    total = [0, 0, 0]
    for names, ranks, settings, left_out, with_numpy in jobs(listed(), quick):
        start = time.monotonic()
        sites = [site, numpy] if with_numpy else [site]
        *counts, output = run(prefix, flags, sites, tests, names, ranks, settings, left_out)
        seconds = time.monotonic() - start
        how = "with NumPy" if with_numpy else ""
        print(f"{' '.join(names)} on {ranks} ranks {settings or ''} {how}: {seconds:.1f} s", flush=True)
        if counts[1]:
            print(f"FAILED:\n{output}")
        total = [sum(pair) for pair in zip(total, counts)]
    *counts, output = fortran(prefix, folder, site)
    print(f"plugins in Fortran: {'failed: ' + output if counts[1] else 'as expected'}")
    total = [sum(pair) for pair in zip(total, counts)]
    print("{} passed, {} failed, {} skipped".format(*total))
    sys.exit(total[1] != 0)


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
