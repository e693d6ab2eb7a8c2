#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs jobs of mpiexec on several hosts, which are namespaces of this machine, and lets hosts fail.

usage: run.py PREFIX FOLDER [--quick] [--without=CASE]... [CASE...]     (a CASE may be a pattern: mpich_*)

PREFIX is where Rankpoint is installed, FOLDER a place to work in. mpiexec runs on the first host and reaches the others by ssh, or it
runs outside of them and enters all by a command. After each case nothing may be left on any host. --quick leaves out the cases that wait
for a silent host a second time, and the suites of mpi4py and MPICH. The last line printed is "N passed, N failed, N skipped"; "skipped:
WHY" and the exit status 77 where hosts cannot be made.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from queue import SimpleQueue

sys.path.extend(str(folder) for folder in Path(__file__).resolve().parents[:2])
import faults
import launchers
import usage
from lab import UNAVAILABLE, Lab, Unavailable

LAB = Path(__file__).resolve().parent / "lab.py"
# Seconds within which a failure ends the job.
FAILURE_S = 10
# Seconds that any job may take, on a busy machine, too.
LIMIT_S = 60
# And one that measures, in which ranks spin.
MEASURED_LIMIT_S = 240
# Prints where a rank is.
PLACE = "echo $(hostname) $RANKPOINT_LAUNCH_RANK/$RANKPOINT_LAUNCH_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS"
# C programs of ours, and hosts for their ranks.
PROGRAMS = [
    "ring", "collectives", "collective_requests", "completion", "neighbours", "partitioned", "threads", "win_create", "win_sync",
]
# Those of threads, with VCIs enough for each.
PROGRAMS_OF_THREADS = ["endpoints", "spread", "win_endpoints"]
LAYOUTS = {"-hosts h1,h2": 2, "-hosts h1:2,h2:2": 4, "-hosts h1:3,h2:1": 4, "-hosts h1,h2,h3": 3}
CASES = {}
Skip = launchers.Skip
SLOW = {
    "host_without_power", "late_receivers_lose_nothing", "models_of_the_network_are_calibrated", "stopped_ranks_are_waited_for",
    "suite_of_mpi4py", "mpich_*",
}
# Groups of hosts of a quick run: half of the time a case waits, such as for a host that is silent. The cases that measure or use the
# folders of other steps are not among those of a quick run.
QUICK_SITES = 2
# Hosts of the suites of others, one after the other, and the seconds that one part may take.
SUITE_HOSTS = [2, 4]
SUITE_LIMIT_S = 1800
# What of MPICH's suite depends on where ranks are: the other directories test calls within a process, or are long.
MPICH_DIRECTORIES = ["pt2pt", "coll", "comm", "rma", "init"]


def case(body):
    """A function is a case."""
    CASES[body.__name__] = body
    return body


class Job:
    """A job of mpiexec, started."""

    def __init__(self, site, flags, *program, feed=b"", by="ssh"):
        lab = site.lab
        if by == "ssh":
            launcher = lab.ssh
            before = lab.enter("h1")
        else:
            launcher = ["python3", str(LAB), str(lab.folder), "exec"]
            before = []
        self.begin = time.monotonic()
        words = [*before, str(site.mpiexec), "--launcher", " ".join(launcher), *flags.split(), *program]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.feed = feed
        self.code = None
        self.out = self.err = ""
        self.seconds = 0.0

    def first_line(self):
        """Waits for the first line of the output, which `end` then leaves out."""
        return self.process.stdout.readline().decode(errors="replace").strip()

    def end(self):
        """Waits for the end of the job."""
        try:
            out, err = self.process.communicate(self.feed, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"the job hangs: {out} {err}") from None
        self.seconds = time.monotonic() - self.begin
        self.code, self.out, self.err = self.process.returncode, out.decode(errors="replace"), err.decode(errors="replace")
        return self

    def expect(self, code, *lines):
        """The job ended with this status and printed these lines, in any order."""
        self.end()
        assert self.code == code, f"status {self.code}, expected {code}: {self.out}{self.err}"
        if lines:
            assert sorted(self.out.splitlines()) == sorted(lines), f"{self.out!r}, expected {lines}; {self.err}"
        return self

    def fails(self, code, *parts, since=None):
        """The job ended with this status, soon, and says so in one sentence with these parts."""
        begin = since or self.begin
        self.end()
        late = time.monotonic() - begin
        assert self.code == code, f"status {self.code}, expected {code}: {self.out}{self.err}"
        told = [line for line in self.err.splitlines() if line.startswith("mpiexec: ")]
        assert len(told) == 1, f"expected one sentence: {self.err!r}"
        for part in parts:
            assert part in told[0], f"'{part}' is not in '{told[0]}'"
        assert late < FAILURE_S, f"that took {late:.1f} s: {told[0]}"
        return self


