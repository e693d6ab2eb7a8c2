#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers and profiling tools between programs and MPI libraries, and what goes wrong when they are loaded.

usage: run.py PREFIX FOLDER

PREFIX is where Rankpoint is installed, FOLDER a place to work in. The same tests run with Rankpoint, and with MPICH where
FOLDER/../peers has it; those of GPUs where FOLDER/../gpu has the double of the driver, libcuda.so.1. The last line printed is "N passed, N failed, N skipped".
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import usage

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples/interpose"
LIMIT_S = 60
DISPATCHER = "lib/rankpoint/interpose/libmpi_abi.so.1"
# What each tool sees of calls.c on two ranks: its own calls of MPI_Comm_rank go to the tools behind it.
SEEN = [
    f"tool {name} rank {rank}: {37 * (rank == 0)} sends, {2 + before} ranks, 3 barriers, 2 reductions"
    for before, name in enumerate("abc")
    for rank in (0, 1)
]
# And the statistics of it, of both ranks.
COUNTED = {"MPI_Send": 37, "MPI_Recv": 37, "MPI_Barrier": 6, "MPI_Comm_rank": 4, "MPI_Pcontrol": 2, "MPI_Finalize": 2}


class Host:
    """An MPI library, its compiler and its launcher."""

    def __init__(self, name, prefix, rankpoint, folder):
        self.name, self.rankpoint, self.folder = name, rankpoint, folder
        self.compiler, self.launcher = prefix / "bin/mpicc_abi", prefix / "bin/mpiexec"
        self.library = prefix / "lib/libmpi_abi.so.1"
        self.dispatcher = rankpoint / DISPATCHER
        folder.mkdir(parents=True, exist_ok=True)
        self.calls = self.compile("calls.c", "calls")
        self.datatypes = self.compile("datatypes.c", "datatypes", "-O1")
        self.collectives = self.compile("collectives.c", "collectives", "-O1")
        self.sessions = self.compile("sessions.c", "sessions", "-O1")
        example = lambda name: self.compile(EXAMPLES / f"{name}.c", name, "-O1", "-Wall", "-Wextra", "-Werror")
        self.halos = [example(name) for name in ("halo_pack", "halo_types")]
        self.threads = self.compile("threads.c", "threads", "-O1", "-pthread")
        self.corners = self.compile("corners.c", "corners", "-O1", "-pthread")
        self.placement = self.compile("placement.c", "placement", "-O1")
        self.devices = self.compile("devices.c", "devices", "-O1")
        self.allocations = self.compile("allocations.c", "allocations", "-O1")
        parts = [HERE / f"endpoints_{part}.c" for part in ("types", "collectives", "requests", "threads")]
        self.endpoints = self.compile("endpoints.c", "endpoints", "-O1", "-pthread", *parts)
        tool = lambda name: self.compile("tool.c", f"{name}.so", "-shared", "-fPIC", f'-DNAME="{name}"')
        self.tools = [tool(name) for name in "abc"]

    def with_devices(self, *arguments, path="auto", double, **variables):
        """Runs devices.c on two ranks with the layer; what the statistics have of it."""
        variables = {"RANKPOINT_INTERPOSE_PATH": path, "LD_LIBRARY_PATH": double, "RANKPOINT_GPU": 0, **variables}
        result = self.interposed("--layers", "datatypes", "--stats", command=[self.launcher, "-n", "2", self.devices, *arguments], **variables)
        assert result[0] == 0 and "PASS" in result[1], result
        return numbers(result[2], "datatypes")

    def compile(self, source, name, *flags, compiler=None):
        """Builds a file of this folder with the host's compiler, or another one."""
        command = [compiler or self.compiler, *flags, HERE / source, "-o", self.folder / name]
        subprocess.run(command, check=True, timeout=LIMIT_S)
        return self.folder / name

    def interposed(self, *options, command=None, **variables):
        """Runs a command, or calls.c on two ranks, under `rankpoint interpose`."""
        command = command or [self.launcher, "-n", "2", self.calls]
        return run([self.rankpoint / "bin/rankpoint", "interpose", *options, "--", *command], **variables)

    def with_endpoints(self, processes, each, *arguments, program=None, **variables):
        """Runs a program, or endpoints.c, under `rankpoint endpoints`, with proxies also where the library has endpoints itself."""
        variables = {"RANKPOINT_INTERPOSE_ENDPOINTS": "proxies", **variables}
        return run(self.endpoints_command(processes, each, *arguments, program=program), **variables)

    def endpoints_command(self, processes, each, *arguments, program=None):
        """The command line of that."""
        counts = ["-n", str(processes), "-e", str(each)]
        command = [self.launcher, program or self.endpoints, *arguments]
        return [self.rankpoint / "bin/rankpoint", "endpoints", *counts, "--", *command]

    def preloaded(self, preload, command=None, **variables):
        """Runs a command, or calls.c alone, with libraries preloaded by hand."""
        return run(command or [self.calls], LD_PRELOAD=":".join(map(str, preload)), **variables)


