#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds mpi4py with our mpicc and runs those of its tests that pass.txt lists.

usage: run.py PREFIX FOLDER [--quick] [--flags=WORDS]

PREFIX is where Rankpoint is installed, FOLDER a place to work in, whose build of mpi4py is kept. A line of pass.txt names a
file of mpi4py's test folder and the numbers of ranks that it has to pass on; NAME=VALUE is set for it, and -TEXT leaves out the
tests whose names contain TEXT. --flags are for mpiexec. --quick runs each file once, on the most ranks up to 4, files with the same settings in one job. The
last line printed is "N passed, N failed, N skipped", counted in test functions and ranks.
"""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import time
from pathlib import Path

VERSION = "4.1.2"
LIMIT_S = 300
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
    """The folder of the built package and that of its tests; built once for each state of the header."""
    source = folder / f"mpi4py-{VERSION}"
    site = folder / "site"
    stamp = folder / "built"
    header = (prefix / "include/mpi.h").read_text(encoding="utf-8")
    if stamp.exists() and stamp.read_text(encoding="utf-8") == header:
        return site, source / "test"
    folder.mkdir(parents=True, exist_ok=True)
    print(f"building mpi4py {VERSION} with {prefix}/bin/mpicc, which takes minutes ...", flush=True)
    pip("download", "--no-deps", "--no-binary", "mpi4py", "--dest", str(folder), f"mpi4py=={VERSION}")
    archive = folder / f"mpi4py-{VERSION}.tar.gz"
    with tarfile.open(archive) as tar:
        # Debian 12's Python has no filters.
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    pip(
        "install", "--upgrade", "--no-deps", "--no-binary", "mpi4py", "--target", str(site), str(archive),
        MPICC=str(prefix / "bin/mpicc"),
    )
    stamp.write_text(header, encoding="utf-8")
    return site, source / "test"


def excuse_files(tests):
    """Lets the tests of subclasses run without files: they leave out those of files where mpi4py was built without, and do not
    expect a library that says so when it is called. Those of windows expect it."""
    path = tests / "test_subclass.py"
    text = path.read_text(encoding="utf-8")
    disable = "\n    unittest.disable(BaseTestMyFile"
    text = text.replace("except NotImplementedError:" + disable, "except (NotImplementedError, MPI.Exception):" + disable)
    path.write_text(text, encoding="utf-8")


def listed():
    """File names, numbers of ranks, what is set and what is left out, of pass.txt."""
    text = Path(__file__).with_name("pass.txt").read_text(encoding="utf-8")
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    left_out = [[word[1:] for word in words[1:] if word.startswith("-")] for words in lines]
    numbers = [[int(word) for word in words[1:] if word.isdigit()] for words in lines]
    settings = [dict(word.split("=") for word in words[1:] if "=" in word) for words in lines]
    return [(words[0], *rest) for words, *rest in zip(lines, numbers, settings, left_out) if words]


def jobs(rows, quick):
    """The jobs for rows of pass.txt: names of files, ranks, what is set and what is left out."""
    if not quick:
        return [([name], ranks, settings, left_out) for name, numbers, settings, left_out in rows for ranks in numbers]
    together = {}
    for name, numbers, settings, left_out in rows:
        ranks = max(number for number in numbers if number <= QUICK_RANKS)
        # Tests are left out by their names alone, so files with such tests have jobs of their own.
        alike = (ranks, *settings.items(), *([name] if left_out else []))
        names, *_ = together.setdefault(alike, ([], ranks, settings, left_out))
        names.append(name)
    return list(together.values())


def run(prefix, flags, site, tests, names, ranks, settings, left_out):
    """Passed, failed and skipped tests of files on so many ranks, and what was printed."""
    command = [str(prefix / "bin/mpiexec"), *flags, "--timeout", str(LIMIT_S), "-l", "-n", str(ranks)]
    command += [sys.executable, "main.py", "-q", "-i", f"({'|'.join(names)})\\.py"]
    command += [word for text in left_out for word in ("-x", text)]
    environment = {**os.environ, **settings, "PYTHONPATH": str(site), "LD_LIBRARY_PATH": str(prefix / "lib")}
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


def main():
    quick = "--quick" in sys.argv[3:]
    flags = [word for option in sys.argv[3:] if option.startswith("--flags=") for word in shlex.split(option[8:])]
    prefix, folder = (Path(argument).resolve() for argument in sys.argv[1:3])
    site, tests = build(prefix, folder)
    excuse_files(tests)
    total = [0, 0, 0]
    for names, ranks, settings, left_out in jobs(listed(), quick):
        start = time.monotonic()
        *counts, output = run(prefix, flags, site, tests, names, ranks, settings, left_out)
        seconds = time.monotonic() - start
        print(f"{' '.join(names)} on {ranks} ranks {settings or ''}: {seconds:.1f} s", flush=True)
        if counts[1]:
            print(f"FAILED:\n{output}")
        total = [sum(pair) for pair in zip(total, counts)]
    print("{} passed, {} failed, {} skipped".format(*total))
    sys.exit(total[1] != 0)


if __name__ == "__main__":
    main()