class Site:
    """The hosts and the program under test."""

    def __init__(self, prefix, folder):
        self.bin = Path(prefix).absolute() / "bin"
        self.mpiexec = (self.bin / "mpiexec").resolve()
        self.folder = Path(folder).absolute()
        self.lab = Lab(Path(folder) / "lab")

    def has_network(self):
        """Whether ranks can exchange messages between hosts."""
        report = [*self.lab.enter("h1"), str(self.bin / "rankpoint"), "info", "--network"]
        return subprocess.run(report, capture_output=True, check=False, timeout=LIMIT_S).returncode == 0

    def program(self, name):
        """A C program of this folder, built."""
        source = Path(__file__).resolve().with_name(f"{name}.c")
        program = self.folder / source.stem
        subprocess.run([self.bin / "mpicc", source, "-o", program], check=True, timeout=LIMIT_S)
        return program

    def shared_program(self, name, tests="c"):
        """A C program of the tests on one host, built, and its source."""
        program, source = self.folder / name, LAB.parents[1] / f"{tests}/{name}.c"
        subprocess.run([self.bin / "mpicc", "-O1", "-w", "-o", program, source, "-lpthread", "-lm"], check=True, timeout=LIMIT_S)
        return program, source

    def ports(self, host):
        """The ports at which something other than sshd listens on a host, once there are any."""
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            table = subprocess.run([*self.lab.enter(host), "cat", "/proc/net/tcp"], capture_output=True, check=True, timeout=LIMIT_S)
            sockets = [line.split() for line in table.stdout.decode().splitlines()[1:]]
            ports = {int(socket[1].split(":")[1], 16) for socket in sockets if socket[3] == "0A"} - {22}
            if ports:
                return ports
            time.sleep(0.05)
        raise AssertionError(f"nothing listens on {host}")

    def job(self, flags, *program, **more):
        """Starts a job."""
        return Job(self, flags, *program, **more)

    def end_one(self, host, words):
        """Kills the first process of a host whose command line has these words."""
        script = (
            "for each in /proc/[0-9]*; do words=$(tr '\\0' ' ' <$each/cmdline 2>/dev/null); case $words in "
            '*"$1"*) [ ${each#/proc/} != $$ ] && kill -KILL ${each#/proc/} && exit;; esac; done; exit 1'
        )
        subprocess.run([*self.lab.enter(host), "sh", "-c", script, "sh", words], check=True, timeout=LIMIT_S)

    def clean(self):
        """Waits until nothing is left on any host."""
        until = time.monotonic() + FAILURE_S
        left = []
        while time.monotonic() < until:
            left = [f"{host}: {line}" for host in self.lab.hosts for line in self.lab.processes(host)]
            if not left:
                return
            time.sleep(0.1)
        raise AssertionError(f"left behind: {left}")

    def later(self, seconds, *words):
        """Runs a command of the lab after some time; the process, and when it begins."""
        script = f"sleep {seconds}; exec python3 {LAB} {self.lab.folder} {' '.join(words)}"
        return subprocess.Popen(["sh", "-c", script]), time.monotonic() + seconds


