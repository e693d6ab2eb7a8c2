#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs MPICH's own test suite over MPICH, without and with a layer of ours, and compares what becomes of each test.

usage: interposed.py PREFIX FOLDER --peer=PEER [--layers=NAMES] [--every=N] [DIRECTORY[/PROGRAM]...]

PREFIX is where Rankpoint is installed, FOLDER where run.py keeps its build of the suite, and PEER where MPICH is installed.
A test agrees when it passes in both runs or fails in both; it is skipped when it needs more than 8 ranks, or when the plain run
takes too long. --layers names the layers (datatypes), --every=N runs only each N-th test, and names of directories or programs
run only those. The last line printed is "N passed, N failed, N skipped".
"""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import build
import expected
import usage
from run import passes

AT_ONCE = 2
# Ranks of MPICH that wait do not leave their cores, so that jobs of more than this take minutes.
RANKS = 8
PLAIN_LIMIT_S = 20
# What a loaded machine may add.
LIMIT_S = 120
LAYERS = {
    "datatypes": {"RANKPOINT_INTERPOSE_PATH": "pack", "RANKPOINT_INTERPOSE_COLLECTIVES": "1"},
    "placement": {"RANKPOINT_INTERPOSE_PLACEMENT": "partition"},
}


def run(command, test, folder, limit, variables):
    """Whether a test passes, or nothing where its time was up, and what it printed."""
    job = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **test.settings, **variables}, text=True, errors="replace", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    try:
        printed, _ = job.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        printed, _ = job.communicate()
        return None, printed
    return passes(test, printed, job.returncode), printed


def compare(prefix, peer, suite, layers, test):
    """The word for a test, and what is to be printed of it."""
    program = suite / test.name
    if test.verdict in ("never", "unbuilt") or test.is_long or test.ranks > RANKS or not program.exists():
        return "skipped", ""
    library = {"LD_LIBRARY_PATH": str(peer / "lib")}
    command = [peer / "bin/mpiexec", "-n", str(test.ranks), program, *test.arguments]
    plain, printed = run(command, test, program.parent, PLAIN_LIMIT_S, library)
    if plain is None:
        return "skipped", ""
    settings = {name: value for layer in layers for name, value in LAYERS[layer].items()}
    command = [prefix / "bin/rankpoint", "interpose", "--layers", ",".join(layers), "--", *command]
    layered, with_layer = run(command, test, program.parent, LIMIT_S, {**library, **settings})
    if plain == layered:
        return "agrees", ""
    words = {True: "passes", False: "fails", None: "hangs"}
    return "differs", f"{words[plain]} without the layer:\n{printed[-1500:]}\n{words[layered]} with it:\n{with_layer[-3000:]}"


def main():
    options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--"))
    prefix, folder, *names = [word for word in sys.argv[1:] if not word.startswith("--")]
    prefix, folder, peer = (Path(path).resolve() for path in (prefix, folder, options["peer"]))
    layers = options.get("layers", "datatypes").split(",")
    lines = expected.rules(Path(__file__).with_name("expected.txt"))
    try:
        suite = build.programs(prefix, folder, [rule.name for rule in lines if rule.verb == "directory"])
    except build.Unavailable as why:
        print(f"skipped: {why}")
        sys.exit(77)
    tests = expected.tests(suite, lines)[:: int(options.get("every", 1))]
    if names:
        tests = [test for test in tests if test.name in names or str(Path(test.name).parent) in names]
    if not tests:
        sys.exit(f"no test is called {' or '.join(names)}")
    counts = {"agrees": 0, "differs": 0, "skipped": 0}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for test, (word, text) in zip(tests, pool.map(lambda test: compare(prefix, peer, suite, layers, test), tests)):
            counts[word] += 1
            if text:
                print(f"{test}\n{text}", flush=True)
    print("{agrees} passed, {differs} failed, {skipped} skipped".format(**counts))
    sys.exit(counts["differs"] != 0)


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
