#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds LAMMPS, a molecular dynamics code, with our mpicxx, and runs three of its benchmarks.

usage: lammps.py PREFIX FOLDER [--peer PREFIX] [--steps N]

PREFIX is where Rankpoint is installed, FOLDER a place to work in, whose build is kept. The benchmarks are a Lennard-Jones liquid (lj),
a metal (eam) and polymer chains (chain), on 1, 2 and 4 ranks. What lj and eam print of energies and pressure is compared with
the same on one rank, and what all print with --peer, another library of the standard ABI that runs the same program, with what that gives on as many ranks,
digit by digit; the ratio of times is printed. The last line printed is "N passed, N failed, N skipped"; "skipped: WHY" and the exit status 77
where the sources cannot be had.
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import usage
from debian import Source, Unavailable, command, must, once

VERSION = "20220106.git7586adbb6a+ds1"
SOURCE = Source(
    project="LAMMPS",
    version=VERSION,
    archive=f"lammps_{VERSION}.orig.tar.xz",
    sha256="65146c615ad24d8b8bc64f4e05e86226a7f1fdb45c0b5ea9416562b9f3863082",
    package="lammps",
)
TOP = "lammps-0~20220106.git7586adbb6a"
FLAGS = "-O1 -w -std=c++11"
PACKAGES = ["yes-manybody", "yes-molecule"]
# Whether the numbers are the same on any number of ranks; the thermostat of chain has random numbers of each rank.
BENCHMARKS = {"lj": True, "eam": True, "chain": False}
RANKS = [1, 2, 4]
STEPS = "20"
JOBS = 2
LIMIT_S = 300
# How far numbers on several ranks may be, relatively, from those on one: sums are in another order.
TOLERANCE = 1e-5
RUN = re.compile(r"^run\s.*$", re.MULTILINE)
THERMO = re.compile(r"^Step\s.*?(?=^Loop time)", re.MULTILINE | re.DOTALL)
LOOP = re.compile(r"^Loop time of ([0-9.e+-]+) on", re.MULTILINE)
SHARE = re.compile(r"^Comm\s.*\|\s*([0-9.]+)\s*$", re.MULTILINE)


def build(prefix, folder):
    """The program, built against this header; kept for the next time."""
    sources = folder / TOP / "src"
    header = (prefix / "include/mpi.h").read_text(encoding="utf-8")
    state = "\n".join([str(prefix), FLAGS, *PACKAGES, header])

    def anew():
        folder.mkdir(parents=True, exist_ok=True)
        SOURCE.fetch(folder)
        print(f"building LAMMPS with {prefix}/bin/mpicxx ...", flush=True)
        command(["rm", "-rf", str(folder / TOP)])
        for part in ["src", "bench"]:
            SOURCE.unpack(folder, f"{TOP}/{part}")
        must(["make", *PACKAGES], sources)
        compiler = f"{prefix}/bin/mpicxx"
        options = [f"CC={compiler}", f"LINK={compiler}", f"CCFLAGS={FLAGS}", f"LINKFLAGS={FLAGS}"]
        must(["make", f"-j{JOBS}", "mpi", *options], sources)

    once(folder / "built", state, anew)
    return sources / "lmp_mpi"


def inputs(folder, name, steps):
    """The benchmark with so many steps."""
    bench = folder / TOP / "bench"
    text = (bench / f"in.{name}").read_text(encoding="utf-8")
    file = bench / f"in.{name}.short"
    # The first number of steps and how often something is printed.
    text = re.sub(r"^thermo\s.*$", "", text, flags=re.MULTILINE)
    file.write_text(RUN.sub(f"thermo 5\nrun {steps}", text), encoding="utf-8")
    return file


def run(prefix, program, ranks, file):
    """What is printed of the steps, the time of the loop in seconds, and the percentage of communication; or what is wrong."""
    words = [f"{prefix}/bin/mpiexec", "-n", str(ranks), str(program), "-in", file.name, "-log", "none"]
    settings = {"LD_LIBRARY_PATH": f"{prefix}/lib"}
    printed, status = command(["timeout", str(LIMIT_S), *words], file.parent, settings)
    thermo, loop, share = (pattern.search(printed) for pattern in (THERMO, LOOP, SHARE))
    if status != 0 or not (thermo and loop and share):
        return None, f"ended with {status}:\n{printed[-2000:]}"
    return (thermo.group(), float(loop.group(1)), float(share.group(1))), None


def differs(one, other):
    """Whether numbers of two runs are too far apart."""
    values = [[float(word) for line in text.splitlines()[1:] for word in line.split()] for text in (one, other)]
    if len(values[0]) != len(values[1]) or not values[0]:
        return True
    return any(abs(a - b) > TOLERANCE * max(abs(a), abs(b), 1) for a, b in zip(*values))


def check(prefix, peer, program, file, ranks, alone):
    """What is wrong with a run, and what it printed of the steps."""
    own, why = run(prefix, program, ranks, file)
    if why:
        return why, None
    steps, seconds, share = own
    told = f"{seconds:.3f} s, {share} % communication"
    if alone and differs(steps, alone):
        return f"other numbers than on one rank:\n{steps}\n{alone}", steps
    if peer:
        theirs, why = run(peer, program, ranks, file)
        if why:
            return f"with {peer}: {why}", steps
        if theirs[0] != steps:
            return f"other numbers than with {peer}:\n{steps}\n{theirs[0]}", steps
        told += f"; with the peer {theirs[1]:.3f} s, {theirs[2]} %: ratio {seconds / theirs[1]:.2f}"
    print(f"  {file.name} on {ranks}: {told}", flush=True)
    return None, steps


def option(words, name):
    """The value of an option, which is taken out of the words."""
    if name not in words:
        return None
    at = words.index(name)
    value = words[at + 1]
    del words[at : at + 2]
    return value


def main():
    words = sys.argv[1:]
    peer, steps = option(words, "--peer"), option(words, "--steps") or STEPS
    prefix, folder = (Path(word).resolve() for word in words)
    peer = Path(peer).resolve() if peer else None
    try:
        program = build(prefix, folder)
    except Unavailable as why:
        print(f"skipped: {why}")
        sys.exit(77)
    passed = failed = 0
    for name, is_the_same in BENCHMARKS.items():
        file, alone = inputs(folder, name, steps), None
        for ranks in RANKS:
            wrong, printed = check(prefix, peer, program, file, ranks, alone)
            alone = alone or (printed if is_the_same else None)
            failed += bool(wrong)
            passed += not wrong
            print(f"LAMMPS {name} on {ranks} ranks: {'FAILED' if wrong else 'passed'}", flush=True)
            if wrong:
                print(wrong, flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed != 0)


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