@case
def ranks_are_where_they_belong(site):
    for by in ["ssh", "command"]:
        site.job("-hosts h1,h2", "hostname", by=by).expect(0, "h1", "h2")
        site.job("-hosts h3,h1,h2 -l", "hostname", by=by).expect(0, "[0] h3", "[1] h1", "[2] h2")
        job = site.job("-hosts h1:3,h2:1 -n 5", "sh", "-c", PLACE, by=by)
        job.expect(0, "h1 0/5 0/4", "h1 1/5 1/4", "h1 2/5 2/4", "h2 3/5 0/1", "h1 4/5 3/4")
    job = site.job("-hosts h2,h3 -ppn 2 --map-by node", "sh", "-c", PLACE)
    job.expect(0, "h2 0/4 0/2", "h3 1/4 0/2", "h2 2/4 1/2", "h3 3/4 1/2")


@case
def agents_have_sessions_of_their_own(site):
    # Kernels share out the cores among sessions, so that ranks that spin do not keep their agent from answering.
    script = "for i in $(seq 500); do [ $(ps -o sid= $$) != $(ps -o sid= $PPID) ] && exit; sleep 0.01; done; exit 1"
    for by in ["ssh", "command"]:
        site.job("-hosts h1,h2", "bash", "-c", script, by=by).expect(0)


@case
def environment_and_directory_go_along(site):
    words = ["sh", "-c", "echo $PWD $ONE $(hostname) $HOSTNAME"]
    job = site.job("-hosts h2,h3 -wdir /usr -x ONE=1", *words)
    job.end()
    assert sorted(line.split()[:3] for line in job.out.splitlines()) == [["/usr", "1", "h2"], ["/usr", "1", "h3"]], job.out


@case
def input_and_output_arrive_whole(site):
    data = bytes(at % 253 for at in range(2_000_000))
    for by in ["ssh", "command"]:
        job = site.job("-hosts h1,h2,h3 -stdin all", "sh", "-c", "cksum", feed=data, by=by).end()
        sums = {line.split()[1] for line in job.out.splitlines()}
        assert (job.code, len(job.out.splitlines()), sums) == (0, 3, {"2000000"}), f"{job.out} {job.err}"
        job = site.job("-hosts h1,h2,h3", "seq", "1", "100000", by=by).end()
        assert (job.code, len(job.out.splitlines())) == (0, 300_000), job.err
    site.job("-hosts h2,h3", "cat", feed=b"for rank 0\n").expect(0, "for rank 0")


@case
def ends_of_ranks_decide_the_exit_status(site):
    site.job("-hosts h1,h2", "sh", "-c", "exit $((RANKPOINT_LAUNCH_RANK * 7))").fails(7, "rank 1", "on h2", "status 7")
    script = "[ $RANKPOINT_LAUNCH_RANK = 1 ] && kill -9 $$; sleep 1000"
    site.job("-hosts h1,h2,h3", "sh", "-c", script).fails(137, "rank 1", "on h2", "SIGKILL", "the other 2 ranks")


@case
def signals_and_times_end_jobs(site):
    job = site.job("-hosts h1,h2 --timeout 1", "sleep", "1000").end()
    assert job.code == 124 and "on 2 hosts (h1, h2)" in job.err, job.err
    job = site.job("-hosts h1,h2", "sh", "-c", "echo ready; sleep 1000", by="command")
    for _ in range(2):
        job.process.stdout.readline()
    job.process.send_signal(signal.SIGTERM)
    job.fails(143, "SIGTERM")


