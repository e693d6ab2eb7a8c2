#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs jobs over Verbs, in a virtual machine with an RDMA device.

usage: run.py PREFIX FOLDER [--executable=NAME=PATH ...] [CASE...]

PREFIX is where Rankpoint is installed, FOLDER a place to work in, which keeps the machine's kernel. The nodes of a job are groups of
ranks in the one machine: no memory is shared between groups, and libfabric connects them by `verbs;ofi_rxm` on the emulated device
(soft-RoCE). Executables are those of the tests of the crates `fabric` and `engine`; without them their cases are skipped. The last line
printed is "N passed, N failed, N skipped"; "skipped: WHY" and the exit status 77 where there is no such machine.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import usage
from guest import ADDRESS, DEVICE, UNAVAILABLE, Guest, Unavailable

HERE = Path(__file__).resolve()
TESTS = HERE.parents[1]
PROVIDER = "verbs;ofi_rxm"
INSIDE = "--inside"
EXECUTABLE = "--executable="
# Seconds for all cases, and for one command of a case, in a machine that is twenty times slower than its host.
ALL_S = 2400
COMMAND_S = 240
# Seconds for a suite of others.
SUITE_S = 1200
# The device takes fewer entries in a completion queue than libfabric asks for by default.
UNIVERSE = "64"
# C programs of ours, and those of threads, with VCIs enough for each.
PROGRAMS = ["ring", "collectives", "collective_requests", "completion", "neighbours", "partitioned", "threads", "win_create", "win_sync"]
PROGRAMS_OF_THREADS = ["endpoints", "spread", "win_endpoints"]
# Nodes of a job and its ranks; a program runs on the first that it is for.
LAYOUTS = {"a:2,b:2": 4, "a,b": 2, "a:1,b:1,c:1": 3}
# Of the engine's tests those of writes of the network.
ENGINE_TESTS = [
    "protocol::put_tests", "rma::message::opened_tests::long_puts", "rma::message::opened_tests::puts_with_requests",
    "rma::message::opened_tests::a_fence", "coll::tests::far_offers",
]
MPICH_TESTS = [
    "pt2pt/sendrecv2", "pt2pt/sendall", "pt2pt/mprobe", "pt2pt/manylmt", "rma/transpose3", "rma/lockcontention", "coll/alltoall1",
]
CASES = {}


class Skip(Exception):
    """Why a case cannot be run here."""


def case(body):
    """A function is a case."""
    CASES[body.__name__] = body
    return body


class Site:
    """The program under test, and executables of tests."""

    def __init__(self, prefix, folder, executables):
        self.prefix = Path(prefix).absolute()
        self.folder = Path(folder).absolute()
        self.executables = executables

    def flags(self, hosts):
        """mpiexec's flags for nodes that are in this machine."""
        return ["--launcher", str(self.folder / "launch"), "-hosts", hosts]

    def job(self, hosts, *program, limit_s=COMMAND_S):
        """Runs a job; its status and what it prints."""
        words = [self.prefix / "bin/mpiexec", *self.flags(hosts), "--timeout", str(limit_s - 20), *program]
        return finished(words, limit_s)

    def build(self, name, source):
        """Builds a C program, on the host."""
        words = [self.prefix / "bin/mpicc", "-O1", "-w", "-o", self.folder / name, source, "-lpthread", "-lm"]
        subprocess.run(words, check=True, timeout=COMMAND_S)

    def prepare(self):
        """Makes all that the cases need, on the host."""
        self.folder.mkdir(parents=True, exist_ok=True)
        launch = self.folder / "launch"
        launch.write_text('#!/bin/sh\nshift\nexec "$@"\n', encoding="ascii")
        launch.chmod(0o755)
        for name in PROGRAMS + PROGRAMS_OF_THREADS:
            self.build(name, TESTS / f"c/{name}.c")
        self.build("endless", TESTS / "hosts/endless.c")
        self.build("traffic", TESTS / "traffic/traffic.c")


def finished(words, limit_s=COMMAND_S, **variables):
    """Runs a command; its status and what it prints."""
    done = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False, timeout=limit_s,
    )  # fmt: skip
    return done.returncode, done.stdout


def passes(words, limit_s=COMMAND_S, **variables):
    """What a command prints that has to succeed."""
    status, printed = finished(words, limit_s, **variables)
    assert status == 0, f"status {status}: {printed[-4000:]}"
    return printed


@case
def the_device_is_used(site):
    report = passes([site.prefix / "bin/rankpoint", "info", "--network"])
    assert f"{PROVIDER} on {DEVICE} {ADDRESS}: used" in report, report