def run(command, **variables):
    """Status, output and errors of a command. If it takes too long, it ends with all that it has started."""
    started = subprocess.Popen(
        command, env={**os.environ, **{name: str(value) for name, value in variables.items()}}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )
    try:
        output, errors = started.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        os.killpg(started.pid, signal.SIGKILL)
        output, errors = started.communicate()
        raise AssertionError(f"{command} took more than {LIMIT_S} s: {output} {errors}") from late
    return started.returncode, output, errors


def passes(result, ranks=1):
    """The errors of a run in which all ranks pass."""
    status, output, errors = result
    assert status == 0 and output.count("PASS") == ranks, result
    return errors


def numbers(errors, layer):
    """What the statistics have of a layer."""
    lines = [line.split() for line in errors.splitlines() if f" {layer}." in line]
    return {name.removeprefix(f"{layer}."): int(number) for number, name in lines}


def nothing_in_between_is_not_noticed(host):
    assert passes(host.interposed(), 2) == ""


def three_tools_see_every_call(host):
    for names in (host.tools, host.tools[::-1]):
        result = host.interposed("--tools", ",".join(map(str, names)))
        assert passes(result, 2) == ""
        # Launchers may put what ranks print on one line.
        lines = re.findall(r"tool . rank .*? reductions", result[1])
        letters = [name.stem for name in names]
        expected = sorted(line.replace(f"tool {'abc'[at]} ", f"tool {letter} ") for line in SEEN for at, letter in
                          enumerate(letters) if line.startswith(f"tool {'abc'[at]} "))
        assert sorted(lines) == expected, result[1]


def calls_of_the_program_are_counted(host):
    for options in ([], ["--tools", str(host.tools[0])]):
        errors = passes(host.interposed("--stats", *options), 2)
        assert "2 ranks wrote statistics" in errors, errors
        rows = [line.split() for line in errors.splitlines()]
        counts = {row[-1]: int(row[0]) for row in rows if len(row) == 7 and row[-1].startswith("MPI_")}
        assert {name: counts.get(name) for name in COUNTED} == COUNTED, errors
        # Those of the tools and by profiling names are not the program's.
        assert "MPI_Comm_size" not in counts, errors


def the_start_is_described(host):
    errors = passes(host.interposed("--verbose", "--tools", str(host.tools[1])), 2)
    assert errors.count(f"layers [], tools [{host.tools[1]}], library ") == 2, errors


def random_types(host, seed, *where, path="pack", count=400):
    """Runs datatypes.c on two ranks, of which some have the layer; the numbers that the statistics have of it."""
    variables = [f"RANKPOINT_INTERPOSE_PATH={path}"]
    rank = lambda number: ["-n", "1", "env", *variables * (number in where), *["RANKPOINT_INTERPOSE=datatypes"] * (number in where),
                           host.datatypes, str(seed), str(count)]
    errors = passes(host.interposed("--stats", command=[host.launcher, *rank(0), ":", *rank(1)]), 2)
    return numbers(errors, "datatypes")


def datatypes_arrive_as_without_the_layer(host):
    both = random_types(host, 1, 0, 1)
    assert both["packed"] > 1000 and both["unpacked"] > 300 and "types_refused" not in both, both
    sender, receiver = random_types(host, 2, 0), random_types(host, 3, 1)
    assert sender["packed"] > 500 and receiver["unpacked"] > 300, (sender, receiver)
    random_types(host, 4, 0, 1, path="auto")
    system = random_types(host, 5, 0, 1, path="system")
    assert "packed" not in system and "unpacked" not in system and system["passed_faster"] > 1000, system


def collectives_move_packed_data_on_request(host):
    for ranks, seed in [(1, 1), (2, 2), (3, 3), (5, 4)]:
        command = [host.launcher, "-n", str(ranks), host.collectives, str(seed), "300"]
        on = host.interposed("--layers", "datatypes", "--stats", command=command, RANKPOINT_INTERPOSE_COLLECTIVES=1)
        found = numbers(passes(on, ranks), "datatypes")
        assert found["collectives"] > 150 * ranks and found["packed"] > 50 * ranks and found["unpacked"] > 30 * ranks, found
    # By default they are the library's.
    off = host.interposed("--layers", "datatypes", "--stats", command=command)
    assert "collectives" not in numbers(passes(off, 5), "datatypes"), off


