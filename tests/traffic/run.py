#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs jobs of random traffic with random settings on one node and on several hosts, which are namespaces of this machine.

usage: run.py PREFIX FOLDER [--seconds=N] [--seed=N] [--job=N]

PREFIX is where Rankpoint is installed, FOLDER a place to work in. The first jobs have no settings, so that what users get is always
tried; further ones follow until N seconds are over. The seed decides all jobs; without one the time does. --job=N repeats one job of a
seed. Each rank of a job that hangs prints where it is. The last line printed is "N passed, N failed, N skipped".
"""

import random
import shlex
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.extend([str(HERE.parents[1] / "hosts"), str(HERE.parents[1])])
import usage
from lab import Lab, Unavailable

# Seconds of the whole run, of a job before its ranks report where they are, and beyond that.
RUN_S = 60
JOB_S = 100
GRACE_S = 20
HOSTS = 4
# Hosts and their ranks; the first ones begin each run. Where no host is named all ranks are on this node.
LAYOUTS = [
    "-n 4", "-hosts h1:2,h2:2", "-hosts h1:2,h2:2,h3:2,h4:2", "-n 16", "-hosts h1,h2", "-n 2", "-hosts h1:1,h2:2,h3:2", "-n 3", "-n 7",
    "-hosts h1:1,h2:1,h3:1,h4:1", "-hosts h1:4,h2:4", "-hosts h1:8,h2:8", "-hosts h1:3,h2:1,h3:3",
]
FIRST_JOBS = 4
# Rounds of a job, so that it takes a few seconds whatever its ranks.
ROUNDS = {16: 6, 8: 6, 7: 8}
MOST_ROUNDS = 25
SETTINGS = {
    "RANKPOINT_EAGER_BYTES": ["48", "1K", "8K", "20K", "64K", "1M"],
    "RANKPOINT_RENDEZVOUS": ["auto", "read", "pieces", "write"],
    "RANKPOINT_CMA": ["0", "1", "2"],
    "RANKPOINT_CMA_MIN_BYTES": ["0", "100K"],
    "RANKPOINT_CHUNK_BYTES": ["4K", "64K"],
    "RANKPOINT_UNEXPECTED_BYTES": ["0", "50K"],
    "RANKPOINT_OFFERS": ["0", "1"],
    "RANKPOINT_VCIS": ["1", "2", "5"],
    # With "vci" correct programs can hang (docs/threads.md).
    "RANKPOINT_PROGRESS": ["global"],
    "RANKPOINT_LOCKS": ["global"],
    "RANKPOINT_PROGRESS_THREAD": ["1"],
    "RANKPOINT_CHECK": ["types", "threads,hints"],
    "RANKPOINT_TRACE": ["@FOLDER@/trace"],
}
SETTINGS_OF_NETWORKS = {
    "RANKPOINT_NET_SHARING": ["process", "2"],
    "RANKPOINT_PROVIDER": ["@PROVIDERS@"],
}
# The share of settings that a job changes.
CHANGED = 0.25
PROVIDERS = ["tcp", "net", "tcp;ofi_rxm"]


def providers(prefix):
    """The providers of sockets that libfabric has here."""
    told = subprocess.run([prefix / "bin/rankpoint", "info", "--network"], capture_output=True, text=True, check=False, timeout=JOB_S)
    offered = {line.split()[0] for line in told.stdout.splitlines()[1:] if line.strip()} if told.returncode == 0 else set()
    return [name for name in PROVIDERS if name in offered]


def ranks_of(layout):
    """How many ranks a layout has."""
    name, value = layout.split()
    return int(value) if name == "-n" else sum(int(host.partition(":")[2] or 1) for host in value.split(","))


class Site:
    """What jobs need."""

    def __init__(self, prefix, folder):
        self.prefix, self.folder = Path(prefix).absolute(), Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program = self.folder / "traffic"
        words = [self.prefix / "bin/mpicc", "-O2", "-o", self.program, HERE.with_name("traffic.c")]
        subprocess.run(words, check=True, timeout=JOB_S)
        self.providers = providers(self.prefix)
        self.lab = Lab(self.folder / "lab")
        self.missing = None if self.providers else "libfabric offers no network"
        if not self.missing:
            try:
                self.lab.up(HOSTS)
                self.missing = None if self.lab.ssh else "no sshd (openssh-server)"
            except (Unavailable, OSError) as why:
                self.missing = str(why)

    def plan(self, seed, number):
        """The layout, the settings and the seed of a job."""
        numbers = random.Random(f"{seed} {number}")
        layout = LAYOUTS[number] if number < FIRST_JOBS else numbers.choice(LAYOUTS)
        settings = {}
        if number >= FIRST_JOBS:
            known = SETTINGS | (SETTINGS_OF_NETWORKS if "-hosts" in layout else {})
            for name, values in known.items():
                if numbers.random() < CHANGED:
                    value = numbers.choice(values)
                    value = numbers.choice(self.providers or [""]) if value == "@PROVIDERS@" else value
                    settings[name] = value.replace("@FOLDER@", str(self.folder))
        return layout, settings, numbers.randrange(1 << 31)

    def command(self, layout, settings, seed):
        """The words of a job."""
        ranks = ranks_of(layout)
        words = [str(self.prefix / "bin/mpiexec")]
        if "-hosts" in layout:
            words = [*self.lab.enter("h1"), *words, "--launcher", shlex.join(self.lab.ssh)]
        words += layout.split() + ["--timeout", str(JOB_S + GRACE_S // 2)]
        for name, value in settings.items():
            words += ["-genv", name, value]
        return [*words, str(self.program), str(seed), str(ROUNDS.get(ranks, MOST_ROUNDS)), str(JOB_S)]

    def run(self, layout, settings, seed):
        """Runs a job; what is wrong with it."""
        words = self.command(layout, settings, seed)
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=JOB_S + GRACE_S)
        except subprocess.TimeoutExpired as late:
            return f"no end after {JOB_S + GRACE_S} s: {late.stdout} {late.stderr}"
        if done.returncode != 0 or done.stdout.split() != ["right"]:
            return f"status {done.returncode}: {done.stdout}{done.stderr}"
        return None


def main(words):
    """Runs the jobs."""
    options = dict(word[2:].split("=") for word in words if word.startswith("--"))
    prefix, folder = [word for word in words if not word.startswith("--")]
    seed, limit_s = int(options.get("seed", time.time())), float(options.get("seconds", RUN_S))
    site = Site(prefix, folder)
    print(f"seed {seed}, providers {', '.join(site.providers)}")
    passed, failed, skipped, begin = 0, 0, 0, time.monotonic()
    number = int(options.get("job", 0))
    try:
        while number < FIRST_JOBS or time.monotonic() - begin < limit_s:
            layout, settings, drawn = site.plan(seed, number)
            told = f"job {number}: {layout} {shlex.join(f'{name}={value}' for name, value in settings.items())}"
            start = time.monotonic()
            if "-hosts" in layout and site.missing:
                skipped += 1
                print(f"skipped {told}: {site.missing}", flush=True)
                # Jobs on hosts take no time here.
                limit_s -= 1
            elif why := site.run(layout, settings, drawn):
                failed += 1
                print(f"FAILED {told} (--seed={seed} --job={number}): {why}", flush=True)
            else:
                passed += 1
                print(f"passed {told} ({time.monotonic() - start:.1f} s)", flush=True)
            number += 1
            if "job" in options:
                break
    finally:
        site.lab.down()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    usage.answer(__doc__)
    sys.exit(main(sys.argv[1:]))
