# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cases of run.py in which something between or on the hosts of a job of MPI fails, or the hosts do not fit together."""

import os
import subprocess
import time

from launchers import LIMIT_S, Skip

# Times that all ranks of a new job meet all others at once.
FIRST_CONTACTS = int(os.environ.get("RANKPOINT_TEST_CONTACTS", "5"))
CASES = {}


def case(body):
    """A function is a case, which needs a network between hosts."""

    def checked(site):
        if not site.has_network():
            raise Skip("libfabric offers no network between hosts")
        body(site)

    CASES[body.__name__] = checked
    return checked


@case
def cable_pulled_during_long_messages(site):
    job = site.job("-hosts h1,h2", str(site.program("long")), "6")
    assert job.first_line() == "begun", job.end().err
    site.lab.link("h2", "down")
    time.sleep(2)
    site.lab.link("h2", "up")
    job.expect(0, "all is right")


@case
def killed_ranks_and_agents_end_the_others(site):
    program = str(site.program("endless"))
    for words, code, parts in [
        (program, 137, ["on h3", "SIGKILL", "the other 3 ranks"]),
        ("mpiexec --agent", 1, ["lost the agent on host h3"]),
    ]:
        job = site.job("-hosts h1:2,h3:2 -n 4", program)
        assert job.first_line() == "begun", job.end().err
        begin = time.monotonic()
        site.end_one("h3", words)
        job.fails(code, *parts, since=begin)
        site.clean()


@case
def host_that_comes_back_is_not_the_same(site):
    for by in ["ssh", "command"]:
        job = site.job("-hosts h1:2,h3:2 -n 4", str(site.program("endless")), by=by)
        assert job.first_line() == "begun", job.end().err
        begin = time.monotonic()
        site.lab.restart("h3")
        job.fails(1, "h3", since=begin)
        site.clean()


@case
def all_ranks_meet_all_others_at_once(site):
    program = str(site.program("contact"))
    for _ in range(FIRST_CONTACTS):
        site.job("-hosts h1:2,h2:2,h3:2 -n 6", program).expect(0, "all have met")


def dropping_interfaces(site):
    """Gives each host an interface `drop0` with an address of its own, behind which packets vanish."""
    for host in site.lab.hosts:
        number = host[1:]
        script = (
            "ip link add drop0 type veth peer name drop1 && ip link set drop1 up && ip link set drop0 up"
            f" && ip addr add 10.84.0.{number}/24 dev drop0"
            " && for other in 1 2 3 4; do ip neigh replace 10.84.0.$other lladdr 02:00:00:00:00:01 dev drop0; done"
        )
        subprocess.run([*site.lab.enter(host), "sh", "-c", script], check=True, timeout=LIMIT_S)


@case
def networks_that_deliver_nothing_are_reported(site):
    dropping_interfaces(site)
    program, limit = str(site.program("contact")), "-genv RANKPOINT_CONTACT_TIMEOUT 2"
    try:
        for interface, address, why in [("lo", "127.0.0.1", "refused"), ("drop0", "10.84.0.", "no answer for 2 s")]:
            job = site.job(f"{limit} -genv RANKPOINT_INTERFACE {interface} -hosts h1,h2", program).end()
            assert job.code == 17 and "on host h" in job.err and "cannot be reached from rank" in job.err, job.err
            for part in [f"address {address}", f"over interface {interface};", why]:
                assert part in job.err, f"'{part}' is not in '{job.err}'"
            site.clean()
    finally:
        for host in site.lab.hosts:
            subprocess.run([*site.lab.enter(host), "ip", "link", "delete", "drop0"], check=True, timeout=LIMIT_S)


@case
def ranks_that_compute_are_not_out_of_reach(site):
    # They are silent for longer than the limit.
    job = site.job("-genv RANKPOINT_CONTACT_TIMEOUT 1 -hosts h1,h2,h3", str(site.program("late")), "8")
    job.expect(0, "rank 1 has all", "rank 2 has all")


@case
def jobs_of_one_host_do_not_load_libfabric(site):
    program = str(site.program("contact"))
    site.job("-hosts h1:2 -n 2", program, "libfabric").expect(0, "all have met", "no libfabric")
    site.job("-hosts h1,h2", program, "libfabric").expect(0, "all have met", "libfabric is loaded")