def halos_are_exchanged(host):
    for program in host.halos:
        for ranks in (1, 4):
            command = [host.launcher, "-n", str(ranks), program, "9", "2", "2"]
            plain = run(command)
            layered = host.interposed("--layers", "datatypes", "--stats", command=command, RANKPOINT_INTERPOSE_PATH="pack",
                                      RANKPOINT_INTERPOSE_COLLECTIVES=1)
            for status, output, errors in (plain, layered):
                assert status == 0 and output.startswith(f"{program.name}, {ranks} ranks") and "verified" in output, (output, errors)
            # Each direction, at each of three exchanges.
            found = numbers(layered[2], "datatypes")
            assert found["packed"] == found["unpacked"] == 3 * 26 * ranks, found
            assert found.get("collectives", 0) == (3 * ranks if program.name == "halo_pack" else 0), found


def sessions_have_the_layer_too(host):
    if host.name == "mpich":
        # Its MPI_Comm_create_from_group hangs now and then, without anything in between.
        return
    for ranks in (1, 3):
        command = [host.launcher, "-n", str(ranks), host.sessions, "2"]
        passes(run(command), ranks)
        layered = host.interposed("--layers", "datatypes", "--stats", command=command, RANKPOINT_INTERPOSE_PATH="pack",
                                  RANKPOINT_INTERPOSE_COLLECTIVES=1)
        found = numbers(passes(layered, ranks), "datatypes")
        # A message and a broadcast in each exchange. Types that were committed before MPI_Finalize are forgotten.
        exchanges = 9
        sent, arrived = exchanges * (ranks + 1), exchanges * (2 * ranks - 1)
        assert (found["packed"], found["unpacked"]) == (sent, arrived), found
        assert found["collectives"] == (exchanges + 1) * ranks and found["types"] == 6 * ranks, found


def threads_use_the_same_handles(host):
    command = [host.launcher, "-n", "2", "env", "RANKPOINT_INTERPOSE_PATH=pack", host.threads, "4", "200"]
    assert "packed" in passes(host.interposed("--layers", "datatypes", "--stats", command=command), 2)


def the_rest_remains_as_it_is(host):
    passes(run([host.launcher, "-n", "1", host.corners]))
    for path in ("pack", "auto"):
        command = [host.launcher, "-n", "1", "env", f"RANKPOINT_INTERPOSE_PATH={path}", host.corners]
        passes(host.interposed("--layers", "datatypes", command=command))


def nothing_is_allocated_after_the_first_messages(host):
    passes(host.interposed("--layers", "datatypes", command=[host.launcher, "-n", "2", host.allocations], RANKPOINT_INTERPOSE_PATH="pack"), 2)


def data_of_gpus_go_through_pinned_memory(host, double):
    for when, path in (("early", "auto"), ("late", "pack"), ("late", "oneshot")):
        found = host.with_devices(when, "exact", path=path, double=double)
        assert found["oneshot"] > 1000 and "passed_device" not in found and "device_requests" not in found, found
        assert 0 < found["pinned_allocations"] < 40 < found["pinned_requests"] and found["pinned_peak_bytes"] > 0, found


def contiguous_data_of_gpus_go_there_on_request(host, double):
    found = host.with_devices("early", "exact", "all", double=double, RANKPOINT_INTERPOSE_CONTIGUOUS=1)
    assert found["oneshot"] > 1500, found


def data_of_gpus_stay_there_if_the_library_takes_them(host, double):
    if host.name != "rankpoint":
        # It is built without CUDA.
        return
    for when, gpu in (("early", 1), ("late", 3)):
        variables = {"RANKPOINT_GPU": gpu, "RANKPOINT_INTERPOSE_DEVICE_MEMORY": 1}
        found = host.with_devices(when, "launches", path="device", double=double, **variables)
        assert found["device"] > 1000 and found["device_requests"] > 40 > found["device_allocations"], found
        # Long data in short blocks.
        found = host.with_devices(when, "launches", double=double, **variables)
        assert found["device"] > 200 and found["oneshot"] > 800, found


def a_library_that_does_not_say_so_gets_no_data_of_gpus(host, double):
    result = host.interposed("--layers", "datatypes", command=[host.launcher, "-n", "2", host.devices, "early", "exact"],
                             RANKPOINT_INTERPOSE_PATH="device", LD_LIBRARY_PATH=double, RANKPOINT_GPU=0)
    line = "the MPI library does not say that it takes memory of a GPU: oneshot instead of device"
    assert result[0] == 0 and result[2].count(line) == 2, result