@case
def mpi_programs_pass(site):
    for name in PROGRAMS + PROGRAMS_OF_THREADS:
        os.environ["RANKPOINT_VCIS"] = "8" if name in PROGRAMS_OF_THREADS else ""
        # Contexts of this provider take tens of MiB each: more than the machine has for all VCIs of this program.
        os.environ["RANKPOINT_NET_SHARING"] = "process" if name == "win_endpoints" else "vci"
        # The head of a program names the numbers of ranks that it is for.
        ranks = re.search(r"RANKS: ([\d ]+)", (TESTS / f"c/{name}.c").read_text(encoding="utf-8"))
        hosts = next(hosts for hosts, count in LAYOUTS.items() if not ranks or str(count) in ranks[1].split())
        status, printed = site.job(hosts, site.folder / name)
        assert status == 0, f"{name} on {hosts}: status {status}: {printed[-4000:]}"
    for name in ["RANKPOINT_VCIS", "RANKPOINT_NET_SHARING"]:
        del os.environ[name]


@case
def random_traffic_passes(site):
    for hosts, seed in [("a:2,b:2", 1), ("a:1,b:1,c:1", 2), ("a:2,b:2", 3)]:
        status, printed = site.job(hosts, site.folder / "traffic", str(seed), "6", str(COMMAND_S - 40))
        assert (status, printed.split()) == (0, ["right"]), f"seed {seed} on {hosts}: status {status}: {printed[-4000:]}"


@case
def a_killed_rank_ends_the_job(site):
    script = f"{site.folder / 'endless'} & P=$!; [ $RANKPOINT_LAUNCH_RANK = 1 ] && sleep 5 && kill -9 $P; wait $P"
    begin = time.monotonic()
    status, printed = site.job("a:2,b:2", "sh", "-c", script)
    assert status not in (0, 124), f"status {status}: {printed}"
    assert "rank 1" in printed, printed
    assert time.monotonic() - begin < COMMAND_S / 2, f"that took {time.monotonic() - begin:.0f} s"


@case
def objects_of_verbs_carry_messages(site):
    probe = passes([site.prefix / "bin/rankpoint", "resources", "probe"])
    assert DEVICE in probe, probe


def tests_of(site, crate, *filters, **variables):
    """Runs tests of a crate, each with the time of a command."""
    if crate not in site.executables:
        raise Skip(f"the executable of the tests of {crate} is not given")
    executable = site.executables[crate]
    listed = passes([executable, *filters, "--list"])
    names = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
    assert names, listed
    for name in names:
        passes([executable, "--exact", name, "--test-threads", "1"], RANKPOINT_INTERFACE=ADDRESS, **variables)
    return f"{len(names)} tests"


@case
def contexts_of_the_network_carry_cells(site):
    return tests_of(site, "fabric", "network::tests", "network::context_tests", "network::payload_tests")


@case
def tests_of_the_engine_pass_on_two_nodes(site):
    return tests_of(site, "engine", *ENGINE_TESTS, RANKPOINT_TEST_NODES="2")


def suite(site, name, *options):
    """Runs a suite of others on two nodes, if it is built."""
    folder = site.folder.parent / name
    if not folder.exists():
        raise Skip(f"{folder} is not there: run the step of {name} first")
    flags = " ".join(site.flags("a,b"))
    printed = passes([sys.executable, TESTS / name / "run.py", site.prefix, folder, *options, f"--flags={flags}"], SUITE_S)
    return printed.splitlines()[-1]


@case
def suite_of_mpich(site):
    return suite(site, "mpich", *MPICH_TESTS)


def inside(site, names):
    """Runs the cases, in the machine."""
    os.environ.update(FI_UNIVERSE_SIZE=UNIVERSE, RANKPOINT_PROVIDER=PROVIDER)
    passed, failed, skipped = 0, 0, 0
    for name, body in CASES.items():
        if names and name not in names:
            skipped += 1
            continue
        begin = time.monotonic()
        try:
            found = body(site)
            passed += 1
            told = f", {found}" if found else ""
            print(f"passed {name} ({time.monotonic() - begin:.1f} s{told})", flush=True)
        except Skip as why:
            skipped += 1
            print(f"skipped {name}: {why}", flush=True)
        except (AssertionError, subprocess.SubprocessError, OSError) as why:
            failed += 1
            print(f"FAILED {name}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def main(words):
    """Runs the cases in a machine."""
    executables = dict(word.removeprefix(EXECUTABLE).split("=", 1) for word in words if word.startswith(EXECUTABLE))
    prefix, folder, *names = [word for word in words if not word.startswith("--")]
    site = Site(prefix, folder, executables)
    if INSIDE in words:
        return inside(site, names)
    guest = Guest(site.folder)
    try:
        guest.prepare()
        site.prepare()
        return guest.run([sys.executable, HERE, INSIDE, *words], ALL_S)
    except (Unavailable, OSError) as why:
        print(f"skipped: {why}")
        return UNAVAILABLE


if __name__ == "__main__":
    usage.answer(__doc__)
    sys.exit(main(sys.argv[1:]))
