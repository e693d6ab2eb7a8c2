#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds MPICH's own test suite with our mpicc and runs what expected.txt names of it.

usage: run.py PREFIX FOLDER [--fortran] [--mpi=PREFIX] [--quick] [--whole] [--times] [--flags=WORDS] [DIRECTORY[/PROGRAM]...]

PREFIX is where Rankpoint is installed, FOLDER a place to work in, whose build of the suite is kept. expected.txt says which
directories are run, which of their programs cannot be built, which tests fail, and why: a test that fails unexpectedly is an
error, and so is one that passes unexpectedly. --fortran runs the programs in Fortran, of which fortran.txt says the same, and --mpi=
runs them with the mpiexec and the library of MPICH, of which fortran-mpich.txt says it. --quick runs every fourth test of a program that has
more than four, which differ in arguments. --whole runs the long tests too, --times prints what each took, --flags are for mpiexec, and
names of directories or programs run only those. The last line printed is "N passed, N failed, N skipped"; "skipped: WHY"
and the exit status 77 where the suite cannot be had.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from threading import Lock

sys.path.append(str(Path(__file__).resolve().parents[1]))
import build
import expected
import usage

AT_ONCE = 2
# The tests of a directory about files have one file.
ONE_FILE = Lock()
LIMIT_S = 240
WHOLE_LIMIT_S = 600
NO_ERRORS = re.compile(r"\s*No [Ee]rrors\s*")
# What may not become of a test.
WRONG = ["fails", "passes", "is built", "is not built"]
# Ends that no listed failure may have: mpiexec says that a rank died or that its time was up.
DISORDER = re.compile(r"^mpiexec: .*(was killed by signal|time of .* is up)", re.MULTILINE)


def available_gibibytes():
    """Memory that programs may still have."""
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 1024**2
    return 0.0


def passes(test, printed, status):
    """Whether a test did what it should: by MPICH's own rules, nothing else may be printed."""
    lines = [line for line in printed.splitlines() if line.strip()]
    clean = bool(lines) and all(NO_ERRORS.fullmatch(line) for line in lines)
    return {
        "no errors": clean and status == 0,
        "no errors, error": clean and status != 0,
        "error": status not in (0, 124) and not DISORDER.search(printed),
        "status": status == 0,
    }[test.judge]


def run(launcher, suite, whole, test):
    """The word for what became of a test, what it printed, and the seconds that it took."""
    program = suite / test.name
    if test.verdict == "never" or (test.is_long and not whole):
        return "skipped", "", 0.0
    if not program.exists() or test.verdict == "unbuilt":
        words = {(False, True): "as listed", (True, True): "is built", (False, False): "is not built"}
        return words[program.exists(), test.verdict == "unbuilt"], "", 0.0
    if test.gibibytes > available_gibibytes():
        return "too large", "", 0.0
    limit = WHOLE_LIMIT_S if whole else LIMIT_S
    mpiexec, environment = launcher(limit)
    command = [*mpiexec, "-n", str(test.ranks), program, *test.arguments]
    with ONE_FILE if program.parent.name == "io" else nullcontext():
        start = time.monotonic()
        done = subprocess.run(
            command, cwd=program.parent, env={**os.environ, **environment, **test.settings}, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        seconds = time.monotonic() - start
    passed = passes(test, done.stdout, done.returncode)
    if test.verdict != "fails":
        return "passed" if passed else "fails", done.stdout, seconds
    if passed:
        return "passes", done.stdout, seconds
    return "fails" if DISORDER.search(done.stdout) else "as listed", done.stdout, seconds


def every_fourth(tests):
    """The tests without three quarters of those of programs that have more than four."""
    seen, kept = Counter(), []
    of = Counter(test.name for test in tests)
    for test in tests:
        if of[test.name] <= 4 or seen[test.name] % 4 == 0:
            kept.append(test)
        seen[test.name] += 1
    return kept


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    prefix, folder, *names = [word for word in sys.argv[1:] if not word.startswith("--")]
    prefix, folder = Path(prefix).resolve(), Path(folder).resolve()
    whole = "--whole" in options
    flags = [word for option in options if option.startswith("--flags=") for word in shlex.split(option[8:])]
    other = next((Path(option[len("--mpi="):]).resolve() for option in options if option.startswith("--mpi=")), None)
    fortran = "--fortran" in options
    name = "fortran-mpich.txt" if other else "fortran.txt" if fortran else "expected.txt"
    lines = expected.rules(Path(__file__).with_name(name))

    def launcher(limit):
        """The start of a command that runs a program for so many seconds at most, and its settings."""
        if other:
            return [other / "bin/mpiexec", *flags], {"MPIEXEC_TIMEOUT": str(limit), "LD_LIBRARY_PATH": str(other / "lib")}
        return [prefix / "bin/mpiexec", *flags, "--timeout", str(limit)], {}

    directories = [rule.name for rule in lines if rule.verb == "directory"]
    try:
        suite = build.programs(prefix, folder, directories, fortran)
    except build.Unavailable as why:
        print(f"skipped: {why}")
        sys.exit(77)
    tests = expected.tests(suite, lines)
    if names:
        tests = [test for test in tests if test.name in names or str(Path(test.name).parent) in names]
    if "--quick" in options:
        tests = every_fourth(tests)
    if not tests:
        sys.exit(f"no test is called {' or '.join(names)}")
    results = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for test, result in zip(tests, pool.map(lambda test: run(launcher, suite, whole, test), tests)):
            results.append((test, result))
            report(test, *result, times="--times" in options)
    count = lambda words, chosen: sum(word in words for test, (word, *_) in results if chosen in (None, parent(test)))
    passed, listed, left = ["passed"], ["as listed"], ["skipped", "too large"]
    for name in dict.fromkeys(parent(test) for test in tests):
        total = sum(parent(test) == name for test in tests)
        print(f"  {name:16}{count(passed, name):4} of {total} pass, {count(listed, name)} as listed, {count(left, name)} not run")
    print(f"{count(listed, None)} fail or do not build as listed in expected.txt, {count(left, None)} were not run")
    wrong = len(results) - count(passed + listed + left, None)
    print(f"{count(passed, None)} passed, {wrong} failed, {count(listed + left, None)} skipped")
    sys.exit(wrong != 0)


def report(test, word, printed, seconds, times):
    """Says what became of a test, if that is to be said."""
    if times:
        print(f"{seconds:8.2f} s  {word:9}  {test}", flush=True)
    if word in WRONG:
        listed = f" (listed as {test.verdict}: {test.why})" if test.verdict else ""
        print(f"{test} {word}{listed}\n{printed[-3000:]}", flush=True)


def parent(test):
    """The directory of a test."""
    return str(Path(test.name).parent)


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