def data_of_the_host_need_no_driver(host, double):
    # Left to the library, they are not even looked at.
    found = host.with_devices("early", "exact", "host", path="system", double=double)
    assert "packed" not in found and found["passed_faster"] > 100, found


def profiles_that_cannot_be_used_are_named(host, double):
    profile = host.folder / "profile.toml"
    profile.write_text("schema = 0\n")
    command = [host.launcher, "-n", "2", host.devices, "early", "exact"]
    # The command passes on the one that other commands read.
    for variable in ("RANKPOINT_INTERPOSE_PROFILE", "RANKPOINT_PROFILE"):
        # The rule has data stay on the GPU, which MPICH does not take: the line comes before.
        result = host.interposed("--layers", "datatypes", command=command, LD_LIBRARY_PATH=double, RANKPOINT_GPU=0,
                                 RANKPOINT_INTERPOSE_DEVICE_MEMORY=1, **{variable: profile})
        assert result[2].count("datatypes: no times of GPUs: ") == 2 and str(profile) in result[2], result


def placed(host, ranks, nodes, what, *options, layers="placement", **variables):
    """Runs placement.c with the layer; what the statistics have of it. The program counts the same edges between nodes."""
    command = [host.launcher, "-n", ranks, host.placement, nodes, what]
    result = host.interposed("--stats", f"--layers={layers}", *options, command=list(map(str, command)), **variables)
    found = numbers(passes(result, ranks), "placement")
    crossing = tuple(map(int, re.search(r"crossing (\d+) (\d+)", result[1]).groups()))
    assert crossing == (found.get("crossing_before", 0), found.get("crossing_after", 0)), (crossing, result)
    return found


def on(nodes, method="partition"):
    """Settings for these nodes."""
    return {"RANKPOINT_INTERPOSE_NODES": nodes, "RANKPOINT_INTERPOSE_PLACEMENT": method}


def rings_and_halos_cross_nodes_as_little_as_possible(host):
    for nodes in ("0,1,1,0,1,0,0,1", "0,1"):
        best = placed(host, 8, nodes, "best", **on(nodes))
        assert best["placed"] >= 10 and best["crossing_after"] < best["crossing_before"] and best["time_ns"] > 0, best
    # The same nodes as blocks of neighbours.
    assert placed(host, 8, "0,0,0,0,1,1,1,1", "best", **on("2"))["passed_best"] > 0


def each_process_plays_its_new_rank(host):
    for ranks, nodes in [(1, "0,1"), (2, "0,1"), (3, "0,0,1"), (7, "0,1"), (8, "0,1,2,2")]:
        better, other = placed(host, ranks, nodes, "better", **on(nodes)), placed(host, ranks, nodes, "any", **on(nodes, "random"))
        assert ranks < 3 or better["placed"] > 10 and better["crossing_after"] < better["crossing_before"], better
        assert ranks < 3 or other["placed"] > 40 and "passed_best" not in other, other
    # Rankpoint, which would place ranks on the same nodes itself, is not asked to.
    once = placed(host, 8, "0,1", "any", **on("0,1", "random"), RANKPOINT_VIRTUAL_NODES="0,1")
    assert once["placed"] > 40, once
    both = placed(host, 8, "0,1", "better", layers="datatypes,placement", **on("0,1"))
    assert both["placed"] > 10, both
    tools = placed(host, 8, "0,1", "better", "--tools", str(host.tools[0]), **on("0,1"))
    assert tools["placed"] > 10, tools


def what_cannot_gain_is_not_placed(host):
    # 48 calls on each of three communicators, of which one has one or two ranks.
    every = {"passed_nodes": 144}
    for variables in ({}, on("1"), on("0,1,2,3,4,5,6,7")):
        found = placed(host, 7, variables.get("RANKPOINT_INTERPOSE_NODES", "0"), "any", **variables)
        assert found.pop("time_ns") > 0 and found == every, found
    command = [host.launcher, "-n", "7", host.placement, "0", "any"]
    off = host.interposed("--stats", "--layers=placement", command=command, **on("0,1", "off"))
    assert numbers(passes(off, 7), "placement") == {}, off
    passes(host.interposed(command=command), 7)


def wrong_arguments_are_reported_by_the_library(host):
    for ranks in (1, 3, 8):
        found = placed(host, ranks, "0,1", "wrong", **on("0,1"))
        assert found["passed_nodes" if ranks == 1 else "passed_arguments"] > 5 and "placed" not in found, found
        passes(host.interposed(command=[host.launcher, "-n", str(ranks), host.placement, "0,1", "wrong"]), ranks)