@case
def mpi_programs_pass(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    for name in PROGRAMS + PROGRAMS_OF_THREADS:
        settings = "-genv RANKPOINT_VCIS 8" if name in PROGRAMS_OF_THREADS else ""
        program, source = site.shared_program(name)
        # The head of a program names the numbers of ranks that it is for.
        ranks = re.search(r"RANKS: ([\d ]+)", source.read_text(encoding="utf-8"))
        for flags in [flags for flags, count in LAYOUTS.items() if not ranks or str(count) in ranks[1].split()]:
            job = site.job(f"{flags} {settings} --timeout {LIMIT_S - 10}", str(program)).end()
            assert job.code == 0, f"{name}, {flags}: {job.out}{job.err}"


@case
def reorder_puts_neighbours_on_one_host(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    program, _ = site.shared_program("reorder")
    for ranks in [2, 4]:
        job = site.job(f"-hosts h1,h2 -ppn {ranks} --map-by node --timeout {LIMIT_S - 10}", str(program), "hosts")
        job.expect(0, "PASS")


@case
def layer_for_placement_finds_the_hosts(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    program, _ = site.shared_program("placement", "interpose")
    library = site.bin.parent / "lib/rankpoint/interpose/libmpi_abi.so.1"
    # Rankpoint's own placement is off, so that the layer's is seen.
    settings = f"-genv LD_PRELOAD {library} -genv RANKPOINT_INTERPOSE placement -genv RANKPOINT_REORDER 0"
    job = site.job(f"-hosts h1,h2 -ppn 4 --map-by node {settings} --timeout {LIMIT_S - 10}", str(program), "0,1", "best").end()
    assert job.code == 0 and job.out.count("PASS") == 8, f"{job.code}: {job.out}{job.err}"


@case
def models_of_the_network_are_calibrated(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    command = [*site.lab.enter("h1"), site.bin / "rankpoint", "model"]
    reach = ["--launcher", " ".join(site.lab.ssh), "--hosts"]

    def told(*words, code=0):
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=MEASURED_LIMIT_S)
        assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    model = site.folder / "network.toml"
    told("calibrate", "-o", model, *reach, "h1,h2")
    shown = told("show", "--model", model)
    for name in ["raw_half", "LLP_post", "LLP_prog", "HLP_post", "HLP_rx_prog", "half_round_trip"]:
        assert name in shown, f"{name} in {shown}"
    assert "circle" not in told("predict", "--model", model)
    # How good the model is, a busy machine does not tell.
    compared = told("check", *reach, "h1,h2")
    for size in [8, 64, 1024, 16384]:
        assert f"half round trip, {size} bytes" in compared, compared
    assert "half round trip of 8 bytes within 5 %" in compared, compared
    assert "expected two hosts" in told("calibrate", *reach, "h1,h2,h3", code=1)


@case
def killed_mpiexec_leaves_nothing(site):
    job = site.job("-hosts h1,h2,h3", "sh", "-c", "echo ready; sleep 1000 & sleep 1000", by="command")
    for _ in range(3):
        job.process.stdout.readline()
    job.process.kill()
    job.end()


@case
def killed_agent_is_told(site):
    script = "[ $RANKPOINT_LAUNCH_RANK = 1 ] && kill -9 $PPID; sleep 1000"
    for by in ["ssh", "command"]:
        site.job("-hosts h1,h2", "sh", "-c", script, by=by).fails(1, "lost the agent on host h2")


@case
def program_or_directory_on_one_host_only(site):
    for host in ["h1", "h3"]:
        script = "mkdir /run/here && printf '#!/bin/sh\\necho started' >/run/here/program && chmod +x /run/here/program"
        subprocess.run([*site.lab.enter(host), "sh", "-c", script], check=True)
    site.job("-hosts h1,h3", "/run/here/program").expect(0, "started", "started")
    site.job("-hosts h1,h2,h3", "/run/here/program").fails(127, "host h2: cannot start /run/here/program on rank 1")
    site.job("-hosts h1,h2 -wdir /run/here", "pwd").fails(127, "host h2: the working directory /run/here does not exist")


@case
def other_version_on_one_host(site):
    fake = site.lab.folder / "fake"
    fake.write_text("#!/bin/sh\necho rankpoint-agent 0.0.1 1\nexec cat >/dev/null\n", encoding="ascii")
    fake.chmod(0o755)
    target = os.path.realpath(site.mpiexec)
    subprocess.run([*site.lab.enter("h2"), "mount", "--bind", str(fake), target], check=True)
    try:
        site.job("-hosts h1,h2", "hostname").fails(1, "host h2 runs another version", "0.0.1")
    finally:
        subprocess.run([*site.lab.enter("h2"), "umount", "-l", target], check=True)


@case
def unreachable_host(site):
    site.job("-hosts h1,h9", "hostname").fails(1, "cannot start an agent on host h9", "ssh")
    site.lab.link("h3", "down")
    try:
        site.job("-hosts h1,h3", "hostname").fails(1, "cannot start an agent on host h3", "ssh")
    finally:
        site.lab.link("h3", "up")


@case
def cable_pulled_for_a_moment(site):
    job = site.job("-hosts h1,h2", "sh", "-c", "sleep 5; echo done")
    site.later(1, "link", "h2", "down")[0].wait()
    site.later(2, "link", "h2", "up")[0].wait()
    job.expect(0, "done", "done")


@case
def cable_pulled(site):
    job = site.job("-hosts h1,h2,h3", "sleep", "1000")
    puller, begin = site.later(2, "link", "h2", "down")
    try:
        job.fails(1, "host h2 has not answered for 5 s", "the other 2 ranks", since=begin)
        # The host that was cut off ends its ranks as well.
        site.clean()
    finally:
        puller.wait()
        site.lab.link("h2", "up")


@case
def host_without_power(site):
    job = site.job("-hosts h1,h3", "sleep", "1000")
    killer, begin = site.later(2, "kill", "h3")
    job.fails(1, "host h3 has not answered for 5 s", since=begin)
    killer.wait()
    site.lab.up(3)


@case
def failures_end_ranks_that_exchange_messages(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    program = site.program("endless")
    job = site.job(f"-hosts h1:2,h3:2 -n 4 --timeout {LIMIT_S - 10}", str(program))
    assert job.first_line() == "begun", job.end().err
    late, since = site.later(0, "kill", "h3")
    job.fails(1, "h3", since=since)
    late.wait()
    site.lab.up(3)


@case
def ranks_listen_at_ports_of_the_range(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    program, ends = site.program("endless"), "-genv FI_{0}_PORT_LOW_RANGE 31000 -genv FI_{0}_PORT_HIGH_RANGE {1}"
    wide = f"{ends.format('TCP', 31009)} {ends.format('NET', 31009)}"
    job = site.job(f"{wide} -hosts h1,h2", str(program), "3")
    ports = site.ports("h2")
    assert job.end().code == 0, job.err
    assert ports <= set(range(31000, 31010)), ports
    narrow = f"{ends.format('TCP', 31000)} {ends.format('NET', 31000)}"
    job = site.job(f"{narrow} -hosts h1,h2:2", str(program)).fails(16, "on h2")
    assert "MPI_Init: libfabric's fi_endpoint" in job.err, job.err


@case
def memory_is_that_of_the_ranks_talked_to(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    program = site.program("few")
    for ranks, peers, most_used, most in [(4096, 8, 8192, 8192), (100_000, 1, 1024, None)]:
        words = [*site.lab.enter("h1"), sys.executable, str(LAB.with_name("few.py")), str(program), str(ranks), str(peers)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=MEASURED_LIMIT_S)
        found = re.search(r"used (-?\d+) total (\d+)\n\d+ values put, (\d+) of them", done.stdout)
        assert done.returncode == 0 and found, f"status {done.returncode}: {done.stdout}{done.stderr}"
        used, total, asked = (int(number) for number in found.groups())
        assert used <= most_used and (most is None or total <= most), f"{ranks} ranks: {done.stdout}"
        assert asked <= peers + 2, done.stdout


@case
def ranks_without_files_are_told(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    program = site.program("endless")
    for files in [64, 12]:
        job = site.job("-hosts h1,h2", "sh", "-c", f"ulimit -n {files}; exec {program} 1")
        if files == 64:
            assert job.end().code == 0, job.err
        else:
            job.fails(17, "on h")
            assert "cannot be reached: libfabric" in job.err and "Too many open files" in job.err, job.err


@case
def nonsense_at_the_port_of_a_rank_is_ignored(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    job = site.job("-hosts h1,h2", str(site.program("endless")), "4")
    send = "with socket.create_connection(sys.argv[1:]) as to: to.send(os.urandom(count))"
    script = f"import os, socket, sys\nfor count in [0, 1, 7, 64, 5000] * 20:\n {send}"
    for port in site.ports("h2"):
        words = [*site.lab.enter("h1"), sys.executable, "-c", script, site.lab.address("h2"), str(port)]
        subprocess.run(words, check=True, timeout=LIMIT_S)
    assert job.end().code == 0, job.err


@case
def stopped_ranks_are_waited_for(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    program = site.program("endless")
    # Longer than an agent may be silent.
    stop = "sleep 1; kill -STOP $P; sleep 7; kill -CONT $P"
    words = f"{program} 9 & P=$!; if [ $(hostname) = h2 ]; then {stop}; fi; wait $P"
    job = site.job("-hosts h1,h2", "sh", "-c", words).end()
    assert job.code == 0, job.err


@case
def late_receivers_lose_nothing(site):
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    site.job("-hosts h1,h2,h3", str(site.program("late")), "15").expect(0, "rank 1 has all", "rank 2 has all")


def suite(site, name, what, hosts=SUITE_HOSTS):
    """Runs the suite of others in a folder of tests, or what is named of it, on several hosts. The build of the one-host step is used where
    there is one."""
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    site.lab.up(max(SUITE_HOSTS))
    script, folder = LAB.parents[1] / name / "run.py", site.folder.parent / name
    for count in hosts:
        words = [sys.executable, script, site.bin.parent, folder, what, f"--flags={shlex.join(site.lab.flags(count))}"]
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, timeout=SUITE_LIMIT_S)
        if done.returncode == UNAVAILABLE:
            raise Skip(done.stdout.strip().splitlines()[-1])
        assert done.returncode == 0, f"on {count} hosts: {done.stdout}{done.stderr}"
        site.clean()


@case
def suite_of_mpi4py(site):
    suite(site, "mpi4py", "--quick")


# Cases of their own: all together take longer than a developer waits for the first failure.
for directory in MPICH_DIRECTORIES:
    for number in SUITE_HOSTS:
        CASES[f"mpich_{directory}_on_{number}_hosts"] = partial(suite, name="mpich", what=directory, hosts=[number])


def is_one_of(name, patterns):
    """Whether a case has one of these names."""
    return any(fnmatch(name, pattern) for pattern in patterns)


def outcome(site, name, body):
    """What becomes of a case, which is printed too."""
    begin = time.monotonic()
    try:
        body(site)
        site.clean()
        print(f"passed {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        return "passed"
    except Skip as why:
        print(f"skipped {name}: {why}", flush=True)
        return "skipped"
    except (AssertionError, subprocess.SubprocessError, Unavailable, OSError) as why:
        print(f"FAILED {name}: {why}", flush=True)
        site.lab = Lab(site.lab.folder)
        site.lab.up(3)
        return "failed"


def outcomes(sites, cases):
    """What becomes of the cases, of which each site runs one at a time."""
    free = SimpleQueue()
    for site in sites:
        free.put(site)

    def run(item):
        site = free.get()
        try:
            return outcome(site, *item)
        finally:
            free.put(site)

    with ThreadPoolExecutor(len(sites)) as pool:
        return list(pool.map(run, cases))


def main(words):
    """Runs the cases."""
    quick = "--quick" in words
    without = [word.removeprefix("--without=") for word in words if word.startswith("--without=")]
    prefix, folder, *names = [word for word in words if not word.startswith("--")]
    CASES.update(faults.CASES)
    CASES.update(launchers.CASES)
    left_out = [*without, *(SLOW if quick else [])]
    cases = [item for item in CASES.items() if is_one_of(item[0], names or ["*"]) and not is_one_of(item[0], left_out)]
    # Beside each other, for cases find what other steps have built beside the folder.
    folders = [folder, *(f"{folder}-{number}" for number in range(2, QUICK_SITES + 1) if quick)]
    sites = [Site(prefix, each) for each in folders]
    try:
        try:
            for site in sites:
                site.lab.up(3)
                if not site.lab.ssh:
                    raise Unavailable("no sshd (openssh-server)")
        except (Unavailable, OSError) as why:
            print(f"skipped: {why}")
            return UNAVAILABLE
        found = outcomes(sites, cases)
    finally:
        # The first to come up knows how the kernel grouped processes before, and is the last to go.
        for site in reversed(sites):
            Lab(site.lab.folder).down()
    skipped = found.count("skipped") + len(CASES) - len(cases)
    print(f"{found.count('passed')} passed, {found.count('failed')} failed, {skipped} skipped")
    return 1 if "failed" in found else 0


if __name__ == "__main__":
    usage.answer(__doc__)
    sys.exit(main(sys.argv[1:]))