@case
def library_that_is_missing_or_too_old(site):
    program = str(site.program("contact"))
    absent = "-genv RANKPOINT_LIBFABRIC /nowhere/libfabric.so.1"
    job = site.job(f"{absent} -hosts h1,h2", program).fails(16, "on h")
    assert "needs libfabric, which cannot be loaded" in job.err and "RANKPOINT_LIBFABRIC" in job.err, job.err
    site.job(f"{absent} -hosts h1:2 -n 2", program).expect(0, "all have met")
    source, old = site.folder / "old.c", site.folder / "old.so"
    source.write_text("unsigned fi_version(void) { return 1 << 16 | 10; }\n", encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", old, source], check=True, timeout=LIMIT_S)
    job = site.job(f"-genv RANKPOINT_LIBFABRIC {old} -hosts h1,h2", program).fails(16, "on h")
    assert f"{old} is no libfabric of version 1.14 or later: its version is 1.10" in job.err, job.err


def greedy_library(site, body):
    """A library that offers what libfabric does, after its initialiser has run this code."""
    source, library = site.folder / "greedy.c", site.folder / "greedy.so"
    source.write_text(
        "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nstatic void handler(int signal) { (void)signal; _Exit(1); }\n"
        f"__attribute__((constructor)) static void begin(void) {{ (void)handler; {body} }}\n",
        encoding="ascii",
    )
    words = ["cc", "-shared", "-fPIC", "-o", library, source, "-Wl,--no-as-needed", "-l:libfabric.so.1"]
    subprocess.run(words, check=True, timeout=LIMIT_S)
    return f"-genv RANKPOINT_LIBFABRIC {library}"


@case
def libraries_of_the_network_take_no_signals(site):
    program = str(site.program("signals"))
    greedy = greedy_library(site, "for (int number = 1; number < NSIG; ++number) signal(number, handler);")
    for library in ["", greedy]:
        site.job(f"{library} -hosts h1,h2", program).expect(0, "all is right")
        for argument, code, name in [("segv", 139, "signal 11 (SIGSEGV"), ("abort", 134, "signal 6 (SIGABRT")]:
            site.job(f"{library} -hosts h1,h2", program, argument).fails(code, "rank 1", "on h2", f"was killed by {name}")


@case
def death_while_the_library_is_loaded(site):
    program = str(site.program("contact"))
    dies = "[ $(hostname) = h2 ] || unset RANKPOINT_LIBFABRIC"
    words = ["sh", "-c", f"{dies}; exec {program}"]
    # What it needs itself may have taken all signals that can be taken.
    library = greedy_library(site, "kill(getpid(), SIGKILL);")
    site.job(f"{library} -hosts h1,h2", *words).fails(137, "rank 1", "on h2", "was killed by signal 9", "in MPI_Init")


@case
def provider_that_is_not_there(site):
    program = str(site.program("contact"))
    job = site.job("-genv RANKPOINT_PROVIDER cxi -hosts h1,h2", program).fails(16, "on h")
    assert "offers no network that can be used with RANKPOINT_PROVIDER=cxi; it has " in job.err, job.err
    assert " on eth0" in job.err, job.err


@case
def hosts_with_different_providers(site):
    other = "[ $(hostname) != h2 ] || export RANKPOINT_PROVIDER='tcp;ofi_rxm'"
    words = ["sh", "-c", f"{other}; exec {site.program('contact')}"]
    job = site.job("-hosts h1,h2", *words).end()
    assert job.code not in (0, 124) and job.seconds < 10, f"status {job.code} after {job.seconds:.1f} s: {job.err}"
    told = [f"on host {host} cannot be reached from rank" in job.err for host in ["h1", "h2"]]
    assert any(told) and "its network is " in job.err and "set RANKPOINT_PROVIDER" in job.err, job.err


def ports(count, ranks):
    """What the ranks of vcis.c print that listen at so many ports each."""
    return ["all is right", *(f"rank {rank}: ports {count}" for rank in range(ranks))]


@case
def vcis_use_contexts_of_their_own(site):
    # Four threads with a communicator each, and MPI_COMM_WORLD.
    program, vcis = str(site.program("vcis")), "-genv RANKPOINT_VCIS 5"
    for sharing, count in [("vci", 5), ("process", 1), ("2", 2), ("5", 5), ("1", 1)]:
        settings = f"{vcis} -genv RANKPOINT_NET_SHARING {sharing}"
        site.job(f"{settings} -hosts h1,h2", program).expect(0, *ports(count, 2))
    site.job(f"{vcis} -hosts h1:2,h2,h3", program).expect(0, *ports(5, 4))
    # Each rank by its own number: VCIs of a process meet contexts that others share.
    words = ["sh", "-c", f"RANKPOINT_NET_SHARING=$((RANKPOINT_LAUNCH_RANK * 2 + 1)) exec {program}"]
    site.job(f"{vcis} -hosts h1,h2,h3", *words).expect(0, "all is right", *(f"rank {rank}: ports {2 * rank + 1}" for rank in range(3)))


@case
def contexts_that_cannot_be_opened_are_done_without(site):
    program, vcis = str(site.program("vcis")), "-genv RANKPOINT_VCIS 5"
    one = " ".join(f"-genv FI_{name}_PORT_{end}_RANGE 31000" for name in ["TCP", "NET"] for end in ["LOW", "HIGH"])
    site.job(f"{vcis} {one} -hosts h1,h2", program).expect(0, *ports(1, 2))
    # One host has descriptors for one context, the other one for all.
    few = "[ $(hostname) != h2 ] || ulimit -n 64"
    site.job(f"{vcis} -hosts h1,h2", "sh", "-c", f"{few}; exec {program}").expect(
        0, "all is right", "rank 0: ports 5", "rank 1: ports 1"
    )