def tools_see_what_the_layer_sends(host):
    result = host.interposed("--layers", "datatypes", "--tools", ",".join(map(str, host.tools)))
    assert passes(result, 2) == ""
    assert sorted(re.findall(r"tool . rank .*? reductions", result[1])) == sorted(SEEN), result[1]


def our_launcher_has_flags_for_it(host):
    if host.name != "rankpoint":
        return
    result = run([host.launcher, "--tools", ",".join(map(str, host.tools)), "--layers", "datatypes", "-n", "2", host.calls])
    assert passes(result, 2) == ""
    assert sorted(re.findall(r"tool . rank .*? reductions", result[1])) == sorted(SEEN), result[1]
    status, _, errors = run([host.launcher, "--tools", "./missing.so", "-n", "2", host.calls])
    assert status != 0 and "--tools ./missing.so: No such file" in errors, errors
    errors = run([host.launcher, "--layers", "fast", "-n", "2", host.calls])[2]
    assert errors.count("--layers fast: fast is not a layer") == 1, errors


def preloading_by_hand_works(host):
    assert passes(host.preloaded([host.dispatcher])) == ""


def two_copies_are_one(host):
    copy = host.folder / "copy/libmpi_abi.so.1"
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(host.dispatcher, copy)
    assert passes(host.preloaded([host.dispatcher, copy])) == ""
    _, output, errors = host.preloaded([host.dispatcher], RANKPOINT_INTERPOSE_LIBRARY=copy)
    assert "is this library itself" in errors and "PASS" not in output, errors


def behind_the_library_it_says_so(host):
    errors = passes(host.preloaded([host.library, host.dispatcher], RANKPOINT_TOOLS=host.tools[0]))
    assert "was loaded before this library: nothing is between" in errors, errors
    assert passes(host.preloaded([host.library, host.dispatcher])) == ""


def shells_do_not_notice(host):
    result = host.preloaded([host.dispatcher], ["sh", "-c", "echo here; ls / > /dev/null"], RANKPOINT_TOOLS=host.tools[0])
    assert result == (0, "here\n", ""), result


def a_missing_library_is_named(host):
    status, output, errors = host.preloaded([host.dispatcher], RANKPOINT_INTERPOSE_LIBRARY="/missing/libmpi_abi.so.1")
    assert (status, output) == (127, "") and "/missing/libmpi_abi.so.1" in errors, errors


def another_version_of_the_abi_is_left_alone(host):
    other = host.compile("other_version.c", "libother.so", "-shared", "-fPIC")
    program = host.compile("one_call.c", "one_call")
    result = host.preloaded([host.dispatcher], [program], RANKPOINT_INTERPOSE_LIBRARY=other, RANKPOINT_TOOLS=host.tools[0])
    assert "version 2 of the ABI, not 1: nothing is between" in passes(result), result


def programs_without_the_standard_abi_are_left_alone(host):
    if host.name == "rankpoint":
        return
    program = host.compile("calls.c", "plain", compiler=host.compiler.with_name("mpicc"))
    command = [host.launcher, "-n", "2", program]
    layered = ["--layers", "datatypes"], ["--layers", "placement", "--stats"], ["--tools", str(host.tools[0])]
    results = [host.interposed(*options, command=command) for options in ([], *layered)]
    results += [host.with_endpoints(2, 2, program=program), run([host.rankpoint / "bin/mpiexec", "--layers", "datatypes", "-n", "2", program])]
    for result in results:
        line = "the program is linked with libmpi.so.12, not with the standard ABI; build it with mpicc_abi. Nothing is between"
        assert passes(result, 2).count(line) == 2 and "tool" not in result[1], result


def a_function_that_the_library_lacks_is_named(host):
    other = host.compile("other_version.c", "libone.so", "-shared", "-fPIC", "-DVERSION=1")
    status, _, errors = host.preloaded([host.dispatcher], RANKPOINT_INTERPOSE_LIBRARY=other)
    assert status == 127 and "undefined symbol: MPI_" in errors, errors


