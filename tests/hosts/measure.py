#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures jobs on hosts that are namespaces of this machine: how long they take to start, and messages beside those of bare libfabric.

usage: measure.py PREFIX FOLDER [--rounds N] [--hosts N] [start] [floor]

PREFIX is where Rankpoint is installed, FOLDER a place to work in. `start`: seconds of a job that initializes MPI and ends, with 64 hosts
(`--hosts`) of one rank and 4 hosts of four, through ssh and through a command that enters namespaces; also MPICH's, where FOLDER/../peers has it. `floor`:
microseconds of half a round trip of MPI and of fi_pingpong (libfabric-bin) over the same provider. Runs of all take turns; printed are the
median and all values. Such hosts share the cores of this machine: only ratios tell something, and only on a quiet machine.
"""

import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
from lab import UNAVAILABLE, Lab, Unavailable

HERE = Path(__file__).resolve().parent
LIMIT_S = 300
# Hosts of one rank, and hosts and ranks of another job.
MANY_HOSTS = 64
FEW = (4, 4)
# Bytes of a message, and round trips of one run.
SIZES = [(8, 5000), (1024, 5000), (16384, 2000), (65536, 1000), (1 << 20, 200)]
NOTHING = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n"


def execute(words):
    """What a command prints; it has to succeed."""
    words = [str(word) for word in words]
    # A busy machine is slow to answer, which a measurement may show.
    environment = {"RANKPOINT_LAUNCH_CONNECT": str(LIMIT_S), **os.environ}
    streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    try:
        done = subprocess.run(words, **streams, env=environment, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{shlex.join(words)}: it takes more than {LIMIT_S} s") from None
    except FileNotFoundError:
        raise Unavailable(f"{words[0]} is not there") from None
    if done.returncode:
        raise Unavailable(f"{shlex.join(words)}: status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def compile_with(mpicc, source, program):
    """Builds a program."""
    execute([mpicc, "-O2", "-o", program, source])
    return program


def told(what, values, unit):
    """Prints a line."""
    every = " ".join(f"{value:.3f}" for value in sorted(values))
    print(f"{what:44} {statistics.median(values):10.3f} {unit}   ({every})", flush=True)


def entering(lab):
    """A command that runs another one on a host, without the time that Python takes to begin."""
    script = lab.folder / "enter.sh"
    hosts = "".join(f"{host}) set -- {shlex.join(lab.enter(host))} \"$@\";;\n" for host in lab.hosts)
    script.write_text(f'#!/bin/sh\nhost=$1; shift\ncase $host in\n{hosts}esac\nexec "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return str(script)


def start(prefix, folder, rounds, hosts):
    """Seconds of jobs that do nothing."""
    source = folder / "nothing.c"
    source.write_text(NOTHING, encoding="ascii")
    own = compile_with(prefix / "bin/mpicc", source, folder / "nothing")
    mpich = folder.parent / "peers/mpich/bin"
    theirs = compile_with(mpich / "mpicc_abi", source, folder / "nothing-mpich") if mpich.exists() else None
    for count, ranks in [(hosts, 1), FEW]:
        lab = Lab(folder / "lab")
        lab.up(count)
        try:
            names = ",".join(f"{host}:{ranks}" for host in lab.hosts)
            flags, inside = ["-hosts", names, "-n", count * ranks], lab.enter("h1")
            enter = entering(lab)
            ways = {"Rankpoint by a command": [prefix / "bin/mpiexec", "--launcher", enter, *flags, own]}
            if lab.ssh:
                ways["Rankpoint by ssh"] = [*inside, prefix / "bin/mpiexec", "--launcher", shlex.join(lab.ssh), *flags, own]
                if theirs:
                    ways["MPICH by ssh"] = [*inside, mpich / "mpiexec", "-launcher", "ssh", *flags, theirs]
            seconds = {way: [] for way in ways}
            for _ in range(rounds):
                for way, words in ways.items():
                    begin = time.monotonic()
                    execute(words)
                    seconds[way].append(time.monotonic() - begin)
            for way, values in seconds.items():
                told(f"{count} hosts x {ranks}, {way}", values, "s")
        finally:
            lab.down()


def bare(lab, provider, size, count):
    """Microseconds by fi_pingpong."""
    flags = ["fi_pingpong", "-p", provider, "-e", "rdm", "-I", str(count), "-S", str(size)]
    server = subprocess.Popen([*lab.enter("h2"), *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + LIMIT_S
        # That its server listens at port 47592; sockets of the last run linger.
        table = [*lab.enter("h2"), "cat", "/proc/net/tcp", "/proc/net/tcp6"]
        while not re.search(r":B9E8 \S+ 0A ", execute(table)) and time.monotonic() < until:
            time.sleep(0.02)
        text = execute([*lab.enter("h1"), *flags, lab.address("h2")])
        server.wait(LIMIT_S)
    finally:
        server.kill()
        server.wait()
    head, line = [row.split() for row in text.splitlines() if row.strip()][-2:]
    return float(line[head.index("usec/xfer")])


def floor(prefix, folder, rounds, _hosts):
    """Half round trips."""
    if not shutil.which("fi_pingpong"):
        raise Unavailable("fi_pingpong is not there: install libfabric-bin")
    program = compile_with(prefix / "bin/mpicc", HERE / "pingpong.c", folder / "pingpong")
    lab = Lab(folder / "lab")
    lab.up(2)
    try:
        report = execute([*lab.enter("h1"), prefix / "bin/rankpoint", "info", "--network"])
        provider = re.search(r"^ +(\S+) on .*: used$", report, re.MULTILINE)[1]
        job = [prefix / "bin/mpiexec", "--launcher", entering(lab), "-hosts", "h1,h2", "-n", 2, program]
        for size, count in SIZES:
            own, floors = [], []
            for _ in range(rounds):
                own.append(float(execute([*job, count, size])))
                floors.append(bare(lab, provider, size, count))
            told(f"{size} B, Rankpoint over {provider}", own, "us")
            told(f"{size} B, fi_pingpong over {provider}", floors, "us")
            print(f"{size} B, ratio {statistics.median(own) / statistics.median(floors):.3f}", flush=True)
    finally:
        lab.down()


def main(words):
    """The command line."""
    prefix, folder, *rest = words
    numbers = {"--rounds": 5, "--hosts": MANY_HOSTS}
    for flag in numbers:
        if flag in rest:
            at = rest.index(flag)
            numbers[flag] = int(rest[at + 1])
            del rest[at : at + 2]
    prefix, folder = Path(prefix).absolute(), Path(folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for name in rest or ["start", "floor"]:
        {"start": start, "floor": floor}[name](prefix, folder, *numbers.values())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Unavailable as why:
        print(f"measure: {why}", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    except (IndexError, KeyError, ValueError):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