def nonsense_in_settings_is_refused(host):
    for name, value, why in [
        ("RANKPOINT_TOOLS", "/missing/tool.so", "/missing/tool.so"),
        ("RANKPOINT_INTERPOSE", "datatypes,fast", "fast is not a layer; there is placement, endpoints, datatypes"),
        ("RANKPOINT_INTERPOSE_PATH", "fast", "RANKPOINT_INTERPOSE_PATH=fast is not one of auto, system, pack, oneshot, device"),
        ("RANKPOINT_INTERPOSE_CONTIGUOUS", "2", "RANKPOINT_INTERPOSE_CONTIGUOUS=2 is not one of 0, 1"),
        ("RANKPOINT_INTERPOSE_DEVICE_MEMORY", "no", "RANKPOINT_INTERPOSE_DEVICE_MEMORY=no is not one of auto, 0, 1"),
        ("RANKPOINT_INTERPOSE_COLLECTIVES", "all", "RANKPOINT_INTERPOSE_COLLECTIVES=all is not one of 0, 1"),
        ("RANKPOINT_INTERPOSE_POOL_LIMIT", "much", "RANKPOINT_INTERPOSE_POOL_LIMIT=much is not a number of bytes"),
        ("RANKPOINT_INTERPOSE_PLACEMENT", "best", "RANKPOINT_INTERPOSE_PLACEMENT=best is not one of partition, random, off"),
        ("RANKPOINT_INTERPOSE_NODES", "0,x", "RANKPOINT_INTERPOSE_NODES=0,x is not a number of nodes, or the node of each rank"),
        ("RANKPOINT_INTERPOSE_NODES", "0", "RANKPOINT_INTERPOSE_NODES=0 is not a number of nodes"),
        ("RANKPOINT_INTERPOSE_ENDPOINTS", "none", "RANKPOINT_INTERPOSE_ENDPOINTS=none is not one of auto, proxies"),
        ("RANKPOINT_INTERPOSE_VERBOSE", "yes", "RANKPOINT_INTERPOSE_VERBOSE=yes is not one of 0, 1"),
    ]:
        status, output, errors = host.preloaded([host.dispatcher], **{name: value})
        assert status == 127 and "PASS" not in output and name in errors and why in errors, (status, output, errors)


def python_finds_it_too(host):
    script = (
        "import ctypes; mpi = ctypes.CDLL('libmpi_abi.so.1'); mpi.MPI_Init(None, None); "
        "mpi.MPI_Barrier(ctypes.c_void_p(257)); print('PASS'); mpi.MPI_Finalize()"
    )
    result = host.preloaded([host.dispatcher], [sys.executable, "-c", script],
                            RANKPOINT_TOOLS=host.tools[0], LD_LIBRARY_PATH=host.library.parent)
    passes(result)
    assert "tool a rank 0: 0 sends, 0 ranks, 1 barriers" in result[1], result


def statuses_come_through(host):
    assert host.interposed(command=["sh", "-c", "exit 7"])[0] == 7
    assert host.interposed(command=["sh", "-c", "kill -9 $$"])[0] == 137
    status, _, errors = host.interposed(command=["/missing/program"])
    assert status == 1 and "/missing/program" in errors, errors


def commands_are_checked_before_they_start(host):
    for options, why in [
        (["--layers", "datatype"], "--layers datatype: datatype is not a layer; there is datatypes, placement"),
        (["--layers", "datatypes,endpoints"], "--layers endpoints: this layer needs proxies, which only rankpoint endpoints starts"),
        (["--tools", f"{host.tools[0]},./missing.so"], "--tools ./missing.so: No such file"),
        (["--library", "./missing.so"], "--library ./missing.so: No such file"),
    ]:
        status, output, errors = host.interposed(*options)
        assert (status, output) == (1, "") and why in errors and errors.count("\n") == 1, (status, output, errors)
    for variable, layer in [("RANKPOINT_INTERPOSE_COLLECTIVES", "datatypes"), ("RANKPOINT_INTERPOSE_NODES", "placement")]:
        line = f"rankpoint interpose: {variable}=1 does nothing without --layers {layer}\n"
        other = {"datatypes": "placement", "placement": "datatypes"}[layer]
        assert passes(host.interposed("--layers", other, **{variable: 1}), 2) == line
        assert passes(host.interposed("--layers", layer, **{variable: 1}), 2) == ""
        assert passes(host.interposed(**{variable: 1, "RANKPOINT_INTERPOSE": layer}), 2) == ""
    helped = host.interposed("--help", command=["true"])[1]
    assert "`datatypes`" in helped and "`placement`" in helped, helped


def threads_are_ranks(host):
    for processes, each in [(1, 1), (2, 2), (2, 4), (4, 4)]:
        assert passes(host.with_endpoints(processes, each, "equal", str(each))) == ""


def processes_may_have_unequal_numbers_of_endpoints(host):
    assert passes(host.with_endpoints(3, 4, "unequal", "3")) == ""


def endpoints_of_the_library_are_used_where_it_has_them(host):
    auto = {"RANKPOINT_INTERPOSE_ENDPOINTS": "auto"}
    assert passes(host.with_endpoints(2, 2, "unequal", "2", **auto)) == ""


def what_endpoints_cannot_do_is_refused_by_name(host):
    errors = passes(host.with_endpoints(2, 2, "refused", "2"))
    assert "my_num_ep is 65 at rank 0 of parent_comm; expected is 0 to 2" in errors, errors
    status, output, errors = run([host.launcher, "-n", "1", "env", f"LD_PRELOAD={host.dispatcher}", host.endpoints, "equal", "1"],
                                 RANKPOINT_INTERPOSE="endpoints", RANKPOINT_INTERPOSE_ENDPOINTS="proxies")
    assert status != 0 and "was not started by rankpoint endpoints" in errors, (status, output, errors)


def fatal_errors_of_endpoints_are_described_once(host):
    for mode, why in [("too_many", "MPIX_Comm_create_endpoints: my_num_ep is 65 at rank 0 of parent_comm; expected is 0 to 1, as rankpoint endpoints -e says"),
                      ("freed", "MPI_Barrier: the handle was freed, or never was one of an endpoint")]:
        status, output, errors = host.with_endpoints(1, 1, mode, "1")
        assert status != 0 and "PASS" not in output and errors.count(f"rankpoint interpose: {why}\n") == 1, (status, output, errors)
        # The library does not describe the class as one of its own codes.
        assert not re.search("Fatal error|bug report|is not contained", output + errors), (output, errors)


def proxies_of(launcher):
    """The proxies that a process of `rankpoint endpoints` has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"RANKPOINT_INTERPOSE_PROXIES=/proc/{launcher}/".encode() in (folder / "environ").read_bytes():
                if "endpoint-proxy" in (folder / "cmdline").read_text().split("\0")[0]:
                    found.append(int(folder.name))
        except OSError:
            pass
    return found


def a_proxy_that_is_killed_ends_the_job(host):
    with subprocess.Popen(
        host.endpoints_command(2, 2, "forever", "2"), env={**os.environ, "RANKPOINT_INTERPOSE_ENDPOINTS": "proxies"}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as job:
        # The program says when its endpoints are there.
        assert job.stdout.readline() == "READY\n"
        proxies = proxies_of(job.pid)
        os.kill(proxies[-1], signal.SIGKILL)
        _, errors = job.communicate(timeout=LIMIT_S)
    assert job.returncode == 1, (job.returncode, errors)
    # The launcher of the library may have ended the others before the kernel reports the first.
    named = re.search(r"endpoint [01] of rank [01] \(process (\d+)\)", errors)
    assert named and int(named[1]) in proxies, errors
    assert not proxies_of(job.pid)


def the_job_ends_with_the_command(host):
    with subprocess.Popen(
        host.endpoints_command(2, 1, "forever", "1"), env={**os.environ, "RANKPOINT_INTERPOSE_ENDPOINTS": "proxies"}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as job:
        assert job.stdout.readline() == "READY\n"
        job.kill()
        # The streams end with all processes of both jobs; until then nobody waits for the command itself.
        errors = job.communicate(timeout=LIMIT_S)[1]
    assert "rankpoint endpoints has ended" in errors, errors


def installed(host, name, program=None):
    """Builds one of the installed examples."""
    source = host.rankpoint / f"share/rankpoint/examples/{name}.c"
    return host.compile(source, program or name, "-O1", "-Wall", "-Wextra", "-pthread")


def the_first_program_of_the_page_runs(host):
    program = installed(host, "endpoints", "first")
    source = (host.rankpoint / "share/rankpoint/examples/endpoints.c").read_text()
    assert f"```c\n{source}```\n" in (HERE.parents[1] / "docs/endpoints-anywhere.md").read_text()
    for mode in ("auto", "proxies"):
        status, output, errors = host.with_endpoints(2, 4, program=program, RANKPOINT_INTERPOSE_ENDPOINTS=mode)
        assert (status, errors) == (0, "") and output.count("the sum is 28") == 8, (status, output, errors)
    if host.name != "rankpoint":
        status, _, errors = run([host.launcher, "-n", "1", program])
        assert status != 0 and "no endpoints: run this under rankpoint endpoints" in errors, errors


def an_fft_exchanges_its_blocks_in_three_ways(host):
    program = installed(host, "fft_exchange")
    for mode in ("master", "threads"):
        status, output, _ = run([host.launcher, "-n", "2", program, mode, "2", "32"])
        assert status == 0 and output.endswith("verified\n"), output
    for processes, each in [(1, 4), (2, 2)]:
        status, output, errors = host.with_endpoints(processes, each, "endpoints", str(each), "32", "3", program=program)
        assert (status, errors) == (0, "") and "exact  0 numbers are wrong" in output and output.endswith("verified\n"), output
    status, _, errors = run([host.launcher, "-n", "1", program, "master", "2", "33"])
    assert status != 0 and "N is not a power of two" in errors, errors


def a_lattice_operator_has_one_checksum(host):
    program = installed(host, "dslash")
    checksum = lambda result: re.search(r"checksum (\w{16})", result[1])[1]
    launched = lambda ranks, mode, threads: run([host.launcher, "-n", ranks, program, mode, threads, "4"])
    results = [launched("1", "master", "1"), launched("2", "master", "2"), launched("2", "threads", "2")]
    results += [host.with_endpoints(processes, each, "endpoints", str(each), "4", program=program) for processes, each in [(1, 2), (2, 4)]]
    assert all(status == 0 for status, _, _ in results), results
    assert len(set(map(checksum, results))) == 1, results
    status, _, errors = launched("1", "endpoint", "1")
    assert status != 0 and "usage: dslash" in errors, errors


def commands_of_endpoints_are_checked(host):
    command = [host.rankpoint / "bin/rankpoint", "endpoints", "-n", "1", "-e", "1", "--", host.launcher]
    assert run([*command, "sh", "-c", "exit 7"])[0] == 7
    for wrong, why in [(["-n", "1", "sh"], "the number of processes goes in front"), (["/missing/program"], "is a program")]:
        status, _, errors = run([*command, *wrong])
        assert status == 1 and why in errors, (status, errors)
    command[2:2] = ["--layers", "datatype"]
    status, _, errors = run([*command, host.endpoints, "equal", "1"])
    assert status == 1 and "--layers datatype: datatype is not a layer" in errors, errors


CASES = [
    nothing_in_between_is_not_noticed, three_tools_see_every_call, calls_of_the_program_are_counted, the_start_is_described,
    datatypes_arrive_as_without_the_layer, collectives_move_packed_data_on_request, halos_are_exchanged, sessions_have_the_layer_too, threads_use_the_same_handles, the_rest_remains_as_it_is,
    nothing_is_allocated_after_the_first_messages,
    rings_and_halos_cross_nodes_as_little_as_possible, each_process_plays_its_new_rank, what_cannot_gain_is_not_placed,
    wrong_arguments_are_reported_by_the_library, tools_see_what_the_layer_sends, our_launcher_has_flags_for_it, preloading_by_hand_works,
    two_copies_are_one, behind_the_library_it_says_so, shells_do_not_notice,
    a_missing_library_is_named, another_version_of_the_abi_is_left_alone,
    programs_without_the_standard_abi_are_left_alone, a_function_that_the_library_lacks_is_named,
    nonsense_in_settings_is_refused, python_finds_it_too, statuses_come_through,
    commands_are_checked_before_they_start,
    threads_are_ranks, processes_may_have_unequal_numbers_of_endpoints, endpoints_of_the_library_are_used_where_it_has_them,
    what_endpoints_cannot_do_is_refused_by_name, fatal_errors_of_endpoints_are_described_once, a_proxy_that_is_killed_ends_the_job, the_job_ends_with_the_command,
    the_first_program_of_the_page_runs, an_fft_exchanges_its_blocks_in_three_ways, a_lattice_operator_has_one_checksum,
    commands_of_endpoints_are_checked,
]

# These take the folder of the double of the driver.
DEVICE_CASES = [
    data_of_gpus_go_through_pinned_memory, contiguous_data_of_gpus_go_there_on_request, data_of_gpus_stay_there_if_the_library_takes_them,
    a_library_that_does_not_say_so_gets_no_data_of_gpus, data_of_the_host_need_no_driver, profiles_that_cannot_be_used_are_named,
]


def main():
    prefix, folder = (Path(argument).resolve() for argument in sys.argv[1:3])
    hosts = [("rankpoint", prefix)]
    mpich = folder.parent / "peers/mpich"
    double = folder.parent / "gpu"
    cases = [(case, []) for case in CASES]
    skipped = 0
    if (double / "libcuda.so.1").exists():
        cases += [(case, [double]) for case in DEVICE_CASES]
    else:
        skipped += len(DEVICE_CASES)
        print(f"without GPUs: the double of the driver is not in {double}")
    if not mpich.exists():
        skipped += len(cases)
        print(f"not with MPICH, which is not in {mpich}")
    if mpich.exists():
        hosts.append(("mpich", mpich))
    passed = failed = 0
    for name, host_prefix in hosts:
        host = Host(name, host_prefix, prefix, folder / name)
        for case, arguments in cases:
            try:
                case(host, *arguments)
                passed += 1
            except (AssertionError, subprocess.SubprocessError) as why:
                failed += 1
                print(f"FAILED {case.__name__} with {name}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed != 0)


if __name__ == "__main__":
    usage.answer(__doc__)
    main()
